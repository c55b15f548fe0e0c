"""Keys by their hashes, in the order in which each was last touched.

A hash table with linear probing (Knuth, 6.4, algorithms L and R) says in which row a key is, and a list
through the rows which key has been silent for longest. `key_table.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from typing import Any, Final

from perceptron_core import DamagedError
from service.partition.windows.columns import grown, numbers_of, written

_FIRST_ROWS: Final = 16


class KeyTable:
    """Gives each key a row; of too many, the one that was touched longest ago leaves.

    Parameters
    ----------
    capacity
        Most keys.

    Attributes
    ----------
    n : int
        How many there are: they have the rows below.
    n_left : int
        How many have left.
    changed : array of int
        By row: 1 if it is another since `forget_changes`, or new.

    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self.n = 0
        self.n_left = 0
        self._hashes = array("q")
        self._older = array("i")
        """By row: the row that was touched just before; -1 for the oldest."""
        self._newer = array("i")
        self.changed = array("B")
        self._oldest = self._newest = -1
        self._mask = 0
        self._slots = array("i", [0])
        """By hash: 1 + row; 0 where there is none. At most half of them are taken."""

    def find(self, key: int) -> int:
        """Return the row of a key; -1 if there is none."""
        mask, slots, hashes = self._mask, self._slots, self._hashes
        at = key & mask
        while slots[at]:
            if hashes[slots[at] - 1] == key:
                return slots[at] - 1
            at = at + 1 & mask
        return -1

    def add(self, key: int) -> int:
        """Add a key that is not there, as the newest; return its row: of a new one, or one that leaves."""
        if self.n < self._capacity:
            row = self.n
            self._make_room(row + 1)
            self.n = row + 1
        else:
            row = self._oldest
            self._unlink(row)
            self._leave(row)
            self.n_left += 1
        self._hashes[row] = key
        self._enter(row)
        self._link(row)
        return row

    def touch(self, row: int) -> None:
        """Make the key of a row the newest."""
        if row != self._newest:
            self._unlink(row)
            self._link(row)

    @property
    def size_bytes(self) -> int:
        """Memory taken."""
        return len(self._hashes) * 17 + len(self._slots) * 4

    def state(self, rows: Any = None) -> dict[str, Any]:  # noqa: ANN401 - an array, or None
        """Return everything, as plain values; of columns, with `rows`, those alone."""
        kept = {"hashes": self._hashes, "older": self._older, "newer": self._newer}
        columns = {name: written(column, self.n, rows) for name, column in kept.items()}
        return {**columns, "oldest": self._oldest, "newest": self._newest, "left": self.n_left}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned. Raises `DamagedError`."""
        hashes, older, newer = (
            numbers_of(code, state[name]) for code, name in (("q", "hashes"), ("i", "older"), ("i", "newer"))
        )
        n = len(hashes)
        rows = [*older, *newer, state["oldest"], state["newest"]]
        if n > self._capacity or len(rows) != 2 * n + 2 or not -1 <= min(rows) <= max(rows) < n:
            raise DamagedError("windows: rows of keys that are not there")
        row, before, n_passed = state["oldest"], -1, 0
        while row >= 0 and older[row] == before and n_passed < n:
            row, before, n_passed = newer[row], row, n_passed + 1
        if (row, before, n_passed) != (-1, state["newest"], n):
            raise DamagedError("windows: keys in no order")
        self._hashes, self._older, self._newer = hashes, older, newer
        self.changed = array("B", bytes(n))
        self._oldest, self._newest, self.n_left, self.n = state["oldest"], state["newest"], state["left"], n
        self._mask, self._slots = 0, array("i", [0])
        self._make_slots(n)

    def _make_room(self, n: int) -> None:
        """Make room for so many keys."""
        room = len(self._hashes)
        if n > room:
            room = min(max(room + room // 4, _FIRST_ROWS), self._capacity)
            self._hashes = grown("q", self._hashes, room)
            self._older, self._newer = grown("i", self._older, room), grown("i", self._newer, room)
            self.changed = grown("B", self.changed, room)
            self._make_slots(room)

    def _make_slots(self, room: int) -> None:
        """Make a table for so many keys, and enter those there are."""
        n_slots = 1
        while n_slots < 2 * room:
            n_slots *= 2
        if n_slots != len(self._slots):
            self._mask, self._slots = n_slots - 1, array("i", bytes(4 * n_slots))
            for row in range(self.n):
                self._enter(row)

    def _enter(self, row: int) -> None:
        at = self._hashes[row] & self._mask
        while self._slots[at]:
            at = at + 1 & self._mask
        self._slots[at] = row + 1

    def _leave(self, row: int) -> None:
        """Take a row out of the table; those that it kept from their home move up."""
        mask, slots, hashes = self._mask, self._slots, self._hashes
        hole = hashes[row] & mask
        while slots[hole] != row + 1:
            hole = hole + 1 & mask
        at = hole + 1 & mask
        while slots[at]:
            home = hashes[slots[at] - 1] & mask
            if (at - home & mask) >= (at - hole & mask):
                slots[hole] = slots[at]
                hole = at
            at = at + 1 & mask
        slots[hole] = 0

    def _link(self, row: int) -> None:
        """Put a row behind the newest."""
        self._older[row], self._newer[row] = self._newest, -1
        self.changed[row] = 1
        if self._newest >= 0:
            self._newer[self._newest] = row
            self.changed[self._newest] = 1
        else:
            self._oldest = row
        self._newest = row

    def _unlink(self, row: int) -> None:
        older, newer = self._older[row], self._newer[row]
        if older >= 0:
            self._newer[older] = newer
            self.changed[older] = 1
        else:
            self._oldest = newer
        if newer >= 0:
            self._older[newer] = older
            self.changed[newer] = 1
        else:
            self._newest = older
