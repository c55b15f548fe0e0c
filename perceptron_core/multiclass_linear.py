"""Multiclass learners with one weight vector per class. In: features. Out: a score w·x + b for each."""

from __future__ import annotations

import abc
from collections.abc import Collection, Sequence
from typing import Any, ClassVar

from perceptron_core import sparse
from perceptron_core.binary import Features
from perceptron_core.multiclass import Label, MulticlassClassifier, Scores, Step


class LinearMulticlass(MulticlassClassifier):
    """A multiclass learner that predicts by the weights it learns.

    Parameters
    ----------
    classes
        All labels there may be, two or more. None: those seen so far.
    fit_intercept
        Whether each class has a bias.

    """

    STATE: ClassVar[tuple[str, ...]] = ("_weights", "_bias", *MulticlassClassifier.STATE)

    def __init__(self, classes: Sequence[Label] | None = None, fit_intercept: bool = True) -> None:
        self._weights: dict[Label, sparse.Vector] = {}
        self._bias: dict[Label, float] = {}
        super().__init__(classes, fit_intercept)

    @property
    def weights(self) -> dict[Label, sparse.Vector]:
        """Non-zero weights by feature, by class; live, not to be changed."""
        return self._weights

    @property
    def bias(self) -> dict[Label, float]:
        """Bias by class; live, not to be changed."""
        return self._bias

    def scores_one(self, x: Features) -> Scores:
        """Compute the score w·x + b of each known class, summed from b in the order of `x`.

        Raises `FeatureError` for a value that is not finite or is larger than 1e100.
        """
        scores = sparse.dots(self._weights.values(), x, self._bias.values())
        return dict(zip(self._bias, scores, strict=True))

    def _meet(self, label: Label) -> None:
        self._weights[label] = {}
        self._bias[label] = 0.0

    def _known_classes(self) -> Collection[Label]:
        return self._bias.keys()


class AdditiveMulticlass(LinearMulticlass):
    """A linear multiclass learner whose updates give a multiple of the example from one class to another.

    So the weights are sums of steps times examples, and an update can be taken back.
    """

    @abc.abstractmethod
    def _step(self, x: Features, label: Label, scores: Scores, w: float) -> Step | None:
        """Decide how far to move for an example of class `label`, w > 0; None for not at all."""

    def undo_one(self, x: Features, step: Sequence[Any] | None) -> None:
        """Take back the `step` that `update_one` made on `x`, whatever was learned since.

        Exact wherever the sums are (counts, binary features), else to rounding. Counts stay, and so
        does a class that was met with the example.
        """
        if step is not None:
            made = Step(*step)
            self._move(x, made._replace(size=-made.size))

    def _update(self, x: Features, label: Label, scores: Scores, w: float) -> Step | None:
        step = self._step(x, label, scores, w)
        if step is not None:
            self._move(x, step)
        return step

    def _move(self, x: Features, step: Step) -> None:
        for label, size in ((step.gained, step.size), (step.lost, -step.size)):
            sparse.add(self._weights[label], x, size)
            if self.fit_intercept:
                self._bias[label] += size
