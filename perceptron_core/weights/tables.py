"""Tables of weights: rows of features, columns of numbers, and the marks of changed rows.

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
        Number of rows.

    """

    marks: bytearray

    def __init__(self, capacity: int) -> None:
        self.marks = bytearray(capacity)
        """1 for each row that changed."""
        self.capacity = capacity
        self.dropped: list[Any] = []
        """Names of dropped features, in order; some may have been added again since."""
        self.is_whole = False
        """Whether the changes are unknown, so that only a whole copy has them."""

    def grow(self, capacity: int) -> None:
        """Make room for `capacity` rows."""
        if capacity > self.capacity:
            marks = bytearray(capacity)
            memoryview(marks)[: self.capacity] = memoryview(self.marks)
            self.marks, self.capacity = marks, capacity

    def note(self, x: Example) -> None:
        """Mark the rows of a resolved example."""
        for k in range(x.n):
            slot = x.slots[x.first_slot + k]
            if slot >= 0:
                self.marks[slot] = 1

    def note_raised(self, x: Example, scales: Column) -> None:
        """Mark each row whose scale an example without an update raises, as its weight wᵢ falls."""
        for k in range(x.n):
            slot = x.slots[x.first_slot + k]
            if slot >= 0 and 0 < scales.cells[slot] < abs(x.values[x.first_value + k]):
                self.marks[slot] = 1

    def mark(self, slot: int) -> None:
        """Mark a row."""
        self.marks[slot] = 1

    def drop(self, name: Any) -> None:
        """Note that a feature is dropped. If memory runs out, `is_whole` is set."""
        if self.is_whole or len(self.dropped) >= self.capacity:
            self.is_whole = True
            return
        try:
            self.dropped.append(name)
        except MemoryError:
            self.is_whole = True

    def slots(self) -> list[int]:
        """Return the marked rows."""
        marks, slots = bytes(self.marks), []
        slot = marks.find(1)
        while slot >= 0:
            slots.append(slot)
            slot = marks.find(1, slot + 1)
        return slots


_FIRST_CAPACITY: Final = 16


