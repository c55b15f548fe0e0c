"""The averaged perceptron, of two classes and of several.

`averaged.pxd` gives this module its C types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from perceptron_core.linear import column_properties, restored
from perceptron_core.linear.binary import BinaryClassifier
from perceptron_core.linear.declarations import NO_CLASS, OF_STEP, Label, Update
from perceptron_core.linear.linear_rule import LinearRule
from perceptron_core.linear.multiclass import MulticlassClassifier
from perceptron_core.linear.multiclass_rule import AdditiveMulticlassRule
from perceptron_core.sparse_vectors import Vector
from perceptron_core.validation import Rate, check_positive, check_rate, rate_at
from perceptron_core.weights.example import Column, Example

_MIN_FADE: Final = 1e-20
"""When δᵀ has decayed to this, u is rescaled, so that its factors stay moderate."""


class AveragedRule(LinearRule):
    """Learns by the last weights w and predicts by their mean; u keeps what the mean needs."""

    decay: float
    learning_rate: Rate
    late_column: Column
    current_bias: float
    n_examples: int
    _late_bias: float
    _fade: float
    _remainder: float

    def score(self, x: Example) -> float:
        """Compute the mean activation w̄·x + b̄."""
        return self.mean(
            self.weight_column.dot(x, self.current_bias), self.late_column.dot(x, self._late_bias)
        )

    def learn(self, x: Example, sign: int, w: float) -> float:
        """Learn an example; return the step of w, 0 if there was none."""
        current = self.weight_column.dot(x, self.current_bias)
        late = self.late_column.dot(x, self._late_bias)
        return self.step(x, sign, w, current, self.mean(current, late))

    def learn_at(self, x: Example, sign: int, w: float, a: float) -> float:
        """Learn an example whose mean activation is a."""
        return self.step(x, sign, w, self.weight_column.dot(x, self.current_bias), a)

    def step(self, x: Example, sign: int, w: float, current: float, a: float) -> float:
        """Learn an example with the activation `current` of w, and a of the mean."""
        mistaken = self.predicts_true(a) != (sign > 0)
        step = sign * rate_at(self.learning_rate, self.n_updates) * w if sign * current <= 0 else 0.0
        if step != 0:
            self.add(x, step)
            self.n_updates += 1
        self.n_mistakes += mistaken
        self.advance_time()
        return step

    def mean(self, current: float, late: float) -> float:
        """Return the mean of a weight from its value `current` in w and `late` in u."""
        if not self.n_examples:
            return 0.0
        if self.decay == 1:
            return (self.n_examples * current - late) / self.n_examples
        return (current - self._fade * late) / (1.0 - self._remainder)

    def add(self, x: Example, step: float) -> None:
        """Add step·x to w, and step·x times the number of earlier examples to u."""
        late = step * self.n_examples if self.decay == 1 else step / self._fade
        self.table.begin_update(x)
        n_zeros = self.weight_column.add(x, step)
        if self.late_column.add(x, late) and n_zeros:
            self.table.drop_zero_rows(x)
        if self.fit_intercept:
            self.current_bias += step
            self._late_bias += late

    def advance_time(self) -> None:
        """Advance the time by one example."""
        self.n_examples += 1
        if self.decay == 1:
            return
        self._fade *= self.decay
        self._remainder *= self.decay
        if self._fade < _MIN_FADE:
            self.late_column.scale(self._fade)
            self.table.changes = None
            self.table.drop_all_zero_rows()
            self._late_bias *= self._fade
            self._fade = 1.0


class AveragedPerceptron(AveragedRule, BinaryClassifier):
    """Perceptron that predicts by the mean of its weight vectors after each example.

    It learns as the perceptron does, on the mistakes of its last weights: if y·(w·x + b) ≤ 0,
    w ← w + η·y·x and b ← b + η·y. It predicts by the mean w̄ of the w after each example so far; with
    `decay` δ < 1 by the mean with exponential weights,

        w̄ = Σ δᵀ⁻ᵗ·w(t) / Σ δᵀ⁻ᵗ,  t = 1 … T

    which forgets old weights, as the plain mean follows a drifting stream too slowly. Both means are lazy:
    next to w, a vector u sums each update times the number of examples before it, so that an update only
    touches the non-zeros of its example. The plain mean is w̄ = w − u/T.

    Parameters
    ----------
    decay
        δ in (0, 1]. The mean covers about 1/(1 − δ) examples; with 1, all.
    learning_rate
        η > 0: a number or one of `river.optim.schedulers`. A constant changes no prediction.
    fit_intercept
        Whether b is learned.

    Attributes
    ----------
    weights : dict
        w̄, the predicting weights that are not 0, by feature. Computed on access.
    bias : float
        b̄.
    current_weights : dict
        w, the learning weights. Computed on access.
    current_bias : float
        b.
    n_examples : int
        T, the number of examples, with or without an update.
    n_mistakes : int
        Examples that `learn_one` found misclassified by w̄, as `predict_one` does, before the update.
    n_updates : int
        Updates made: mistakes of w, ties included.

    Notes
    -----
    The weight of an example is a factor of the learning rate; an example of weight 0 does not count in T.

    References
    ----------
    Freund, Y. and Schapire, R. (1999). Large margin classification using the perceptron algorithm.
    Machine Learning 37(3), section 2.

    Daumé III, H. (2017). A Course in Machine Learning, algorithm 7 (the lazy mean).

    Examples
    --------
    >>> from perceptron_core import AveragedPerceptron
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | AveragedPerceptron()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 88.96%

    """

    NAME = "averaged-perceptron"
    WEIGHT = OF_STEP
    STATE: ClassVar = {
        "current_weights": restored.columns,
        "current_bias": restored.number,
        "n_examples": restored.count,
        "_late_weights": restored.columns,
        "_late_bias": restored.number,
        "_fade": restored.between(_MIN_FADE, 1.0),
        "_remainder": restored.between(0.0, 1.0),
        **restored.COUNTS,
    }
    VARIANTS = ({"decay": 0.3}, {"fit_intercept": False})

    def __init__(self, decay: float = 1.0, learning_rate: Rate = 1.0, fit_intercept: bool = True) -> None:
        check_positive("decay", decay, 1)
        check_rate(learning_rate)
        super().__init__(fit_intercept)
        self.decay = float(decay)
        self.learning_rate = learning_rate

    def _clear(self) -> None:
        """Reset to the untrained state."""
        current, late = Column(), Column()
        self.table = self._table_of(current, late)
        self.weight_column, self.late_column = current, late
        self.current_bias = 0.0
        self.n_examples = 0
        self._late_bias = 0.0
        self._fade = 1.0  # δ to the power of the number of examples since u was last rescaled
        self._remainder = 1.0  # δ to the power of the number of examples

    current_weights = column_properties.first_nonzero("weight_column", "w: non-zero weights by feature.")

    @property
    def weights(self) -> Vector:
        """w̄: non-zero weights by feature."""
        current, late = self.table.stored(self.weight_column), self.table.stored(self.late_column)
        means = {name: self.mean(weight, late.get(name, 0.0)) for name, weight in current.items()}
        return {name: mean for name, mean in means.items() if mean}

    @property
    def bias(self) -> float:  # type: ignore[override]
        """b̄."""
        return self.mean(self.current_bias, self._late_bias)

    def _read_state(self, read: restored.Read) -> dict[str, Any]:
        # With all names, to keep their order.
        return super()._read_state(read) | {"current_weights": read(self, "_stored_weights")}

    _stored_weights = column_properties.stored("weight_column")

    _late_weights = column_properties.nonzero("late_column")

    def _set_state(self, state: Mapping[str, Any]) -> None:
        super()._set_state(state)
        if self.decay < 1 and self.n_examples and self._remainder == 1:
            raise ValueError("decay cannot be changed after examples were learned without it")


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

    def add_class(self, label: Label) -> None:
        """Start a class with zero weights; it comes last at ties."""
        number = len(self.labels)
        self.late_biases.grow(number + 1)
        self.late_biases.cells[number] = 0.0
        AdditiveMulticlassRule.add_class(self, label)
        self.start_column(self.late_columns, Column())

    def forget_last(self, label: Label, n_known: int) -> None:
        """Undo `add_class`, even if it was interrupted."""
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
        """Return the mean of a weight from its value `current` in w and `late` in u."""
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
        """Add size·x to w of one class and subtract it from another; in u, times `n_before`."""
        self.table.begin_update(x)
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

    It learns as `MulticlassPerceptron` does, on the mistakes of its last weights w. A second vector u sums
    each step times the number of examples before it; after T examples, the mean of the T iterates is w̄ = w −
    u/T. So an update writes twice the non-zeros of x, and an example without an update writes nothing.

    Parameters
    ----------
    classes
        All possible labels, two or more; other labels are rejected. None: the classes seen so far; a new
        class starts with zero weights.
    fit_intercept
        Whether each class has a bias, averaged like the weights.

    Attributes
    ----------
    weights : dict
        w̄, the predicting weights that are not 0, by class and feature. Computed on access.
    bias : dict
        b̄ by class.
    current_weights : dict
        w, the learning weights. Computed on access.
    current_bias : dict
        b by class.
    n_examples : int
        T, the number of examples, with or without an update.
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
