"""Passive-aggressive learning."""

from __future__ import annotations

from typing import ClassVar, Final

from perceptron_core.base.binary import BinaryClassifier
from perceptron_core.base.example_weights import OF_PRICE
from perceptron_core.base.linear_rule import LINEAR_STATE, LinearRule, undo_additive
from perceptron_core.base.search_space import Span
from perceptron_core.validation import MAX_RATE, hinge
from perceptron_core.weights.example import Example

_VARIANTS: Final = ("PA", "PA-I", "PA-II")
_SMALLEST: Final = 1e-100
"""Least squared norm an example counts with, so that the step of a vanishing example stays finite."""


def step_size(variant: str, loss: float, squared_norm: float, price: float) -> float:
    """Compute the step τ; 0 for an example of length 0, which no weights can move."""
    if not loss or not squared_norm:
        return 0.0
    squared_norm = max(squared_norm, _SMALLEST)
    if variant == "PA-II":
        return loss / (squared_norm + 0.5 / max(price, _SMALLEST))
    tau = loss / squared_norm
    return min(price, tau) if variant == "PA-I" else tau


def check_aggressiveness(C: float, variant: str) -> None:
    """Raise ValueError for parameters out of range."""
    if not 1 / MAX_RATE <= C <= MAX_RATE:
        raise ValueError(f"C must be a number above 0 and at most {MAX_RATE:g}, not {C!r}")
    if variant not in _VARIANTS:
        raise ValueError(f"variant must be one of {', '.join(_VARIANTS)}, not {variant!r}")


class PassiveAggressiveRule(LinearRule):
    """Updates whenever y·a < 1, as far as the variant says."""

    C: float
    variant: str

    def learn_at(self, x: Example, sign: int, w: float, a: float) -> float:
        """Learn an example; the step y·τ is that of w ← w + y·τ·x, b ← b + y·τ. Its weight multiplies C."""
        squared_norm = x.squared_norm() + self.fit_intercept
        step = sign * step_size(self.variant, hinge(sign * a), squared_norm, self.C * w)
        if step:
            self.add(x, step)
            self.n_updates += 1
        self.n_mistakes += self.fires(a) != (sign > 0)
        return step


class PassiveAggressive(PassiveAggressiveRule, BinaryClassifier):
    """Passive-aggressive classifier: PA, PA-I and PA-II.

    Passive while y·a ≥ 1. Otherwise it moves to the nearest weights that would have given y·a = 1, or part
    of the way there: with the hinge loss ℓ = max(0, 1 − y·a) and the step τ,

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
        Above 0, at most 1e25. PA has no use for it.
    variant
        `"PA"`, `"PA-I"` or `"PA-II"`.
    fit_intercept
        Whether b is learned.

    Attributes
    ----------
    weights : dict
        Non-zero weights by feature. Computed when asked for.
    bias : float
        b.
    n_mistakes : int
        Examples that `learn_one` found misclassified before the update.
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
    SEARCHED: ClassVar = {"C": Span(0.001, 10.0), "variant": ("PA-I", "PA-II")}
    STATE = LINEAR_STATE
    VARIANTS = (
        {"variant": "PA"},
        {"variant": "PA", "fit_intercept": False},
        {"variant": "PA-II", "C": 0.1},
    )
    undo_one = undo_additive

    def __init__(self, C: float = 1.0, variant: str = "PA-I", fit_intercept: bool = True) -> None:
        check_aggressiveness(C, variant)
        super().__init__(fit_intercept)
        self.C = float(C)
        self.variant = variant
