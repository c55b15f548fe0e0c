"""The averaged multiclass perceptron. In: features and a label. Out: scores by the mean of the weights."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, ClassVar

from perceptron_core import sparse
from perceptron_core.binary import Features
from perceptron_core.multiclass import Label, MulticlassClassifier, Scores, Step


class AveragedMulticlassPerceptron(MulticlassClassifier):
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
        w: what learns. Live, not to be changed.
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

    STATE: ClassVar[tuple[str, ...]] = (
        "current_weights",
        "current_bias",
        "n_examples",
        "_late_weights",
        "_late_bias",
        *MulticlassClassifier.STATE,
    )

    def __init__(self, classes: Sequence[Label] | None = None, fit_intercept: bool = True) -> None:
        self.current_weights: dict[Label, sparse.Vector] = {}
        self.current_bias: dict[Label, float] = {}
        self.n_examples = 0
        self._late_weights: dict[Label, sparse.Vector] = {}
        self._late_bias: dict[Label, float] = {}
        super().__init__(classes, fit_intercept)

    @property
    def weights(self) -> dict[Label, sparse.Vector]:
        """w̄: non-zero weights by feature, by class."""
        return {
            label: self._mean_of(w, self._late_weights[label]) for label, w in self.current_weights.items()
        }

    @property
    def bias(self) -> dict[Label, float]:
        """b̄ by class."""
        return {label: self._mean(b, self._late_bias[label]) for label, b in self.current_bias.items()}

    def scores_one(self, x: Features) -> Scores:
        """Compute the mean score w̄·x + b̄ of each known class.

        Raises `FeatureError` for a value that is not finite or is larger than 1e100.
        """
        late = sparse.dots(self._late_weights.values(), x, self._late_bias.values())
        current = self._current_scores(x)
        return {label: self._mean(current[label], u) for label, u in zip(current, late, strict=True)}

    def undo_one(self, x: Features, step: Sequence[Any] | None) -> None:
        """Take back the `step` that `update_one` made on `x`, out of the last weights and out of the mean.

        Exact wherever the sums are (counts, binary features), else to rounding. Counts stay, and so
        does a class that was met with the example.
        """
        if step is not None:
            made = Step(*step)
            self._move(x, made._replace(size=-made.size))

    def _update(self, x: Features, label: Label, scores: Scores, w: float) -> Step | None:  # noqa: ARG002
        guess = self.decide(self._current_scores(x))
        step = None if guess == label else Step(w, label, guess, self.n_examples)
        if step is not None:
            self._move(x, step)
        self.n_examples += 1
        return step

    def _current_scores(self, x: Features) -> Scores:
        scores = sparse.dots(self.current_weights.values(), x, self.current_bias.values())
        return dict(zip(self.current_bias, scores, strict=True))

    def _mean(self, current: float, late: float) -> float:
        """Give the mean of a number that is `current` in w and `late` in u."""
        return (self.n_examples * current - late) / max(self.n_examples, 1)

    def _mean_of(self, current: sparse.Vector, late: sparse.Vector) -> sparse.Vector:
        means = {name: self._mean(current.get(name, 0.0), late.get(name, 0.0)) for name in current | late}
        return {name: mean for name, mean in means.items() if mean}

    def _move(self, x: Features, step: Step) -> None:
        for label, size in ((step.gained, step.size), (step.lost, -step.size)):
            late = size * step.n_before
            sparse.add(self.current_weights[label], x, size)
            sparse.add(self._late_weights[label], x, late)
            if self.fit_intercept:
                self.current_bias[label] += size
                self._late_bias[label] += late

    def _meet(self, label: Label) -> None:
        self.current_weights[label], self._late_weights[label] = {}, {}
        self.current_bias[label] = self._late_bias[label] = 0.0

    def _known_classes(self) -> Collection[Label]:
        return self.current_bias.keys()
