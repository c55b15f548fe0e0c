"""The index of integer features, each of which is its own slot.

`hashed_index.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from numbers import Integral
from typing import Any

from perceptron_core.errors import FeatureError
from perceptron_core.validation import MAX_MAGNITUDE, as_double, refuse_features
from perceptron_core.weights.buffers import lent_doubles
from perceptron_core.weights.example import Example
from perceptron_core.weights.index import Index
from perceptron_core.weights.indexed_values import IndexedValues


class HashedIndex(Index):
    """The integers below 2**bits, as hashing makes them: feature i has slot i."""

    def __init__(self, bits: int) -> None:
        self.n_fixed = 1 << bits
        self.version = 0

    def find(self, name: Any) -> int:
        """Return an index as the slot it is. Raises `FeatureError` if it is none."""
        slot = -1
        try:
            if type(name) is int or (isinstance(name, Integral) and not isinstance(name, bool)):
                slot = int(name)
        except OverflowError:  # wider than a C integer
            slot = -1
        if not 0 <= slot < self.n_fixed:
            raise FeatureError(f"feature {name!r} is no integer from 0 to {self.n_fixed - 1}")
        return slot

    def resolve(self, x: Mapping[Any, Any], example: Example) -> None:
        """Make `example` that of `x`.

        Raises `FeatureError` for a name that is no index, and for a value as other indices do.
        """
        if type(x) is not IndexedValues or not self._fill(x, example):
            self._resolve(x, example)

    def _fill(self, x: IndexedValues, example: Example) -> bool:
        """Make `example` that of `x`, and return True, unless something of it is to be refused."""
        example.n, example.version = x.n, self.version
        return x.fill(example, self.n_fixed)

    def _resolve(self, x: Mapping[Any, Any], example: Example) -> None:
        n = 0
        try:
            for name, value in x.items():
                number = value if type(value) is float else as_double(value)
                if not -MAX_MAGNITUDE <= number <= MAX_MAGNITUDE:
                    raise refuse_features(x)
                if n == example.capacity:
                    example.widen()
                example.slots[n] = self.find(name)
                example.values[n] = number
                n += 1
        except FeatureError:
            raise
        except (AttributeError, TypeError, ValueError, OverflowError):
            raise refuse_features(x) from None
        example.n, example.version = n, self.version

    def cells(self, default: float) -> array[float]:
        """Make the cells of a column; many zeros are pages that the system lends as they are written to."""
        n = self.n_fixed
        return array("d", [default]) * n if default else lent_doubles(n)

    def by_name(self, x: Example) -> dict[Any, float]:
        """Return the values of an example by index that are not 0."""
        slots = x.slots[x.first_slot : x.first_slot + x.n]
        values = x.values[x.first_value : x.first_value + x.n]
        return {slot: value for slot, value in zip(slots, values, strict=True) if value}
