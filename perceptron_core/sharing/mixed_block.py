"""Add up contributions to rows, lane by lane.

`mixed_block.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from math import floor
from typing import TYPE_CHECKING

from perceptron_core.base.update import Label
from perceptron_core.sharing.kinds import BY_COUNT, BY_LANE, Kind
from perceptron_core.weights.buffers import columns_of, integers

if TYPE_CHECKING:
    from perceptron_core.sharing.contribution import Block


class MixedBlock:
    """What the lanes contributed to rows whose columns are mixed together."""

    rows: array[int]
    n: int

    def __init__(self, label: Label, of: int, kinds: Sequence[Kind], n: int) -> None:
        self.label = label
        self.of = of
        self.kinds = list(kinds)
        self.n = n
        self.rows = integers(n)
        """The rows to which some lane contributed; before `close`, whether one did."""
        self.totals = columns_of(len(kinds), n)
        self.weighted = columns_of(len(kinds), n)
        self.weights = columns_of(len(kinds), n)
        self.fractions = []
        """Whether a shift is not whole."""
        for _ in kinds:
            self.fractions.append(integers(n))

    def add(self, positions: array[int], counts: array[float], block: Block) -> None:
        """Add what a lane contributes; its coordinates have these positions and counts."""
        for number in range(len(self.kinds)):
            self._add_column(self.kinds[number], number, positions, counts, block.rows, block.columns[number])

    def close(self) -> None:
        """Leave out the rows to which no lane contributed."""
        rows = integers(len(self.rows))
        n = 0
        for row in range(len(self.rows)):
            rows[n] = row
            n += self.rows[row]
        self.rows, self.n = memoryview(rows)[:n], n  # type: ignore[assignment]
        for number in range(len(self.kinds)):
            self._close_column(number)

    def _close_column(self, number: int) -> None:
        totals, weighted, weights = self.totals[number], self.weighted[number], self.weights[number]
        fractions = self.fractions[number]
        for entry in range(len(self.rows)):
            row = self.rows[entry]  # at or behind the entry
            totals[entry], weighted[entry], weights[entry] = totals[row], weighted[row], weights[row]
            fractions[entry] = fractions[row]

    def _add_column(
        self,
        kind: Kind,
        number: int,
        positions: array[int],
        counts: array[float],
        rows: array[int],
        shifts: array[float],
    ) -> None:
        totals, weighted, weights = self.totals[number], self.weighted[number], self.weights[number]
        fractions = self.fractions[number]
        for entry in range(len(rows)):
            row, shift, weight = rows[entry], shifts[entry], 0.0
            position = positions[row]
            if kind.weighed_by == BY_COUNT:
                weight = counts[row]
            elif kind.weighed_by == BY_LANE:
                weight = 1.0
            totals[position] = kind.total(totals[position], shift)
            weighted[position] += weight * shift
            weights[position] += weight
            fractions[position] |= shift != floor(shift)
            self.rows[position] = 1
