"""Confidence-weighted learning, and AROW of two classes and of several.

`arow.pxd` gives this module its C types.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from perceptron_core import sparse_vectors as sparse
from perceptron_core.linear import column_properties, restored
from perceptron_core.linear.binary import BinaryClassifier
from perceptron_core.linear.declarations import OF_RESISTANCE, Label, Update
from perceptron_core.linear.linear_rule import LINEAR_STATE, LinearRule
from perceptron_core.linear.multiclass import LinearMulticlass
from perceptron_core.linear.multiclass_rule import MulticlassRule
from perceptron_core.sparse_vectors import Vector
from perceptron_core.validation import MAX_RATE, check_number, hinge
from perceptron_core.weights.example import MAX_VARIANCE, Column, Example, Variances, shrunk

Matrix = dict[Any, Vector]
"""A symmetric matrix as a dictionary of its rows; a missing row is a row of the identity."""


def direction(covariance: Matrix, x: Mapping[Any, float]) -> Vector:
    """Compute Σx."""
    result = dict.fromkeys(x, 0.0)
    for name, value in x.items():
        for other, entry in covariance.get(name, {name: 1.0}).items():
            result[other] = result.get(other, 0.0) + entry * value
    return result


def bound(gain: Vector, covariance: Matrix, total: float) -> Vector:
    """Bound Σx by the Cauchy-Schwarz inequality |(Σx)ᵢ| ≤ √(Σᵢᵢ·xᵀΣx), which rounding may violate.

    As long as it holds, no diagonal entry can become negative.
    """
    bounded = {}
    for name, value in gain.items():
        own = covariance[name][name] if name in covariance else 1.0
        limit = math.sqrt(max(own, 0.0)) * math.sqrt(total)
        bounded[name] = min(max(value, -limit), limit)
    return bounded


def downdated(covariance: Matrix, gain: Mapping[Any, float], r: float, total: float) -> Matrix:
    """Return the covariance minus gain·gainᵀ/(r + total); unchanged rows are shared."""
    result = dict(covariance)
    entries = [(name, value) for name, value in gain.items() if value]
    for name, value in entries:
        row = dict(covariance.get(name, {name: 1.0}))
        for other, factor in entries:
            row[other] = row.get(other, 0.0) - value * factor / (r + total)
        result[name] = row
    return result


class ConfidenceWeightedRule(LinearRule):
    """Moves weights in proportion to their variances, and shrinks these.

    An algorithm's `learn_at` decides the steps: it uses `variance_now` and calls `update`.
    """

    forgetting: float
    intercept_forgetting: float
    full: bool
    variance_column: Variances
    bias_variance: float
    covariance: Matrix

    def variance(self, x: Example) -> float:
        """Compute v, the variance of the score of `x`."""
        if self.full:
            return self.full_variance(x)
        return self.variance_column.of_score(x, self.bias_variance if self.fit_intercept else 0.0)

    def variance_now(self, x: Example) -> float:
        """Compute v after forgetting, with which an update begins."""
        if self.full:
            return self.full_variance(x)
        of_bias = self.bias_variance_now()
        if self.forgetting < 1:
            return self.variance_column.of_inflated_score(x, of_bias, self.forgetting)
        return self.variance_column.of_score(x, of_bias)

    def bias_variance_now(self) -> float:
        """Return the variance of the intercept after forgetting; 0 without an intercept."""
        return min(1.0, self.bias_variance / self.intercept_forgetting) if self.fit_intercept else 0.0

    def update(self, x: Example, step: float, rho: float, v: float) -> None:
        """Set w ← w + step·Σx and Σ ← Σ − Σx(Σx)ᵀ/(ρ + v), v from `variance_now`; at step 0 only forget."""
        if self.full:
            self.update_full(x, step, rho, v)
            return
        if step != 0:
            self.table.begin_update(x)
        if self.forgetting < 1:
            if self.table.changes is not None:
                self.table.changes.note(x)
            self.variance_column.inflate(x, self.forgetting)
        if step != 0:
            self.variance_column.move(self.weight_column, x, step)
            self.variance_column.shrink(x, rho, v)
        self.update_bias(step, rho, v)

    def update_bias(self, step: float, rho: float, v: float) -> None:
        """Apply `update` to the intercept."""
        self.bias_variance = min(1.0, self.bias_variance / self.intercept_forgetting)
        if step != 0 and self.fit_intercept:
            self.bias += step * self.bias_variance
            self.bias_variance = shrunk(self.bias_variance, rho, v)

    def update_full(self, x: Example, step: float, rho: float, v: float) -> None:
        """Update with full covariance, where the intercept is the feature None."""
        if step != 0:
            gain = direction(self.covariance, self.with_constant(x))
            gain = bound(gain, self.covariance, v)
            covariance = downdated(self.covariance, gain, rho, v)
            bias = step * gain.pop(None, 0.0)
            self.table.add(self.weight_column, gain, step)
            self.bias += bias
            self.covariance = covariance

    def full_variance(self, x: Example) -> float:
        """Compute xᵀΣx with all covariances."""
        entries = self.with_constant(x)
        gain = direction(self.covariance, entries)
        return max(sparse.dot(gain, entries), 0.0)

    def with_constant(self, x: Example) -> Vector:
        """Return the non-zero entries by name, and the constant feature."""
        entries = self.table.by_name(x)
        return {**entries, None: 1.0} if self.fit_intercept else entries


class ConfidenceWeightedClassifier(ConfidenceWeightedRule, BinaryClassifier):
    """A linear classifier with a variance for each weight, 1 at first, that falls with every update.

    An update moves weights in proportion to their variance. So weights of rare features, which distinguish
    spam from ham, change fast, and those of common features settle. With v = xᵀΣx and the learner's α and ρ,

        w ← w + α·y·Σx,  Σ ← Σ − Σx(Σx)ᵀ/(ρ + v)

    of which Σ keeps only the diagonal σ unless `full`. The intercept is the weight of a constant
    feature 1, with its own variance.

    Parameters
    ----------
    forgetting
        λ in (0, 1]. Below 1, an update first divides the variances of its features by λ (up to 1), so that
        weights can always follow a drifting stream. Not with `full`.
    intercept_forgetting
        λ of the intercept, as the share of a class drifts faster than its features.
    full
        Use all covariances, not only the variances, if there are few features: time and memory of an update
        grow with the square of the number of features.
    fit_intercept
        Whether b is learned.

    Attributes
    ----------
    variances : dict
        σ by feature, where it was updated. Empty with `full`.
    bias_variance : float
        Variance of b. With `full` it is the variance of the feature None in `covariance`.
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
            check_number(name, value, 1 / MAX_RATE, 1)
            if full and value != 1:
                raise ValueError(f"{name}: expected 1 with full=True, got {value!r}")
        self.full = bool(full)
        super().__init__(fit_intercept)
        self.forgetting = float(forgetting)
        self.intercept_forgetting = float(intercept_forgetting)

    def _clear(self) -> None:
        """Reset to the untrained state."""
        weights, variances = Column(), Variances()
        # With all covariances there are no separate variances.
        self.table = self._table_of(weights) if self.full else self._table_of(weights, variances)
        self.weight_column, self.variance_column = weights, variances
        self.bias = 0.0
        self.bias_variance = 1.0
        self.covariance = {}

    @property
    def variances(self) -> Vector:
        """σ by feature, where it was updated. Computed on access; setting them resets the weights."""
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


