"""AdaGrad that is invariant to the scale of features, of two classes and of several.

`normalized_adagrad.pxd` gives this module its C types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf, sqrt
from typing import Any, ClassVar, Final

from perceptron_core import memory
from perceptron_core.elementary import exp, logistic
from perceptron_core.linear import column_properties, restored
from perceptron_core.linear.binary import BinaryClassifier, Features
from perceptron_core.linear.declarations import OF_LOSS, Label, Term, Update
from perceptron_core.linear.linear_rule import LinearRule
from perceptron_core.linear.multiclass import MulticlassClassifier
from perceptron_core.linear.multiclass_rule import MulticlassRule
from perceptron_core.sparse_vectors import Vector
from perceptron_core.validation import MAX_MAGNITUDE, check_number, check_positive
from perceptron_core.weights.example import Column, Example, Scales

LOSSES: Final = ("logistic", "hinge")

_MIN_SCALE: Final = 1e-100
"""Smallest scale by which a scaled weight is divided, so that weights are finite."""


class NormalizedAdaGradRule(LinearRule):
    """Updates while y·a < m. Stores uᵢ = wᵢ·Lᵢ, which does not change when Lᵢ grows."""

    learning_rate: float
    is_logistic: bool
    epsilon: float
    margin: float
    scale_column: Scales
    square_column: Column
    ratios: Column
    _scored: Example | None
    """The example whose scaled values are in `ratios`."""
    bias_square: float
    squared_sum: float
    n_examples: int

    def score(self, x: Example) -> float:
        """Compute the activation a = w·x + b."""
        self.ratios.grow(x.n)
        self._scored = x
        return self.scale_column.dot_scaled(self.weight_column, x, self.bias, self.ratios)

    def learn_at(self, x: Example, sign: int, w: float, a: float) -> float:
        """Learn an example, whose weight multiplies its loss; return −g, 0 at or beyond the margin."""
        slope = self.slope(sign, a) * w if sign * a < self.margin else 0.0
        if self._scored is not x:
            self.score(x)  # sets `ratios`
        self._scored = None
        if slope != 0:
            self.table.begin_update(x)
        elif self.table.changes is not None:
            self.table.changes.note_raised(x, self.scale_column)
        # No allocation after this.
        self.n_mistakes += self.predicts_true(a) != (sign > 0)
        self.n_examples += 1
        self.squared_sum += self.scale_column.squares + self.fit_intercept
        self.scale_column.raise_to(x, self.ratios, slope != 0)
        if slope == 0:
            return 0.0
        if self.squared_sum > 0:
            self.descend(x, slope, self.rate())
        self.n_updates += 1
        return -slope

    def rate(self) -> float:
        """Return η·√(t/N)."""
        return self.learning_rate * sqrt(self.n_examples / self.squared_sum)

    def slope(self, sign: int, a: float) -> float:
        """Return g, the derivative of the loss with respect to a."""
        return -sign * logistic(-sign * a) if self.is_logistic else -sign

    def descend(self, x: Example, slope: float, rate: float) -> None:
        """Add the squared gradients to Hᵢ, and move the weights of `x` and the intercept against them.

        `ratios` has the scaled values of `x`.
        """
        weights, squares = self.weight_column, self.square_column
        slots, ratios = memory.first_integer(x.slots), memory.first_double(self.ratios.cells)
        for k in range(x.n):
            slot = slots[x.first_slot + k]
            gradient = slope * ratios[k]
            if slot >= 0 and ratios[k] != 0:
                square = squares.cells[slot] + gradient * gradient
                squares.cells[slot] = square
                weights.cells[slot] -= rate * adapted(gradient, self.epsilon + square)
        if self.fit_intercept:
            self.descend_bias(slope, rate)

    def descend_bias(self, slope: float, rate: float) -> None:
        """Apply `descend` to the intercept."""
        self.bias_square += slope * slope
        self.bias -= rate * adapted(slope, self.epsilon + self.bias_square)


def adapted(gradient: float, square: float) -> float:
    """Compute gᵢ/√Hᵢ; 0 if gᵢ² is rounded to 0."""
    return gradient / sqrt(square) if square > 0 else 0.0


class NormalizedAdaGrad(NormalizedAdaGradRule, BinaryClassifier):
    """Normalised AdaGrad: gradient descent on features of any scale.

    Let Lᵢ be the largest |xᵢ| so far, t the number of the example and N the sum of all (xᵢ/Lᵢ)² so far, all
    including the example. An example with y·a < m makes an update. With g = −y·σ(−y·a) for the logistic loss,
    where σ is the logistic function, and g = −y for the hinge loss,

        gᵢ = g·xᵢ/Lᵢ,  Hᵢ ← Hᵢ + gᵢ²,  wᵢ ← wᵢ − η·√(t/N)·gᵢ/(Lᵢ·√Hᵢ)

    If |xᵢ| exceeds Lᵢ, wᵢ is first multiplied by the old Lᵢ over the new one. So scaling a feature by a
    constant does not change predictions. The intercept is the weight of a constant feature 1.

    Parameters
    ----------
    learning_rate
        η > 0, at most 1e25.
    loss
        "logistic", whose score is a log-odds, or "hinge".
    epsilon
        ε, the initial value of Hᵢ, from 0 to 1e25: the larger, the shorter the first steps.
    margin
        m > 0: no update if y·a ≥ m. With `math.inf`, every example makes an update.
    fit_intercept
        Whether b is learned.

    Attributes
    ----------
    weights : dict
        Non-zero weights wᵢ by feature. Computed on access.
    bias : float
        b.
    scales : dict
        Lᵢ by feature. Computed on access.
    n_mistakes : int
        Examples that were misclassified before their update.
    n_updates : int
        Updates made: one for every example with y·a < m.

    Notes
    -----
    It is NAG of Ross, Mineiro and Langford without its importance-aware safety step; the margin is the thick
    threshold of Siefkes et al. Examples without an update count in t and N, and in Lᵢ of features with an
    earlier update; nothing is stored for other features. The weight of an example multiplies its loss.

    Scales below 1e-100 are used in learning, but in `weights` they count as 1e-100.

    References
    ----------
    Duchi, J., Hazan, E. and Singer, Y. (2011). Adaptive subgradient methods for online learning and
    stochastic optimization. Journal of Machine Learning Research 12, figure 1.

    Ross, S., Mineiro, P. and Langford, J. (2013). Normalized online learning. Uncertainty in Artificial
    Intelligence 29, algorithm 3.

    Siefkes, C., Assis, F., Chhabra, S. and Yerazunis, W. S. (2004). Combining Winnow and orthogonal sparse
    bigrams for incremental spam filtering. Knowledge Discovery in Databases (PKDD).

    Examples
    --------
    No scaler is needed:

    >>> from perceptron_core import NormalizedAdaGrad
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), NormalizedAdaGrad(), metrics.Accuracy())
    Accuracy: 86.64%

    """

    NAME = "normalized-adagrad"
    WEIGHT = OF_LOSS
    STATE: ClassVar = {
        **dict.fromkeys(("scales", "squared_gradients", "scaled_weights"), restored.columns),
        "bias": restored.number,
        "bias_square": restored.size,
        "squared_sum": restored.squared_sum,
        "n_examples": restored.count,
        **restored.COUNTS,
    }
    VARIANTS = (
        {"loss": "hinge", "epsilon": 0.0, "margin": 1.0},
        {"epsilon": 0.0, "margin": inf},
        {"fit_intercept": False},
    )

    def __init__(
        self,
        learning_rate: float = 1.0,
        loss: str = "logistic",
        epsilon: float = 0.01,
        margin: float = 4.0,
        fit_intercept: bool = True,
    ) -> None:
        if loss not in LOSSES:
            raise ValueError(f"loss: expected one of {', '.join(LOSSES)}, got {loss!r}")
        check_adagrad(learning_rate, epsilon, margin)
        super().__init__(fit_intercept)
        self.learning_rate = float(learning_rate)
        self.loss = loss
        self.is_logistic = loss == "logistic"
        self.epsilon = float(epsilon)
        self.margin = float(margin)

    def _clear(self) -> None:
        """Reset to the untrained state."""
        weights, scales, squares = Column(), Scales(), Column(lowest=0.0)
        self.table = self._table_of(weights, scales, squares)
        self.weight_column, self.scale_column, self.square_column = weights, scales, squares
        self.ratios = Column()
        self._scored = None
        self.bias = self.bias_square = self.squared_sum = 0.0
        self.n_examples = 0

    @property
    def has_log_odds(self) -> bool:  # type: ignore[override] # read-only
        """Whether the score is a log-odds: with the logistic loss."""
        return self.is_logistic

    @property
    def weights(self) -> Vector:
        """Non-zero weights wᵢ by feature. Computed on access."""
        scales = self.scales
        return {name: in_units(weight, scales[name]) for name, weight in self.scaled_weights.items()}

    scales = column_properties.stored("scale_column", "Lᵢ by feature; setting them forgets the weights.")

    squared_gradients = column_properties.nonzero("square_column", "Hᵢ − ε by feature, where it is not 0.")

    scaled_weights = column_properties.nonzero("weight_column", "Non-zero wᵢ·Lᵢ by feature.")

    def _terms(self, x: Features) -> Iterator[Term]:
        """Yield the terms of the score; with a value above Lᵢ, the weight is that after rescaling."""
        weights, scales = self.scaled_weights, self.scales
        for name, value in x.items():
            yield name, value, in_units(weights.get(name, 0.0), max(abs(value), scales.get(name, 0.0)))
        yield "Intercept", 1.0, self.bias


def in_units(scaled_weight: float, scale: float) -> float:
    """Compute wᵢ from wᵢ·Lᵢ."""
    return scaled_weight / max(scale, _MIN_SCALE)


def check_adagrad(learning_rate: float, epsilon: float, margin: float) -> None:
    """Raise `ValueError` for parameters out of bounds."""
    check_positive("learning_rate", learning_rate)
    check_number("epsilon", epsilon, 0)
    if not (0 < margin <= MAX_MAGNITUDE or margin == inf):
        raise ValueError(
            f"margin: expected a number above 0 and at most {MAX_MAGNITUDE:g}, or infinite, got {margin!r}"
        )


class MulticlassNormalizedAdaGradRule(MulticlassRule):
    """Updates all classes while the margin is below m. Stores uᵢ = wᵢ·Lᵢ."""

    learning_rate: float
    epsilon: float
    margin: float
    scale_column: Scales
    square_columns: list[Column]
    bias_squares: Column
    slopes: Column
    ratios: Column
    squared_sum: float
    n_examples: int

    def clear(self) -> None:
        """Start with no class and no feature."""
        scales, squares, slopes, ratios = Scales(), Column(lowest=0.0), Column(), Column()
        columns: list[Column] = []
        MulticlassRule.clear(self)
        self.table.add_column(scales)
        self.scale_column, self.square_columns, self.bias_squares = scales, columns, squares
        self.slopes, self.ratios = slopes, ratios
        self.squared_sum, self.n_examples = 0.0, 0

    def add_class(self, label: Label) -> None:
        """Start a class with zero weights."""
        number = len(self.labels)
        self.slopes.grow(number + 1)
        self.bias_squares.grow(number + 1)
        self.bias_squares.cells[number] = 0.0
        MulticlassRule.add_class(self, label)
        self.start_column(self.square_columns, Column(lowest=0.0))

    def forget_last(self, label: Label, n_known: int) -> None:
        """Undo `add_class`, even if it was interrupted."""
        self.drop_columns(self.square_columns, n_known)
        MulticlassRule.forget_last(self, label, n_known)

    def score(self, x: Example) -> None:
        """Compute the score w·x + b of each class."""
        self.ratios.grow(x.n)
        self.scale_column.divide(x, self.ratios)
        for number in range(len(self.weight_columns)):
            weights = self.weight_columns[number]
            total = self.biases.cells[number]
            for k in range(x.n):
                slot = x.slots[x.first_slot + k]
                if slot >= 0:
                    total += weights.cells[slot] * self.ratios.cells[k]
            self.scores.cells[number] = total

    def learn(self, x: Example, number: int, w: float) -> Update | None:
        """Learn an example, whose weight multiplies its loss."""
        best_other = self.best(number)
        loss = self.differentiate(number, w) if self.is_due(number, best_other) else 0.0
        step = None
        self.ratios.grow(x.n)
        if loss > 0:
            step = Update(loss, self.labels[number], self.labels[best_other])
            self.table.begin_update(x)
        # No allocation after this.
        self.scale_column.divide(x, self.ratios)
        self.n_examples += 1
        self.squared_sum += self.scale_column.observe(x, self.ratios, loss > 0) + self.fit_intercept
        if loss == 0:
            return None
        if self.squared_sum > 0:
            rate = self.learning_rate * sqrt(self.n_examples / self.squared_sum)
            for each in range(len(self.labels)):
                self.descend(each, x, rate)
        return step

    def is_due(self, number: int, best_other: int) -> bool:
        """Return whether the margin over the best other class is below m."""
        return best_other >= 0 and self.scores.cells[number] - self.scores.cells[best_other] < self.margin

    def differentiate(self, number: int, w: float) -> float:
        """Compute the slopes w·(p_k − [k = y]) of all classes; return w·(1 − p_y)."""
        highest = self.scores.cells[self.best(-1)]
        total = others = 0.0
        for each in range(len(self.labels)):
            power = exp(self.scores.cells[each] - highest)
            self.slopes.cells[each] = power
            total += power
            if each != number:
                others += power
        loss = w * (others / total)
        for each in range(len(self.labels)):
            self.slopes.cells[each] = w * (self.slopes.cells[each] / total)
        self.slopes.cells[number] = -loss
        return loss

    def descend(self, number: int, x: Example, rate: float) -> None:
        """Add the squared gradients of a class to Hᵢ, and move its weights against them."""
        weights, squares = self.weight_columns[number], self.square_columns[number]
        slope = self.slopes.cells[number]
        for k in range(x.n):
            slot = x.slots[x.first_slot + k]
            if slot >= 0:
                gradient = slope * self.ratios.cells[k]
                square = squares.cells[slot] + gradient * gradient
                squares.cells[slot] = square
                weights.cells[slot] -= rate * adapted(gradient, self.epsilon + square)
        if self.fit_intercept:
            square = self.bias_squares.cells[number] + slope * slope
            self.bias_squares.cells[number] = square
            self.biases.cells[number] -= rate * adapted(slope, self.epsilon + square)


class MulticlassNormalizedAdaGrad(MulticlassNormalizedAdaGradRule, MulticlassClassifier):
    """Normalised AdaGrad for any number of classes: softmax regression on features of any scale.

    Let Lᵢ be the largest |xᵢ| so far, t the number of the example and N the sum of all (xᵢ/Lᵢ)² so far, all
    including the example, and p the softmax of the scores. An example whose class does not exceed the scores
    of all others by m updates each class k:

        g_ki = (p_k − [k = y])·xᵢ/Lᵢ,  H_ki ← H_ki + g_ki²,  w_ki ← w_ki − η·√(t/N)·g_ki/(Lᵢ·√H_ki)

    If |xᵢ| exceeds Lᵢ, the weights are first multiplied by the old Lᵢ over the new one. So scaling a feature
    by a constant does not change predictions. An intercept is a constant feature 1 of each class.

    Parameters
    ----------
    classes
        All possible labels, two or more; other labels are rejected. None: the classes seen so far; a new
        class starts with zero weights.
    learning_rate
        η > 0, at most 1e25.
    epsilon
        ε, the initial value of H_ki, from 0 to 1e25: the larger, the shorter the first steps.
    margin
        m > 0: no update if the margin is m or more. With `math.inf`, every example makes an update.
    fit_intercept
        Whether each class has a bias.

    Attributes
    ----------
    weights : dict
        Non-zero weights by class and feature. Computed on access.
    bias : dict
        Bias by class.
    scales : dict
        Lᵢ by feature. Computed on access.
    n_mistakes : int
        Examples that were misclassified before their update. The first example of a
        class that is not in `classes` always counts.
    n_updates : int
        Updates made.

    Notes
    -----
    It is `NormalizedAdaGrad` with the softmax in place of the logistic function; `predict_proba_one` returns
    p. The weight of an example multiplies its loss. An update cannot be undone.

    References
    ----------
    As in `NormalizedAdaGrad`.

    Examples
    --------
    >>> from perceptron_core import MulticlassNormalizedAdaGrad
    >>> model = MulticlassNormalizedAdaGrad(["cat", "dog", "bird"], epsilon=0.0, fit_intercept=False)
    >>> model.learn_one({"barks": 1.0}, "dog")
    >>> model.weights
    {'cat': {'barks': -1.0}, 'dog': {'barks': 1.0}, 'bird': {'barks': -1.0}}

    On River's 2,310 image segments of seven kinds, without a scaler:

    >>> from river import datasets, evaluate, metrics
    >>> model = MulticlassNormalizedAdaGrad()
    >>> evaluate.progressive_val_score(datasets.ImageSegments(), model, metrics.Accuracy())
    Accuracy: 83.02%

    """

    NAME = "multiclass-normalized-adagrad"
    WEIGHT = OF_LOSS
    has_probabilities = True
    STATE: ClassVar = {
        **dict.fromkeys(("_scaled_weights", "_squares", "scales", "bias", "_bias_squares"), restored.columns),
        "squared_sum": restored.squared_sum,
        "n_examples": restored.count,
        **restored.COUNTS,
    }
    VARIANTS = ({"epsilon": 0.0, "margin": inf}, {"fit_intercept": False})

    def __init__(
        self,
        classes: Sequence[Label] | None = None,
        learning_rate: float = 1.0,
        epsilon: float = 0.01,
        margin: float = 4.0,
        fit_intercept: bool = True,
    ) -> None:
        check_adagrad(learning_rate, epsilon, margin)
        super().__init__(classes, fit_intercept)
        self.learning_rate = float(learning_rate)
        self.epsilon = float(epsilon)
        self.margin = float(margin)

    @property
    def weights(self) -> dict[Label, Vector]:
        """Non-zero weights by feature, by class; computed on access."""
        scales = self.scales
        return {
            label: {name: in_units(weight, scales[name]) for name, weight in weights.items()}
            for label, weights in self._scaled_weights.items()
        }

    def _terms(self, x: Features, label: Label) -> Iterator[Term]:
        weights, scales = self._scaled_weights[label], self.scales
        for name, value in x.items():
            yield name, value, in_units(weights.get(name, 0.0), max(abs(value), scales.get(name, 0.0)))
        yield "Intercept", 1.0, self.bias[label]

    @property
    def scales(self) -> Vector:
        """Lᵢ by feature. Computed on access."""
        return self.table.stored(self.scale_column)

    @scales.setter
    def scales(self, scales: Mapping[Any, float]) -> None:
        self.table.write(self.scale_column, scales)

    bias = column_properties.by_class("biases", "Bias by class.")

    scaled_weights = _scaled_weights = column_properties.nonzero_by_class(
        "weight_columns", "Non-zero wᵢ·Lᵢ by feature, by class."
    )

    _squares = column_properties.nonzero_by_class("square_columns")

    _bias_squares = column_properties.by_class("bias_squares")
