"""Stored features: a slot for each name, a row of cells for each slot. In: examples. Out: entries.

A name whose cells are all 0 leaves, and its slot is used again. `weight_table.pxd` gives this module its C
types.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any, Final

from perceptron_core.weights.example import NO_SLOT, Column, Entries
from perceptron_core.weights.feature_index import Names

_FIRST_CAPACITY: Final = 16


class Slots:
    """The columns of a learner and the names of their rows, in the order in which these came.

    Slots are used again. So none may be kept from one call to the next, but in entries, which know by
    their version that they are out of date.

    All memory that a call needs is allocated before the first cell, name or count is changed: a call that
    raises `MemoryError` changes nothing.
    """

    _free: array[int]

    def __init__(self, *columns: Column) -> None:
        self._columns = [*columns]
        self._names = Names()
        self._free = _integers(0)
        """A stack of the slots that names have left, `_n_free` of them."""
        self._n_free = 0
        self._n_slots = 0
        self._capacity = 0
        self._spare: Entries | None = None

    def add_column(self, column: Column) -> None:
        """Take a column in, filled with its default."""
        column.grow(self._capacity)
        for slot in range(self._capacity):
            column.cells[slot] = column.default
        self._columns.append(column)

    def drop_column(self, column: Column) -> None:
        """Remove a column if it is the last one."""
        last = len(self._columns) - 1
        if last >= 0 and self._columns[last] is column:
            self._columns.pop()

    def resolve(self, x: Mapping[Any, Any]) -> Entries:
        """Look the features of `x` up; `release` takes what this gives, when it is done with.

        Raises `FeatureError` for a value that is not finite or is larger than 1e100.
        """
        entries = self._spare
        # While in use, out of the reach of other threads, and of a value's own __float__.
        self._spare = None
        if entries is None:
            entries = Entries()
        self._names.resolve(x, entries)
        self.refresh(entries)  # a value's own __float__ may have changed the model
        return entries

    def columns(self, names: Sequence[Any]) -> Entries:
        """Make entries of these names, distinct ones, for the rows of a matrix in which each has a column."""
        entries = Entries(len(names))
        entries.names = [*names]
        entries.n = len(names)
        self._look_up_again(entries)
        return entries

    def refresh(self, x: Entries) -> None:
        """Look entries up again if names came or went since."""
        if x.version != self._names.version:
            self._look_up_again(x)

    def release(self, entries: Entries) -> None:
        """Take entries back whose example is done with, for the next."""
        self._spare = entries

    def allocate(self, x: Entries) -> None:
        """Return every entry a slot that has none and whose value is not 0."""
        self.refresh(x)
        if x.n_missing:
            self._make_room(x.n_missing)
            for k in range(x.n):
                if x.slots[x.first_slot + k] < 0 and x.values[x.first_value + k] != 0:
                    x.slots[x.first_slot + k] = self._new_slot(x.names[k])
                    x.n_missing -= 1
            x.version = self._names.version

    def make_room(self, x: Entries) -> None:
        """Reserve what `allocate` of the entries needs."""
        self.refresh(x)
        if x.n_missing:
            self._make_room(x.n_missing)

    def drop_zero_rows(self, x: Entries) -> None:
        """Let the names among the entries go whose cells are 0 in all columns."""
        for k in range(x.n):
            slot = x.slots[x.first_slot + k]
            if slot >= 0 and self._is_zero(slot):
                self._release(x.names[k], slot)
                x.slots[x.first_slot + k] = NO_SLOT
                x.n_missing += 1
        x.version = self._names.version

    def drop_all_zero_rows(self) -> None:
        """Let all names go whose cells are 0 in all columns."""
        for slot in range(self._n_slots):
            if self._names.has(slot) and self._is_zero(slot):
                self._release(self._names.at(slot), slot)

    def clear(self) -> None:
        """Let all names go.

        Columns stay as long as they were: a call under way may have entries that point into them.
        """
        for column in self._columns:
            for slot in range(self._capacity):
                column.cells[slot] = column.default
        for slot in range(self._n_slots):
            if self._names.has(slot):
                self._release(self._names.at(slot), slot)

    def stored(self, column: Column) -> dict[Any, float]:
        """Return the cells of a column by name, zeros too."""
        return {name: column.cells[slot] for name, slot in self._names.items()}

    def nonzero(self, column: Column) -> dict[Any, float]:
        """Return the cells of a column by name that are not 0."""
        return {name: cell for name, cell in self.stored(column).items() if cell}

    def write(self, column: Column, cells: Mapping[Any, float]) -> None:
        """Replace what a column holds."""
        for slot in range(self._capacity):
            column.cells[slot] = column.default
        for name, cell in cells.items():
            slot = self._names.find(name)
            if slot < 0:
                slot = self._new_slot(name)
            column.cells[slot] = cell

    def add(self, column: Column, amounts: Mapping[Any, float], step: float) -> None:
        """Add step·amount to the cells of a column by name, whatever the size of the result."""
        self._make_room(len(amounts))
        for name, amount in [*amounts.items()]:
            slot = self._names.find(name)
            cell = (column.cells[slot] if slot >= 0 else column.default) + step * amount
            if slot < 0 and cell != 0:
                slot = self._new_slot(name)
            if slot >= 0:
                column.cells[slot] = cell
            if slot >= 0 and self._is_zero(slot):
                self._release(name, slot)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + 8 * self._capacity * len(self._columns)

    def _look_up_again(self, x: Entries) -> None:
        """Find the slots of entries since whose resolution another call has come between."""
        x.n_missing = 0
        for k in range(x.n):
            slot = self._names.find(x.names[k])
            x.slots[x.first_slot + k] = slot
            x.n_missing += slot < 0
        x.version = self._names.version

    def _release(self, name: Any, slot: int) -> None:
        self._names.remove(name)
        self._free[self._n_free] = slot
        self._n_free += 1

    def _is_zero(self, slot: int) -> bool:
        for column in self._columns:  # noqa: SIM110  a generator is slower, and not compiled
            if column.cells[slot] != 0:
                return False
        return True

    def _new_slot(self, name: Any) -> int:
        self._make_room(1)
        if self._n_free:
            self._n_free -= 1
            slot = self._free[self._n_free]
        else:
            slot = self._n_slots
            self._n_slots += 1
        for column in self._columns:
            column.cells[slot] = column.default
        self._names.add(name, slot)
        return slot

    def _make_room(self, n_names: int) -> None:
        """Allocate what so many more names need; what was allocated when it fails is not lost."""
        capacity = self._capacity
        while capacity < self._n_slots - self._n_free + n_names:
            capacity = max(_FIRST_CAPACITY, 2 * capacity)
        self._names.make_room(n_names, capacity)
        if capacity > self._capacity:
            free = _integers(capacity)
            memoryview(free)[: self._n_free] = memoryview(self._free)[: self._n_free]
            for column in self._columns:
                column.grow(capacity)
            self._free, self._capacity = free, capacity


def _integers(n: int) -> array[int]:
    return array("i", bytes(4 * n))
