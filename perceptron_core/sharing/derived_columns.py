"""Shared numbers that follow from others of the learner.

`derived_columns.pxd` gives this module its C types.
"""

from __future__ import annotations

from typing import Final

from perceptron_core.binary.averaged import AveragedRule
from perceptron_core.binary.coin_betting import CoinBettingRule
from perceptron_core.multiclass.averaged import AveragedMulticlassRule
from perceptron_core.multiclass.normalized_adagrad import MulticlassNormalizedAdaGradRule
from perceptron_core.sharing.columns import SharedColumn
from perceptron_core.sharing.kinds import Kind
from perceptron_core.weights.example import Column

_SMALLEST_SCALE: Final = 1e-100
"""By which a weight is divided: so it stays finite."""
_LARGEST: Final = 1e150
"""Of a weight, which another lane may have learned on values near 0."""


class MeanWeights(SharedColumn):
    """w̄ of an averaged perceptron, of which the learner keeps w and u. It follows w.

    A lane that had no example takes the mix as its first.
    """

    rule: AveragedRule

    def __init__(self, kind: Kind, rule: AveragedRule, _number: int) -> None:
        self.kind = kind
        self.base = Column()
        self.rule = rule

    def get(self, slot: int) -> float:
        """Return w̄."""
        return self.rule.mean(self.rule.weight_column.cells[slot], self.rule.late_column.cells[slot])

    def put(self, slot: int, value: float) -> None:
        """Replace u, so that the mean is this."""
        self.rule.late_column.cells[slot] = late_of(self.rule, self.rule.weight_column.cells[slot], value)


class MeanBias(SharedColumn):
    """b̄ of an averaged perceptron. It follows b."""

    rule: AveragedRule

    def __init__(self, kind: Kind, rule: AveragedRule, _number: int) -> None:
        self.kind = kind
        self.base = Column()
        self.base.grow(1)
        self.rule = rule

    def get(self, slot: int) -> float:  # noqa: ARG002  there is one row
        """Return b̄."""
        return self.rule.mean(self.rule.current_bias, self.rule._late_bias)  # noqa: SLF001  as the rule does

    def put(self, slot: int, value: float) -> None:  # noqa: ARG002  there is one row
        """Replace the late bias, so that the mean is this."""
        self.rule._late_bias = late_of(self.rule, self.rule.current_bias, value)  # noqa: SLF001  as the rule does


class MeanOfClass(SharedColumn):
    """w̄ or b̄ of a class of an averaged multiclass perceptron. It follows w or b."""

    rule: AveragedMulticlassRule
    late: Column

    def __init__(
        self, kind: Kind, rule: AveragedMulticlassRule, current: Column, late: Column, of_class: int = -1
    ) -> None:
        SharedColumn.__init__(self, kind, current, of_class)
        self.rule = rule
        self.late = late

    def get(self, slot: int) -> float:
        """Return the mean."""
        at = self.offset + slot
        return self.rule.mean(self.column.cells[at], self.late.cells[at])

    def put(self, slot: int, value: float) -> None:
        """Replace u, so that the mean is this."""
        at = self.offset + slot
        self.rule.n_examples = max(1, self.rule.n_examples)
        self.late.cells[at] = self.rule.n_examples * (self.column.cells[at] - value)


class ScaledWeights(SharedColumn):
    """Weights w of normalised AdaGrad, which keeps w·L. They follow the scales L."""

    column: Column
    scales: Column

    def __init__(self, kind: Kind, column: Column, scales: Column) -> None:
        SharedColumn.__init__(self, kind, column)
        self.scales = scales

    def get(self, slot: int) -> float:
        """Return w."""
        return self.column.cells[slot] / max(self.scales.cells[slot], _SMALLEST_SCALE)

    def put(self, slot: int, value: float) -> None:
        """Replace w."""
        self.column.cells[slot] = scaled(value, self.scales.cells[slot])


class ScalesOfClasses(SharedColumn):
    """The scales L of normalised AdaGrad of several classes. The weights w of all classes stay."""

    column: Column
    rule: MulticlassNormalizedAdaGradRule

    def __init__(self, kind: Kind, rule: MulticlassNormalizedAdaGradRule, _number: int) -> None:
        SharedColumn.__init__(self, kind, rule.scale_column)
        self.rule = rule

    def put(self, slot: int, value: float) -> None:
        """Replace L, and w·L of all classes."""
        old = max(self.column.cells[slot], _SMALLEST_SCALE)
        if value > self.column.cells[slot]:
            for number in range(len(self.rule.weight_columns)):
                weights = self.rule.weight_columns[number]
                weights.cells[slot] = scaled(weights.cells[slot] / old, value)
            self.column.cells[slot] = value


class Gradients(SharedColumn):
    """The gradients of coin betting; the last of what a bet follows from."""

    rule: CoinBettingRule

    def __init__(self, kind: Kind, rule: CoinBettingRule, _number: int) -> None:
        self.kind = kind
        self.base = Column()
        self.rule = rule

    def get(self, slot: int) -> float:
        """Return Tᵢ."""
        return self.rule.gradient_column.cells[slot]

    def put(self, slot: int, value: float) -> None:
        """Replace Tᵢ, and place the bet."""
        self.rule.gradient_column.cells[slot] = value
        self.rule.place(slot)


class BiasGradient(SharedColumn):
    """The gradient of the intercept of coin betting; the last of what its bet follows from."""

    rule: CoinBettingRule

    def __init__(self, kind: Kind, rule: CoinBettingRule, _number: int) -> None:
        self.kind = kind
        self.base = Column()
        self.base.grow(1)
        self.rule = rule

    def get(self, slot: int) -> float:  # noqa: ARG002  there is one row
        """Return T."""
        return self.rule.bias_gradient

    def put(self, slot: int, value: float) -> None:  # noqa: ARG002  there is one row
        """Replace T, and place the bet."""
        self.rule.bias_gradient = value
        self.rule.place_bias()


def scaled(weight: float, scale: float) -> float:
    """Compute w·L."""
    return max(-_LARGEST, min(weight * max(scale, _SMALLEST_SCALE), _LARGEST))


def late_of(rule: AveragedRule, current: float, mean: float) -> float:
    """Compute u of w and w̄: what `AveragedRule.mean` computes, the other way round."""
    if rule.n_examples == 0:
        rule.tick()
    if rule.decay == 1:
        return rule.n_examples * (current - mean)
    return (current - mean * (1.0 - rule._remainder)) / rule._fade  # noqa: SLF001  as the rule does
