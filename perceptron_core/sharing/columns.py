"""Numbers of a learner that lanes share, a row for each coordinate.

`columns.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from perceptron_core.sharing.kinds import Kind, Precision, nearest_whole
from perceptron_core.weights.buffers import columns_of, doubles, integers
from perceptron_core.weights.example import Column, Example

if TYPE_CHECKING:
    from perceptron_core.sharing.contribution import Block
    from perceptron_core.sharing.mixed_block import MixedBlock


class SharedColumn:
    """A column of a learner, what all lanes have in common of it, and how it is mixed."""

    kind: Kind
    column: Column
    base: Column
    offset: int

    def __init__(self, kind: Kind, column: Column, of_class: int = -1) -> None:
        self.kind = kind
        self.column = column
        self.base = Column()
        self.offset = max(0, of_class)
        """Where the learner's numbers begin: at the only one, if that is the cell of a class."""
        if of_class >= 0:
            self.base.grow(1)

    def get(self, slot: int) -> float:
        """Return the learner's number."""
        return self.column.cells[self.offset + slot]

    def put(self, slot: int, value: float) -> None:
        """Replace the learner's number."""
        self.column.cells[self.offset + slot] = value

    def shifts(self, x: Example, rows: array[int], shifts: array[float]) -> None:
        """Write what the lane contributes of some of the rows of `x`."""
        for entry in range(len(rows)):
            slot = x.slots[x.first_slot + rows[entry]]
            shifts[entry] = self.kind.shift(self.get(slot), self.base.cells[slot])

    def plan(self, plan: Plan, number: int) -> None:
        """Compute the new bases and numbers of the rows of a mix, this column being one of several."""
        x, mixed = plan.x, plan.mixed
        precisions, gains = plan.precisions, mixed.totals[plan.variance_number]
        totals, weighted, weights = mixed.totals[number], mixed.weighted[number], mixed.weights[number]
        fractions = mixed.fractions[number]
        shifts, new = plan.shifts[number], plan.new[number]
        for entry in range(len(mixed.rows)):
            slot = x.slots[x.first_slot + mixed.rows[entry]]
            value, old, own_at = self.get(slot), self.base.cells[slot], plan.own_at[entry]
            precision = 1.0 + (precisions.cells[slot] if precisions is not None else 0.0)
            shift = self.kind.mixed(totals[entry], weighted[entry], weights[entry], precision, gains[entry])
            if self.kind.keeps_whole and not fractions[entry]:
                shift = nearest_whole(shift)
            own = shifts[own_at] if own_at >= 0 else self.kind.absent(value)
            new.bases[entry] = self.kind.rebased(old, shift)
            new.values[entry] = self.kind.moved(value, old, new.bases[entry], own)
            if own_at < 0 or shift != own:
                plan.moves[entry] = 1

    def prepare(self, values: array[float]) -> None:
        """Allocate what `put` needs for the only row."""

    def carry_out(self, plan: Plan, number: int) -> None:
        """Write what was planned; a column allocates nothing."""
        x, mixed, new = plan.x, plan.mixed, plan.new[number]
        for entry in range(len(mixed.rows)):
            slot = x.slots[x.first_slot + mixed.rows[entry]]
            self.base.cells[slot] = new.bases[entry]
            if plan.moves[entry]:
                self.put(slot, new.values[entry])

    def squared_distance(self, x: Example) -> float:
        """Compute the sum of the squared differences to the base."""
        total = 0.0
        for row in range(x.n):
            slot = x.slots[x.first_slot + row]
            difference = self.get(slot) - self.base.cells[slot]
            total += difference * difference
        return total

    def read_base(self, x: Example, rows: array[int]) -> array[float]:
        """Return the base of some of the rows of `x`."""
        bases = doubles(len(rows))
        for entry in range(len(rows)):
            slot = x.slots[x.first_slot + rows[entry]]
            bases[entry] = self.base.cells[slot]
        return bases

    def write_base(self, x: Example, rows: array[int], bases: array[float]) -> None:
        """Replace the base of some of the rows of `x`."""
        for entry in range(len(rows)):
            slot = x.slots[x.first_slot + rows[entry]]
            self.base.cells[slot] = bases[entry]


