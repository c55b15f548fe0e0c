"""Keys of windows by hash, in the order of their last use; and columns of numbers.

A hash table with linear probing (Knuth, 6.4, algorithms L and R) finds the row of a key; a linked list orders
the rows by last use. Columns are arrays that grow; a state has their little-endian bytes, or only those of
changed rows. `window_keys.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any, Final

from perceptron_core import DamagedError

_FIRST_ROWS: Final = 16
_IS_LITTLE: Final = array("h", [1]).tobytes() == b"\x01\x00"


def grown(code: str, numbers: Any, n: int) -> array[Any]:  # noqa: ANN401 - compiled, a memory view
    """Return an array with the same numbers, padded with zeros to length n."""
    longer = array(code)
    longer.frombytes(memoryview(numbers).tobytes())
    longer.frombytes(bytes((n - len(longer)) * longer.itemsize))
    return longer


def written(numbers: Any, n: int, rows: Any = None, width: int = 1) -> bytes:  # noqa: ANN401
    """Return the bytes of the first n rows of `width` numbers; with `rows`, only of these rows."""
    view = memoryview(numbers)
    if rows is None:
        view = view[: n * width]
    else:
        size = width * view.itemsize
        copied = bytearray(size * len(rows))
        if copied:
            _copy(view.cast("B"), rows, size, copied)
        view = memoryview(copied).cast(view.format)  # type: ignore[call-overload] # its own is one of them
    if _IS_LITTLE:
        return view.tobytes()
    swapped = array(view.format, view)
    swapped.byteswap()
    return swapped.tobytes()


def changes_of(kept: Any, n: int) -> dict[str, Any]:  # noqa: ANN401 - a KeyTable, Cells or a Window
    """Return the state of the rows, among the first n, that changed since `forget_changes`."""
    rows = array("i", bytes(4 * n))
    rows = rows[: _list_marked(kept.changed, n, rows) if n else 0]
    return {"n": n, "rows": written(rows, len(rows)), **kept.state(rows)}


def forget_changes(kept: Any) -> None:  # noqa: ANN401
    """Mark all rows as unchanged."""
    memoryview(kept.changed)[:] = bytes(len(kept.changed))


def with_changes(state: Mapping[str, Any], changes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a state with the result of `changes_of` applied.

    Raises `DamagedError`, and `LookupError`, `TypeError` or `ValueError`, if they do not belong together.
    """
    n, rows = changes["n"], numbers_of("i", changes["rows"])
    if rows and not 0 <= min(rows) <= max(rows) < n:
        raise DamagedError("windows: changes of missing rows")
    made: dict[str, Any] = {}
    for name, value in state.items():
        new = changes[name]
        if isinstance(value, Mapping):
            made[name] = with_changes(value, new)
        else:
            made[name] = _replaced(value, n, rows, new) if isinstance(value, bytes) else new
    return made


def _replaced(column: bytes, n: int, rows: Sequence[int], new: bytes) -> bytes:
    """Return a column of n rows, some of them replaced."""
    size = len(new) // len(rows) if rows else 0
    if size * len(rows) != len(new) or (rows and len(column) > size * n):
        raise DamagedError("windows: changes of different lengths")
    column_bytes = bytearray(column) + bytes(max(0, size * n - len(column)))
    for k, row in enumerate(rows):
        column_bytes[row * size : (row + 1) * size] = new[k * size : (k + 1) * size]
    return bytes(column_bytes)


def _list_marked(marks: Any, n: int, rows: Any) -> int:  # noqa: ANN401
    """Write the marked rows among the first n to `rows`; return their number."""
    count = 0
    for row in range(n):
        if marks[row]:
            rows[count] = row
            count += 1
    return count


def _copy(given: Any, rows: Any, size: int, to: Any) -> None:  # noqa: ANN401
    """Copy the bytes of some rows."""
    for n in range(len(rows)):
        for at in range(size):
            to[n * size + at] = given[rows[n] * size + at]


def numbers_of(code: str, data: bytes) -> array[Any]:
    """Return the numbers of bytes from `written`. Raises `DamagedError`."""
    numbers = array(code)
    try:
        numbers.frombytes(data)
    except (TypeError, ValueError):
        raise DamagedError("windows: expected whole numbers") from None
    if not _IS_LITTLE:
        numbers.byteswap()
    return numbers


