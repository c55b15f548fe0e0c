"""The shared columns of a learner, grouped by class and by what they have rows for."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from perceptron_core.base.shared import Layout
from perceptron_core.base.update import Label
from perceptron_core.formats.packed import pack, unpack
from perceptron_core.sharing.columns import Plan, SharedColumn, all_rows, based_rows, changed_rows
from perceptron_core.sharing.contribution import OF_LEARNER, OF_ROWS, Block
from perceptron_core.sharing.layouts import columns_of, kinds_of
from perceptron_core.sharing.mixed_block import MixedBlock
from perceptron_core.weights.buffers import doubles, from_bytes, to_bytes
from perceptron_core.weights.example import Example
from perceptron_core.weights.weight_table import WeightTable

LEARNER: Final = Example(1)
"""The one row of a learner as a whole."""
LEARNER.n = 1


class Mine(NamedTuple):
    """A lane's own part in a mix."""

    blocks: Sequence[Block]
    positions: Any
    """Of its coordinates among those of the mix."""


class SharedBlocks:
    """The columns of a learner that are mixed, by class and by what they have rows for."""

    def __init__(self, learner: Any, layout: Layout) -> None:
        self.learner = learner
        self.table: WeightTable = learner.table
        self.layout = layout
        self.columns: dict[tuple[Label, int], list[SharedColumn]] = {}
        self.update()

    def update(self) -> None:
        """Share the columns of classes that came."""
        numbers: Mapping[Label, int] = getattr(self.learner, "numbers", {})
        for label, number in [(None, 0), *numbers.items()]:
            for of in (OF_ROWS, OF_LEARNER):
                if (label, of) not in self.columns:
                    self._share(label, of, number)

    def _share(self, label: Label, of: int, number: int) -> None:
        columns = columns_of(self.layout, label, of, self.learner, number)
        if of == OF_ROWS:
            for column in columns:
                self.table.keep(column.base)
        if columns:
            self.columns[label, of] = columns

    def contributed(self, x: Example) -> Iterator[Block]:
        """Yield the shifts of these rows and of the learner as a whole."""
        for (label, of), columns in self.columns.items():
            at = LEARNER if of == OF_LEARNER else x
            which = all_rows(at.n) if label is None else changed_rows(columns, at)
            if label is not None and not len(which):
                continue
            found = []
            for column in columns:
                shifts = doubles(len(which))
                column.shifts(at, which, shifts)
                found.append(shifts)
            yield Block(label, of, which, found)

    def plans(self, x: Example, mixed: Sequence[MixedBlock], mine: Mine | None) -> list[Plan]:
        """Return how to move to the base of a mix, whose classes are known; nothing is written."""
        self.update()
        return [self._planned(x, block, mine) for block in mixed]

    def _planned(self, x: Example, block: MixedBlock, mine: Mine | None) -> Plan:
        at = LEARNER if block.of == OF_LEARNER else x
        plan = Plan(self.columns[block.label, block.of], at, block)
        for own in mine.blocks if mine else ():
            if mine and (own.label, own.of) == (block.label, block.of):
                plan.set_own(own, all_rows(1) if block.of == OF_LEARNER else mine.positions)
        plan.compute()
        return plan

    def squared_distance(self, x: Example) -> float:
        """Compute the sum of the squared shifts of what has a sign: weights, or what they follow from."""
        total = 0.0
        for (_, of), columns in self.columns.items():
            for column in columns:
                if column.kind.is_signed:
                    total += column.squared_distance(LEARNER if of == OF_LEARNER else x)
        return total

    def row_columns(self) -> list[SharedColumn]:
        """Return the columns of features."""
        return [column for (_, of), columns in self.columns.items() if of == OF_ROWS for column in columns]

    def dump_bases(self, x: Example) -> bytes:
        """Return the base of these rows and of the learner as a whole as bytes."""
        dumped = []
        for (label, of), columns in self.columns.items():
            at = LEARNER if of == OF_LEARNER else x
            which = based_rows(columns, at)
            if len(which):
                cells = [to_bytes("d", column.read_base(at, which)) for column in columns]
                dumped.append((label, of, to_bytes("i", which), cells))
        return pack(dumped)

    def load_bases(self, x: Example, blocks: Sequence[Block]) -> None:
        """Take bases as their own, of rows and of the learner as a whole."""
        for block in blocks:
            at = LEARNER if block.of == OF_LEARNER else x
            for column, bases in zip(self.columns[block.label, block.of], block.columns, strict=True):
                column.write_base(at, block.rows, bases)


def checksum_of(plans: Sequence[Plan], checksum: int) -> int:
    """Return the checksum of new bases, that of all before being given."""
    for plan in plans:
        for bases in plan.bases:
            checksum = zlib.crc32(to_bytes("d", bases), checksum)
    return checksum


def as_mixed(layout: Layout, block: Block, n: int) -> MixedBlock:
    """Return the mix that makes a block of bases of no base."""
    mixed = MixedBlock(block.label, block.of, kinds_of(layout, block.label, block.of), n)
    mixed.add(all_rows(n), array("d", bytes(8 * n)), block)
    mixed.close()
    return mixed


def read_bases(dumped: bytes) -> list[Block]:
    """Read what `dump_bases` returned."""
    blocks = []
    for label, of, which, cells in unpack(dumped):
        columns = [array("d", from_bytes("d", column)) for column in cells]
        blocks.append(Block(label, of, array("i", from_bytes("i", which)), columns))
    return blocks
