"""Slots of features: by name in a dictionary, by hashed name.

`index.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from numbers import Integral
from typing import Any

from perceptron_core.validation import MAX_MAGNITUDE, FeatureError, as_double, refuse_features
from perceptron_core.weights.buffers import lent_doubles
from perceptron_core.weights.example import Example
from perceptron_core.weights.values import IndexedValues, NamedValues


class Index:
    """Slots by the name of the feature.

    A kind of index adds `find` and `resolve`; one whose features come and go, all the others.
    """

    n_fixed: int
    """Slots that features have from the start and keep; 0: a feature has one while it is stored."""

    version: int
    """Counts the names that came or went."""

    def find(self, name: Any) -> int:
        """Return the slot of a name, `NO_SLOT` if it has none."""
        raise NotImplementedError

    def resolve(self, x: Mapping[Any, Any], example: Example) -> None:
        """Make `example` that of `x`.

        Raises `FeatureError` for a value that is not finite or is larger than `MAX_MAGNITUDE`.
        """
        raise NotImplementedError

    def resolve_values(self, x: NamedValues, example: Example) -> None:
        """Make `example` that of `x` as `resolve` does; names that are those of the last one are known."""
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
            # Not the version of now: a stored name's own __eq__ may have changed the model meanwhile.
            example.shape, example.version = names, version
        x.fill(example)

    def by_name(self, x: Example) -> dict[Any, float]:
        """Return the values of an example by name that are not 0."""
        values = x.values[x.first_value : x.first_value + x.n]
        return {name: value for name, value in zip(x.names, values, strict=False) if value}

    def cells(self, default: float) -> array[float]:  # noqa: ARG002  of none
        """Make the cells of a column for the slots that are there from the start."""
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
        """Allocate what names with slots below `n_slots` need."""

    def has(self, slot: int) -> bool:  # noqa: ARG002  none is kept
        """Return whether a stored name has this slot."""
        return False

    def at(self, slot: int) -> Any:
        """Return the stored name that has a slot."""
        raise NotImplementedError

    def add(self, name: Any, slot: int) -> None:
        """Add a name that is not there yet."""
        raise NotImplementedError

    def remove(self, name: Any) -> None:
        """Remove a name that is there. Allocates nothing."""
        raise NotImplementedError

    def slots(self) -> list[int]:
        """List the slots of the stored names, in the order in which these came."""
        raise NotImplementedError

    def collect(self, cells: array[float], with_zeros: bool) -> tuple[list[Any], array[float]]:
        """Return names and their cells in the order in which names came, in one step for other threads."""
        raise NotImplementedError

    def freeze(self, n_slots: int) -> tuple[list[Any], bytes]:
        """Copy the names by slot, and how many came before each; compiled code alone asks for it."""
        raise NotImplementedError

    def ordinal(self, slot: int) -> int:
        """Return how many names came before the one with this slot; -1 if there is none, as `freeze` does."""
        raise NotImplementedError


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
            raise FeatureError(f"feature {name!r} is not an integer from 0 to {self.n_fixed - 1}")
        return slot

    def resolve(self, x: Mapping[Any, Any], example: Example) -> None:
        """Make `example` that of `x`.

        Raises `FeatureError` for a name that is not an index, and for a value as other indices do.
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
