"""The averaged multiclass perceptron."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from perceptron_core.base import column_properties, restored
from perceptron_core.base.example_weights import OF_STEP
from perceptron_core.base.multiclass import MulticlassClassifier
from perceptron_core.base.multiclass_rule import AdditiveMulticlassRule
from perceptron_core.base.update import NO_CLASS, Label, Update
from perceptron_core.sparse_vectors import Vector
from perceptron_core.weights.example import Column, Example


class AveragedMulticlassRule(AdditiveMulticlassRule):
    """Learns by the last weights w and predicts by their mean; u keeps what the mean needs."""

    n_examples: int
    late_columns: list[Column]
    late_biases: Column

    def clear(self) -> None:
        """Start with no class and no feature."""
        columns: list[Column] = []
        biases = Column()
        AdditiveMulticlassRule.clear(self)
        self.late_columns, self.late_biases = columns, biases

    def meet(self, label: Label) -> None:
        """Start a class with zero weights; it comes last at ties."""
        number = len(self.labels)
        self.late_biases.grow(number + 1)
        self.late_biases.cells[number] = 0.0
        AdditiveMulticlassRule.meet(self, label)
        self.start_column(self.late_columns, Column())

    def forget_last(self, label: Label, n_known: int) -> None:
        """Undo `meet`, or what was done of it."""
        self.drop_columns(self.late_columns, n_known)
        AdditiveMulticlassRule.forget_last(self, label, n_known)

    def score(self, x: Example) -> None:
        """Compute the mean score w̄·x + b̄ of each class."""
        AdditiveMulticlassRule.score(self, x)
        for number in range(len(self.late_columns)):
            column = self.late_columns[number]
            late = column.dot(x, self.late_biases.cells[number])
            self.scores.cells[number] = self.mean(self.scores.cells[number], late)

    def mean(self, current: float, late: float) -> float:
        """Return the mean of a number that is `current` in w and `late` in u."""
        return (self.n_examples * current - late) / max(self.n_examples, 1)

    def learn(self, x: Example, number: int, w: float) -> Update | None:
        """Learn an example; its weight is the step."""
        AdditiveMulticlassRule.score(self, x)
        guess = self.best(NO_CLASS)
        step = None
        if guess != number:
            step = Update(w, self.labels[number], self.labels[guess], self.n_examples)
            self.move(x, number, guess, w, self.n_examples)
        self.n_examples += 1
        return step

    def move(self, x: Example, gained: int, lost: int, size: float, n_before: int) -> None:
        """Add size·x to w of one class and subtract it from another's; the same to u, as late as it is."""
        self.table.allocate(x)
        self.add_late(x, gained, size * n_before)
        self.add_late(x, lost, -size * n_before)
        if self.add(x, gained, size) + self.add(x, lost, -size):
            self.table.drop_zero_rows(x)

    def add_late(self, x: Example, number: int, size: float) -> None:
        """Add size·x to u of a class."""
        if self.fit_intercept:
            self.late_biases.cells[number] += size
        column = self.late_columns[number]
        column.add(x, size)


class AveragedMulticlassPerceptron(AveragedMulticlassRule, MulticlassClassifier):
    """Multiclass perceptron that predicts by the mean of its weights after each example.

    It learns as `MulticlassPerceptron` does, on the mistakes of its last weights w. Beside them, u sums
    each step times the number of examples learned before it; after T examples the mean of the T iterates
    is w̄ = w − u/T. So an update writes twice the non-zeros of x, and an example without one writes nothing.

    Parameters
    ----------
    classes
        All labels there may be, two or more; a label that is none of them is refused. None: the
        classes are those seen so far, and a new one starts with zero weights.
    fit_intercept
        Whether each class has a bias, averaged like the weights.

    Attributes
    ----------
    weights : dict
        w̄, non-zero weights by feature, by class: what predicts. Computed when asked for.
    bias : dict
        b̄ by class.
    current_weights : dict
        w: what learns. Computed when asked for.
    current_bias : dict
        b by class.
    n_examples : int
        T, examples learned from, updates or not.
    n_mistakes : int
        Examples that `learn_one` found misclassified by w̄, as `predict_one` does, before the update.
    n_updates : int
        Updates made: mistakes of w.

    References
    ----------
    Freund, Y. and Schapire, R. E. (1999). Large margin classification using the perceptron algorithm.
    Machine Learning 37(3).

    Daumé III, H. (2017). A Course in Machine Learning, algorithm 7 (the lazy form), here per class.

    Examples
    --------
    >>> from perceptron_core import AveragedMulticlassPerceptron
    >>> model = AveragedMulticlassPerceptron(fit_intercept=False)
    >>> for y in ["ham", "spam", "spam", "spam"]:
    ...     model.learn_one({"free": 1.0}, y)
    >>> model.current_weights["spam"], model.weights["spam"]
    ({'free': 1.0}, {'free': 0.75})

    On River's 2,310 image segments of seven kinds:

    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> pipeline = preprocessing.StandardScaler() | AveragedMulticlassPerceptron()
    >>> evaluate.progressive_val_score(datasets.ImageSegments(), pipeline, metrics.Accuracy())
    Accuracy: 87.22%

    """

    NAME = "averaged-multiclass-perceptron"
    WEIGHT = OF_STEP
    STATE: ClassVar = {
        "current_weights": restored.columns,
        "current_bias": restored.columns,
        "n_examples": restored.count,
        "_late_weights": restored.columns,
        "_late_bias": restored.columns,
        **restored.COUNTS,
    }
    VARIANTS = ({"fit_intercept": False},)

    def __init__(self, classes: Sequence[Label] | None = None, fit_intercept: bool = True) -> None:
        self.n_examples = 0
        super().__init__(classes, fit_intercept)

    @property
    def weights(self) -> dict[Label, Vector]:
        """w̄: non-zero weights by feature, by class."""
        return {
            label: self._mean_of(self.table.stored(current), self.table.stored(late))
            for label, current, late in zip(self.labels, self.weight_columns, self.late_columns, strict=True)
        }

    @property
    def bias(self) -> dict[Label, float]:
        """b̄ by class."""
        late = self._late_bias
        return {label: self.mean(b, late[label]) for label, b in self.current_bias.items()}

    current_weights = column_properties.nonzero_by_class(
        "weight_columns", "w: non-zero weights by feature, by class."
    )

    current_bias = column_properties.by_class("biases", "The current bias b of each class.")

    _late_weights = column_properties.nonzero_by_class("late_columns")

    _late_bias = column_properties.by_class("late_biases")

    def _mean_of(self, current: Vector, late: Vector) -> Vector:
        means = {name: self.mean(weight, late[name]) for name, weight in current.items()}
        return {name: mean for name, mean in means.items() if mean}
