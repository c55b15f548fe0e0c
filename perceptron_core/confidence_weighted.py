"""What learners share that know how sure they are. In: features and a label. Out: weights and variances.

A learner adds two things: `_is_due`, when to update, and `_step`, how far.
"""

from __future__ import annotations

import abc
from typing import Any, ClassVar

from perceptron_core import confidence, sparse
from perceptron_core.binary import Features, check_example_weight
from perceptron_core.linear import LinearClassifier
from perceptron_core.values import MAX_RATE, sign_of


class ConfidenceWeightedClassifier(LinearClassifier):
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
        super().__init__(fit_intercept)
        self.forgetting = forgetting
        self.intercept_forgetting = intercept_forgetting
        self.full = full
        self.variances: sparse.Vector = {}
        self.bias_variance = 1.0
        self.covariance: confidence.Matrix = {}

    def update_one(self, x: Features, y: Any, w: float = 1.0) -> float:
        """Learn from one example as `learn_one` does; give y·α, 0 if nothing was written."""
        sign = sign_of(y)
        check_example_weight(w)
        a = self.score_one(x)
        if w == 0:
            return 0.0
        self.n_mistakes += self.decide(a) != (sign > 0)
        if not self._is_due(sign * a, x):
            return 0.0
        alpha = (self._update_full if self.full else self._update_diagonal)(x, a, sign, w)
        self.n_updates += alpha > 0
        return sign * alpha

    @abc.abstractmethod
    def _is_due(self, signed_score: float, x: Features) -> bool:
        """Tell whether an example at y·a = `signed_score` is to be learned from."""

    @abc.abstractmethod
    def _step(self, signed_score: float, variance: float, w: float) -> tuple[float, float]:
        """Give α ≥ 0 and ρ > 0 of an example of weight w at y·a = `signed_score` and v = `variance` > 0."""

    def _variance(self, x: Features) -> float:
        """Compute v, the variance of the score of `x`."""
        if self.full:
            entries = self._with_constant(x)
            gain = confidence.direction(self.covariance, entries)
            return max(sum(value * gain[name] for name, value in entries.items()), 0.0)
        return confidence.variance(self.variances, x, self.bias_variance if self.fit_intercept else 0.0)

    def _update_diagonal(self, x: Features, a: float, sign: int, w: float) -> float:
        """Learn under independent weights; give α."""
        if self.forgetting < 1:
            confidence.widen(self.variances, x, self.forgetting)
        self.bias_variance = min(1.0, self.bias_variance / self.intercept_forgetting)
        v = self._variance(x)
        alpha, rho = self._step(sign * a, v, w) if v else (0.0, 1.0)
        if alpha:
            confidence.move(self.weights, self.variances, x, sign * alpha)
            confidence.shrink(self.variances, x, rho, v)
        if alpha and self.fit_intercept:
            self.bias += sign * alpha * self.bias_variance
            self.bias_variance *= (rho + (v - self.bias_variance)) / (rho + v)
        return alpha

    def _update_full(self, x: Features, a: float, sign: int, w: float) -> float:
        """Learn under dependent weights, the intercept being the feature None; give α."""
        v = self._variance(x)
        alpha, rho = self._step(sign * a, v, w) if v else (0.0, 1.0)
        if alpha:
            gain = confidence.direction(self.covariance, self._with_constant(x))
            gain = confidence.bound(gain, self.covariance, v)
            confidence.downdate(self.covariance, gain, rho, v)
            self.bias += sign * alpha * gain.pop(None, 0.0)
            sparse.add(self.weights, gain, sign * alpha)
        return alpha

    def _with_constant(self, x: Features) -> sparse.Vector:
        entries = {name: float(value) for name, value in x.items() if value}
        return {**entries, None: 1.0} if self.fit_intercept else entries
