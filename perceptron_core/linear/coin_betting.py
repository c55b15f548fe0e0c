"""Coin betting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from perceptron_core import memory
from perceptron_core.elementary import logistic
from perceptron_core.linear import column_properties, restored
from perceptron_core.linear.binary import BinaryClassifier
from perceptron_core.linear.declarations import OF_LOSS
from perceptron_core.linear.linear_rule import LinearRule
from perceptron_core.weights.example import Column, Example

_MAX_AMOUNT: Final = 1e150
"""Largest weight: weights of values near 0, which do not affect predictions, would grow without bound."""

_MAX_REWARD: Final = 1e300
"""Largest loaded product of a weight and a gradient."""


class CoinBettingRule(LinearRule):
    """Updates with every example: each weight is a bet on the sign of its next gradient."""

    bound_column: Column
    size_column: Column
    reward_column: Column
    gradient_column: Column
    bias_bound: float
    bias_size: float
    bias_reward: float
    bias_gradient: float

    def learn_at(self, x: Example, sign: int, w: float, a: float) -> float:
        """Learn an example, whose weight multiplies its loss; return −g."""
        slope = -sign * w * logistic(-sign * a)
        if slope != 0:
            self.table.begin_update(x)
            self.pay_out(x, slope, w)
            if self.fit_intercept:
                self.pay_out_bias(slope, w)
            self.n_updates += 1
        self.n_mistakes += self.predicts_true(a) != (sign > 0)
        return -slope

    def pay_out(self, x: Example, slope: float, w: float) -> None:
        """Pay out the last bets on gradients slope·xᵢ, of size at most w·|xᵢ|, and place the next bets."""
        slots, values = memory.first_integer(x.slots), memory.first_double(x.values)
        bounds, sizes, weights = self.bound_column, self.size_column, self.weight_column
        rewards, gradients = self.reward_column, self.gradient_column
        for k in range(x.n):
            slot = slots[x.first_slot + k]
            value = values[x.first_value + k]
            if slot >= 0 and value != 0:
                gradient = slope * value
                bound = max(bounds.cells[slot], w * abs(value))
                size = sizes.cells[slot] + abs(gradient)
                reward = max(rewards.cells[slot] - gradient * weights.cells[slot], 0.0)
                total = gradients.cells[slot] - gradient
                bounds.cells[slot], sizes.cells[slot] = bound, size
                rewards.cells[slot], gradients.cells[slot] = reward, total
                weights.cells[slot] = bet(bound, size, reward, total)

    def place_bet(self, slot: int) -> None:
        """Place the bet of a feature."""
        self.weight_column.cells[slot] = bet(
            self.bound_column.cells[slot],
            self.size_column.cells[slot],
            self.reward_column.cells[slot],
            self.gradient_column.cells[slot],
        )

    def pay_out_bias(self, gradient: float, bound: float) -> None:
        """Pay out the intercept's last bet, and place the next."""
        self.bias_bound = max(self.bias_bound, bound)
        self.bias_size += abs(gradient)
        self.bias_reward = max(self.bias_reward - gradient * self.bias, 0.0)
        self.bias_gradient -= gradient
        self.place_bias()

    def place_bias(self) -> None:
        """Place the bet of the intercept."""
        self.bias = bet(self.bias_bound, self.bias_size, self.bias_reward, self.bias_gradient)

    def place_all(self) -> None:
        """Place all bets of the loaded state."""
        for slot in range(self.table.n_slots):
            if self.bound_column.cells[slot] > 0:  # memory that was never written stays unused
                self.place_bet(slot)
        self.place_bias()


def bet(bound: float, size: float, reward: float, gradient: float) -> float:
    """Compute T/(L(G + L))·(L/2 + R): the share T/(G + L) of the wealth L/2 + R, in units of L."""
    if bound == 0:  # the product of a weight and a value was rounded to 0
        return 0.0
    amount = gradient / (size + bound) * ((0.5 * bound + reward) / bound)
    return max(-_MAX_AMOUNT, min(amount, _MAX_AMOUNT))


