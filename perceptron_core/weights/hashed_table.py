"""Features that are their own slots. In: examples by index. Out: entries, with no name looked up or kept.

The columns have a cell for every index from the start. `hashed_slots.pxd` gives this module its C types.
"""

from __future__ import annotations

import contextlib
import mmap
from array import array
from collections.abc import Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any, Final, TypeVar

from perceptron_core.errors import FeatureError
from perceptron_core.validation import MAX_MAGNITUDE, as_double, refuse_features
from perceptron_core.weights.example import Column, Entries
from perceptron_core.weights.prefetch import prefetch
from perceptron_core.weights.weight_table import Slots

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array = TypeVar("Array", bound="NDArray[Any]")

_LENT_FROM_BYTES: Final = 1 << 20
"""Below, a mapping of its own is not worth it: a process may have some 65,000."""


class HashedEntries(Entries):
    """Entries whose slots are their names."""

    def by_name(self) -> dict[Any, float]:
        """Return the values by index that are not 0."""
        slots = self.slots[self.first_slot : self.first_slot + self.n]
        values = self.values[self.first_value : self.first_value + self.n]
        return {slot: value for slot, value in zip(slots, values, strict=True) if value}


class HashedSlots(Slots):
    """Columns of 2**bits cells, of which feature i has cell i.

    A column of zeros takes no memory until it is written to: the operating system lends pages of zeros.
    """

    def __init__(self, bits: int, *columns: Column) -> None:
        super().__init__(*columns)
        self._capacity = self.n_slots = 1 << bits
        self._lay_out()

    def _lay_out(self) -> None:
        for column in self._columns:
            column.cells = _cells(self.n_slots, column.default)

    def resolve(self, x: Mapping[Any, Any]) -> Entries:
        """Take the features of `x`; `release` takes what this gives, when it is done with.

        Raises `FeatureError` for a name that is no index, and for a value as `Slots.resolve` does.
        """
        entries = self._spare
        self._spare = None
        if entries is None:
            entries = HashedEntries()
        n = 0
        try:
            for name, value in x.items():
                number = value if type(value) is float else as_double(value)
                if not -MAX_MAGNITUDE <= number <= MAX_MAGNITUDE:
                    raise refuse_features(x)
                if n == entries.capacity:
                    entries.widen()
                entries.slots[n] = self.slot_of(name)
                entries.values[n] = number
                n += 1
        except FeatureError:
            raise
        except (TypeError, ValueError, OverflowError):
            raise refuse_features(x) from None
        entries.n = n
        return entries

    def slot_of(self, name: Any) -> int:
        """Return an index as the slot it is. Raises `FeatureError` if it is none."""
        slot = -1
        try:
            if type(name) is int or (isinstance(name, Integral) and not isinstance(name, bool)):
                slot = int(name)
        except OverflowError:  # wider than a C integer
            slot = -1
        if not 0 <= slot < self.n_slots:
            raise FeatureError(f"feature {name!r} is no integer from 0 to {self.n_slots - 1}")
        return slot

    def prefetch(self, x: Entries, start: int, end: int) -> None:
        """Ask the memory for the cells of `x.slots[start:end]`: waiting for it is what costs most."""
        for column in self._columns:
            prefetch(column.cells, x.slots, start, end)

    def allocate(self, x: Entries) -> None:
        """Do nothing: every feature has its slot."""

    def make_room(self, x: Entries) -> None:
        """Do nothing: every feature has its slot."""

    def drop_zero_rows(self, x: Entries) -> None:
        """Do nothing: every feature keeps its slot."""

    def drop_all_zero_rows(self) -> None:
        """Do nothing: every feature keeps its slot."""

    def clear(self) -> None:
        """Fill all columns with their defaults."""
        for column in self._columns:
            self._empty(column)

    def stored(self, column: Column) -> dict[Any, float]:
        """Return the cells of a column by index, where any column was changed."""
        found = {}
        for slot in range(self.n_slots):
            if self._is_changed(slot):
                found[slot] = column.cells[slot]
        return found

    def nonzero(self, column: Column) -> dict[Any, float]:
        """Return the cells of a column by index that are not 0."""
        found = {}
        for slot in range(self.n_slots):
            cell = column.cells[slot]
            if cell != 0:
                found[slot] = cell
        return found

    def write(self, column: Column, cells: Mapping[Any, float]) -> None:
        """Replace what a column holds."""
        slots = [self.slot_of(name) for name in cells]
        self._empty(column)
        for slot, cell in zip(slots, cells.values(), strict=True):
            column.cells[slot] = cell

    def add(self, column: Column, amounts: Mapping[Any, float], step: float) -> None:
        """Add step·amount to the cells of a column by index, be they ever so large."""
        for name, amount in amounts.items():
            column.cells[self.slot_of(name)] += step * amount

    def _empty(self, column: Column) -> None:
        for slot in range(self.n_slots):
            if column.cells[slot] != column.default:  # memory that was never written to stays unused
                column.cells[slot] = column.default

    def _is_changed(self, slot: int) -> bool:
        for column in self._columns:  # noqa: SIM110  a generator is slower, and not compiled
            if column.cells[slot] != column.default:
                return True
        return False

    def _look_up_again(self, x: Entries) -> None:
        """Take the names of entries as the slots they are."""
        for k in range(x.n):
            x.slots[x.first_slot + k] = self.slot_of(x.names[k])


def in_place(array: Array) -> Array:
    """Return an array such that, interpreted too, its items are numbers of Python and not of NumPy."""
    return memoryview(array)  # type: ignore[return-value,arg-type]


def _cells(n: int, default: float) -> array[float]:
    """Make cells of a default; many zeros are pages that the system lends as they are written to."""
    if default or 8 * n < _LENT_FROM_BYTES:
        return array("d", [default]) * n
    # Private where there are forks: the child must not share them.
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    lent = mmap.mmap(-1, 8 * n, **private)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel without huge pages
            lent.madvise(mmap.MADV_HUGEPAGE)  # else finding a page takes as long as reading the cell
    return memoryview(lent).cast("d")  # type: ignore[return-value]