_MAX_R: Final = 1e200
"""Largest r divided by the weight of an example."""


class AROWRule(ConfidenceWeightedRule):
    """Updates an example with y·a < 1: `AROW` explains the rule.

    With v = xᵀΣx and β = 1/(v + r), `learn_at` computes

        α = max(0, 1 − y·a)/(v + r)

    and `update` computes w ← w + α·y·Σx and Σ ← Σ − Σx(Σx)ᵀ/(r + v) = Σ − β·Σx(Σx)ᵀ. `Variances.shrink`
    computes the diagonal of the latter without cancellation.
    """

    r: float

    def learn_at(self, x: Example, sign: int, w: float, a: float) -> float:
        """Learn an example, whose weight divides r; return y·α."""
        alpha = 0.0
        if sign * a < 1:
            v, r = self.variance_now(x), min(self.r / w, _MAX_R)
            alpha = hinge(sign * a) / (v + r) if v > 0 else 0.0
            self.update(x, sign * alpha, r, v)
        self.n_mistakes += self.predicts_true(a) != (sign > 0)
        self.n_updates += alpha > 0
        return sign * alpha


class AROW(AROWRule, ConfidenceWeightedClassifier):
    """Adaptive Regularisation of Weight Vectors.

    Each weight has a variance σ, initially 1, which falls with every update of the feature; an update moves
    weights in proportion to their variance. So weights of rare features change fast, and those of common
    features settle. If y·a < 1,

        v = Σ σᵢ·xᵢ²,  β = 1/(v + r),  α = (1 − y·a)·β
        wᵢ ← wᵢ + α·y·σᵢ·xᵢ,  σᵢ ← σᵢ − β·σᵢ²·xᵢ²

    and with `full`, Σ being the covariance matrix,

        v = xᵀΣx,  w ← w + α·y·Σx,  Σ ← Σ − β·Σx(Σx)ᵀ

    `AROWRule.learn_at` computes α, `ConfidenceWeightedRule.update` moves w and Σ. The intercept is the
    weight of a constant feature 1, with its own variance.

    Parameters
    ----------
    r
        Regularisation: a small r almost fits each example at once; a large r changes and settles slowly, as
        noisy labels need. From 1e-25 to 1e25. Scaling all features by c is the same as dividing r by c².
    forgetting, intercept_forgetting
        λ in (0, 1]. Below 1, an update first divides the variances of its features, or that of the intercept,
        by λ (up to 1), so that weights can always follow a drifting stream. There are two, as the share of a
        class drifts faster than its features. Not with `full`.
    full
        Use all covariances, not only the variances, if there are few features: time and memory of an update
        grow with the square of the number of features.
    fit_intercept
        Whether b is learned.

    Attributes
    ----------
    weights : dict
        Non-zero weights by feature. Computed on access.
    bias : float
        b.
    variances : dict
        σ by feature, where it was updated. Computed on access. Empty with `full`.
    bias_variance : float
        Variance of b. With `full` it is the variance of the feature None in `covariance`.
    covariance : dict
        With `full`, the rows of Σ by feature.
    n_mistakes : int
        Examples that were misclassified before their update.
    n_updates : int
        Updates made: one for every example with y·a < 1.

    Notes
    -----
    The weight w of an example divides r, as it multiplies both the loss and the variance term of the
    objective.

    Forgetting is not part of the paper. It is the forgetting factor of recursive least squares, which AROW
    with squared loss is; the bound at 1 keeps variances of rare features from growing without limit. Good
    values for the data in `benchmarks/figures.py`: `AROW()` for text and binary features,
    `AROW(forgetting=0.995, intercept_forgetting=0.95)` for dense numbers that may drift.

    A loss is at most 1e100, so that nothing overflows. With `full` and an intercept, no feature may be named
    None.

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

    A drifting stream, whose labels are inverted after a hundred examples:

    >>> stream = [({"x": 1.0}, True)] * 100 + [({"x": 1.0}, False)] * 100
    >>> for model in AROW(), AROW(forgetting=0.9, intercept_forgetting=0.9):
    ...     print(evaluate.progressive_val_score(stream, model, metrics.Accuracy()))
    Accuracy: 79.50%
    Accuracy: 97.50%

    """

    NAME = "arow"
    WEIGHT = OF_RESISTANCE
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
        check_number("r", r, 1 / MAX_RATE)
        super().__init__(forgetting, intercept_forgetting, full=full, fit_intercept=fit_intercept)
        self.r = float(r)


