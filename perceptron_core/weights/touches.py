"""The rows of a table that changed, and how many updates changed each.

`touches.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array

from perceptron_core.weights.buffers import integers
from perceptron_core.weights.example import Column, Example


class Touches:
    """The rows that changed since they were last contributed, in the order of their first change."""

    slots: array[int]
    n: int
    n_updates: int

    def __init__(self) -> None:
        self.marks = Column()
        """1 + its updates for each row that is listed, 0 for the others."""
        self.slots = integers(0)
        """The rows that are listed, `n` of them."""
        self.n = 0
        self.n_updates = 0

    def make_room(self, n: int) -> None:
        """Allocate what `note` and `add` need for an example of n entries."""
        if self.n + n > len(self.slots):
            slots = integers(2 * (self.n + n))
            memoryview(slots)[: self.n] = memoryview(self.slots)[: self.n]
            self.slots = slots

    def note(self, x: Example) -> None:
        """Count an update by an example, whose slots are looked up."""
        self.n_updates += 1
        for k in range(x.n):
            slot = x.slots[x.first_slot + k]
            if slot >= 0 and x.values[x.first_value + k] != 0:
                self.add(slot, 1.0)

    def note_change(self, x: Example) -> None:
        """List all rows of an example, which changes more than the rows that it updates."""
        self.make_room(x.n)
        for k in range(x.n):
            slot = x.slots[x.first_slot + k]
            if slot >= 0:
                self.add(slot, 0.0)

    def add(self, slot: int, count: float) -> None:
        """Count updates of a row, 0 if it changed without one; `make_room` comes first."""
        mark = self.marks.cells[slot]
        if mark == 0:
            self.slots[self.n] = slot
            self.n += 1
            mark = 1.0
        self.marks.cells[slot] = mark + count

    def count(self, slot: int) -> float:
        """Return how many updates of a row are counted."""
        return max(0.0, self.marks.cells[slot] - 1)

    def drop_first(self, n: int) -> None:
        """Remove the first n rows from the list."""
        for k in range(n):
            slot = self.slots[k]
            self.marks.cells[slot] = 0
        for k in range(n, self.n):
            self.slots[k - n] = self.slots[k]
        self.n -= n

    def forget(self) -> None:
        """Forget all updates."""
        self.n = self.n_updates = 0
