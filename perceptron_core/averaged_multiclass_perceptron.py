"""The averaged multiclass perceptron. In: features and a label. Out: scores by the mean of the weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from perceptron_core import sparse
from perceptron_core.binary import Features
from perceptron_core.multiclass import Label, Scores, Step
from perceptron_core.multiclass_perceptron import MulticlassPerceptron


class AveragedMulticlassPerceptron(MulticlassPerceptron):
    """`MulticlassPerceptron` that predicts by the mean of its weights after each example so far.

    The weights w learn as in `MulticlassPerceptron`, by their own mistakes. Beside them u sums each step
    times the number of examples learned before it; after c examples the mean of the c iterates is
    w − u/c. So an update writes twice the non-zeros of x, and an example without one writes nothing.

    Parameters
    ----------
    classes
        All labels there may be, two or more; a label that is none of them is refused. None: the
        classes are those seen so far, and a new one starts with zero weights.
    fit_intercept
        Whether each class has a bias, averaged like the weights.

    Attributes
    ----------
    weights, bias : dict
        Of the last iterate, by class: what learns. What predicts is `averaged_weights` and `averaged_bias`.
    n_examples : int
        c, examples learned.
    n_mistakes : int
        Examples that the mean, as `predict_one` does, misclassified before the update.
    n_updates : int
        Updates made: mistakes of the last iterate.

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
    >>> model.weights["spam"], model.averaged_weights["spam"]
    ({'free': 1.0}, {'free': 0.75})

    On River's 2,310 image segments of seven kinds:

    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> pipeline = preprocessing.StandardScaler() | AveragedMulticlassPerceptron()
    >>> evaluate.progressive_val_score(datasets.ImageSegments(), pipeline, metrics.Accuracy())
    Accuracy: 87.22%

    """

    STATE: ClassVar[tuple[str, ...]] = (*MulticlassPerceptron.STATE, "n_examples", "_late", "_late_bias")

    def __init__(self, classes: Sequence[Label] | None = None, fit_intercept: bool = True) -> None:
        super().__init__(classes, fit_intercept)
        self.n_examples = 0
        self._late: dict[Label, sparse.Vector] = {label: {} for label in self.weights}
        self._late_bias = dict(self.bias)

    @property
    def averaged_weights(self) -> dict[Label, sparse.Vector]:
        """Mean of the weights after each example, by feature, by class."""
        means = {label: dict(weights) for label, weights in self.weights.items()}
        for label, late in self._late.items():
            sparse.add(means[label], late, -1.0 / self._count)
        return means

    @property
    def averaged_bias(self) -> dict[Label, float]:
        """Mean of the bias after each example, by class."""
        return {label: bias - self._late_bias[label] / self._count for label, bias in self.bias.items()}

    def scores_one(self, x: Features) -> Scores:
        """Compute each known class's score by the mean of the weights.

        Raises `FeatureError` for a value that is not finite or is larger than 1e100.
        """
        late = sparse.dots(self._late.values(), x, self._late_bias.values())
        last = super().scores_one(x)
        return {label: score - u / self._count for (label, score), u in zip(last.items(), late, strict=True)}

    @property
    def _count(self) -> int:
        return max(self.n_examples, 1)

    def _learning_scores(self, x: Features, scores: Scores) -> Scores:  # noqa: ARG002  of the mean
        return super().scores_one(x)

    def _update(self, x: Features, label: Label, scores: Scores, w: float) -> Step | None:
        step = super()._update(x, label, scores, w)
        self.n_examples += 1
        return step

    def _step(self, x: Features, label: Label, scores: Scores, w: float) -> Step | None:
        step = super()._step(x, label, scores, w)
        return None if step is None else step._replace(n_before=self.n_examples)

    def _move(self, x: Features, step: Step) -> None:
        super()._move(x, step)
        late = step.size * step.n_before
        if late:
            self._add_late(step.gained, x, late)
            self._add_late(step.lost, x, -late)

    def _add_late(self, label: Label, x: Features, size: float) -> None:
        sparse.add(self._late[label], x, size)
        if self.fit_intercept:
            self._late_bias[label] += size

    def _meet(self, label: Any) -> None:
        super()._meet(label)
        self._late[label] = {}
        self._late_bias[label] = 0.0
