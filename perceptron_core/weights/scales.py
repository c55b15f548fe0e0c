"""The largest absolute value of each feature, and examples in units of it.

`scales.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array

from perceptron_core import memory
from perceptron_core.weights.changes import Changes
from perceptron_core.weights.example import Column, Example


class Scales(Column):
    """Lᵢ, the largest |xᵢ| of each slot; 0 where a feature is not stored.

    An example counts for its own scales: its values in units of them, xᵢ / max(|xᵢ|, Lᵢ), are at most 1 in
    size. So weights in units of 1/Lᵢ stay as they are when Lᵢ grows.
    """

    def __init__(self) -> None:
        Column.__init__(self, 0.0, 0.0)
        self.squares = 0.0
        """Σ (xᵢ/Lᵢ)² of the example of `dot_scaled`."""
        self.n_larger = 0
        """The |xᵢ| of the example of `divide` that are larger than Lᵢ."""
        self.n_raised = 0
        """Those whose Lᵢ is above 0."""

    def dot_scaled(self, weights: Column, x: Example, start: float, ratios: Column) -> float:
        """Compute start + Σ uᵢ·xᵢ/Lᵢ of weights u in units of 1/Lᵢ; each xᵢ/Lᵢ goes to `ratios`."""
        self.divide(x, ratios)
        factors = memory.first_double(ratios.cells)
        slots = memory.first_integer(x.slots)
        total, squares = start, 0.0
        for k in range(x.n):
            slot = slots[x.first_slot + k]
            squares += factors[k] * factors[k]
            if slot >= 0:
                total += weights.cells[slot] * factors[k]
        self.squares = squares
        return total

    def divide(self, x: Example, ratios: Column) -> None:
        """Write each xᵢ/Lᵢ to `ratios`, in the order of `x`."""
        found, values = memory.first_double(ratios.cells), memory.first_double(x.values)
        slots = memory.first_integer(x.slots)
        n_larger = n_raised = 0
        for k in range(x.n):
            slot = slots[x.first_slot + k]
            size = abs(values[x.first_value + k])
            scale = self.cells[slot] if slot >= 0 else 0.0
            n_larger += size > scale
            n_raised += (size > scale) & (scale > 0)
            found[k] = max(size, scale)
        self.n_larger, self.n_raised = n_larger, n_raised
        _divide(values, x.first_value, found, x.n)

    def note_raised(self, x: Example, changes: Changes) -> None:
        """Mark each row whose scale an example without an update raises: its weight wᵢ falls."""
        for k in range(x.n):
            slot = x.slots[x.first_slot + k]
            if slot >= 0 and 0 < self.cells[slot] < abs(x.values[x.first_value + k]):
                changes.mark(slot)

    def observe(self, x: Example, ratios: Column, is_new: bool) -> float:
        """Replace Lᵢ by |xᵢ| where that is larger; return Σ (xᵢ/Lᵢ)². `ratios` has what `divide` computes."""
        found = memory.first_double(ratios.cells)
        total = 0.0
        for k in range(x.n):
            total += found[k] * found[k]
        if self.n_larger:
            self.raise_to(x, ratios, is_new)
        return total

    def raise_to(self, x: Example, ratios: Column, is_new: bool) -> None:
        """Replace Lᵢ by |xᵢ| where that is larger: nowhere where |xᵢ/Lᵢ| < 1, so that few scales are read.

        Lᵢ = 0 stays 0 unless `is_new`.
        """
        if not (self.n_larger if is_new else self.n_raised):
            return
        found, values = memory.first_double(ratios.cells), memory.first_double(x.values)
        slots = memory.first_integer(x.slots)
        if is_new and 4 * self.n_larger > x.n:  # without a branch that no processor can predict
            for k in range(x.n):
                slot = slots[x.first_slot + k]
                if slot >= 0:
                    self.cells[slot] = max(self.cells[slot], abs(values[x.first_value + k]))
            return
        for k in range(x.n):
            slot = slots[x.first_slot + k]
            if abs(found[k]) == 1 and slot >= 0:
                size = abs(values[x.first_value + k])
                if size > self.cells[slot] and (is_new or self.cells[slot] > 0):
                    self.cells[slot] = size


def _divide(values: array[float], first: int, found: array[float], n: int) -> None:
    """Divide the n values from `first` on by what is `found`, and write that there; 0/0 is 0 here.

    Nothing else is in the loop, so that several are divided at once.
    """
    for k in range(n):
        found[k] = values[first + k] / (found[k] if found[k] != 0 else 1.0)