class CoinBetting(CoinBettingRule, BinaryClassifier):
    """Coin betting for each coordinate (COCOB): logistic regression without a learning rate.

    Each weight is a gambler's bet on the sign of the next gradient: a share of the wealth won so far, in
    proportion to the sum of the past gradients. With g = −y·σ(−y·a), where σ is the logistic function, and gᵢ
    = g·xᵢ, for every example

        Lᵢ ← max(Lᵢ, |xᵢ|),  Gᵢ ← Gᵢ + |gᵢ|,  Rᵢ ← max(Rᵢ − gᵢ·wᵢ, 0),  Tᵢ ← Tᵢ − gᵢ
        wᵢ ← Tᵢ/(Lᵢ·(Gᵢ + Lᵢ))·(Lᵢ/2 + Rᵢ)

    The score is a log-odds. The intercept is the weight of a constant feature 1.

    Parameters
    ----------
    fit_intercept
        Whether b is learned.

    Attributes
    ----------
    weights : dict
        Non-zero weights by feature. Computed on access.
    bias : float
        b.
    bounds, sizes, rewards, gradients : dict
        Lᵢ, Gᵢ, Rᵢ and Tᵢ by feature. Computed on access.
    n_mistakes : int
        Examples that were misclassified before their update.
    n_updates : int
        Updates made: one for every example whose gradient is not 0.

    Notes
    -----
    The weight of an example multiplies its loss, and so the bound of the gradient, Lᵢ.

    The initial wealth is L/2, while the paper starts with L: the smaller first bets lose less on features
    that occur once. A weight is at most 1e150 in size, so that it cannot overflow.

    References
    ----------
    Orabona, F. and Tommasi, T. (2017). Training deep networks without learning rates through coin betting.
    Advances in Neural Information Processing Systems 30, algorithm 1.

    Examples
    --------
    >>> from perceptron_core import CoinBetting
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), CoinBetting(), metrics.Accuracy())
    Accuracy: 84.88%

    """

    NAME = "coin-betting"
    WEIGHT = OF_LOSS
    STATE: ClassVar = {
        **dict.fromkeys(("bounds", "sizes", "rewards", "gradients"), restored.columns),
        "bias_bound": restored.size,
        "bias_size": restored.size,
        "bias_reward": restored.size,
        "bias_gradient": restored.number,
        **restored.COUNTS,
    }
    VARIANTS = ({"fit_intercept": False},)
    has_log_odds = True

    def __init__(self, fit_intercept: bool = True) -> None:
        super().__init__(fit_intercept)

    def _clear(self) -> None:
        """Reset to the untrained state."""
        weights, gradients = Column(), Column()
        bounds, sizes, rewards = Column(lowest=0.0), Column(lowest=0.0), Column(0.0, 0.0, _MAX_REWARD)
        self.table = self._table_of(weights, bounds, sizes, rewards, gradients)
        self.weight_column, self.bound_column, self.size_column = weights, bounds, sizes
        self.reward_column, self.gradient_column = rewards, gradients
        self.bias = self.bias_bound = self.bias_size = self.bias_reward = self.bias_gradient = 0.0

    weights = column_properties.read_only(
        column_properties.nonzero("weight_column", "Non-zero weights by feature.")
    )

    bounds = column_properties.stored("bound_column", "Lᵢ by feature; setting them starts anew.")

    sizes = column_properties.nonzero("size_column", "Gᵢ by feature, where it is not 0.")

    rewards = column_properties.nonzero("reward_column", "Rᵢ by feature, where it is not 0.")

    gradients = column_properties.nonzero("gradient_column", "Tᵢ by feature, where it is not 0.")

    def _set_state(self, state: Mapping[str, Any]) -> None:
        super()._set_state(state)
        self.place_all()
