"""What learners share that know how sure they are. In: features and a label. Out: weights and variances.

A learner adds three things: `is_due`, when to update, `alpha`, how far, and `rho`, how much surer to be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from perceptron_core import sparse_vectors as sparse
from perceptron_core.base.binary_rule import LinearRule
from perceptron_core.base.linear import LinearClassifier
from perceptron_core.sparse_vectors import Vector
from perceptron_core.validation import MAX_RATE
from perceptron_core.weights import covariance as confidence
from perceptron_core.weights.example import Column, Entries
from perceptron_core.weights.variances import Variances


class ConfidenceWeightedRule(LinearRule):
    """Moves weights in proportion to their variances, and shrinks these."""

    forgetting: float
    intercept_forgetting: float
    full: bool
    variance_column: Variances
    bias_variance: float
    covariance: confidence.Matrix

    def is_due(self, signed_score: float, x: Entries) -> bool:
        """Return whether an example at y·a = `signed_score` is to be learned from."""
        raise NotImplementedError

    def alpha(self, signed_score: float, variance: float, w: float) -> float:
        """Return α ≥ 0 of an example of weight w at y·a = `signed_score` and v = `variance` > 0."""
        raise NotImplementedError

    def rho(self, alpha: float, variance: float, w: float) -> float:
        """Return ρ > 0 of such an example, α being above 0."""
        raise NotImplementedError

    def learn_at(self, x: Entries, sign: int, w: float, a: float) -> float:
        """Learn an example; give y·α."""
        alpha = 0.0
        if self.is_due(sign * a, x):
            alpha = self.learn_full(x, a, sign, w) if self.full else self.learn_diagonal(x, a, sign, w)
        self.n_mistakes += self.fires(a) != (sign > 0)
        self.n_updates += alpha > 0
        return sign * alpha

    def variance(self, x: Entries) -> float:
        """Compute v, the variance of the score of `x`."""
        if self.full:
            entries = self.with_constant(x)
            gain = confidence.direction(self.covariance, entries)
            return max(sparse.dot(gain, entries), 0.0)
        return self.variance_column.of_score(x, self.bias_variance if self.fit_intercept else 0.0)

    def learn_diagonal(self, x: Entries, a: float, sign: int, w: float) -> float:
        """Learn under independent weights; give α."""
        self.slots.make_room(x)
        if self.forgetting < 1:
            self.variance_column.widen(x, self.forgetting)
        self.bias_variance = min(1.0, self.bias_variance / self.intercept_forgetting)
        v = self.variance(x)
        alpha = self.alpha(sign * a, v, w) if v > 0 else 0.0
        if alpha > 0:
            rho = self.rho(alpha, v, w)
            self.slots.allocate(x)
            self.variance_column.move(self.weight_column, x, sign * alpha)
            self.variance_column.shrink(x, rho, v)
            if self.fit_intercept:
                self.bias += sign * alpha * self.bias_variance
                self.bias_variance *= (rho + (v - self.bias_variance)) / (rho + v)
        return alpha

    def learn_full(self, x: Entries, a: float, sign: int, w: float) -> float:
        """Learn under dependent weights, the intercept being the feature None; give α."""
        v = self.variance(x)
        alpha = self.alpha(sign * a, v, w) if v > 0 else 0.0
        if alpha > 0:
            gain = confidence.direction(self.covariance, self.with_constant(x))
            gain = confidence.bound(gain, self.covariance, v)
            covariance = confidence.downdated(self.covariance, gain, self.rho(alpha, v, w), v)
            bias = sign * alpha * gain.pop(None, 0.0)
            self.slots.add(self.weight_column, gain, sign * alpha)
            self.bias += bias
            self.covariance = covariance
        return alpha

    def with_constant(self, x: Entries) -> Vector:
        """Return the entries that are not 0 by name, and the constant feature."""
        entries = x.by_name()
        return {**entries, None: 1.0} if self.fit_intercept else entries


class ConfidenceWeightedClassifier(ConfidenceWeightedRule, LinearClassifier):
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

    STATE: ClassVar[tuple[str, ...]] = ("variances", "bias_variance", "covariance", *LinearClassifier.STATE)

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
        self.bias_variance = 1.0
        self.covariance = {}

    def _clear(self) -> None:
        weights, variances = Column(), Variances(1.0)
        # With all covariances there are no variances beside them.
        self.slots = self._slots_of(weights) if self.full else self._slots_of(weights, variances)
        self.weight_column, self.variance_column = weights, variances

    @property
    def variances(self) -> Vector:
        """σ by feature, where it was updated. Computed when asked for; setting them starts anew."""
        return {} if self.full else self.slots.stored(self.variance_column)

    @variances.setter
    def variances(self, variances: Mapping[Any, float]) -> None:
        self._start_anew()
        if not self.full:
            self.slots.write(self.variance_column, variances)

    @property
    def weights(self) -> Vector:
        """Non-zero weights by feature. Computed when asked for; to be set after `variances`."""
        return self.slots.nonzero(self.weight_column)

    @weights.setter
    def weights(self, weights: Mapping[Any, float]) -> None:
        self.slots.write(self.weight_column, weights)
