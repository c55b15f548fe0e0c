"""Count the updates of each row.

`touches.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array

from perceptron_core.weights.buffers import integers
from perceptron_core.weights.example import Column, Example


class Touches:
    """The rows updated since they were last taken, in the order of their first update."""

    slots: array[int]
    n: int
    n_updates: int

    def __init__(self) -> None:
        self.counts = Column()
        """How often each row was updated."""
        self.slots = integers(0)
        """The rows whose count is not 0, `n` of them."""
        self.n = 0
        self.n_updates = 0

    def make_room(self, n: int) -> None:
        """Allocate what `note` needs for an example of n entries."""
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
                count = self.counts.cells[slot]
                self.counts.cells[slot] = count + 1
                if count == 0:
                    self.slots[self.n] = slot
                    self.n += 1

    def add(self, slot: int, count: float) -> None:
        """Add to the count of a row; `make_room` comes first."""
        if self.counts.cells[slot] == 0:
            self.slots[self.n] = slot
            self.n += 1
        self.counts.cells[slot] += count

    def take(self, n: int) -> None:
        """Set the counts of the first n rows to 0: what was updated is taken."""
        for k in range(n):
            slot = self.slots[k]
            self.counts.cells[slot] = 0
        for k in range(n, self.n):
            self.slots[k - n] = self.slots[k]
        self.n -= n

    def forget(self) -> None:
        """Forget all updates."""
        self.n = self.n_updates = 0