class MulticlassAROWRule(MulticlassRule):
    """Updates whenever the margin is below 1, as far as r allows."""

    r: float
    variance_columns: list[Variances]
    bias_variances: Column

    def clear(self) -> None:
        """Start with no class and no feature."""
        columns: list[Variances] = []
        biases = Variances()
        MulticlassRule.clear(self)
        self.variance_columns, self.bias_variances = columns, biases

    def add_class(self, label: Label) -> None:
        """Start a class with zero weights and the initial variances."""
        number = len(self.labels)
        self.bias_variances.grow(number + 1)
        self.bias_variances.cells[number] = 1.0
        MulticlassRule.add_class(self, label)
        self.start_column(self.variance_columns, Variances())

    def forget_last(self, label: Label, n_known: int) -> None:
        """Undo `add_class`, even if it was interrupted."""
        self.drop_columns(self.variance_columns, n_known)
        MulticlassRule.forget_last(self, label, n_known)

    def learn(self, x: Example, number: int, w: float) -> Update | None:
        """Learn an example; its weight divides r."""
        best_other = self.best(number)
        if best_other < 0:
            return None
        loss = hinge(self.scores.cells[number] - self.scores.cells[best_other])
        total = self.variance(number, x) + self.variance(best_other, x)
        r = min(self.r / w, _MAX_R)
        alpha = loss / (r + total)
        if not total or not alpha:
            return None
        step = Update(alpha, self.labels[number], self.labels[best_other])
        self.table.begin_update(x)
        self.learn_class(number, x, alpha, r, total)
        self.learn_class(best_other, x, -alpha, r, total)
        return step

    def variance(self, number: int, x: Example) -> float:
        """Compute the variance of a class's score at `x`."""
        column = self.variance_columns[number]
        return column.of_score(x, self.bias_variances.cells[number] if self.fit_intercept else 0.0)

    def learn_class(self, number: int, x: Example, alpha: float, r: float, total: float) -> None:
        """Move a class's means by α·σ·x and lower its variances, with β = 1/(r + total)."""
        weights, variances = self.weight_columns[number], self.variance_columns[number]
        variances.move(weights, x, alpha)
        variances.shrink(x, r, total)
        if self.fit_intercept:
            of_bias = self.bias_variances.cells[number]
            self.biases.cells[number] += alpha * of_bias
            self.bias_variances.cells[number] = shrunk(of_bias, r, total)