class RowTable:
    """The columns of a learner and the features of their rows, in the order in which they were added.

    Slots are reused. So no slot may be kept between calls, except in examples, which have a version to detect
    that.

    A call that raises, for example when memory runs out, changes nothing: all features get their slots, or
    none does, before the first cell or count is changed.
    """

    _free: array[int]

    def __init__(self, index: Index, *columns: Column) -> None:
        self._index = index
        self._columns = [*columns]
        """A row is stored while one of its cells is not 0."""
        self.changes: Changes | None = None
        """Marks changed rows, if requested; None after a column was replaced."""
        self._free = integers(0)
        """A stack of `_n_free` free slots."""
        self._n_free = 0
        self.n_slots = self._capacity = index.n_fixed
        self._spare: Example | None = None
        self._lay_out()

    def read(self) -> list[Column]:
        """Return the columns."""
        return self._columns

    @property
    def is_fixed(self) -> bool:
        """Whether slots are permanent."""
        return self._index.n_fixed > 0

    def add_column(self, column: Column) -> None:
        """Add a column, filled with its default."""
        column.grow(self._capacity)
        column.fill()
        self._columns.append(column)
        self.changes = None

    def track_changes(self) -> None:
        """Start to mark changed rows."""
        self.changes = Changes(self._capacity)

    def drop_column(self, column: Column) -> None:
        """Remove a column if it is the last one."""
        if self._columns and self._columns[-1] is column:
            self._columns.pop()
        self.changes = None

    def resolve(self, x: Mapping[Any, Any]) -> Example:
        """Look up the features of `x`; pass the result to `release` after use.

        Raises `FeatureError` for a value that is not finite or is larger than 1e100.
        """
        example = self._spare
        # While in use, it is inaccessible to other threads, and to a value's __float__.
        self._spare = None
        if example is None:
            example = Example()
        if type(x) is NamedValues and not self._index.n_fixed:
            self._index.resolve_values(x, example)
        else:
            example.shape = None
            self._index.resolve(x, example)
        self.refresh(example)  # a value's __float__ may have changed the model
        return example

    def columns(self, names: Sequence[Any]) -> Example:
        """Return an example of distinct names, for the rows of a matrix with these columns."""
        example = Example(len(names))
        example.names = [*names]
        example.n = len(names)
        self._index.look_up(example)
        return example

    def slots_given(self) -> Example:
        """Return an example that gets slots instead of names, if slots are permanent."""
        example = Example(0)
        example.version = self._index.version
        return example

    def name_at(self, slot: int) -> Any:
        """Return the feature of a slot."""
        return self._index.at(slot)

    def slots_in_order(self) -> list[int]:
        """Return the slots of all features, in the order in which they were added."""
        return self._index.slots()

    def refresh(self, x: Example) -> None:
        """Look up an example again if features were added or removed since."""
        if x.version != self._index.version:
            self._index.look_up(x)

    def release(self, example: Example) -> None:
        """Take back an example for reuse."""
        self._spare = example

    def by_name(self, x: Example) -> dict[Any, float]:
        """Return the non-zero values of an example by name."""
        return self._index.by_name(x)

    def prefetch(self, x: Example, start: int, end: int) -> None:
        """Prefetch the cells of `x.slots[start:end]`, as waiting for memory costs the most."""
        for column in self._columns:
            memory.prefetch(column.cells, x.slots, start, end)

    def begin_update(self, x: Example) -> None:
        """Before an update, assign a slot to every non-zero entry without one."""
        self.store(x)
        if self.changes is not None:
            self.changes.note(x)

    def store(self, x: Example) -> None:
        """Assign a slot to every non-zero entry without one."""
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

        Columns keep their length, since a running call may have an example that points into them.
        """
        self.changes = None
        for column in self._columns:
            column.fill()
        for slot in range(self.n_slots):
            if self._index.has(slot):
                self._drop(self._index.at(slot), slot)

    def fix_slots(self, n_slots: int) -> None:
        """Make the first n slots permanent, and reserve memory for them."""
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
        self._index.remove(name)  # last, as it may run a name's __del__

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
                missing.append(x.names[k])
        self._store(missing)
        self._index.look_up(x)

    def _store(self, names: list[Any]) -> None:
        """Assign slots to all of these new features, or to none."""
        self._reserve(len(names))
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

    def _reserve(self, n_names: int) -> None:
        """Allocate memory for more features; after a failure, the memory allocated so far is kept."""
        capacity = self._capacity
        while capacity < self.n_slots - self._n_free + n_names:
            capacity = max(_FIRST_CAPACITY, 2 * capacity)
        self._index.reserve(capacity)
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
        for column in self._columns:
            dumped.append(buffers.to_bytes("d", memoryview(column.cells)[:n_slots]))
        return dumped

    def load(self, dumped: Sequence[bytes]) -> None:
        """Set the cells from `dump`, for permanent slots.

        Raises `ValueError` for another number of columns, columns of different lengths, and cells that
        learning does not make.
        """
        cells = []
        for data in dumped:
            cells.append(buffers.from_bytes("d", data))
        lengths = {len(given) for given in cells}
        if len(cells) != len(self._columns) or len(lengths) != 1:
            raise ValueError(f"{len(cells)} columns of {sorted(lengths)} cells, not {len(self._columns)}")
        for column, given in zip(self._columns, cells, strict=True):
            column.check(given)
        (n_slots,) = lengths
        self.fix_slots(n_slots)
        self.changes = None
        for column, given in zip(self._columns, cells, strict=True):
            memoryview(column.cells)[:n_slots] = given

    def stored(self, column: Column) -> dict[Any, float]:
        """Return the cells of a column by feature, also zeros; of permanent slots, only changed rows."""
        names, cells = self.collect(column, True)  # noqa: FBT003  C has no keywords
        return dict(zip(names, cells, strict=True))

    def nonzero(self, column: Column) -> dict[Any, float]:
        """Return the non-zero cells of a column by feature."""
        names, cells = self.collect(column, False)  # noqa: FBT003  as in `stored`
        return dict(zip(names, cells, strict=True))

    def collect(self, column: Column, with_zeros: bool) -> tuple[list[Any], array[float]]:
        """Return features and their cells in a column, with zeros as `stored`, or without as `nonzero`."""
        if not self._index.n_fixed:
            return self._index.collect(column.cells, with_zeros)
        slots = self.changed_slots() if with_zeros else self._nonzero_slots(column)
        cells = array("d", [0.0]) * len(slots)
        for k in range(len(slots)):
            cells[k] = column.cells[slots[k]]
        return slots, cells

    def changed_slots(self) -> list[int]:
        """Return the permanent slots with a cell that differs from its column's default."""
        slots = []
        for slot in range(self.n_slots):
            if self._is_changed(slot):
                slots.append(slot)
        return slots

    def _nonzero_slots(self, column: Column) -> list[int]:
        slots = []
        for slot in range(self.n_slots):
            if column.cells[slot]:
                slots.append(slot)
        return slots

    def write(self, column: Column, cells: Mapping[Any, float]) -> None:
        """Replace the cells of a column. Raises `ValueError` for cells out of bounds."""
        column.check(array("d", cells.values()))
        self._store([name for name in cells if self._index.find(name) < 0])
        self.changes = None
        column.fill()
        for name, cell in cells.items():  # without allocation, as a failure would leave it half written
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
