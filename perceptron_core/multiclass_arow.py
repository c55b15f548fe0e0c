"""Multiclass AROW. In: features and a label. Out: scores, a class; each weight with its own confidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from perceptron_core import sparse
from perceptron_core.binary import Features
from perceptron_core.multiclass import Label, MulticlassClassifier, Scores, Step, best_other
from perceptron_core.values import MAX_MAGNITUDE


class MulticlassAROW(MulticlassClassifier):
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
        Regularisation, above 0: the larger, the less one example moves.
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
    update cannot be taken back: what it added depends on variances that have moved on.

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

    STATE: ClassVar[tuple[str, ...]] = (*MulticlassClassifier.STATE, "variances", "bias_variance")

    def __init__(
        self, classes: Sequence[Label] | None = None, r: float = 1.0, fit_intercept: bool = True
    ) -> None:
        if not 1 / MAX_MAGNITUDE <= r <= MAX_MAGNITUDE:
            raise ValueError(f"r must be a finite number above 0, not {r!r}")
        super().__init__(classes, fit_intercept)
        self.r = r
        self.variances: dict[Label, sparse.Vector] = {label: {} for label in self.weights}
        self.bias_variance: dict[Label, float] = dict.fromkeys(self.bias, 1.0)

    def _update(self, x: Features, label: Label, scores: Scores, w: float) -> Step | None:
        if len(scores) == 1:
            return None
        rival = best_other(scores, label)
        loss = 1.0 - (scores[label] - scores[rival])
        if loss <= 0:
            return None
        beta = 1.0 / (self._variance_of(label, x) + self._variance_of(rival, x) + self.r / w)
        self._learn_class(label, x, beta, loss * beta)
        self._learn_class(rival, x, beta, -loss * beta)
        return Step(loss * beta, label, rival)

    def _variance_of(self, label: Label, x: Features) -> float:
        """Compute the variance of the class's score at `x`."""
        variance_of = self.variances[label].get
        total = self.bias_variance[label] if self.fit_intercept else 0.0
        for name, value in x.items():
            total += variance_of(name, 1.0) * float(value) * float(value)
        return total

    def _learn_class(self, label: Label, x: Features, beta: float, alpha: float) -> None:
        """Move one class's means by α·σ·x and lower its variances by β·(σ·x)²."""
        weights, variances = self.weights[label], self.variances[label]
        for name, value in x.items():
            spread = variances.get(name, 1.0) * float(value)
            if spread:
                weights[name] = weights.get(name, 0.0) + alpha * spread
                variances[name] = max(0.0, variances.get(name, 1.0) - beta * spread * spread)
        if self.fit_intercept:
            spread = self.bias_variance[label]
            self.bias[label] += alpha * spread
            self.bias_variance[label] = max(0.0, spread - beta * spread * spread)

    def _meet(self, label: Any) -> None:
        super()._meet(label)
        self.variances[label] = {}
        self.bias_variance[label] = 1.0
