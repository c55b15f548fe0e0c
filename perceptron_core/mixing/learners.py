"""Linear learners whose cells lie next to each other; votes of what answers for a class.

`learners.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from typing import Any, Final

from perceptron_core.linear import restored
from perceptron_core.linear.linear_rule import LinearRule
from perceptron_core.weights.buffers import LENT_FROM_BYTES, doubles, integers, lent_doubles
from perceptron_core.weights.example import Column, Example


class ClassVote(LinearRule):
    """Answers with the log-odds of one class, of an example that has those of all; learns nothing itself."""

    STATE = restored.COUNTS
    hash_bits = 1

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def score(self, x: Example) -> float:
        """Return the log-odds of the class; 0 if the class is not known yet."""
        return x.values[self.number] if self.number < x.n else 0.0

    def learn_at(self, x: Example, sign: int, w: float, a: float) -> float:  # noqa: ARG002  as other rules
        """Count a mistake."""
        self.n_mistakes += (a > 0) != (sign > 0)
        return 0.0


_IN_A_LINE: Final = 8
"""Numbers in a line of the processor's cache."""

_SPARE: Final = 64
"""Slots that tables grow by at least."""

_NOTHING: Final = doubles(0)


class Learners:
    """Linear learners, each on one of several maps, and the cells of their tables.

    Attributes
    ----------
    number : int
        Of the class whose log-odds they compute.
    rules : list
        The learners.
    maps : array
        The map of each.

    """

    def __init__(self, number: int, n_maps: int, most: int) -> None:
        self.number = number
        self.rules: list[LinearRule] = []
        self.n = 0
        self.maps = integers(most)
        self._room = integers(n_maps)
        """Slots that the tables of each map have room for."""
        self._blocks: list[Any] = [_NOTHING] * n_maps
        """The cells of the tables of each map, row by row."""
        self._left = bytearray(n_maps)
        """Maps whose learners see events together with those of other classes."""
        self._edges: list[list[Column]] = [[] for _ in range(n_maps)]
        """Columns of each map that are in different cache lines."""

    def add(self, rule: LinearRule, map_number: int) -> None:
        """Add a learner on a map."""
        self.rules.append(rule)
        self.maps[self.n] = map_number
        self.n += 1
        self._room[map_number] = 0  # the new table is short

    def forget(self, map_number: int, first: int, step: int) -> None:
        """Forget what the learners of a map know of each slot from `first` on, in steps."""
        for k in range(self.n):
            if self.maps[k] == map_number:
                self._reset(self.rules[k], first, step)

    def _reset(self, rule: Any, first: int, step: int) -> None:
        for slot in range(first, rule.table.n_slots, step):
            rule.weight_column.cells[slot] = rule.square_column.cells[slot] = 0.0
            rule.scale_column.cells[slot] = 0.0

    def make_room(self, sizes: array[int]) -> None:
        """Make room for so many slots of each map."""
        for number in range(len(self._room)):
            if sizes[number] > self._room[number] and not self._left[number]:
                spare = 0 if self._room[number] == 0 else sizes[number] // 4 + _SPARE
                room = sizes[number] + spare
                self._lay_out(number, room)
                self._room[number] = room

    def leave(self, number: int) -> None:
        """Leave the learners of a map, and their cells, to `SeveralClasses`, which gives `scores`."""
        self._left[number] = True
        self._blocks[number], self._edges[number] = _NOTHING, []

    def _lay_out(self, number: int, n_slots: int) -> None:
        """Make room for so many slots of a map; all that its learners keep of one is side by side."""
        tables, columns, capacity, n_used = [], [], 1, 0
        for k in range(self.n):
            if self.maps[k] == number:
                rule = self.rules[k]
                table = rule.table
                tables.append(table)
                columns += table.read()
                n_used = max(n_used, table.n_slots)
        for column in columns:
            capacity = max(capacity, len(column.cells))
        is_block = len(self._blocks[number]) == len(columns) * capacity
        if not is_block or capacity < n_slots:
            self._move(number, columns, n_used, n_slots, is_block)
        for table in tables:
            table.widen(n_slots)

    def _move(self, number: int, columns: list[Column], n_used: int, n_slots: int, is_block: bool) -> None:
        """Move columns, of which so many slots are used, to a new block: from the old one, or one by one."""
        width, capacity, first = len(columns), 1, 0
        while capacity < max(n_used, n_slots):
            capacity *= 2
        if 8 * width * capacity >= LENT_FROM_BYTES:
            capacity *= 8  # what is lent costs nothing until it is used
            # Rows of all classes in one set of the cache would be more than it holds.
            first = _IN_A_LINE * (self.number * 97 % 1024)
        before, block = self._blocks[number], memoryview(lent_doubles(first + width * capacity))[first:]
        if is_block:
            block[: width * n_used] = before[: width * n_used]
        self._blocks[number] = _NOTHING  # until all columns have moved
        for k in range(width):
            column, cells = columns[k], block[k::width]
            if not is_block:
                n = min(n_used, len(column.cells))
                cells[:n] = memoryview(column.cells)[:n]
            column.cells = cells  # type: ignore[assignment]
        self._blocks[number] = block
        self._edges[number] = [
            *columns[::_IN_A_LINE],
            *([] if _covers(width) else columns[max(len(columns) - 1, 0) :]),
        ]


def _covers(width: int) -> bool:
    """Return whether each line of the cache that a row of so many cells is in has one of every eight of them.

    Rows follow each other from where a line starts.
    """
    last = width - 1
    return all(
        (row * width + last - last % _IN_A_LINE) // _IN_A_LINE == (row * width + last) // _IN_A_LINE
        for row in range(_IN_A_LINE)
    )
