"""Adaptive regularisation of weights. In: features and a label. Out: weights and how sure they are."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from perceptron_core import confidence, sparse
from perceptron_core.binary import Features, check_example_weight
from perceptron_core.linear import LinearClassifier
from perceptron_core.values import MAX_RATE, hinge, sign_of

_LARGEST: Final = 1e200
"""Of r divided by the weight of an example."""


class AROW(LinearClassifier):
    """Adaptive Regularisation of Weight Vectors.

    Each weight has a variance σ, 1 at first, which falls with every update that involves the feature; an
    update moves weights in proportion to their variance. So rare features, which are what tells spam from
    ham, learn fast, and common ones settle. While y·a < 1,

        v = Σ σᵢ·xᵢ²,  β = 1/(v + r),  α = (1 − y·a)·β
        wᵢ ← wᵢ + α·y·σᵢ·xᵢ,  σᵢ ← σᵢ − β·σᵢ²·xᵢ²

    and with `full`, Σ being the covariance matrix,

        v = xᵀΣx,  w ← w + α·y·Σx,  Σ ← Σ − β·Σx(Σx)ᵀ

    The intercept is the weight of a constant feature 1, with a variance of its own.

    Parameters
    ----------
    r
        How strongly it resists: a small r fits each example almost at once, a large one moves and settles
        slowly, which is what noisy labels need. From 1e-25 to 1e25. Scaling all features by c is the
        same as dividing r by c².
    full
        Keep all covariances, not only the variances. Time and memory of an update grow with the square of
        the number of features seen so far: for few features.
    fit_intercept
        Whether b is learned.

    Attributes
    ----------
    weights : dict
        Non-zero weights by feature; live, not to be changed.
    bias : float
        b.
    variances : dict
        Variances by feature, where they are not 1. Empty with `full`.
    covariance : dict
        With `full`, the rows of Σ by feature.
    bias_variance : float
        Variance of b. With `full` it is the entry of the feature None in `covariance`.
    n_mistakes : int
        Examples that `learn_one` found misclassified before the update.
    n_updates : int
        Updates made: one for every example with y·a < 1.

    Notes
    -----
    The weight w of an example divides r, as in the problem the step solves: it multiplies the price of
    the loss and of the variance alike.

    A loss counts as at most 1e100, so that no stream can make it overflow. A feature that is named None
    and `full` with an intercept do not go together.

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
    Accuracy: 89.28%

    """

    STATE: ClassVar[tuple[str, ...]] = (
        "variances",
        "bias_variance",
        "covariance",
        *LinearClassifier.STATE,
    )

    def __init__(self, r: float = 1.0, full: bool = False, fit_intercept: bool = True) -> None:
        if not 1 / MAX_RATE <= r <= MAX_RATE:
            raise ValueError(f"r must be a number from {1 / MAX_RATE:g} to {MAX_RATE:g}, not {r!r}")
        super().__init__(fit_intercept)
        self.r = r
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
        loss = hinge(sign * a)
        if not loss:
            return 0.0
        r = min(self.r / w, _LARGEST)
        step = (self._update_full if self.full else self._update_diagonal)(x, sign * loss, r)
        self.n_updates += step != 0
        return step

    def _update_diagonal(self, x: Features, signed_loss: float, r: float) -> float:
        """Learn under independent weights; give the step."""
        total = confidence.variance(self.variances, x, self.bias_variance if self.fit_intercept else 0.0)
        step = signed_loss / (r + total)
        if not total or not step:
            return 0.0
        confidence.move(self.weights, self.variances, x, step)
        confidence.shrink(self.variances, x, r, total)
        if self.fit_intercept:
            self.bias += step * self.bias_variance
            self.bias_variance *= (r + (total - self.bias_variance)) / (r + total)
        return step

    def _update_full(self, x: Features, signed_loss: float, r: float) -> float:
        """Learn under dependent weights, the intercept being the feature None; give the step."""
        entries = {name: float(value) for name, value in x.items() if value}
        if self.fit_intercept:
            entries[None] = 1.0
        gain = confidence.direction(self.covariance, entries)
        total = max(sum(value * gain[name] for name, value in entries.items()), 0.0)
        step = signed_loss / (r + total)
        if not total or not step:
            return 0.0
        gain = confidence.bound(gain, self.covariance, total)
        confidence.downdate(self.covariance, gain, r, total)
        bias_gain = gain.pop(None, 0.0)
        sparse.add(self.weights, gain, step)
        self.bias += step * bias_gain
        return step
