"""The weights of a learner by feature, and their bytes in a model.

`weight_table.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any

from perceptron_core.weights import buffers
from perceptron_core.weights.example import Column
from perceptron_core.weights.row_table import RowTable


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
