"""What is made of several cells: sums, means and so on of the numbers in all of them.

`totals.pxd` gives this module its C types.

References
----------
Chan, T. F., Golub, G. H. and LeVeque, R. J. (1979). Updating formulae and a pairwise algorithm for computing
sample variances. Stanford, STAN-CS-79-773. How the squares of cells are put together.

Flajolet, P., Fusy, É., Gandouet, O. and Meunier, F. (2007). HyperLogLog: the analysis of a near-optimal
cardinality estimation algorithm. AofA. With 64 registers, the standard error is 1.04/√64 = 13 %.

"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from math import nan, sqrt
from typing import Any, Final

from perceptron_core.elementary import log
from service.partition.windows.cells import MOST_RANK, REGISTERS, Cells

_REGISTERS = REGISTERS
_EVENTS, _COUNT, _SUM, _MEAN, _LEAST, _MOST, _STD, _DISTINCT, _RATE = range(9)
EVENTS: Final = _EVENTS
"""The kind of the number of events."""
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
"""Of aggregates by name."""

_FACTOR = 0.709 * _REGISTERS * _REGISTERS
_LINEAR_UP_TO = 2.5 * _REGISTERS
_NAN = nan
_POWERS = array("d", [2.0**-rank for rank in range(MOST_RANK + 1)])
_LINEAR = array("d", [0.0] + [_REGISTERS * log(_REGISTERS / zeros) for zeros in range(1, _REGISTERS + 1)])
"""By the number of registers that are 0: the estimate by linear counting."""


class Totals:
    """Puts cells together.

    Parameters
    ----------
    cells
        All that there are.

    """

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self._events = self._labelled = self._positives = 0
        self._counts = array("q", [0] * cells.n_numbers)
        self._numbers = array("d", [0.0] * 5 * cells.n_numbers)
        """Of each number: its sum, mean and sum of squares around that, the least, the most."""
        self._registers = array("B", bytes(cells.n_registers))

    def begin(self) -> None:
        """Begin with no cell."""
        self._events = self._labelled = self._positives = 0
        for column in range(self._cells.n_numbers):
            self._counts[column] = 0
        for place in range(self._cells.n_registers):
            self._registers[place] = 0

    def add(self, cell: int) -> None:
        """Add a cell, which is older than those before."""
        cells = self._cells
        at = cell * cells.n_counts
        self._events += cells.counts[at]
        if cells.has_labels:
            self._labelled += cells.counts[at + 1]
            self._positives += cells.counts[at + 2]
        at += cells.first_number
        place = cell * cells.n_doubles
        for column in range(cells.n_numbers):
            if cells.counts[at + column]:
                self._add_number(column, cells.counts[at + column], place)
            place += cells.width
        if cells.n_registers:
            _raise_to(self._registers, cells.registers, cell * cells.n_registers, cells.n_registers)

    def value(self, kind: int, column: int) -> float:  # noqa: PLR0911 - a formula each
        """Return what the cells come to, of a number or a hash in this place; NaN if there is nothing."""
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

    def _add_number(self, column: int, n: int, place: int) -> None:
        """Add a number that a cell has n times."""
        cells, numbers, before, at = self._cells, self._numbers, self._counts[column], 5 * column
        total = cells.doubles[place]
        mean = total / n
        self._counts[column] = before + n
        if before == 0:
            numbers[at] = numbers[at + 2] = 0.0
            numbers[at + 1] = mean
        numbers[at] += total
        if cells.has_squares:
            place += 1
            difference = mean - numbers[at + 1]
            share = 1.0 * n / (before + n)
            numbers[at + 1] += difference * share
            numbers[at + 2] += cells.doubles[place] + difference * difference * before * share
        if cells.has_least:
            place += 1
            if before == 0 or cells.doubles[place] < numbers[at + 3]:
                numbers[at + 3] = cells.doubles[place]
        if cells.has_most:
            place += 1
            if before == 0 or cells.doubles[place] > numbers[at + 4]:
                numbers[at + 4] = cells.doubles[place]

    def _distinct(self, place: int) -> float:
        """Return about how many different values there were."""
        inverse, zeros = 0.0, 0
        for register in range(place, place + _REGISTERS):
            rank = self._registers[register]
            zeros += rank == 0
            inverse += _POWERS[rank]
        estimate = _FACTOR / inverse
        return _LINEAR[zeros] if zeros and estimate <= _LINEAR_UP_TO else estimate


def _raise_to(registers: Any, others: Any, place: int, n: int) -> None:  # noqa: ANN401 - memory views
    """Raise registers to n others that begin at a place, where these are more.

    A function of its own, as what it is given in C is then known not to change: several are compared at once.
    """
    for k in range(n):
        registers[k] = max(registers[k], others[place + k])
