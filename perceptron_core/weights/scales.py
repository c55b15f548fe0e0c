"""The largest absolute value of each feature, and examples in units of it.

`scales.pxd` gives this module its C types.
"""

from __future__ import annotations

from perceptron_core.weights.changes import Changes
from perceptron_core.weights.example import Column, Example
from perceptron_core.weights.touches import Touches


class Scales(Column):
    """Lᵢ, the largest |xᵢ| of each slot; 0 where a feature is not stored.

    An example counts for its own scales: its values in units of them, xᵢ / max(|xᵢ|, Lᵢ), are at most 1 in
    size. So weights in units of 1/Lᵢ stay as they are when Lᵢ grows.
    """

    def __init__(self) -> None:
        Column.__init__(self, 0.0, 0.0)

    def dot_scaled(self, weights: Column, x: Example, start: float) -> float:
        """Compute start + Σ uᵢ·xᵢ/Lᵢ of weights u in units of 1/Lᵢ."""
        total = start
        for k in range(x.n):
            slot = x.slots[x.first_slot + k]
            value = x.values[x.first_value + k]
            if slot >= 0 and value != 0:
                total += weights.cells[slot] * (value / max(abs(value), self.cells[slot]))
        return total

    def divide(self, x: Example, ratios: Column) -> None:
        """Write each xᵢ/Lᵢ to `ratios`, in the order of `x`."""
        for k in range(x.n):
            slot = x.slots[x.first_slot + k]
            value = x.values[x.first_value + k]
            if value == 0:
                ratios.cells[k] = 0.0
            else:
                ratios.cells[k] = value / max(abs(value), self.cells[slot] if slot >= 0 else 0.0)

    def note_raised(self, x: Example, touches: Touches | None, changes: Changes | None) -> None:
        """Count an update of each row whose scale an example without one raises: its weight wᵢ falls."""
        if touches is not None:
            touches.make_room(x.n)
        for k in range(x.n):
            slot = x.slots[x.first_slot + k]
            if slot >= 0 and 0 < self.cells[slot] < abs(x.values[x.first_value + k]):
                if touches is not None:
                    touches.add(slot, 1.0)
                if changes is not None:
                    changes.mark(slot)

    def observe(self, x: Example, ratios: Column, is_new: bool) -> float:
        """Write each xᵢ/Lᵢ to `ratios`, and replace Lᵢ by |xᵢ| where that is larger; return Σ (xᵢ/Lᵢ)².

        Lᵢ = 0 stays 0 unless `is_new`.
        """
        total = 0.0
        for k in range(x.n):
            slot = x.slots[x.first_slot + k]
            value = x.values[x.first_value + k]
            scale = self.cells[slot] if slot >= 0 else 0.0
            size = abs(value)
            if size > scale:
                if slot >= 0 and (is_new or scale > 0):
                    self.cells[slot] = size
                scale = size
            ratio = value / scale if size > 0 else 0.0
            ratios.cells[k] = ratio
            total += ratio * ratio
        return total
