"""Rows of a table of weights, and counts of their updates.

`rows.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from perceptron_core.base.multiclass_rule import MulticlassRule
from perceptron_core.base.update import Label
from perceptron_core.weights.buffers import doubles, integers
from perceptron_core.weights.example import Example
from perceptron_core.weights.touches import Touches
from perceptron_core.weights.weight_table import WeightTable

if TYPE_CHECKING:
    from perceptron_core.sharing.columns import SharedColumn


def at_slots(table: WeightTable, slots: array[int]) -> Example:
    """Return the rows of these slots, which features have."""
    x = table.slots_given()
    x.slots = slots
    x.n = len(slots)
    if not table.is_fixed:
        names = []
        for slot in slots:  # Cython 3.3 frees what a list comprehension cannot append twice
            names.append(table.name_at(slot))  # noqa: PERF401
        x.names = names
    return x


def at_names(table: WeightTable, names: Sequence[Any]) -> Example:
    """Return the rows of these names, stored if they were not."""
    x = table.columns(names)
    for row in range(x.n):
        x.values[row] = 1.0
    table.store(x)
    return x


def drop_zero_rows(table: WeightTable, x: Example) -> None:
    """Drop the names that have only zeros."""
    table.refresh(x)
    table.drop_zero_rows(x)


def touched(touches: Touches, n: int) -> array[int]:
    """Return the slots of the first n rows that changed."""
    slots = integers(n)
    for k in range(n):
        slots[k] = touches.slots[k]
    return slots


def ascending(slots: array[int]) -> array[int]:
    """Return slots in ascending order."""
    return array("i", sorted(slots))


def slots_of(x: Example) -> array[int]:
    """Return the slots of rows."""
    slots = integers(x.n)
    for row in range(x.n):
        slots[row] = x.slots[x.first_slot + row]
    return slots


def counts(touches: Touches, x: Example) -> array[float]:
    """Return how often each row was updated."""
    found = doubles(x.n)
    for row in range(x.n):
        slot = x.slots[x.first_slot + row]
        found[row] = touches.count(slot)
    return found


def drop_first(touches: Touches, n: int) -> None:
    """Forget the first n rows that changed, and the number of updates: they are contributed."""
    touches.drop_first(n)
    touches.n_updates = 0


def touch(touches: Touches, x: Example, counts: Sequence[float], n_updates: int) -> None:
    """Count updates of rows."""
    touches.make_room(x.n)
    for row in range(x.n):
        slot = x.slots[x.first_slot + row]
        touches.add(slot, counts[row])
    touches.n_updates += n_updates


def in_order(table: WeightTable) -> array[int]:
    """Return the slots of all names, in the order in which these came."""
    return array("i", table.slots_in_order())


def based(columns: list[SharedColumn], n_slots: int) -> array[int]:
    """Return the slots below n of which at least one column has a base that is not 0."""
    found = integers(16)
    n = 0
    for slot in range(n_slots):
        for column in columns:
            if column.base.cells[slot] != 0:
                if n == len(found):
                    found = found + integers(n)
                found[n] = slot
                n += 1
                break
    return memoryview(found)[:n]  # type: ignore[return-value]


def meet(learner: MulticlassRule, label: Label) -> None:
    """Start a class; wholly or not at all."""
    n_known = len(learner.labels)
    try:
        learner.meet(label)
    except BaseException:
        learner.forget_last(label, n_known)
        raise
