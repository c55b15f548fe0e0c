"""Hashed features as arrays of indices and numbers, which act as a mapping.

A text has some ten to a hundred words, each hashed to an index: making a dictionary of them would take
longer than finding and hashing them. This is the interpreted form, a dictionary; `indexed_values.pyx` is the
compiled one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from perceptron_core.validation import MAX_MAGNITUDE, one_number_each
from perceptron_core.weights.example import Example
from perceptron_core.weights.feature_array import FeatureArray

_MOST_INDICES = 1 << 31


class IndexedValues(FeatureArray):
    """An immutable mapping from indices to numbers, in order.

    Parameters
    ----------
    indices
        Integers from 0 to 2**31 - 1, no two alike.
    values
        A number for each.

    """

    def __init__(self, indices: Iterable[int], values: Iterable[float]) -> None:
        checked = [*indices]
        for index in checked:
            if type(index) is not int or not 0 <= index < _MOST_INDICES:
                raise ValueError(f"{index!r} is no index below 2**31")
        super().__init__(zip(checked, one_number_each(checked, values, "indices"), strict=True))

    def fill(self, example: Example, n_slots: int) -> bool:
        """Write slots and values into an example; return whether all are valid, slots below `n_slots`."""
        while example.capacity < len(self):
            example.widen()
        for k, (index, value) in enumerate(self.items()):
            if index >= n_slots or not -MAX_MAGNITUDE <= value <= MAX_MAGNITUDE:
                return False
            example.slots[k], example.values[k] = index, value
        return True

    def __reduce__(self) -> tuple[Any, ...]:
        return IndexedValues, ([*self.keys()], [*self.values()])


def indexed_values(indices: Iterable[int], values: Iterable[float], count: int) -> IndexedValues:
    """Make `IndexedValues` of the first `count` indices and values, which must be valid."""
    return IndexedValues([*indices][:count], [*values][:count])
