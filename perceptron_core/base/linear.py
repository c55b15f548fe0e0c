"""Two-class learners with one weight vector. In: features. Out: a = w·x + b, its sign the class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from perceptron_core.base.binary import BinaryClassifier, Features
from perceptron_core.base.binary_rule import LinearRule
from perceptron_core.base.compiled import CompiledClassifier
from perceptron_core.base.explanation import Term
from perceptron_core.sparse_vectors import Vector
from perceptron_core.weights.example import Column


class LinearClassifier(LinearRule, CompiledClassifier):
    """A classifier that decides by the sign of w·x + b.

    Parameters
    ----------
    fit_intercept
        Whether b is learned.

    Attributes
    ----------
    bias : float
        b.

    """

    STATE: ClassVar[tuple[str, ...]] = ("weights", "bias", *BinaryClassifier.STATE)

    def __init__(self, fit_intercept: bool = True) -> None:
        super().__init__()
        self.fit_intercept = bool(fit_intercept)
        self.bias = 0.0
        self._clear()

    def _clear(self) -> None:
        """Start with no feature stored."""
        weights = Column()
        self.slots = self._slots_of(weights)
        self.weight_column = weights

    @property
    def weights(self) -> Vector:
        """Non-zero weights by feature. Computed when asked for; setting them starts anew."""
        return self.slots.nonzero(self.weight_column)

    @weights.setter
    def weights(self, weights: Mapping[Any, float]) -> None:
        self._start_anew()
        self.slots.write(self.weight_column, weights)

    def _terms(self, x: Features) -> Iterator[Term]:
        weights = self.weights
        for name, value in x.items():
            yield name, value, weights.get(name, 0.0)
        yield "Intercept", 1.0, self.bias
