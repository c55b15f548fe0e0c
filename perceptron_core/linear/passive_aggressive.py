"""Passive-aggressive learning, of two classes and of several.

`passive_aggressive.pxd` gives this module its C types.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from perceptron_core.linear.binary import BinaryClassifier
from perceptron_core.linear.declarations import OF_PRICE, Label, Update
from perceptron_core.linear.linear_rule import LINEAR_STATE, LinearRule, undo_additive
from perceptron_core.linear.multiclass import LinearMulticlass
from perceptron_core.linear.multiclass_rule import AdditiveMulticlassRule
from perceptron_core.validation import MAX_RATE, check_number, hinge
from perceptron_core.weights.example import Example

_VARIANTS: Final = ("PA", "PA-I", "PA-II")
_MIN_DIVISOR: Final = 1e-100
"""Lower bound of an example's squared norm, so that steps are finite."""


def step_size(variant: str, loss: float, squared_norm: float, price: float) -> float:
    """Compute the step τ; 0 for an example of length 0, whose score does not depend on the weights."""
    if not loss or not squared_norm:
        return 0.0
    squared_norm = max(squared_norm, _MIN_DIVISOR)
    if variant == "PA-II":
        return loss / (squared_norm + 0.5 / max(price, _MIN_DIVISOR))
    tau = loss / squared_norm
    return min(price, tau) if variant == "PA-I" else tau


def check_aggressiveness(C: float, variant: str) -> None:
    """Raise ValueError for parameters out of range."""
    check_number("C", C, 1 / MAX_RATE)
    if variant not in _VARIANTS:
        raise ValueError(f"variant: expected one of {', '.join(_VARIANTS)}, got {variant!r}")


class PassiveAggressiveRule(LinearRule):
    """Updates whenever y·a < 1, with the step of the variant."""

    C: float
    variant: str

    def learn_at(self, x: Example, sign: int, w: float, a: float) -> float:
        """Learn an example, whose weight multiplies C; return the step y·τ of w ← w + y·τ·x, b ← b + y·τ."""
        squared_norm = x.squared_norm() + self.fit_intercept
        step = sign * step_size(self.variant, hinge(sign * a), squared_norm, self.C * w)
        if step:
            self.add(x, step)
            self.n_updates += 1
        self.n_mistakes += self.predicts_true(a) != (sign > 0)
        return step


class PassiveAggressive(PassiveAggressiveRule, BinaryClassifier):
    """Passive-aggressive classifier: PA, PA-I and PA-II.

    It is passive while y·a ≥ 1. Otherwise it moves to the nearest weights with y·a = 1, or part of the way
    there: with the hinge loss ℓ = max(0, 1 − y·a) and the step τ,

        PA:     τ = ℓ / ‖x‖²
        PA-I:   τ = min(C, ℓ / ‖x‖²)
        PA-II:  τ = ℓ / (‖x‖² + 1/(2C))
        w ← w + τ·y·x,  b ← b + τ·y

    The intercept is a constant feature 1 in the score and in the norm alike: with it, ‖x‖² stands for
    ‖x‖² + 1.

    Parameters
    ----------
    C
        Aggressiveness of PA-I and PA-II: the price of a unit of (squared) loss against a unit of movement.
        Above 0, at most 1e25. PA ignores it.
    variant
        `"PA"`, `"PA-I"` or `"PA-II"`.
    fit_intercept
        Whether b is learned.

    Attributes
    ----------
    weights : dict
        Non-zero weights by feature. Computed on access.
    bias : float
        b.
    n_mistakes : int
        Examples that were misclassified before their update.
    n_updates : int
        Updates made: one for every example with y·a < 1.

    Notes
    -----
    The weight w of an example multiplies its price C, as in the optimisation problem the step solves.
    Plain PA has no price: there every weight above 0 is the same.

    `river.linear_model.PAClassifier` leaves the intercept out of the norm, so its step overshoots:
    afterwards y·a = 1 + τ.

    Two bounds keep any stream from overflowing: a loss counts as at most 1e100 and a squared norm
    as at least 1e-100.

    References
    ----------
    Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S. and Singer, Y. (2006). Online passive-aggressive
    algorithms. Journal of Machine Learning Research 7, figure 1.

    Examples
    --------
    >>> from perceptron_core import PassiveAggressive
    >>> model = PassiveAggressive(variant="PA")
    >>> x = {"free": 1.0, "win": 2.0}
    >>> model.learn_one(x, True)
    >>> model.score_one(x)
    1.0
    >>> model.weights, model.bias
    ({'free': 0.1666, 'win': 0.3333}, 0.1666)

    """

    NAME = "passive-aggressive"
    WEIGHT = OF_PRICE
    STATE = LINEAR_STATE
    VARIANTS = ({"variant": "PA"}, {"variant": "PA", "fit_intercept": False}, {"variant": "PA-II", "C": 0.1})
    undo_one = undo_additive

    def __init__(self, C: float = 1.0, variant: str = "PA-I", fit_intercept: bool = True) -> None:
        check_aggressiveness(C, variant)
        super().__init__(fit_intercept)
        self.C = float(C)
        self.variant = variant


