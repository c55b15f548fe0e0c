"""Adaptive regularisation of weights (AROW)."""

from __future__ import annotations

from typing import ClassVar, Final

from perceptron_core.base.example_weights import OF_RESISTANCE
from perceptron_core.base.search_space import FORGETTING, INTERCEPT_FORGETTING, Span
from perceptron_core.binary.confidence_weighted import (
    ConfidenceWeightedClassifier,
    ConfidenceWeightedRule,
)
from perceptron_core.validation import MAX_RATE, hinge
from perceptron_core.weights.example import Example

_LARGEST: Final = 1e200
"""Of r divided by the weight of an example."""


class AROWRule(ConfidenceWeightedRule):
    """Updates an example with y·a < 1: `AROW` explains the rule.

    With v = xᵀΣx and β = 1/(v + r), `learn_at` computes

        α = max(0, 1 − y·a)/(v + r)

    and `update` writes w ← w + α·y·Σx and Σ ← Σ − Σx(Σx)ᵀ/(r + v) = Σ − β·Σx(Σx)ᵀ. `Variances.shrink`
    computes the diagonal of the latter in a form that does not cancel.
    """

    r: float

    def learn_at(self, x: Example, sign: int, w: float, a: float) -> float:
        """Learn an example, whose weight divides r; return y·α."""
        alpha = 0.0
        if sign * a < 1:
            v, r = self.variance_now(x), min(self.r / w, _LARGEST)
            alpha = hinge(sign * a) / (v + r) if v > 0 else 0.0
            self.update(x, sign * alpha, r, v)
        self.n_mistakes += self.fires(a) != (sign > 0)
        self.n_updates += alpha > 0
        return sign * alpha


class AROW(AROWRule, ConfidenceWeightedClassifier):
    """Adaptive Regularisation of Weight Vectors.

    Each weight has a variance σ, 1 at first, which falls with every update that involves the feature; an
    update moves weights in proportion to their variance. So rare features learn fast, and common ones
    settle. While y·a < 1,

        v = Σ σᵢ·xᵢ²,  β = 1/(v + r),  α = (1 − y·a)·β
        wᵢ ← wᵢ + α·y·σᵢ·xᵢ,  σᵢ ← σᵢ − β·σᵢ²·xᵢ²

    and with `full`, Σ being the covariance matrix,

        v = xᵀΣx,  w ← w + α·y·Σx,  Σ ← Σ − β·Σx(Σx)ᵀ

    `AROWRule.learn_at` computes α, `ConfidenceWeightedRule.update` moves w and Σ. The intercept is the
    weight of a constant feature 1, with a variance of its own.

    Parameters
    ----------
    r
        How strongly it resists: a small r fits each example almost at once, a large one moves and settles
        slowly, which is what noisy labels need. From 1e-25 to 1e25. Scaling all features by c is the
        same as dividing r by c².
    forgetting, intercept_forgetting
        λ in (0, 1]. Below 1, an update first divides the variances of its features, or that of the
        intercept, by λ (up to 1 at most), so that it never becomes too sure to follow a stream that
        drifts. The share of a class drifts faster than what tells it: hence two. Not with `full`.
    full
        Keep all covariances, not only the variances. Time and memory of an update grow with the square of
        the number of features seen so far: for few features.
    fit_intercept
        Whether b is learned.

    Attributes
    ----------
    weights : dict
        Non-zero weights by feature. Computed when asked for.
    bias : float
        b.
    variances : dict
        σ by feature, where it was updated. Computed when asked for. Empty with `full`.
    bias_variance : float
        Variance of b. With `full` it is that of the feature None in `covariance`.
    covariance : dict
        With `full`, the rows of Σ by feature.
    n_mistakes : int
        Examples that `learn_one` found misclassified before the update.
    n_updates : int
        Updates made: one for every example with y·a < 1.

    Notes
    -----
    The weight w of an example divides r, as in the problem the step solves: it multiplies the price of
    the loss and of the variance alike.

    Forgetting is not part of the paper. It is the forgetting factor of recursive least squares, which
    AROW with squared loss is; the bound at 1 keeps variances of seldom used features from growing without
    end. Defaults for the kinds of data in `benchmarks/figures.py`: `AROW()` for text and binary features,
    `AROW(forgetting=0.995, intercept_forgetting=0.95)` for dense numbers that may drift.

    A loss counts as at most 1e100, so that no stream can make it overflow. With `full` and an intercept,
    no feature may be named None.

    References
    ----------
    Crammer, K., Kulesza, A. and Dredze, M. (2009). Adaptive regularization of weight vectors. Advances in
    Neural Information Processing Systems 22, figure 1.

    Examples
    --------
    >>> from perceptron_core import AROW
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | AROW()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 88.48%

    A stream that drifts: what is True turns into its opposite after a hundred examples.

    >>> stream = [({"x": 1.0}, True)] * 100 + [({"x": 1.0}, False)] * 100
    >>> for model in AROW(), AROW(forgetting=0.9, intercept_forgetting=0.9):
    ...     print(evaluate.progressive_val_score(stream, model, metrics.Accuracy()))
    Accuracy: 79.50%
    Accuracy: 97.50%

    """

    NAME = "arow"
    WEIGHT = OF_RESISTANCE
    SEARCHED: ClassVar = {
        "r": Span(0.01, 100.0),
        "forgetting": FORGETTING,
        "intercept_forgetting": INTERCEPT_FORGETTING,
    }
    VARIANTS = (
        {"r": 0.1, "fit_intercept": False},
        {"forgetting": 0.9, "intercept_forgetting": 0.5},
        {"full": True},
        {"full": True, "fit_intercept": False},
    )

    def __init__(
        self,
        r: float = 1.0,
        forgetting: float = 1.0,
        intercept_forgetting: float = 1.0,
        full: bool = False,
        fit_intercept: bool = True,
    ) -> None:
        if not 1 / MAX_RATE <= r <= MAX_RATE:
            raise ValueError(f"r must be a number from {1 / MAX_RATE:g} to {MAX_RATE:g}, not {r!r}")
        super().__init__(forgetting, intercept_forgetting, full=full, fit_intercept=fit_intercept)
        self.r = float(r)
