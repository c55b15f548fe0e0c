"""Two-class learners with one weight vector. In: features. Out: a = w·x + b, its sign the class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from perceptron_core import sparse
from perceptron_core.binary import BinaryClassifier, Features
from perceptron_core.explanation import Term


class LinearClassifier(BinaryClassifier):
    """A classifier that decides by the sign of w·x + b.

    Parameters
    ----------
    fit_intercept
        Whether b is learned.

    Attributes
    ----------
    weights : dict
        Non-zero weights by feature; live, not to be changed.
    bias : float
        b.

    """

    STATE: ClassVar[tuple[str, ...]] = ("weights", "bias", *BinaryClassifier.STATE)

    def __init__(self, fit_intercept: bool = True) -> None:
        super().__init__()
        self.fit_intercept = fit_intercept
        self.weights: sparse.Vector = {}
        self.bias = 0.0

    def score_one(self, x: Features) -> float:
        """Compute the activation a = w·x + b, summed from b in the order of `x`.

        Raises `FeatureError` for a value that is not finite or is larger than 1e100.
        """
        return sparse.dot(self.weights, x, self.bias)

    def _terms(self, x: Features) -> Iterator[Term]:
        for name, value in x.items():
            yield name, value, self.weights.get(name, 0.0)
        yield "Intercept", 1.0, self.bias


class AdditiveClassifier(LinearClassifier):
    """A linear classifier whose updates add a multiple of the example to the weights.

    So w is a sum of steps times examples, and an update can be taken back.
    """

    def undo_one(self, x: Features, step: float) -> None:
        """Take back an update that `update_one` made on `x`, whatever was learned since.

        The weights are a sum of steps times examples, so an update leaves by subtraction: exact
        wherever the sums are (counts, binary features), else to rounding. Counts stay.
        """
        if step:
            self._add(x, -step)

    def _add(self, x: Features, step: float) -> None:
        """Add step·x to w and step to b."""
        sparse.add(self.weights, x, step)
        if self.fit_intercept:
            self.bias += step