class MulticlassAROW(MulticlassAROWRule, LinearMulticlass):
    """Adaptive regularisation of weights for several classes, with larger steps for rare features.

    Each weight is the mean of a normal distribution with its own variance σ, initially 1. Let s be
    the wrong class with the highest score, m = score_y − score_s the margin and
    v = Σ xᵢ²·(σ_yi + σ_si) its variance. If m < 1, then with β = 1/(v + r) and α = (1 − m)·β,

    - w_yi ← w_yi + α·σ_yi·xᵢ and w_si ← w_si − α·σ_si·xᵢ;
    - σ_ci ← σ_ci − β·(σ_ci·xᵢ)² for both classes c.

    An intercept is a constant feature 1 of each class, with its own variance.

    Parameters
    ----------
    classes
        All possible labels, two or more; other labels are rejected. None: the classes seen so far; a new
        class starts with zero weights.
    r
        How strongly it resists: a small r fits each example almost at once, a large one moves and settles
        slowly, as noisy labels need. From 1e-25 to 1e25.
    fit_intercept
        Whether each class has a bias.

    Attributes
    ----------
    weights : dict
        Non-zero weights by class and feature. Computed on access.
    bias : dict
        Bias by class.
    variances : dict
        By class and feature, where it is no longer 1. Computed on access.
    bias_variance : dict
        By class.
    n_mistakes : int
        Examples that were misclassified before their update.
    n_updates : int
        Updates made: examples with a margin below 1, misclassified or not.

    Notes
    -----
    This is the binary AROW of 2009 on the difference of the features of y and s, as in the multiclass
    confidence-weighted learner with its "top-1" constraint. The covariance stays diagonal, as the
    off-diagonal terms of an update are dropped.

    The weight of an example divides r, as it multiplies both terms of the objective. An update cannot be
    undone, because it depends on variances that have changed since. A loss is at most 1e100, so that weights
    cannot overflow.

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

    NAME = "multiclass-arow"
    WEIGHT = OF_RESISTANCE
    STATE: ClassVar = {
        **dict.fromkeys(("variances", "bias_variance"), restored.columns),
        **LinearMulticlass.STATE,
    }
    VARIANTS = ({"r": 0.1}, {"fit_intercept": False})

    def __init__(
        self, classes: Sequence[Label] | None = None, r: float = 1.0, fit_intercept: bool = True
    ) -> None:
        check_number("r", r, 1 / MAX_RATE)
        super().__init__(classes, fit_intercept)
        self.r = float(r)

    @property
    def variances(self) -> dict[Label, Vector]:
        """Variances other than 1 by feature, by class; computed at each access."""
        return {
            label: {name: cell for name, cell in self.table.stored(column).items() if cell != 1}
            for label, column in zip(self.labels, self.variance_columns, strict=True)
        }

    @variances.setter
    def variances(self, variances: Mapping[Label, Mapping[Any, float]]) -> None:
        self._write_columns(self.variance_columns, variances)

    def _first_columns(self) -> Sequence[Column]:
        return self.variance_columns

    bias_variance = column_properties.by_class("bias_variances", "Variance of the bias, by class.")
