"""The variance of each weight, which is 1 at first and shrinks with every update.

`variances.pxd` gives this module its C types.
"""

from __future__ import annotations

from typing import Final

from perceptron_core.weights.example import Column, Example

MAX_VARIANCE: Final = 2.0
"""Of a variance that is read: it is at most 1, but for rounding where models are mixed."""


def shrunk(own: float, r: float, total: float) -> float:
    """Return the variance of a constant feature 1 after an update; see `Variances.shrink`."""
    return own * ((r + (total - own)) / (r + total))


class Variances(Column):
    """A variance σ for each slot; 1 where a feature is not stored."""

    def __init__(self, default: float = 1.0) -> None:
        Column.__init__(self, default, 0.0, MAX_VARIANCE)

    def of_score(self, x: Example, start: float) -> float:
        """Compute start + Σ σᵢ·xᵢ², the variance of the score under independent weights."""
        total = start
        for k in range(x.n):
            slot = x.slots[x.first_slot + k]
            value = x.values[x.first_value + k]
            own = self.cells[slot] if slot >= 0 else self.default
            total += own * value * value
        return total

    def of_widened_score(self, x: Example, start: float, forgetting: float) -> float:
        """Compute what `of_score` returns after `widen`."""
        total = start
        for k in range(x.n):
            slot = x.slots[x.first_slot + k]
            value = x.values[x.first_value + k]
            own = min(1.0, self.cells[slot] / forgetting) if slot >= 0 else self.default
            total += own * value * value
        return total

    def move(self, weights: Column, x: Example, step: float) -> None:
        """Add step·σᵢ·xᵢ to each weight: far where little is known, near where much is."""
        for k in range(x.n):
            slot = x.slots[x.first_slot + k]
            if slot >= 0:
                weights.cells[slot] += step * self.cells[slot] * x.values[x.first_value + k]

    def shrink(self, x: Example, r: float, total: float) -> None:
        """Replace each σᵢ by σᵢ − σᵢ²·xᵢ²/(r + total), where total = Σ σⱼ·xⱼ².

        This is the diagonal of Σ ← Σ − Σx(Σx)ᵀ/(r + v) with v = total. It is computed as
        σᵢ·(r + total − σᵢ·xᵢ²)/(r + total): equal, but without the subtraction from σᵢ, which would cancel
        where r is small and leave a variance negative, or 0 too soon.
        """
        for k in range(x.n):
            slot = x.slots[x.first_slot + k]
            value = x.values[x.first_value + k]
            if slot >= 0 and value != 0:
                old = self.cells[slot]
                self.cells[slot] = old * (r + (total - old * value * value)) / (r + total)

    def widen(self, x: Example, forgetting: float) -> None:
        """Divide the stored variances of `x` by `forgetting`; to 1 at most."""
        for k in range(x.n):
            slot = x.slots[x.first_slot + k]
            if slot >= 0:
                self.cells[slot] = min(1.0, self.cells[slot] / forgetting)
