"""Immutable values of features by name and by index.

`values.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

from perceptron_core import memory
from perceptron_core.validation import MAX_MAGNITUDE, one_number_each, reject_features
from perceptron_core.weights.example import Example
from perceptron_core.weights.feature_array import FeatureArray

_MAX_INDICES = 1 << 31


class IndexedValues(FeatureArray):
    """An immutable mapping from indices to numbers, in order.

    Parameters
    ----------
    indices
        Distinct integers from 0 to 2**31 - 1.
    values
        One number for each.

    """

    numbers: array[float]
    indices: array[int]

    def __init__(self, indices: Iterable[int], values: Iterable[float]) -> None:
        checked = [*indices]
        for index in checked:
            if type(index) is not int or not 0 <= index < _MAX_INDICES:
                raise ValueError(f"expected an index below 2**31, got {index!r}")
        numbers = one_number_each(checked, values, "indices")
        if getattr(self, "n", 0):
            raise TypeError("existing values cannot be changed")
        self._allocate(len(checked))
        for k in range(self.n):
            self.indices[k], self.numbers[k] = checked[k], numbers[k]

    def __dealloc__(self) -> None:
        memory.free(self.numbers)
        memory.free(self.indices)

    def __reduce__(self) -> tuple[Any, ...]:
        return IndexedValues, ([*self.keys()], [*self.values()])

    def as_dict(self) -> dict[Any, Any]:
        """Return a new dictionary of the indices and values, in the same order."""
        made = {}
        for k in range(self.n):
            made[self.indices[k]] = self.numbers[k]
        return made

    def fill(self, example: Example, n_slots: int) -> bool:
        """Fill an example with slots and values; return whether all are valid, with slots below `n_slots`."""
        while example.capacity < self.n:
            example.double_capacity()
        memory.copy_integers(memory.first_integer(example.slots), self.indices, self.n)
        memory.copy_doubles(memory.first_double(example.values), self.numbers, self.n)
        are_valid = True
        for k in range(self.n):
            are_valid &= self.indices[k] < n_slots
            are_valid &= -MAX_MAGNITUDE <= self.numbers[k] <= MAX_MAGNITUDE
        return are_valid

    def _allocate(self, n: int) -> None:
        """Allocate n indices and numbers."""
        self.indices = memory.new_integers(n)
        self.numbers = memory.new_doubles(n)
        self.n = n


def indexed_values(indices: array[int], values: array[float], count: int) -> IndexedValues:
    """Return `IndexedValues` of the first `count` indices and values, which must be valid."""
    made = IndexedValues.__new__(IndexedValues)
    made._allocate(count)  # noqa: SLF001  of its own module
    memory.copy_integers(made.indices, memory.first_integer(indices), count)
    memory.copy_doubles(made.numbers, memory.first_double(values), count)
    return made


try:
    import cython  # type: ignore[import-untyped]
except ImportError:  # without Cython, this module is interpreted
    from perceptron_core import memory as cython


@cython.no_gc  # names are strings, without references, so the garbage collector can ignore it
@cython.cclass
class NamedValues(FeatureArray):
    """An immutable mapping from names to numbers, in order.

    Parameters
    ----------
    names
        Distinct strings.
    values
        One number for each.

    """

    names: tuple[str, ...]
    numbers: array[float]

    def __init__(self, names: Iterable[str], values: Iterable[float]) -> None:
        checked = tuple(names)
        for name in checked:
            if type(name) is not str:
                raise TypeError(f"names: expected strings, got {name!r}")
        numbers = one_number_each(checked, values, "names")
        if getattr(self, "n", 0):
            raise TypeError("existing values cannot be changed")
        self._allocate(checked)
        for k in range(self.n):
            self.numbers[k] = numbers[k]

    def __dealloc__(self) -> None:
        memory.free(self.numbers)

    def __reduce__(self) -> tuple[Any, ...]:
        return NamedValues, (self.names, list(self.values()))

    def as_dict(self) -> dict[Any, Any]:
        """Return a new dictionary of the names and values, in the same order."""
        made = {}
        for k in range(self.n):
            made[self.names[k]] = self.numbers[k]
        return made

    def fill(self, example: Example) -> None:
        """Fill an example that has these names with the values. Raises `FeatureError` if one is too large."""
        memory.copy_doubles(memory.first_double(example.values), self.numbers, self.n)
        are_valid = True
        for k in range(self.n):
            are_valid &= -MAX_MAGNITUDE <= self.numbers[k] <= MAX_MAGNITUDE
        if not are_valid:
            raise reject_features(self)

    def _allocate(self, names: tuple[str, ...]) -> None:
        """Set the names, and allocate a number for each."""
        self.numbers = memory.new_doubles(len(names))
        self.names, self.n = names, len(names)


def named_values(names: tuple[str, ...], numbers: array[float]) -> NamedValues:
    """Return `NamedValues` of distinct names and their numbers."""
    made = NamedValues.__new__(NamedValues)
    made._allocate(names)  # noqa: SLF001  of its own module
    memory.copy_doubles(made.numbers, numbers, made.n)
    return made
