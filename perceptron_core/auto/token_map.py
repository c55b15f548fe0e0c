"""Slots of hashed features, in the order of their first occurrence.

`token_map.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from math import sqrt
from typing import Final

from perceptron_core import memory
from perceptron_core.weights import buffers
from perceptron_core.weights.buffers import integers, lent
from perceptron_core.weights.example import Example

_FIRST_CAPACITY: Final = 256


class TokenMap:
    """Assigns slots, from 0 on, to learned hashed indices: tables are as long as there are features.

    `clear`, `add`, `add_all` and `scale` set the present event, without changing the learned state;
    `assign_slots` assigns slots to new features.

    Parameters
    ----------
    bits
        Indices are modulo 2**bits.

    Attributes
    ----------
    x : Example
        The present event.
    n_slots : int
        Number of assigned slots.

    """

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self._mask = (1 << bits) - 1
        self._rows = lent("i", 1 << bits)
        """Slot + 1 of each index; 0 if the index has no slot."""
        self._marks = bytearray((1 << bits) // 8 + 1)
        """A bit for each index, set for marked entries of the present event."""
        self._n_marked = 0
        self._indices = integers(_FIRST_CAPACITY)
        """Indices of the present event."""
        self._index_of = integers(_FIRST_CAPACITY)
        """Index of each slot."""
        self.n_slots = 0
        self.x = Example(_FIRST_CAPACITY)
        self.x.version = 0

    def clear(self) -> None:
        """Begin an event."""
        for k in range(self._n_marked):
            self._marks[self._indices[k] >> 3] = 0
        self._n_marked = self.x.n = self.x.n_missing = 0

    def add(self, index: int, value: float) -> None:
        """Add a feature; ignore it if the event has it already."""
        self._reserve(self.x.n + 1)
        n, masked = self.x.n, index & self._mask
        if self._n_marked < n:
            self._mark()
        if not self._marks[masked >> 3] & 1 << (masked & 7):
            self._marks[masked >> 3] |= 1 << (masked & 7)
            self._n_marked = n + 1
            slot = self._rows[masked] - 1
            self._indices[n] = masked
            self.x.slots[n] = slot
            self.x.values[n] = value
            self.x.n_missing += slot < 0
            self.x.n = n + 1

    def prefetch(self, indices: array[int], n: int, tag: int) -> None:
        """Prefetch the slots of features that `add_all` will add."""
        for k in range(n):
            memory.prefetch_integer(self._rows, (indices[k] ^ tag) & self._mask)

    def add_all(self, indices: array[int], n: int, tag: int) -> None:
        """Add the first n of these distinct features with the value 1, their indices shifted by a tag."""
        self._reserve(self.x.n + n)
        self._mark()
        at, n_missing, mask, is_first = self.x.n, self.x.n_missing, self._mask, self.x.n == 0
        rows, slots, entries, marks = self._rows, self.x.slots, self._indices, self._marks
        for k in range(n):
            masked = (indices[k] ^ tag) & mask
            if is_first or not marks[masked >> 3] & 1 << (masked & 7):
                slot = rows[masked] - 1
                entries[at] = masked
                slots[at] = slot
                self.x.values[at] = 1.0
                n_missing += slot < 0
                at += 1
        self.x.n, self.x.n_missing = at, n_missing

    def _mark(self) -> None:
        """Mark the entries so far, to detect repeated ones; a single text does not need marks."""
        for k in range(self._n_marked, self.x.n):
            self._marks[self._indices[k] >> 3] |= 1 << (self._indices[k] & 7)
        self._n_marked = self.x.n

    def _reserve(self, n: int) -> None:
        """Make room for n entries."""
        while n > self.x.capacity:
            self.x.double_capacity()
        while n > len(self._indices):
            self._indices = _doubled(self._indices)

    def scale(self, first: int) -> None:
        """Scale the entries from position `first` on, which are all 1, to a vector of length 1."""
        if self.x.n > first:
            value = 1.0 / sqrt(self.x.n - first)
            for k in range(first, self.x.n):
                self.x.values[k] = value

    def assign_slots(self) -> None:
        """Assign a slot to each feature of the event."""
        if not self.x.n_missing:
            return
        for k in range(self.x.n):
            if self.x.slots[k] < 0:
                self.x.slots[k] = self.n_slots
                self._append_slot(self._indices[k])
                self.x.n_missing -= 1

    def _append_slot(self, index: int) -> None:
        if self.n_slots == len(self._index_of):
            self._index_of = _doubled(self._index_of)
        self._index_of[self.n_slots] = index
        self.n_slots += 1
        self._rows[index] = self.n_slots

    def bounded_index(self, index: int) -> int:
        """Return an index modulo 2**bits."""
        return index & self._mask

    def indices(self) -> list[int]:
        """Return the indices of the event, in the order of the entries of `x`."""
        return [self._indices[k] for k in range(self.x.n)]

    def get_state(self) -> bytes:
        """Return the indices in the order of their slots, as bytes."""
        return buffers.to_bytes("i", memoryview(self._index_of)[: self.n_slots])

    def set_state(self, state: bytes) -> None:
        """Set a state from `get_state`. Raises `ValueError` for an index out of range or repeated."""
        self.__init__(self.bits)  # type: ignore[misc]
        for index in buffers.from_bytes("i", state):
            if not 0 <= index <= self._mask or self._rows[index]:
                raise ValueError(f"{index} is not an index of {self.bits} bits, or is there twice")
            self._append_slot(index)


def _doubled(old: array[int]) -> array[int]:
    new = integers(2 * len(old))
    memoryview(new)[: len(old)] = memoryview(old)
    return new
