"""An example as arrays of slots and doubles, and the columns of a learner: weights, scales, variances.

A slot is the row number of a feature, which a `FeatureIndex` assigns. The arithmetic of learners on examples
is here; `example.pxd` gives this module its C types (design record 004).
"""

from __future__ import annotations

from array import array
from typing import Any, Final

from perceptron_core import memory
from perceptron_core.validation import MAX_LEARNED
from perceptron_core.weights.buffers import doubles, integers

COMPILED: Final = not __file__.endswith(".py")
"""Whether this module, and with it every module with a `.pxd`, is compiled."""

NO_SLOT: Final = -1
"""Slot of a feature that is not stored: its cells have the columns' defaults."""

MAX_VARIANCE: Final = 2.0
"""Largest variance in a loaded state: variances are at most 1, up to rounding when models are mixed."""

_FIRST_CAPACITY: Final = 16


class Example:
    """Features and their values: entry k is slots[first_slot + k] with values[first_value + k].

    With the two offsets, a row of a dense or sparse matrix is an example without a copy.
    """

    slots: array[int]
    values: array[float]

    def __init__(self, capacity: int = _FIRST_CAPACITY) -> None:
        self.slots = integers(capacity)
        self.values = doubles(capacity)
        self.names: list[Any] = [None] * capacity
        """Names of the entries, in order."""
        self.capacity = capacity
        self.first_slot = 0
        self.first_value = 0
        self.n = 0
        self.n_missing = 0
        """Number of entries with `NO_SLOT`."""
        self.version = -1
        """Version of the `FeatureIndex` when the slots were looked up."""
        self.state = 0
        """Version of the source dictionary's contents, if known and if its values are immutable; else 0."""
        self.shape: tuple[str, ...] | None = None
        """The names of the source `NamedValues`; None for another source."""

    def squared_norm(self) -> float:
        """Compute ‖x‖², summed in the order of the entries."""
        total = 0.0
        for k in range(self.n):
            value = self.values[self.first_value + k]
            total += value * value
        return total

    def entries(self) -> list[tuple[int, float]]:
        """Return slots and values, in order."""
        return [(self.slots[self.first_slot + k], self.values[self.first_value + k]) for k in range(self.n)]

    def double_capacity(self) -> None:
        """Double the capacity."""
        slots, values = integers(2 * self.capacity), doubles(2 * self.capacity)
        memoryview(slots)[: self.capacity] = memoryview(self.slots)
        memoryview(values)[: self.capacity] = memoryview(self.values)
        self.names += [None] * self.capacity
        self.slots, self.values = slots, values  # no allocation after this
        self.capacity *= 2


class Column:
    """A number for each slot, such as the weights.

    Numbers are from `lowest` to `highest`, which is checked in a loaded state.
    """

    cells: array[float]

    def __init__(
        self, default: float = 0.0, lowest: float = -MAX_LEARNED, highest: float = MAX_LEARNED
    ) -> None:
        self.cells = doubles(0)
        self.default = default
        self.lowest = lowest
        self.highest = highest

    def check(self, cells: array[float] | memoryview[float]) -> None:
        """Raise `ValueError` for cells out of bounds."""
        for k in range(len(cells)):
            if not self.lowest <= cells[k] <= self.highest:
                raise ValueError(f"a cell is {cells[k]!r}, not from {self.lowest:g} to {self.highest:g}")

    def grow(self, capacity: int) -> None:
        """Make room for `capacity` slots, unless a call that ran out of memory already did."""
        if capacity > len(self.cells):
            cells = doubles(capacity)
            memoryview(cells)[: len(self.cells)] = memoryview(self.cells)
            self.cells = cells

    def fill(self) -> None:
        """Set every cell to the default."""
        for slot in range(len(self.cells)):
            if self.cells[slot] != self.default:  # memory that was never written stays unused
                self.cells[slot] = self.default

    def fill_between(self, first: int, end: int) -> None:
        """Set the cells from `first` to `end` to the default."""
        if self.default != 0:
            for slot in range(first, end):
                self.cells[slot] = self.default

    def dot(self, x: Example, start: float) -> float:
        """Compute start + w·x, summed from `start` in the order of `x`; a missing cell is 0."""
        if x.n_missing and len(self.cells):
            return self.dot_with_gaps(x, start)
        total = start
        for k in range(x.n):
            slot = x.slots[x.first_slot + k]
            if slot >= 0:
                total += self.cells[slot] * x.values[x.first_value + k]
        return total

    def dot_with_gaps(self, x: Example, start: float) -> float:
        """Compute `dot` with missing cells, without an unpredictable branch."""
        total = start
        for k in range(x.n):
            slot = x.slots[x.first_slot + k]
            is_there = slot >= 0
            total += self.cells[slot * is_there] * is_there * x.values[x.first_value + k]
        return total

    def add(self, x: Example, step: float) -> int:
        """Add step·x; return the number of cells that are 0 now."""
        n_zeros = 0
        for k in range(x.n):
            slot = x.slots[x.first_slot + k]
            if slot >= 0:
                cell = self.cells[slot] + step * x.values[x.first_value + k]
                self.cells[slot] = cell
                n_zeros += cell == 0
        return n_zeros

    def scale(self, factor: float) -> None:
        """Multiply every cell by `factor`."""
        for slot in range(len(self.cells)):
            if self.cells[slot] != 0:  # memory that was never written stays unused
                self.cells[slot] *= factor


