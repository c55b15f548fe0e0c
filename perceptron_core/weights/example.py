"""An example as arrays of slots and doubles, and the columns of a learner.

A slot is the row number of a feature, which a `FeatureIndex` assigns. All arithmetic of learners on examples
is here and in subclasses; `example.pxd` gives this module its C types (design record 004).
"""

from __future__ import annotations

from array import array
from typing import Any, Final

from perceptron_core.validation import MAX_LEARNED
from perceptron_core.weights.buffers import doubles, integers

COMPILED: Final = not __file__.endswith(".py")
"""Whether this module, and with it every module with a `.pxd`, is compiled."""

NO_SLOT: Final = -1
"""Slot of a feature that is not stored: its cells have the columns' defaults."""

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