class KeyTable:
    """Assigns a row to each key; when full, it evicts the least recently used key.

    Parameters
    ----------
    capacity
        Largest number of keys.

    Attributes
    ----------
    n : int
        Number of keys, which have the rows 0 to n - 1.
    n_left : int
        Number of evicted keys.
    changed : array of int
        1 for each row that is new or changed since `forget_changes`.

    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self.n = 0
        self.n_left = 0
        self._hashes = array("q")
        self._older = array("i")
        """For each row, the row used just before it; -1 for the oldest."""
        self._newer = array("i")
        self.changed = array("B")
        self._oldest = self._newest = -1
        self._mask = 0
        self._slots = array("i", [0])
        """The hash table: 1 + row, or 0 for an empty slot. At most half the slots are taken."""

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
        """Add a new key as the newest; return its row, which may have been the row of an evicted key."""
        if self.n < self._capacity:
            row = self.n
            self._reserve(row + 1)
            self.n = row + 1
        else:
            row = self._oldest
            self._detach(row)
            self._remove(row)
            self.n_left += 1
        self._hashes[row] = key
        self._insert(row)
        self._append(row)
        return row

    def make_newest(self, row: int) -> None:
        """Make the key of a row the newest."""
        if row != self._newest:
            self._detach(row)
            self._append(row)

    @property
    def size_bytes(self) -> int:
        """Memory in bytes."""
        return len(self._hashes) * 17 + len(self._slots) * 4

    def state(self, rows: Any = None) -> dict[str, Any]:  # noqa: ANN401 - an array, or None
        """Return the state as plain values; with `rows`, only these rows of the columns."""
        kept = {"hashes": self._hashes, "older": self._older, "newer": self._newer}
        columns = {name: written(column, self.n, rows) for name, column in kept.items()}
        return {**columns, "oldest": self._oldest, "newest": self._newest, "left": self.n_left}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a state. Raises `DamagedError`."""
        hashes, older, newer = (
            numbers_of(code, state[name]) for code, name in (("q", "hashes"), ("i", "older"), ("i", "newer"))
        )
        n = len(hashes)
        rows = [*older, *newer, state["oldest"], state["newest"]]
        if n > self._capacity or len(rows) != 2 * n + 2 or not -1 <= min(rows) <= max(rows) < n:
            raise DamagedError("windows: keys of missing rows")
        row, before, n_passed = state["oldest"], -1, 0
        while row >= 0 and older[row] == before and n_passed < n:
            row, before, n_passed = newer[row], row, n_passed + 1
        if (row, before, n_passed) != (-1, state["newest"], n):
            raise DamagedError("windows: unordered keys")
        self._hashes, self._older, self._newer = hashes, older, newer
        self.changed = array("B", bytes(n))
        self._oldest, self._newest, self.n_left, self.n = state["oldest"], state["newest"], state["left"], n
        self._mask, self._slots = 0, array("i", [0])
        self._make_slots(n)

    def _reserve(self, n: int) -> None:
        """Make room for n keys."""
        room = len(self._hashes)
        if n > room:
            room = min(max(room + room // 4, _FIRST_ROWS), self._capacity)
            self._hashes = grown("q", self._hashes, room)
            self._older, self._newer = grown("i", self._older, room), grown("i", self._newer, room)
            self.changed = grown("B", self.changed, room)
            self._make_slots(room)

    def _make_slots(self, room: int) -> None:
        """Make a hash table for `room` keys, and enter the present keys."""
        n_slots = 1
        while n_slots < 2 * room:
            n_slots *= 2
        if n_slots != len(self._slots):
            self._mask, self._slots = n_slots - 1, array("i", bytes(4 * n_slots))
            for row in range(self.n):
                self._insert(row)

    def _insert(self, row: int) -> None:
        at = self._hashes[row] & self._mask
        while self._slots[at]:
            at = at + 1 & self._mask
        self._slots[at] = row + 1

    def _remove(self, row: int) -> None:
        """Remove a row from the hash table; entries that it displaced move up."""
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

    def _append(self, row: int) -> None:
        """Append a row to the list as the newest."""
        self._older[row], self._newer[row] = self._newest, -1
        self.changed[row] = 1
        if self._newest >= 0:
            self._newer[self._newest] = row
            self.changed[self._newest] = 1
        else:
            self._oldest = row
        self._newest = row

    def _detach(self, row: int) -> None:
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
