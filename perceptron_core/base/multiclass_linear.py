"""Multiclass learners with one weight vector per class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from perceptron_core.base import restored
from perceptron_core.base.multiclass import MulticlassClassifier
from perceptron_core.base.shared import WEIGHTS_BY_CLASS
from perceptron_core.base.update import Label
from perceptron_core.sparse_vectors import Vector


class LinearMulticlass(MulticlassClassifier):
    """A multiclass learner that predicts by the weights it learns.

    Parameters
    ----------
    classes
        All labels there may be, two or more. None: those seen so far.
    fit_intercept
        Whether each class has a bias.

    """

    STATE: ClassVar = {**dict.fromkeys(("_weights", "_bias"), restored.columns), **restored.COUNTS}
    SHARED = WEIGHTS_BY_CLASS

    @property
    def weights(self) -> dict[Label, Vector]:
        """Non-zero weights by feature, by class; computed when asked for."""
        return self._of_columns(self.weight_columns)

    @property
    def bias(self) -> dict[Label, float]:
        """Bias by class; computed when asked for."""
        return self.by_class(self.biases)

    @property
    def _weights(self) -> dict[Label, Vector]:
        return self.weights

    @_weights.setter
    def _weights(self, weights: Mapping[Label, Mapping[Any, float]]) -> None:
        self._write_columns(self.weight_columns, weights)

    @property
    def _bias(self) -> dict[Label, float]:
        return self.bias

    @_bias.setter
    def _bias(self, bias: Mapping[Label, float]) -> None:
        self.write_by_class(self.biases, bias)
