"""The rows of a table that changed since they were last copied, and the features dropped since.

`changes.pxd` gives this module its C types.
"""

from __future__ import annotations

from typing import Any

from perceptron_core.weights.example import Example


class Changes:
    """Marks rows that change.

    Parameters
    ----------
    capacity
        How many rows there may be.

    """

    marks: bytearray

    def __init__(self, capacity: int) -> None:
        self.marks = bytearray(capacity)
        """1 for each row that changed."""
        self.capacity = capacity
        self.dropped: list[Any] = []
        """In their order; a feature that came since may be among them."""
        self.is_whole = False
        """Whether more changed than is known."""

    def grow(self, capacity: int) -> None:
        """Make room for `capacity` rows."""
        if capacity > self.capacity:
            marks = bytearray(capacity)
            memoryview(marks)[: self.capacity] = memoryview(self.marks)
            self.marks, self.capacity = marks, capacity

    def note(self, x: Example) -> None:
        """Mark the rows of an example, whose slots are looked up."""
        for k in range(x.n):
            slot = x.slots[x.first_slot + k]
            if slot >= 0:
                self.marks[slot] = 1

    def mark(self, slot: int) -> None:
        """Mark a row."""
        self.marks[slot] = 1

    def drop(self, name: Any) -> None:
        """Note that a feature is dropped. Without memory for it, more changed than is known."""
        if self.is_whole or len(self.dropped) >= self.capacity:
            self.is_whole = True
            return
        try:
            self.dropped.append(name)
        except MemoryError:
            self.is_whole = True

    def slots(self) -> list[int]:
        """Return the marked rows."""
        marks, found = bytes(self.marks), []
        slot = marks.find(1)
        while slot >= 0:
            found.append(slot)
            slot = marks.find(1, slot + 1)
        return found
