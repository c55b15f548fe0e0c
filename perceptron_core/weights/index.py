"""Slots of features: by name in a dictionary, by hashed name.

`index.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from numbers import Integral
from typing import Any

from perceptron_core.validation import MAX_MAGNITUDE, FeatureError, as_double, reject_features
from perceptron_core.weights.buffers import lent_doubles
from perceptron_core.weights.example import Example
from perceptron_core.weights.values import IndexedValues, NamedValues


class Index:
    """Slots by the name of the feature.

    A subclass implements `find` and `resolve`; one whose features can be added and removed, all other
    methods.
    """

    n_fixed: int
    """Number of permanent slots; 0: a feature has a slot while it is stored."""

    version: int
    """Number of names added or removed."""

    def find(self, name: Any) -> int:
        """Return the slot of a name, `NO_SLOT` if it has none."""
        raise NotImplementedError

    def resolve(self, x: Mapping[Any, Any], example: Example) -> None:
        """Fill `example` from `x`.

        Raises `FeatureError` for a value that is not finite or is larger than `MAX_MAGNITUDE`.
        """
        raise NotImplementedError

    def resolve_values(self, x: NamedValues, example: Example) -> None:
        """Fill `example` from `x` as `resolve` does; the same names as in the last example need no lookup."""
        names = x.names
        example.state = 0
        if example.shape is not names or example.version != self.version:
            example.shape = None
            while example.capacity < len(names):
                example.widen()
            for k in range(len(names)):
                example.names[k] = names[k]
            example.n, version = len(names), self.version
            self.look_up(example)
            # Not the present version: a stored name's __eq__ may have changed the model meanwhile.
            example.shape, example.version = names, version
        x.fill(example)

    def by_name(self, x: Example) -> dict[Any, float]:
        """Return the non-zero values of an example by name."""
        values = x.values[x.first_value : x.first_value + x.n]
        return {name: value for name, value in zip(x.names, values, strict=False) if value}

    def cells(self, default: float) -> array[float]:  # noqa: ARG002  of none
        """Return the cells of a column for the permanent slots."""
        return array("d")

    def look_up(self, x: Example) -> None:
        """Find the slots of an example's names."""
        x.n_missing = 0
        for k in range(x.n):
            slot = self.find(x.names[k])
            x.slots[x.first_slot + k] = slot
            x.n_missing += slot < 0
        x.version = self.version

    def make_room(self, n_slots: int) -> None:
        """Allocate memory for names with slots below `n_slots`."""

    def has(self, slot: int) -> bool:  # noqa: ARG002  none is kept
        """Return whether a stored name has this slot."""
        return False

    def at(self, slot: int) -> Any:
        """Return the stored name that has a slot."""
        raise NotImplementedError

    def add(self, name: Any, slot: int) -> None:
        """Add a new name."""
        raise NotImplementedError

    def remove(self, name: Any) -> None:
        """Remove a stored name, without allocating memory."""
        raise NotImplementedError

    def slots(self) -> list[int]:
        """List the slots of the stored names, in the order in which they were added."""
        raise NotImplementedError

    def collect(self, cells: array[float], with_zeros: bool) -> tuple[list[Any], array[float]]:
        """Return names and their cells in the order of adding, atomically for other threads."""
        raise NotImplementedError

    def freeze(self, n_slots: int) -> tuple[list[Any], bytes]:
        """Copy the names by slot, and the number of names added before each; only for compiled code."""
        raise NotImplementedError

    def ordinal(self, slot: int) -> int:
        """Return the number of names added before that of a slot; -1 for a free slot."""
        raise NotImplementedError


class HashedIndex(Index):
    """The integers below 2**bits, the results of hashing: feature i has slot i."""

    def __init__(self, bits: int) -> None:
        self.n_fixed = 1 << bits
        self.version = 0

    def find(self, name: Any) -> int:
        """Return an index, which is the slot. Raises `FeatureError` if it is invalid."""
        slot = -1
        try:
            if type(name) is int or (isinstance(name, Integral) and not isinstance(name, bool)):
                slot = int(name)
        except OverflowError:  # larger than a C integer
            slot = -1
        if not 0 <= slot < self.n_fixed:
            raise FeatureError(f"feature {name!r} is not an integer from 0 to {self.n_fixed - 1}")
        return slot

    def resolve(self, x: Mapping[Any, Any], example: Example) -> None:
        """Fill `example` from `x`.

        Raises `FeatureError` for a name that is not an index, and for a value as other indices do.
        """
        if type(x) is not IndexedValues or not self._fill(x, example):
            self._resolve(x, example)

    def _fill(self, x: IndexedValues, example: Example) -> bool:
        """Fill `example` from `x`; return False if something is invalid."""
        example.n, example.version = x.n, self.version
        return x.fill(example, self.n_fixed)

    def _resolve(self, x: Mapping[Any, Any], example: Example) -> None:
        n = 0
        try:
            for name, value in x.items():
                number = value if type(value) is float else as_double(value)
                if not -MAX_MAGNITUDE <= number <= MAX_MAGNITUDE:
                    raise reject_features(x)
                if n == example.capacity:
                    example.widen()
                example.slots[n] = self.find(name)
                example.values[n] = number
                n += 1
        except FeatureError:
            raise
        except (AttributeError, TypeError, ValueError, OverflowError):
            raise reject_features(x) from None
        example.n, example.version = n, self.version

    def cells(self, default: float) -> array[float]:
        """Return the cells of a column; the system allocates pages of zeros as they are written."""
        n = self.n_fixed
        return array("d", [default]) * n if default else lent_doubles(n)

    def by_name(self, x: Example) -> dict[Any, float]:
        """Return the non-zero values of an example by index."""
        slots = x.slots[x.first_slot : x.first_slot + x.n]
        values = x.values[x.first_value : x.first_value + x.n]
        return {slot: value for slot, value in zip(slots, values, strict=True) if value}
