"""Bayesian logistic regression."""

from __future__ import annotations

from collections.abc import Iterator
from math import pi, sqrt
from typing import Any, Final

from perceptron_core.elementary import logistic
from perceptron_core.linear.arow import ConfidenceWeightedClassifier, ConfidenceWeightedRule
from perceptron_core.linear.binary import Features
from perceptron_core.linear.declarations import OF_LOSS, Term
from perceptron_core.weights.example import Example

_MAX_RHO: Final = 1e200
"""Largest 1/q."""

_MODERATION: Final = pi / 8
"""Factor of the variance with which σ has the slope of the probit function that it approximates at 0."""


class BayesianLogisticRule(ConfidenceWeightedRule):
    """Updates with every example, by the gradient and the curvature of the logistic loss."""

    _scored: Example | None
    _variance: float
    rho: float

    def score(self, x: Example) -> float:
        """Compute the moderated log-odds a′ = a/√(1 + πv/8)."""
        return self.weight_column.dot(x, self.bias) * self.moderation(x)

    def moderation(self, x: Example) -> float:
        """Compute 1/√(1 + πv/8)."""
        self._variance, self._scored = self.variance_now(x), x
        return moderation_at(self._variance)

    def learn_at(self, x: Example, sign: int, w: float, a: float) -> float:
        """Learn an example, whose weight multiplies its loss; return c·(y − p), y ∈ {0, 1}."""
        v = self._variance if self._scored is x else self.variance_now(x)
        self._scored = None
        step = self.step_at(sign, w, a, v)
        self.update(x, step, self.rho, v)
        self.n_mistakes += self.predicts_true(a) != (sign > 0)
        self.n_updates += step != 0
        return step

    def step_at(self, sign: int, w: float, a: float, v: float) -> float:
        """Return c·(y − p) at a score of variance v; set `rho` to 1/q."""
        loss = logistic(-sign * a)
        q = w * loss * (1.0 - loss)
        self.rho = 1.0 / q if q * _MAX_RHO > 1 else _MAX_RHO
        return sign * (w * loss / (1.0 + q * v)) if v > 0 else 0.0

    def moderation_of(self, x: Any) -> float:
        """Compute `moderation` of an example given by names."""
        example = self.resolve(x)
        factor = self.moderation(example)
        self.table.release(example)
        return factor


def moderation_at(v: float) -> float:
    """Return 1/√(1 + πv/8)."""
    return 1.0 / sqrt(1.0 + _MODERATION * v)


class BayesianLogistic(BayesianLogisticRule, ConfidenceWeightedClassifier):
    """Bayesian logistic regression with independent weights.

    Each weight is normally distributed, with mean wᵢ = 0 and variance Sᵢ = 1 before the first example.
    For every example, with y ∈ {0, 1} and σ the logistic function,

        a = w·x + b,  v = Σ Sᵢ·xᵢ²,  p = σ(a/√(1 + πv/8)),  q = p(1 − p),  c = 1/(1 + qv)
        wᵢ ← wᵢ + c(y − p)·Sᵢ·xᵢ,  Sᵢ ← Sᵢ − c·q·(Sᵢ·xᵢ)²

    The intercept is the weight of a constant feature 1, with its own variance. The score a/√(1 + πv/8) is the
    log-odds, which is closer to 0 if the weights of the example's features are uncertain.

    Parameters
    ----------
    forgetting, intercept_forgetting
        λ in (0, 1]. Below 1, each example first divides the variances of its features, or that of the
        intercept, by λ (up to 1), so that the learner follows a drifting stream; see `AROW`.
    fit_intercept
        Whether b is learned.

    Attributes
    ----------
    weights : dict
        Non-zero means wᵢ by feature. Computed on access.
    bias : float
        b.
    variances : dict
        Sᵢ by feature, where it was updated. Computed on access.
    bias_variance : float
        Variance of b.
    n_mistakes : int
        Examples that were misclassified before their update.
    n_updates : int
        Updates made: one for every example whose step is not 0.

    Notes
    -----
    The weight of an example multiplies its loss, and with it q. Standardise features of different sizes
    first: the variance before the first example is 1 for all weights.

    v is the variance after forgetting, also in the score.

    References
    ----------
    Spiegelhalter, D. J. and Lauritzen, S. L. (1990). Sequential updating of conditional probabilities on
    directed graphical structures. Networks 20(5).

    MacKay, D. J. C. (1992). The evidence framework applied to classification networks. Neural Computation
    4(5). The moderated score.

    Examples
    --------
    >>> from perceptron_core import BayesianLogistic
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | BayesianLogistic()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.52%

    """

    NAME = "bayesian-logistic"
    WEIGHT = OF_LOSS
    VARIANTS = ({"forgetting": 0.9, "intercept_forgetting": 0.5}, {"fit_intercept": False})
    has_log_odds = True

    def __init__(
        self, forgetting: float = 1.0, intercept_forgetting: float = 1.0, fit_intercept: bool = True
    ) -> None:
        super().__init__(forgetting, intercept_forgetting, full=False, fit_intercept=fit_intercept)
        self._scored = None
        self._variance = 0.0
        """The variance v of `_scored`."""

    def _terms(self, x: Features) -> Iterator[Term]:
        """Yield the terms of the score: each weight is moderated like the score."""
        factor = self.moderation_of(x)
        for name, value, weight in super()._terms(x):
            yield name, value, factor * weight
