"""Cells of windows: aggregates of a key's events in a sixteenth of a span, and sums of several cells.

The cells of a key and span form a linked list, the newest first; free cells form another list.
`window_cells.pxd` gives this module its C types.

References
----------
Chan, T. F., Golub, G. H. and LeVeque, R. J. (1979). Updating formulae and a pairwise algorithm for computing
sample variances. Stanford, STAN-CS-79-773. Combines the sums of squares of cells.

Flajolet, P., Fusy, É., Gandouet, O. and Meunier, F. (2007). HyperLogLog: the analysis of a near-optimal
cardinality estimation algorithm. AofA. With 64 registers, the standard error is 1.04/√64 = 13 %.

"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from math import nan, sqrt
from typing import Any, Final

from perceptron_core import DamagedError
from perceptron_core.elementary import log
from service.partition.parts.window_keys import grown, numbers_of, written

_FIRST_CELLS: Final = 64
_REGISTERS = 64
_REGISTER_BITS = 6
_MAX_RANK = 59
_REST = (1 << 58) - 1
"""The bits of a hash that do not select its register."""
_MAX_COUNT = (1 << 32) - 1

_EVENTS, _COUNT, _SUM, _MEAN, _LEAST, _MOST, _STD, _DISTINCT, _RATE = range(9)
EVENTS: Final = _EVENTS
"""Kind of the number of events."""
KINDS: Final[Mapping[str, int]] = {
    "count": _COUNT,
    "sum": _SUM,
    "mean": _MEAN,
    "min": _LEAST,
    "max": _MOST,
    "std": _STD,
    "distinct": _DISTINCT,
    "rate": _RATE,
}
"""Kinds of aggregates by name."""

_FACTOR = 0.709 * _REGISTERS * _REGISTERS
_LINEAR_UP_TO = 2.5 * _REGISTERS
_NAN = nan
_POWERS = array("d", [2.0**-rank for rank in range(_MAX_RANK + 1)])
_LINEAR = array("d", [0.0] + [_REGISTERS * log(_REGISTERS / zeros) for zeros in range(1, _REGISTERS + 1)])
"""The estimates of linear counting, by the number of empty registers."""


class Cells:
    """The cells of all keys and spans of a window, in columns.

    Parameters
    ----------
    n_numbers, n_hashes
        How many numbers and hashes of values each event has.
    has_labels, has_squares, has_least, has_most
        Which further aggregates to keep, besides the number of events and the sum of each number.

    Attributes
    ----------
    n : int
        Largest number of cells in use at once.
    number : array of int
        Number of each cell in its span.
    next : array of int
        The next older cell in the list of each cell; -1 after the last.
    counts : array of int
        Per cell: events; labels and positive labels; how often each number was present.
    doubles : array of float
        Per cell and number: the sum; the sum of squared deviations from the mean; the minimum; the maximum.
    registers : array of int
        Per cell and hashed value: for each register, 1 + the largest number of trailing zeros of its hashes.
    changed : array of int
        1 for each cell that is new or changed since `forget_changes`.

    """

    def __init__(
        self,
        n_numbers: int,
        n_hashes: int,
        *,
        has_labels: bool,
        has_squares: bool,
        has_least: bool,
        has_most: bool,
    ) -> None:
        self.n_numbers, self.n_hashes = n_numbers, n_hashes
        self.has_labels, self.has_squares = has_labels, has_squares
        self.has_least, self.has_most = has_least, has_most
        self.width = 1 + has_squares + has_least + has_most
        """Number of doubles for each number."""
        self.first_number = 1 + 2 * has_labels
        """Position of the first number's count."""
        self.n_counts = self.first_number + n_numbers
        self.n_doubles = self.width * n_numbers
        self.n_registers = _REGISTERS * n_hashes
        self.n = 0
        self._free = -1
        self.number = array("q")
        self.next = array("i")
        self.counts = array("I")
        self.doubles = array("d")
        self.registers = array("B")
        self.changed = array("B")

    @property
    def size_bytes(self) -> int:
        """Memory in bytes."""
        return len(self.next) * (13 + 4 * self.n_counts + 8 * self.n_doubles + self.n_registers)

    def state(self, rows: Any = None) -> dict[str, Any]:  # noqa: ANN401 - an array, or None
        """Return the state as plain values; with `rows`, only these cells of the columns."""
        n = self.n
        return {
            "free": self._free,
            "numbers": written(self.number, n, rows),
            "next": written(self.next, n, rows),
            "counts": written(self.counts, n, rows, self.n_counts),
            "doubles": written(self.doubles, n, rows, self.n_doubles),
            "registers": written(self.registers, n, rows, self.n_registers),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a state. Raises `DamagedError`."""
        number, following = numbers_of("q", state["numbers"]), numbers_of("i", state["next"])
        counts, doubles = numbers_of("I", state["counts"]), numbers_of("d", state["doubles"])
        registers, free, n = numbers_of("B", state["registers"]), state["free"], len(following)
        sizes = [len(each) for each in (number, counts, doubles, registers)]
        if sizes != [n * each for each in (1, self.n_counts, self.n_doubles, self.n_registers)]:
            raise DamagedError("windows: columns of different lengths")
        if not -1 <= min(*following, free, 0) <= max(*following, free, -1) < n:
            raise DamagedError("windows: references to missing cells")
        if max(registers, default=0) > _MAX_RANK:
            raise DamagedError("windows: zeros in place of hashes")
        self.number, self.next, self.counts, self.doubles = number, following, counts, doubles
        self.registers, self._free, self.n = registers, free, n
        self.changed = array("B", bytes(n))

    def check_lists(self, heads: Iterable[int]) -> None:
        """Raise `DamagedError` unless each cell occurs at most once in all lists, so that every list ends."""
        seen = bytearray(self.n)
        for cells in (heads, self.next, (self._free,)):
            for cell in cells:
                if cell >= 0:
                    if seen[cell]:
                        raise DamagedError("windows: a cell in two lists")
                    seen[cell] = 1

    def take_empty(self, number: int) -> int:
        """Return an empty cell."""
        cell = self._free
        if cell >= 0:
            self._free = self.next[cell]
        else:
            cell = self.n
            if cell == len(self.next):
                self._reserve(max(cell + cell // 4, _FIRST_CELLS))
            self.n = cell + 1
        self.number[cell] = number
        self.changed[cell] = 1
        for k in range(cell * self.n_counts, (cell + 1) * self.n_counts):
            self.counts[k] = 0
        for k in range(cell * self.n_doubles, (cell + 1) * self.n_doubles):
            self.doubles[k] = 0.0
        for k in range(cell * self.n_registers, (cell + 1) * self.n_registers):
            self.registers[k] = 0
        return cell

    def drop_from(self, cell: int) -> None:
        """Free a cell and all after it; -1: none."""
        while cell >= 0:
            following = self.next[cell]
            self.set_next(cell, self._free)
            self._free = cell
            cell = following

    def set_next(self, cell: int, following: int) -> None:
        """Set the cell that follows a cell; -1: none."""
        self.next[cell] = following
        self.changed[cell] = 1

    def count_event(self, cell: int, numbers: list[float], hashes: list[int]) -> None:
        """Count an event in a cell."""
        self.changed[cell] = 1
        at = cell * self.n_counts
        if self.counts[at] < _MAX_COUNT:
            self.counts[at] += 1
        at += self.first_number
        start = cell * self.n_doubles
        for column in range(self.n_numbers):
            value = numbers[column]
            if value == value:  # noqa: PLR0124 - NaN alone is not
                if self.counts[at + column] < _MAX_COUNT:
                    self.counts[at + column] += 1
                self._count_number(start, self.counts[at + column], value)
            start += self.width
        for column in range(self.n_hashes):
            digest = hashes[column]
            if digest:
                self._count_hash(cell * self.n_registers + column * _REGISTERS, digest)

    def count_label(self, cell: int, before: int, truth: int) -> None:
        """Count a label, 1 or 0; `before` is the label that it corrects, -1 if there is none.

        The corrected label was not counted if the event's key had left.
        """
        self.changed[cell] = 1
        counts, at = self.counts, cell * self.n_counts + 1
        if before < 0:
            if counts[at] < _MAX_COUNT:
                counts[at] += 1
                counts[at + 1] += truth
        elif truth > before and counts[at + 1] < counts[at]:
            counts[at + 1] += 1
        elif truth < before and counts[at + 1] > 0:
            counts[at + 1] -= 1

    def _count_number(self, start: int, n: int, value: float) -> None:
        """Count a number, which is the n-th."""
        doubles = self.doubles
        total = doubles[start]
        doubles[start] = total + value
        if self.has_squares:
            start += 1
            if n > 1:
                gained = (value - total / (n - 1)) * (value - (total + value) / n)
                if gained > 0.0:  # otherwise rounded away
                    doubles[start] += gained
        if self.has_least:
            start += 1
            if n == 1 or value < doubles[start]:
                doubles[start] = value
        if self.has_most:
            start += 1
            if n == 1 or value > doubles[start]:
                doubles[start] = value

    def _count_hash(self, register: int, digest: int) -> None:
        """Count a value by its hash."""
        register += digest & _REGISTERS - 1
        rest = (digest >> _REGISTER_BITS) & _REST
        rank = 1
        while rank < _MAX_RANK and not rest & 1:
            rest >>= 1
            rank += 1
        self.registers[register] = max(self.registers[register], rank)

    def _reserve(self, n: int) -> None:
        self.number, self.next = grown("q", self.number, n), grown("i", self.next, n)
        self.counts = grown("I", self.counts, n * self.n_counts)
        self.doubles = grown("d", self.doubles, n * self.n_doubles)
        self.registers = grown("B", self.registers, n * self.n_registers)
        self.changed = grown("B", self.changed, n)


class WindowTotals:
    """Adds up cells.

    Parameters
    ----------
    cells
        The cells of the window.

    """

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self._events = self._labelled = self._positives = 0
        self._counts = array("q", [0] * cells.n_numbers)
        self._numbers = array("d", [0.0] * 5 * cells.n_numbers)
        """For each number: sum, mean, sum of squared deviations, minimum, maximum."""
        self._registers = array("B", bytes(cells.n_registers))

    def begin(self) -> None:
        """Start an empty total."""
        self._events = self._labelled = self._positives = 0
        for column in range(self._cells.n_numbers):
            self._counts[column] = 0
        for k in range(self._cells.n_registers):
            self._registers[k] = 0

    def add(self, cell: int) -> None:
        """Add a cell, which must be older than those added before."""
        cells = self._cells
        at = cell * cells.n_counts
        self._events += cells.counts[at]
        if cells.has_labels:
            self._labelled += cells.counts[at + 1]
            self._positives += cells.counts[at + 2]
        at += cells.first_number
        start = cell * cells.n_doubles
        for column in range(cells.n_numbers):
            if cells.counts[at + column]:
                self._add_number(column, cells.counts[at + column], start)
            start += cells.width
        if cells.n_registers:
            _raise_to(self._registers, cells.registers, cell * cells.n_registers, cells.n_registers)

    def value(self, kind: int, column: int) -> float:  # noqa: PLR0911 - a formula each
        """Return an aggregate of the added cells, of the number or hash at `column`; NaN without values."""
        if kind == _EVENTS:
            return float(self._events)
        if kind == _DISTINCT:
            return self._distinct(column * _REGISTERS)
        if kind == _RATE:
            return 1.0 * self._positives / self._labelled if self._labelled else _NAN  # integers in C
        n, at = self._counts[column], 5 * column
        if kind == _COUNT:
            return float(n)
        if n == 0:
            return _NAN
        if kind == _SUM:
            return self._numbers[at]
        if kind == _MEAN:
            return self._numbers[at] / n
        if kind == _STD:
            return sqrt(self._numbers[at + 2] / n)
        return self._numbers[at + 3 if kind == _LEAST else at + 4]

    def _add_number(self, column: int, n: int, start: int) -> None:
        """Add a number of a cell, which has it n times."""
        cells, numbers, before, at = self._cells, self._numbers, self._counts[column], 5 * column
        total = cells.doubles[start]
        mean = total / n
        self._counts[column] = before + n
        if before == 0:
            numbers[at] = numbers[at + 2] = 0.0
            numbers[at + 1] = mean
        numbers[at] += total
        if cells.has_squares:
            start += 1
            difference = mean - numbers[at + 1]
            share = 1.0 * n / (before + n)
            numbers[at + 1] += difference * share
            numbers[at + 2] += cells.doubles[start] + difference * difference * before * share
        if cells.has_least:
            start += 1
            if before == 0 or cells.doubles[start] < numbers[at + 3]:
                numbers[at + 3] = cells.doubles[start]
        if cells.has_most:
            start += 1
            if before == 0 or cells.doubles[start] > numbers[at + 4]:
                numbers[at + 4] = cells.doubles[start]

    def _distinct(self, start: int) -> float:
        """Return the estimated number of distinct values."""
        inverse, zeros = 0.0, 0
        for register in range(start, start + _REGISTERS):
            rank = self._registers[register]
            zeros += rank == 0
            inverse += _POWERS[rank]
        estimate = _FACTOR / inverse
        return _LINEAR[zeros] if zeros and estimate <= _LINEAR_UP_TO else estimate


def _raise_to(registers: Any, others: Any, start: int, n: int) -> None:  # noqa: ANN401 - memory views
    """Set each of n registers to the maximum of itself and another register, from `start` on.

    It is a separate function so that the C compiler knows that its arguments do not change, and vectorizes
    it.
    """
    for k in range(n):
        registers[k] = max(registers[k], others[start + k])