class MulticlassPassiveAggressiveRule(AdditiveMulticlassRule):
    """Updates whenever the margin is below 1, by the step of the variant."""

    C: float
    variant: str

    def learn(self, x: Example, number: int, w: float) -> Update | None:
        """Learn an example; its weight multiplies C."""
        best_other = self.best(number)
        if best_other < 0:
            return None
        loss = hinge(self.scores.cells[number] - self.scores.cells[best_other])
        tau = step_size(self.variant, loss, 2.0 * (x.squared_norm() + self.fit_intercept), self.C * w)
        if not tau:
            return None
        step = Update(tau, self.labels[number], self.labels[best_other])
        self.move(x, number, best_other, tau, 0)
        return step


class MulticlassPassiveAggressive(MulticlassPassiveAggressiveRule, LinearMulticlass):
    """Passive-aggressive learning of any number of classes: the smallest step that leaves a margin of 1.

    Let s be the wrong class with the highest score, ℓ = max(0, 1 − (score_y − score_s)) the loss and
    n = 2(‖x‖² + 1) the squared length of the step's direction, without intercept 2‖x‖². If ℓ > 0,
    w_y ← w_y + τx and w_s ← w_s − τx, the biases likewise by τ, with

    - PA: τ = ℓ / n;
    - PA-I: τ = min(C, ℓ / n);
    - PA-II: τ = ℓ / (n + 1/(2C)).

    Parameters
    ----------
    classes
        All possible labels, two or more; other labels are rejected. None: the classes seen so far; a new
        class starts with zero weights.
    C
        Aggressiveness of PA-I and PA-II: the price of a unit of (squared) loss against a unit of movement.
        Above 0, at most 1e25. PA has no use for it.
    variant
        `"PA"`, `"PA-I"` or `"PA-II"`. PA trusts every label; the others bound what one may do.
    fit_intercept
        Whether each class has a bias: a constant feature 1, in the score and in the norm.

    Attributes
    ----------
    weights : dict
        Non-zero weights by class and feature. Computed on access. They sum to 0 over the classes.
    bias : dict
        Bias by class.
    n_mistakes : int
        Examples that were misclassified before their update.
    n_updates : int
        Updates made: examples with a loss, misclassified or not.

    Notes
    -----
    An unconstrained step leaves score_y − score_s = 1 exactly, to rounding. With two classes the difference
    of their weights moves as in `PassiveAggressive` with twice this C.

    The weight w of an example multiplies its price C. Plain PA has no price: there every weight above 0
    is the same. A loss counts as at most 1e100 and a squared length as at least 1e-100, so that no
    stream can make the weights overflow.

    References
    ----------
    Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S. and Singer, Y. (2006). Online
    passive-aggressive algorithms. Journal of Machine Learning Research 7. Section 8 (multiclass, the
    max-loss update with 0/1 cost, here with a margin of 1), steps as in figure 1.

    Examples
    --------
    >>> from perceptron_core import MulticlassPassiveAggressive
    >>> model = MulticlassPassiveAggressive(["cat", "dog", "bird"], variant="PA", fit_intercept=False)
    >>> model.learn_one({"barks": 2.0}, "dog")
    >>> model.weights
    {'cat': {'barks': -0.25}, 'dog': {'barks': 0.25}, 'bird': {}}
    >>> model.scores_one({"barks": 2.0})
    {'cat': -0.5, 'dog': 0.5, 'bird': 0.0}

    On River's 2,310 image segments of seven kinds:

    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> pipeline = preprocessing.StandardScaler() | MulticlassPassiveAggressive()
    >>> evaluate.progressive_val_score(datasets.ImageSegments(), pipeline, metrics.Accuracy())
    Accuracy: 85.10%

    """

    NAME = "multiclass-passive-aggressive"
    WEIGHT = OF_PRICE
    VARIANTS = ({"variant": "PA"}, {"variant": "PA-II", "C": 0.1}, {"fit_intercept": False})

    def __init__(
        self,
        classes: Sequence[Label] | None = None,
        C: float = 1.0,
        variant: str = "PA-I",
        fit_intercept: bool = True,
    ) -> None:
        check_aggressiveness(C, variant)
        super().__init__(classes, fit_intercept)
        self.C = float(C)
        self.variant = variant
