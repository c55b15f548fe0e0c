"""Assign slots to named features; a feature has a slot while it is stored.

`feature_index.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

from perceptron_core import memory
from perceptron_core.validation import MAX_MAGNITUDE, as_double, reject_features
from perceptron_core.weights.example import NO_SLOT, Example
from perceptron_core.weights.index import Index


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
                    example.widen()
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

    def make_room(self, n_slots: int) -> None:
        """Allocate memory for names with slots below `n_slots`, without their entries in the dictionary."""
        n_now = len(self._names)
        if n_slots > n_now:
            ordinals = array("q", [-1]) * n_slots
            memoryview(ordinals)[:n_now] = memoryview(self._ordinals)
            self._names += [None] * (n_slots - n_now)
            self._ordinals = ordinals

    def add(self, name: Any, slot: int) -> None:
        """Add a new name."""
        self.make_room(slot + 1)
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