class Scales(Column):
    """Lᵢ, the largest |xᵢ| of each slot; 0 for a feature that is not stored.

    An example is included in its own scales: its scaled values xᵢ / max(|xᵢ|, Lᵢ) are at most 1 in size. So
    weights in units of 1/Lᵢ do not change when Lᵢ grows.
    """

    def __init__(self) -> None:
        Column.__init__(self, 0.0, 0.0)
        self.squares = 0.0
        """Σ (xᵢ/Lᵢ)² of the example of `dot_scaled`."""
        self.n_larger = 0
        """Number of |xᵢ| in the example of `divide` that exceed Lᵢ."""
        self.n_raised = 0
        """Number of features with Lᵢ above 0."""

    def dot_scaled(self, weights: Column, x: Example, start: float, ratios: Column) -> float:
        """Compute start + Σ uᵢ·xᵢ/Lᵢ for weights u in units of 1/Lᵢ; write each xᵢ/Lᵢ to `ratios`."""
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
        quotients, values = memory.first_double(ratios.cells), memory.first_double(x.values)
        slots = memory.first_integer(x.slots)
        n_larger = n_raised = 0
        for k in range(x.n):
            slot = slots[x.first_slot + k]
            size = abs(values[x.first_value + k])
            scale = self.cells[slot] if slot >= 0 else 0.0
            n_larger += size > scale
            n_raised += (size > scale) & (scale > 0)
            quotients[k] = max(size, scale)
        self.n_larger, self.n_raised = n_larger, n_raised
        _divide(values, x.first_value, quotients, x.n)

    def observe(self, x: Example, ratios: Column, is_new: bool) -> float:
        """Replace Lᵢ by |xᵢ| if that is larger; return Σ (xᵢ/Lᵢ)². `ratios` must be from `divide`."""
        quotients = memory.first_double(ratios.cells)
        total = 0.0
        for k in range(x.n):
            total += quotients[k] * quotients[k]
        if self.n_larger:
            self.raise_to(x, ratios, is_new)
        return total

    def raise_to(self, x: Example, ratios: Column, is_new: bool) -> None:
        """Replace Lᵢ by |xᵢ| if that is larger; scales with |xᵢ/Lᵢ| < 1 are not read.

        Lᵢ = 0 remains 0 unless `is_new`.
        """
        if not (self.n_larger if is_new else self.n_raised):
            return
        quotients, values = memory.first_double(ratios.cells), memory.first_double(x.values)
        slots = memory.first_integer(x.slots)
        if is_new and 4 * self.n_larger > x.n:  # without an unpredictable branch
            for k in range(x.n):
                slot = slots[x.first_slot + k]
                if slot >= 0:
                    self.cells[slot] = max(self.cells[slot], abs(values[x.first_value + k]))
            return
        for k in range(x.n):
            slot = slots[x.first_slot + k]
            if abs(quotients[k]) == 1 and slot >= 0:
                size = abs(values[x.first_value + k])
                if size > self.cells[slot] and (is_new or self.cells[slot] > 0):
                    self.cells[slot] = size


def _divide(values: array[float], first: int, ratios: array[float], n: int) -> None:
    """Replace the n numbers in `ratios` by the values from `first` on divided by them, where 0/0 = 0.

    The loop contains nothing else, so that it is vectorized.
    """
    for k in range(n):
        ratios[k] = values[first + k] / (ratios[k] if ratios[k] != 0 else 1.0)


def shrunk(own: float, r: float, total: float) -> float:
    """Return the variance of a constant feature 1 after an update; see `Variances.shrink`."""
    return own * ((r + (total - own)) / (r + total))


class Variances(Column):
    """A variance σ for each slot; 1 for a feature that is not stored."""

    def __init__(self) -> None:
        Column.__init__(self, 1.0, 0.0, MAX_VARIANCE)

    def of_score(self, x: Example, start: float) -> float:
        """Compute start + Σ σᵢ·xᵢ², the variance of the score with independent weights."""
        total = start
        for k in range(x.n):
            slot = x.slots[x.first_slot + k]
            value = x.values[x.first_value + k]
            own = self.cells[slot] if slot >= 0 else self.default
            total += own * value * value
        return total

    def of_inflated_score(self, x: Example, start: float, forgetting: float) -> float:
        """Compute `of_score` as after `inflate`."""
        total = start
        for k in range(x.n):
            slot = x.slots[x.first_slot + k]
            value = x.values[x.first_value + k]
            own = min(1.0, self.cells[slot] / forgetting) if slot >= 0 else self.default
            total += own * value * value
        return total

    def move(self, weights: Column, x: Example, step: float) -> None:
        """Add step·σᵢ·xᵢ to each weight, so that uncertain weights change most."""
        for k in range(x.n):
            slot = x.slots[x.first_slot + k]
            if slot >= 0:
                weights.cells[slot] += step * self.cells[slot] * x.values[x.first_value + k]

    def shrink(self, x: Example, r: float, total: float) -> None:
        """Replace each σᵢ by σᵢ − σᵢ²·xᵢ²/(r + total), where total = Σ σⱼ·xⱼ².

        This is the diagonal of Σ ← Σ − Σx(Σx)ᵀ/(r + v) with v = total. It is computed as σᵢ·(r + total −
        σᵢ·xᵢ²)/(r + total), which is equal, but avoids the cancellation in σᵢ − … that could make a variance
        negative or 0 when r is small.
        """
        for k in range(x.n):
            slot = x.slots[x.first_slot + k]
            value = x.values[x.first_value + k]
            if slot >= 0 and value != 0:
                old = self.cells[slot]
                self.cells[slot] = old * (r + (total - old * value * value)) / (r + total)

    def inflate(self, x: Example, forgetting: float) -> None:
        """Divide the stored variances of `x` by `forgetting`, up to 1."""
        for k in range(x.n):
            slot = x.slots[x.first_slot + k]
            if slot >= 0:
                self.cells[slot] = min(1.0, self.cells[slot] / forgetting)