class SharedAttribute(SharedColumn):
    """A number of the learner as a whole, as a column of one row."""

    learner: Any
    name: str

    def __init__(self, kind: Kind, learner: Any, name: str) -> None:
        self.kind = kind
        self.base = Column()
        self.base.grow(1)
        self.learner = learner
        self.name = name
        self.prepared: float = 0.0

    def get(self, slot: int) -> float:  # noqa: ARG002  there is one row
        """Return the learner's number."""
        return float(getattr(self.learner, self.name))

    def prepare(self, values: array[float]) -> None:
        """Make an object of the number."""
        if len(values):
            self.prepared = values[0]

    def put(self, slot: int, value: float) -> None:  # noqa: ARG002  as prepared
        """Replace the learner's number."""
        setattr(self.learner, self.name, self.prepared)


class SharedCount(SharedAttribute):
    """A whole number of the learner as a whole."""

    def prepare(self, values: array[float]) -> None:
        """Make an object of the number."""
        if len(values):
            self.prepared = int(values[0])


class NewNumbers:
    """The new bases and numbers of a column."""

    bases: array[float]
    values: array[float]

    def __init__(self, bases: array[float], values: array[float]) -> None:
        self.bases = bases
        self.values = values


class Plan:
    """The new bases and numbers of a block, computed before anything is written."""

    own_at: array[int]
    moves: array[int]
    precisions: Column | None
    variance_number: int

    def __init__(self, columns: list[SharedColumn], x: Example, mixed: MixedBlock) -> None:
        n_rows, n_columns = mixed.n, len(columns)
        self.columns = columns
        self.x = x
        self.mixed = mixed
        self.own_at = integers(n_rows)
        """Where a row is in the lane's own contribution; −1 if it is not."""
        self.moves = integers(n_rows)
        """Whether the numbers of a row change: not if only the lane contributed."""
        self.shifts: list[array[float]] = [doubles(0)] * n_columns
        """The lane's own contribution."""
        self.bases = columns_of(n_columns, n_rows)
        self.new: list[NewNumbers] = []
        self.precisions = None
        self.variance_number = 0
        """The precisions of the base, and which column has them, if one has."""
        for number, column in enumerate(columns):
            self.new.append(NewNumbers(self.bases[number], doubles(n_rows)))
            if isinstance(column.kind, Precision):
                self.precisions, self.variance_number = column.base, number
        for entry in range(n_rows):
            self.own_at[entry] = -1

    def set_own(self, own: Block, positions: array[int]) -> None:
        """Take the lane's own block, whose coordinates have these positions among those of the mix."""
        mixed, own_rows = self.mixed, own.rows
        at = integers(self.x.n)
        for entry in range(len(own_rows)):
            position = positions[own_rows[entry]]
            at[position] = entry + 1
        for entry in range(len(mixed.rows)):
            position = mixed.rows[entry]
            self.own_at[entry] = at[position] - 1
        self.shifts = own.columns

    def compute(self) -> None:
        """Compute the new bases and numbers."""
        for number in range(len(self.columns)):
            column = self.columns[number]
            column.plan(self, number)
            new = self.new[number]
            column.prepare(new.values)

    def carry_out(self) -> None:
        """Write them."""
        for number in range(len(self.columns)):
            column = self.columns[number]
            column.carry_out(self, number)


def changed_rows(columns: list[SharedColumn], x: Example) -> array[int]:
    """Return the rows of `x` of which at least one column was updated."""
    rows = integers(x.n)
    n = 0
    for row in range(x.n):
        slot = x.slots[x.first_slot + row]
        is_changed = False
        for column in columns:
            is_changed = is_changed or column.kind.is_changed(column.get(slot), column.base.cells[slot])
        rows[n] = row
        n += is_changed
    return memoryview(rows)[:n]  # type: ignore[return-value]


def based_rows(columns: list[SharedColumn], x: Example) -> array[int]:
    """Return the rows of `x` of which at least one column has a base that is not 0."""
    rows = integers(x.n)
    n = 0
    for row in range(x.n):
        slot = x.slots[x.first_slot + row]
        is_based = False
        for column in columns:
            is_based = is_based or column.base.cells[slot] != 0
        rows[n] = row
        n += is_based
    return memoryview(rows)[:n]  # type: ignore[return-value]


def all_rows(n: int) -> array[int]:
    """Return the rows of n coordinates."""
    rows = integers(n)
    for row in range(n):
        rows[row] = row
    return rows
