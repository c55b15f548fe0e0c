"""Multiclass AROW. In: features and a label. Out: scores, a class; each weight with its own confidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from perceptron_core import confidence, sparse
from perceptron_core.binary import Features
from perceptron_core.multiclass import Label, Scores, Step, best_other
from perceptron_core.multiclass_linear import LinearMulticlass
from perceptron_core.values import MAX_RATE, hinge

_LARGEST: Final = 1e200
"""Of r divided by the weight of an example."""


class MulticlassAROW(LinearMulticlass):
    """Adaptive regularisation of weights for any number of classes: rare features move further.

    Each weight is the mean of a normal distribution with its own variance σ, 1 at the start. Let s be
    the wrong class with the highest score, m = score_y − score_s the margin and
    v = Σ xᵢ²·(σ_yi + σ_si) its variance. If m < 1, then with β = 1/(v + r) and α = (1 − m)·β,

    - w_yi ← w_yi + α·σ_yi·xᵢ and w_si ← w_si − α·σ_si·xᵢ;
    - σ_ci ← σ_ci − β·(σ_ci·xᵢ)² for both classes c.

    An intercept is a constant feature 1 of each class, with a variance of its own.

    Parameters
    ----------
    classes
        All labels there may be, two or more; a label that is none of them is refused. None: the
        classes are those seen so far, and a new one starts with zero weights.
    r
        How strongly it resists: a small r fits each example almost at once, a large one moves and settles
        slowly, which is what noisy labels need. From 1e-25 to 1e25.
    fit_intercept
        Whether each class has a bias.

    Attributes
    ----------
    weights : dict
        Non-zero weights by feature, by class; live, not to be changed.
    bias : dict
        Bias by class.
    variances : dict
        By feature, by class, where it is no longer 1.
    bias_variance : dict
        By class.
    n_mistakes : int
        Examples that `learn_one` found misclassified before the update.
    n_updates : int
        Updates made: examples with a margin below 1, misclassified or not.

    Notes
    -----
    Which variant: the binary AROW of 2009 on the difference of the features of y and s, as the
    multiclass confidence-weighted learner does with its "top-1" constraint; the matrix of variances is
    diagonal, and stays so by dropping what its update has off the diagonal.

    The weight of an example divides r, as it would multiply both of the objective's terms for it. An
    update cannot be taken back: what it added depends on variances that have moved on. A loss counts as
    at most 1e100, so that no stream can make the weights overflow.

    References
    ----------
    Crammer, K., Kulesza, A. and Dredze, M. (2009). Adaptive regularization of weight vectors. Advances
    in Neural Information Processing Systems 22. Figure 1; in full: Machine Learning 91(2), 2013.

    Crammer, K., Dredze, M. and Kulesza, A. (2009). Multi-class confidence weighted algorithms.
    Empirical Methods in Natural Language Processing. The top-1 update.

    Examples
    --------
    >>> from perceptron_core import MulticlassAROW
    >>> model = MulticlassAROW(["cat", "dog", "bird"], fit_intercept=False)
    >>> model.learn_one({"barks": 1.0}, "dog")
    >>> model.weights["dog"], model.variances["dog"]
    ({'barks': 0.3333}, {'barks': 0.6667})

    On River's 2,310 image segments of seven kinds:

    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> pipeline = preprocessing.StandardScaler() | MulticlassAROW()
    >>> evaluate.progressive_val_score(datasets.ImageSegments(), pipeline, metrics.Accuracy())
    Accuracy: 88.44%

    """

    STATE: ClassVar[tuple[str, ...]] = ("variances", "bias_variance", *LinearMulticlass.STATE)

    def __init__(
        self, classes: Sequence[Label] | None = None, r: float = 1.0, fit_intercept: bool = True
    ) -> None:
        if not 1 / MAX_RATE <= r <= MAX_RATE:
            raise ValueError(f"r must be a number from {1 / MAX_RATE:g} to {MAX_RATE:g}, not {r!r}")
        self.variances: dict[Label, sparse.Vector] = {}
        self.bias_variance: dict[Label, float] = {}
        super().__init__(classes, fit_intercept)
        self.r = r

    def _update(self, x: Features, label: Label, scores: Scores, w: float) -> Step | None:
        if len(scores) == 1:
            return None
        rival = best_other(scores, label)
        loss = hinge(scores[label] - scores[rival])
        total = self._variance_of(label, x) + self._variance_of(rival, x)
        r = min(self.r / w, _LARGEST)
        alpha = loss / (r + total)
        if not total or not alpha:
            return None
        self._learn_class(label, x, alpha, r, total)
        self._learn_class(rival, x, -alpha, r, total)
        return Step(alpha, label, rival)

    def _variance_of(self, label: Label, x: Features) -> float:
        """Compute the variance of the class's score at `x`."""
        of_bias = self.bias_variance[label] if self.fit_intercept else 0.0
        return confidence.variance(self.variances[label], x, of_bias)

    def _learn_class(self, label: Label, x: Features, alpha: float, r: float, total: float) -> None:
        """Move one class's means by α·σ·x and lower its variances, β being 1/(r + total)."""
        variances = self.variances[label]
        confidence.move(self._weights[label], variances, x, alpha)
        confidence.shrink(variances, x, r, total)
        if self.fit_intercept:
            of_bias = self.bias_variance[label]
            self._bias[label] += alpha * of_bias
            self.bias_variance[label] *= (r + (total - of_bias)) / (r + total)

    def _meet(self, label: Label) -> None:
        super()._meet(label)
        self.variances[label] = {}
        self.bias_variance[label] = 1.0
