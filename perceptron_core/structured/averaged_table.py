"""A growing table of weights, with the sum and the average of each row."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from perceptron_core.linear import restored
from perceptron_core.validation import MAX_LEARNED

Matrix = NDArray[np.float64]

_ZERO_ROW: Final = 0
"""Row that stays 0, for keys without a row of their own."""

_FIRST_CAPACITY: Final = 64


class Bag(NamedTuple):
    """Keys of rows that are to be summed, each with its factor."""

    keys: Sequence[Hashable]
    values: Sequence[float] | None = None
    """None: 1 each."""


class AveragedTable:
    """A row of weights per key, a column per class, and beside it what the mean of the iterates needs.

    An iterate is the table after an example. `_late` sums each change times the number of examples before
    it; after c examples the mean of the iterates is (c·table − `_late`) / c (Daumé, CIML, algorithm 7).
    """

    def __init__(self) -> None:
        self._row_of: dict[Hashable, int] = {}
        self._n_columns = 0
        self._table = np.zeros((_FIRST_CAPACITY, 0))
        self._late = np.zeros((_FIRST_CAPACITY, 0))

    @property
    def keys(self) -> list[Hashable]:
        """Keys of the rows, in their order."""
        return list(self._row_of)

    def add_column(self) -> None:
        """Start a column of zeros."""
        self._n_columns += 1
        self._table, self._late = (np.pad(t, ((0, 0), (0, 1))) for t in (self._table, self._late))

    def add_row(self, key: Hashable) -> int:
        """Return the number of a key's row, which starts with zeros."""
        row = self._row_of.setdefault(key, len(self._row_of) + 1)
        if row >= len(self._table):
            self._table, self._late = (np.pad(t, ((0, len(t)), (0, 0))) for t in (self._table, self._late))
        return row

    def sums(self, bags: Sequence[Bag], n_averaged: int | None = None) -> Matrix:
        """Sum the rows of each bag, times their factors; a key without a row counts as zeros.

        Parameters
        ----------
        bags
            One or more.
        n_averaged
            Number of iterates to take the mean of. None: the table as it is.

        """
        rows, factors, starts = self._flatten(bags)
        total = _sums(self._table, rows, factors, starts)
        if not n_averaged:
            return total
        return (n_averaged * total - _sums(self._late, rows, factors, starts)) / n_averaged

    def values(self, n_averaged: int | None = None) -> Matrix:
        """Return all rows in the order they were added, as `sums` would use them."""
        used = slice(1, len(self._row_of) + 1)
        if not n_averaged:
            return self._table[used]
        return (n_averaged * self._table[used] - self._late[used]) / n_averaged

    def entries(self, n_averaged: int | None = None) -> Iterator[tuple[Hashable, int, float]]:
        """Yield (key, column, value) for all that are not 0."""
        values = self.values(n_averaged)
        keys = self.keys
        for row, column in zip(*np.nonzero(values), strict=True):
            yield keys[row], int(column), float(values[row, column])

    def add(self, changes: Iterable[tuple[Bag, int, float]], n_before: int) -> None:
        """Add to each change's column its bag's factors times its size, in the rows of the bag's keys.

        Parameters
        ----------
        changes
            (bag, column, size).
        n_before
            Number of examples before this one.

        """
        rows: list[int] = []
        columns: list[int] = []
        sizes: list[float] = []
        for bag, column, size in changes:
            rows += [self.add_row(key) for key in bag.keys]
            columns += [column] * len(bag.keys)
            sizes += [size] * len(bag.keys) if bag.values is None else [size * v for v in bag.values]
        where = np.array(rows, dtype=np.intp), np.array(columns, dtype=np.intp)
        np.add.at(self._table, where, np.array(sizes))
        np.add.at(self._late, where, np.array(sizes) * n_before)

    def state(self) -> dict[str, Any]:
        """Return the whole as plain values: keys, and what is not 0 as little-endian bytes."""
        used = slice(0, len(self._row_of) + 1)
        table, late = self._table[used].ravel(), self._late[used].ravel()
        (where,) = np.nonzero((table != 0) | (late != 0))
        return {
            "keys": self.keys,
            "columns": self._n_columns,
            "where": where.astype("<i8").tobytes(),
            "table": table[where].astype("<f8").tobytes(),
            "late": late[where].astype("<f8").tobytes(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned. Raises ValueError for what is no such thing."""
        rows = {key: row for row, key in enumerate(state["keys"], start=1)}
        n_columns = restored.count(state["columns"])
        where = np.frombuffer(state["where"], dtype="<i8")
        table, late = (np.frombuffer(state[name], dtype="<f8") for name in ("table", "late"))
        if len(rows) < len(state["keys"]):
            raise ValueError("two rows have the same key")
        is_there = (where >= n_columns) & (where < (len(rows) + 1) * n_columns)  # not in the row of zeros
        if not len(where) == len(table) == len(late) or not is_there.all():
            raise ValueError(
                f"{len(table)} and {len(late)} weights are at {len(where)} places of {len(rows)} rows"
            )
        if not (np.abs([table, late]) <= MAX_LEARNED).all():
            raise ValueError("a weight is no number that learning makes")
        shape = max(_FIRST_CAPACITY, len(rows) + 1), n_columns
        self._row_of, self._n_columns = rows, n_columns
        self._table, self._late = np.zeros(shape), np.zeros(shape)
        self._table.ravel()[where] = table
        self._late.ravel()[where] = late

    def _flatten(self, bags: Sequence[Bag]) -> tuple[NDArray[np.intp], Matrix | None, NDArray[np.intp]]:
        """List the rows of all bags, each bag led by the zero row, so that none is empty."""
        find = self._row_of.get
        rows: list[int] = []
        starts = []
        for bag in bags:
            starts.append(len(rows))
            rows.append(_ZERO_ROW)
            rows += [find(key, _ZERO_ROW) for key in bag.keys]
        return np.array(rows, dtype=np.intp), _factors(bags), np.array(starts, dtype=np.intp)


def _factors(bags: Sequence[Bag]) -> Matrix | None:
    if all(bag.values is None for bag in bags):
        return None
    factors: list[float] = []
    for bag in bags:
        factors.append(0.0)
        factors += [1.0] * len(bag.keys) if bag.values is None else bag.values
    return np.array(factors)


def _sums(table: Matrix, rows: NDArray[np.intp], factors: Matrix | None, starts: NDArray[np.intp]) -> Matrix:
    chosen = table[rows]
    if factors is not None:
        chosen *= factors[:, np.newaxis]
    total: Matrix = np.add.reduceat(chosen, starts, axis=0)
    return total
