"""The base of confidence-weighted learners (AROW, SCW).

Each weight has a variance; an algorithm's own file decides when an update is made, its step α and its ρ.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from perceptron_core import sparse_vectors as sparse
from perceptron_core.base import column_properties, restored
from perceptron_core.base.binary import BinaryClassifier
from perceptron_core.base.linear_rule import LINEAR_STATE, LinearRule
from perceptron_core.sparse_vectors import Vector
from perceptron_core.validation import MAX_RATE
from perceptron_core.weights import covariance as confidence
from perceptron_core.weights.example import Column, Example
from perceptron_core.weights.variances import MAX_VARIANCE, Variances, shrunk


class ConfidenceWeightedRule(LinearRule):
    """Moves weights in proportion to their variances, and shrinks these.

    An algorithm's `learn_at` decides when, how far and how much; it asks `variance_now`, calls `update`.
    """

    forgetting: float
    intercept_forgetting: float
    full: bool
    variance_column: Variances
    bias_variance: float
    covariance: confidence.Matrix

    def variance(self, x: Example) -> float:
        """Compute v, the variance of the score of `x`."""
        if self.full:
            return self.full_variance(x)
        return self.variance_column.of_score(x, self.bias_variance if self.fit_intercept else 0.0)

    def variance_now(self, x: Example) -> float:
        """Compute v as an update finds it, which first forgets."""
        if self.full:
            return self.full_variance(x)
        of_bias = self.bias_variance_now()
        if self.forgetting < 1:
            return self.variance_column.of_widened_score(x, of_bias, self.forgetting)
        return self.variance_column.of_score(x, of_bias)

    def bias_variance_now(self) -> float:
        """Return the variance of the intercept as an update finds it; 0 without one."""
        return min(1.0, self.bias_variance / self.intercept_forgetting) if self.fit_intercept else 0.0

    def update(self, x: Example, step: float, rho: float, v: float) -> None:
        """Write w ← w + step·Σx and Σ ← Σ − Σx(Σx)ᵀ/(ρ + v), v of `variance_now`; at step 0 only forget."""
        if self.full:
            self.update_full(x, step, rho, v)
            return
        if step != 0:
            self.table.allocate(x)
        if self.forgetting < 1:
            if self.table.changes is not None:
                self.table.changes.note(x)
            self.variance_column.widen(x, self.forgetting)
        if step != 0:
            self.variance_column.move(self.weight_column, x, step)
            self.variance_column.shrink(x, rho, v)
        self.update_bias(step, rho, v)

    def update_bias(self, step: float, rho: float, v: float) -> None:
        """Write of `update` what concerns the intercept."""
        self.bias_variance = min(1.0, self.bias_variance / self.intercept_forgetting)
        if step != 0 and self.fit_intercept:
            self.bias += step * self.bias_variance
            self.bias_variance = shrunk(self.bias_variance, rho, v)

    def update_full(self, x: Example, step: float, rho: float, v: float) -> None:
        """Update under dependent weights, the intercept being the feature None."""
        if step != 0:
            gain = confidence.direction(self.covariance, self.with_constant(x))
            gain = confidence.bound(gain, self.covariance, v)
            covariance = confidence.downdated(self.covariance, gain, rho, v)
            bias = step * gain.pop(None, 0.0)
            self.table.add(self.weight_column, gain, step)
            self.bias += bias
            self.covariance = covariance

    def full_variance(self, x: Example) -> float:
        """Compute xᵀΣx with all covariances."""
        entries = self.with_constant(x)
        gain = confidence.direction(self.covariance, entries)
        return max(sparse.dot(gain, entries), 0.0)

    def with_constant(self, x: Example) -> Vector:
        """Return the entries that are not 0 by name, and the constant feature."""
        entries = self.table.by_name(x)
        return {**entries, None: 1.0} if self.fit_intercept else entries


class ConfidenceWeightedClassifier(ConfidenceWeightedRule, BinaryClassifier):
    """A linear classifier with a variance for each weight, 1 at first, that falls with every update.

    An update moves weights in proportion to their variance. So rare features, which are what tells spam
    from ham, learn fast, and common ones settle. With v = xᵀΣx and the α and ρ that the learner gives,

        w ← w + α·y·Σx,  Σ ← Σ − Σx(Σx)ᵀ/(ρ + v)

    of which Σ keeps only the diagonal σ unless `full`. The intercept is the weight of a constant
    feature 1, with a variance of its own.

    Parameters
    ----------
    forgetting
        λ in (0, 1]. Below 1, an update first divides the variances of its features by λ (up to 1 at most),
        so that it never becomes too sure to follow a stream that drifts. Not with `full`.
    intercept_forgetting
        The same for the intercept: the share of a class drifts faster than what tells it.
    full
        Keep all covariances, not only the variances. Time and memory of an update grow with the square of
        the number of features seen so far: for few features.
    fit_intercept
        Whether b is learned.

    Attributes
    ----------
    variances : dict
        σ by feature, where it was updated. Empty with `full`.
    bias_variance : float
        Variance of b. With `full` it is that of the feature None in `covariance`.
    covariance : dict
        With `full`, the rows of Σ by feature.

    """

    STATE: ClassVar = {
        "variances": restored.columns,
        "bias_variance": restored.between(0.0, MAX_VARIANCE),
        "covariance": restored.matrix,
        **LINEAR_STATE,
    }

    def __init__(
        self, forgetting: float, intercept_forgetting: float, *, full: bool, fit_intercept: bool
    ) -> None:
        for name, value in (("forgetting", forgetting), ("intercept_forgetting", intercept_forgetting)):
            if not 1 / MAX_RATE <= value <= 1:
                raise ValueError(f"{name} must be above 0 and at most 1, not {value!r}")
            if full and value != 1:
                raise ValueError(f"{name} must be 1 with full=True, not {value!r}")
        self.full = bool(full)
        super().__init__(fit_intercept)
        self.forgetting = float(forgetting)
        self.intercept_forgetting = float(intercept_forgetting)

    def _clear(self) -> None:
        """Start with nothing learned."""
        weights, variances = Column(), Variances()
        # With all covariances there are no variances beside them.
        self.table = self._table_of(weights) if self.full else self._table_of(weights, variances)
        self.weight_column, self.variance_column = weights, variances
        self.bias = 0.0
        self.bias_variance = 1.0
        self.covariance = {}

    @property
    def variances(self) -> Vector:
        """σ by feature, where it was updated. Computed when asked for; setting them forgets the weights."""
        return {} if self.full else self.table.stored(self.variance_column)

    @variances.setter
    def variances(self, variances: Mapping[Any, float]) -> None:
        self._restart()
        if not self.full:
            self.table.write(self.variance_column, variances)

    weights = column_properties.nonzero("weight_column", "Non-zero weights by feature.")
    _stored_variances = column_properties.stored("variance_column")

    def _read_state(self, read: restored.Read) -> dict[str, Any]:
        own = {} if self.full else {"variances": "_stored_variances"}
        return super()._read_state(lambda model, name: read(model, own.get(name, name)))
