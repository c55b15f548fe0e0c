"""Slots of features: of named features, which have one while they are stored, and of hashed names.

`index.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from numbers import Integral
from typing import Any

from perceptron_core import memory
from perceptron_core.validation import MAX_MAGNITUDE, FeatureError, as_double, reject_features
from perceptron_core.weights.buffers import lent
from perceptron_core.weights.example import NO_SLOT, Example
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
                example.double_capacity()
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

    def reserve(self, n_slots: int) -> None:
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
        """Return the number of names added before the name of a slot; -1 for a free slot."""
        raise NotImplementedError


class FeatureIndex(Index):
    """Slots by name, in the order in which the names were added."""

    _ordinals: array[int]

    def __init__(self) -> None:
        self.n_fixed = self.version = 0
        self._slot_of: dict[Any, int] = {}
        self._names: list[Any] = []
        """Name of each slot; None for a free slot."""
        self._ordinals = array("q")
        """Number of names added before the name of each slot; -1 for a free slot."""
        self._n_ever = 0

    def find(self, name: Any) -> int:
        """Return the slot of a name, `NO_SLOT` if it has none."""
        return self._slot_of.get(name, NO_SLOT)

    def resolve(self, x: Mapping[Any, Any], example: Example) -> None:
        """Fill `example` from `x`.

        Raises `FeatureError` for a value that is not finite or is larger than `MAX_MAGNITUDE`.

        If `x` is the unchanged dictionary of the last example, nothing is done.
        """
        state = memory.state_of(x) if type(x) is dict else 0
        if state == 0 or state != example.state or example.version != self.version:
            self._look_up(x, example, state)

    def _look_up(self, x: Mapping[Any, Any], example: Example, state: int) -> None:
        """Look up the names, except those at the same position as in the last example."""
        version, slot_of, names = self.version, self._slot_of, example.names
        n_known = example.n if example.version == version else 0
        n = n_missing = 0
        try:
            for name, value in x.items():
                number = value if type(value) is float else as_double(value)
                if not -MAX_MAGNITUDE <= number <= MAX_MAGNITUDE:
                    raise reject_features(x)
                if n == example.capacity:
                    example.double_capacity()
                    names = example.names
                if n < n_known and names[n] is name:
                    slot = example.slots[n]
                else:
                    slot = slot_of.get(name, NO_SLOT)
                    names[n], example.slots[n] = name, slot
                example.values[n] = number
                n_missing += slot < 0
                n += 1
                if type(value) is not float and type(value) is not int:  # a mutable value
                    state = 0
        except (AttributeError, TypeError, ValueError, OverflowError):
            raise reject_features(x) from None
        # Not the present version: a name's __eq__ may have changed the model meanwhile.
        example.n, example.n_missing, example.version, example.state = n, n_missing, version, state

    def has(self, slot: int) -> bool:
        """Return whether a stored name has this slot."""
        return slot < len(self._ordinals) and self._ordinals[slot] >= 0

    def at(self, slot: int) -> Any:
        """Return the stored name that has a slot."""
        return self._names[slot]

    def reserve(self, n_slots: int) -> None:
        """Allocate memory for names with slots below `n_slots`, without their entries in the dictionary."""
        n_now = len(self._names)
        if n_slots > n_now:
            ordinals = array("q", [-1]) * n_slots
            memoryview(ordinals)[:n_now] = memoryview(self._ordinals)
            self._names += [None] * (n_slots - n_now)
            self._ordinals = ordinals

    def add(self, name: Any, slot: int) -> None:
        """Add a new name."""
        self.reserve(slot + 1)
        self._slot_of[name] = slot
        self._names[slot], self._ordinals[slot] = name, self._n_ever
        self._n_ever += 1
        self.version += 1

    def remove(self, name: Any) -> None:
        """Remove a stored name."""
        slot = self._slot_of.pop(name)
        self.version += 1
        self._ordinals[slot] = -1
        self._names[slot] = None  # last, as it may run a name's __del__

    def slots(self) -> list[int]:
        """List the slots of the stored names, in the order in which they were added."""
        return list(self._slot_of.values())

    def collect(self, cells: array[float], with_zeros: bool) -> tuple[list[Any], array[float]]:
        """Return names and their cells in the order of adding, atomically for other threads."""
        names, weights = [], array("d")
        for name, slot in list(self._slot_of.items()):
            if with_zeros or cells[slot] != 0:
                names.append(name)
                weights.append(cells[slot])
        return names, weights

    def freeze(self, n_slots: int) -> tuple[list[Any], bytes]:
        """Copy the names by slot, and the number of names added before each: 64 bits, -1 for a free slot."""
        return self._names[:n_slots], memoryview(self._ordinals)[:n_slots].tobytes()

    def ordinal(self, slot: int) -> int:
        """Return the number of names added before the name of a slot; -1 for a free slot."""
        return self._ordinals[slot]


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
                    example.double_capacity()
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
        return array("d", [default]) * n if default else lent("d", n)

    def by_name(self, x: Example) -> dict[Any, float]:
        """Return the non-zero values of an example by index."""
        slots = x.slots[x.first_slot : x.first_slot + x.n]
        values = x.values[x.first_value : x.first_value + x.n]
        return {slot: value for slot, value in zip(slots, values, strict=True) if value}
