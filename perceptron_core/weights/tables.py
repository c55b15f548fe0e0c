"""Tables of weights: rows of features, columns of numbers, and what changed in them.

`tables.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any, Final

from perceptron_core import memory
from perceptron_core.weights import buffers
from perceptron_core.weights.buffers import integers
from perceptron_core.weights.example import NO_SLOT, Column, Example
from perceptron_core.weights.index import Index
from perceptron_core.weights.values import NamedValues


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


_FIRST_CAPACITY: Final = 16


class RowTable:
    """The columns of a learner and the features of their rows, in the order in which these came.

    Slots are used again. So none may be kept from one call to the next, but in examples, which know by
    their version that they are out of date.

    A call that raises, for want of memory say, changes nothing: features get their slots, all or
    none of them, before the first cell or count is changed.
    """

    _free: array[int]

    def __init__(self, index: Index, *columns: Column) -> None:
        self._index = index
        self._columns = [*columns]
        """A row is stored while one of its cells is not 0."""
        self.changes: Changes | None = None
        """Marks what changes, if asked to; not where a column is replaced."""
        self._free = integers(0)
        """A stack of the slots that features have left, `_n_free` of them."""
        self._n_free = 0
        self.n_slots = self._capacity = index.n_fixed
        self._spare: Example | None = None
        self._lay_out()

    def read(self) -> list[Column]:
        """Return the columns."""
        return self._columns

    @property
    def is_fixed(self) -> bool:
        """Whether every feature has its slot for good."""
        return self._index.n_fixed > 0

    def add_column(self, column: Column) -> None:
        """Take a column in, filled with its default."""
        column.grow(self._capacity)
        column.fill()
        self._columns.append(column)
        self.changes = None

    def track_changes(self) -> None:
        """Mark from now on which rows change."""
        self.changes = Changes(self._capacity)

    def drop_column(self, column: Column) -> None:
        """Remove a column if it is the last one."""
        if self._columns and self._columns[-1] is column:
            self._columns.pop()
        self.changes = None

    def resolve(self, x: Mapping[Any, Any]) -> Example:
        """Look the features of `x` up; `release` takes what this returns, when it is done with.

        Raises `FeatureError` for a value that is not finite or is larger than 1e100.
        """
        example = self._spare
        # While in use, out of the reach of other threads, and of a value's own __float__.
        self._spare = None
        if example is None:
            example = Example()
        if type(x) is NamedValues and not self._index.n_fixed:
            self._index.resolve_values(x, example)
        else:
            example.shape = None
            self._index.resolve(x, example)
        self.refresh(example)  # a value's own __float__ may have changed the model
        return example

    def columns(self, names: Sequence[Any]) -> Example:
        """Make an example of distinct names, for the rows of a matrix in which each has a column."""
        example = Example(len(names))
        example.names = [*names]
        example.n = len(names)
        self._index.look_up(example)
        return example

    def slots_given(self) -> Example:
        """Make an example that is given slots instead of names, where every feature has its slot for good."""
        example = Example(0)
        example.version = self._index.version
        return example

    def name_at(self, slot: int) -> Any:
        """Return the feature that has a slot."""
        return self._index.at(slot)

    def slots_in_order(self) -> list[int]:
        """Return the slots of all features, in the order in which these came."""
        return self._index.slots()

    def refresh(self, x: Example) -> None:
        """Look an example up again if features came or went since."""
        if x.version != self._index.version:
            self._index.look_up(x)

    def release(self, example: Example) -> None:
        """Take an example back that is done with, for the next."""
        self._spare = example

    def by_name(self, x: Example) -> dict[Any, float]:
        """Return the values of an example by name that are not 0."""
        return self._index.by_name(x)

    def prefetch(self, x: Example, start: int, end: int) -> None:
        """Ask the memory for the cells of `x.slots[start:end]`: waiting for it is what costs most."""
        for column in self._columns:
            memory.prefetch(column.cells, x.slots, start, end)

    def allocate(self, x: Example) -> None:
        """Assign a slot to every entry that has none and whose value is not 0: an update comes next."""
        self.store(x)
        if self.changes is not None:
            self.changes.note(x)

    def store(self, x: Example) -> None:
        """Assign a slot to every entry that has none and whose value is not 0."""
        self.refresh(x)
        if x.n_missing:
            self._store_missing(x)

    def drop_zero_rows(self, x: Example) -> None:
        """Drop the features of an example whose cells are 0 in all columns."""
        if self._index.n_fixed:
            return
        for k in range(x.n):
            slot = x.slots[x.first_slot + k]
            if slot >= 0 and self._is_zero(slot):
                self._drop(x.names[k], slot)
                x.slots[x.first_slot + k] = NO_SLOT
                x.n_missing += 1
        x.version = self._index.version

    def drop_all_zero_rows(self) -> None:
        """Drop all features whose cells are 0 in all columns."""
        for slot in range(self.n_slots):
            if self._index.has(slot) and self._is_zero(slot):
                self._drop(self._index.at(slot), slot)

    def clear(self) -> None:
        """Drop all features.

        Columns stay as long as they were: a call under way may have an example that points into them.
        """
        self.changes = None
        for column in self._columns:
            column.fill()
        for slot in range(self.n_slots):
            if self._index.has(slot):
                self._drop(self._index.at(slot), slot)

    def widen(self, n_slots: int) -> None:
        """Make room for so many features that have their slots for good."""
        if n_slots <= self._capacity:
            return
        self.changes = None
        for column in self._columns:
            column.grow(n_slots)
            column.fill_between(self._capacity, n_slots)
        self.n_slots = self._capacity = self._index.n_fixed = n_slots

    def _lay_out(self) -> None:
        for column in self._columns:
            column.cells = self._index.cells(column.default)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + 8 * self._capacity * len(self._columns)

    def _drop(self, name: Any, slot: int) -> None:
        self._free[self._n_free] = slot
        self._n_free += 1
        if self.changes is not None:
            self.changes.drop(name)
        self._index.remove(name)  # may run the last words of a name: so it comes last

    def _is_zero(self, slot: int) -> bool:
        for column in self._columns:  # noqa: SIM110  a generator is slower, and not compiled
            if column.cells[slot] != 0:
                return False
        return True

    def _is_changed(self, slot: int) -> bool:
        for column in self._columns:  # noqa: SIM110  a generator is slower, and not compiled
            if column.cells[slot] != column.default:
                return True
        return False

    def _store_missing(self, x: Example) -> None:
        missing = []
        for k in range(x.n):
            if x.slots[x.first_slot + k] < 0 and x.values[x.first_value + k] != 0:
                missing.append(x.names[k])  # noqa: PERF401  compiled, a loop without a scope of its own
        self._store(missing)
        self._index.look_up(x)

    def _store(self, names: list[Any]) -> None:
        """Assign a slot to each of these features, which have none; to all of them, or to none."""
        self._make_room(len(names))
        n_stored = 0
        try:
            for name in names:
                self._store_one(name)
                n_stored += 1
        except BaseException:
            for k in range(n_stored):
                self._drop(names[k], self._index.find(names[k]))
            raise

    def _store_one(self, name: Any) -> None:
        if self._n_free:
            self._n_free -= 1
            slot = self._free[self._n_free]
        else:
            slot = self.n_slots
            self.n_slots += 1
        try:
            self._index.add(name, slot)
        except BaseException:
            self._free[self._n_free] = slot
            self._n_free += 1
            raise
        for column in self._columns:
            column.cells[slot] = column.default
        if self.changes is not None:
            self.changes.mark(slot)

    def _make_room(self, n_names: int) -> None:
        """Allocate memory for more features; after a failure, memory allocated so far is kept."""
        capacity = self._capacity
        while capacity < self.n_slots - self._n_free + n_names:
            capacity = max(_FIRST_CAPACITY, 2 * capacity)
        self._index.make_room(capacity)
        if capacity > self._capacity:
            free = integers(capacity)
            memoryview(free)[: self._n_free] = memoryview(self._free)[: self._n_free]
            for column in self._columns:
                column.grow(capacity)
            if self.changes is not None:
                self.changes.grow(capacity)
            self._free, self._capacity = free, capacity


class WeightTable(RowTable):
    """The columns of a learner, read and written by name."""

    def dump(self, n_slots: int) -> list[bytes]:
        """Return the cells of the first slots of each column as bytes."""
        dumped = []
        for column in self._columns:  # Cython 3.3 frees what a list comprehension cannot append twice
            dumped.append(buffers.to_bytes("d", memoryview(column.cells)[:n_slots]))  # noqa: PERF401
        return dumped

    def load(self, dumped: Sequence[bytes]) -> None:
        """Take what `dump` returned, for features that have their slots for good.

        Raises ValueError for another number of columns, for columns of different lengths, and for cells that
        learning does not make.
        """
        cells = []
        for data in dumped:
            cells.append(buffers.from_bytes("d", data))  # noqa: PERF401  as in `dump`
        lengths = {len(given) for given in cells}
        if len(cells) != len(self._columns) or len(lengths) != 1:
            raise ValueError(f"{len(cells)} columns of {sorted(lengths)} cells, not {len(self._columns)}")
        for column, given in zip(self._columns, cells, strict=True):
            column.check(given)
        (n_slots,) = lengths
        self.widen(n_slots)
        self.changes = None
        for column, given in zip(self._columns, cells, strict=True):
            memoryview(column.cells)[:n_slots] = given

    def stored(self, column: Column) -> dict[Any, float]:
        """Return the cells of a column by feature, zeros too; of fixed slots, those of changed rows."""
        names, cells = self.collect(column, True)  # noqa: FBT003  C has no keywords
        return dict(zip(names, cells, strict=True))

    def nonzero(self, column: Column) -> dict[Any, float]:
        """Return the cells of a column by feature that are not 0."""
        names, cells = self.collect(column, False)  # noqa: FBT003  as in `stored`
        return dict(zip(names, cells, strict=True))

    def collect(self, column: Column, with_zeros: bool) -> tuple[list[Any], array[float]]:
        """Return features and their cells of a column, as `stored` or without zeros as `nonzero` does."""
        if not self._index.n_fixed:
            return self._index.collect(column.cells, with_zeros)
        slots = self.changed_slots() if with_zeros else self._nonzero_slots(column)
        cells = array("d", [0.0]) * len(slots)
        for k in range(len(slots)):
            cells[k] = column.cells[slots[k]]
        return slots, cells

    def changed_slots(self) -> list[int]:
        """Return the fixed slots of which a cell is not its column's default."""
        found = []
        for slot in range(self.n_slots):
            if self._is_changed(slot):
                found.append(slot)  # noqa: PERF401  as in `dump`
        return found

    def _nonzero_slots(self, column: Column) -> list[int]:
        found = []
        for slot in range(self.n_slots):
            if column.cells[slot]:
                found.append(slot)  # noqa: PERF401  as in `dump`
        return found

    def write(self, column: Column, cells: Mapping[Any, float]) -> None:
        """Replace what a column holds. Raises ValueError for cells that learning does not make."""
        column.check(array("d", cells.values()))
        self._store([name for name in cells if self._index.find(name) < 0])
        self.changes = None
        column.fill()
        for name, cell in cells.items():  # allocates nothing: a failure would leave it half written
            slot = self._index.find(name)
            column.cells[slot] = cell

    def add(self, column: Column, amounts: Mapping[Any, float], step: float) -> None:
        """Add step·amount to the cells of a column by feature, whatever the size of the result."""
        self._store(
            [
                name
                for name, amount in amounts.items()
                if column.default + step * amount != 0 and self._index.find(name) < 0
            ]
        )
        self.changes = None
        for name, amount in amounts.items():
            slot = self._index.find(name)
            if slot >= 0:
                column.cells[slot] += step * amount
                if not self._index.n_fixed and self._is_zero(slot):
                    self._drop(name, slot)
