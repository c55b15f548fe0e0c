"""Assign slots to features by name; a feature has a slot while it is stored.

This is the interpreted form, a dictionary; `feature_index.pyx` is the compiled one, a hash table that is
about twice as fast, and means the same.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

from perceptron_core.validation import MAX_MAGNITUDE, as_double, refuse_features
from perceptron_core.weights.example import NO_SLOT, Example
from perceptron_core.weights.index import Index


class FeatureIndex(Index):
    """Slots by name, in the order in which the names came."""

    def __init__(self) -> None:
        self.n_fixed = self.version = 0
        self._slot_of: dict[Any, int] = {}
        self._name_at: dict[int, Any] = {}

    def find(self, name: Any) -> int:
        """Return the slot of a name, `NO_SLOT` if it has none."""
        return self._slot_of.get(name, NO_SLOT)

    def resolve(self, x: Mapping[Any, Any], example: Example) -> None:
        """Make `example` that of `x`.

        Raises `FeatureError` for a value that is not finite or is larger than `MAX_MAGNITUDE`.
        """
        version = self.version
        n = n_missing = 0
        try:
            for name, value in x.items():
                number = value if type(value) is float else as_double(value)
                if not -MAX_MAGNITUDE <= number <= MAX_MAGNITUDE:
                    raise refuse_features(x)
                if n == example.capacity:
                    example.widen()
                slot = self._slot_of.get(name, NO_SLOT)
                example.names[n], example.slots[n], example.values[n] = name, slot, number
                n_missing += slot < 0
                n += 1
        except (AttributeError, TypeError, ValueError, OverflowError):
            raise refuse_features(x) from None
        example.n, example.n_missing, example.version = n, n_missing, version

    def has(self, slot: int) -> bool:
        """Return whether a stored name has this slot."""
        return slot in self._name_at

    def at(self, slot: int) -> Any:
        """Return the stored name that has a slot."""
        return self._name_at[slot]

    def add(self, name: Any, slot: int) -> None:
        """Add a name that is not there yet."""
        self._slot_of[name] = slot
        self._name_at[slot] = name
        self.version += 1

    def remove(self, name: Any) -> None:
        """Remove a name that is there."""
        del self._name_at[self._slot_of.pop(name)]
        self.version += 1

    def slots(self) -> list[int]:
        """List the slots of the stored names, in the order in which these came."""
        return list(self._slot_of.values())

    def collect(self, cells: array[float], with_zeros: bool) -> tuple[list[Any], array[float]]:
        """Return names and their cells in the order in which names came, in one step for other threads."""
        items = [each for each in list(self._slot_of.items()) if with_zeros or cells[each[1]]]
        return [name for name, _ in items], array("d", [cells[slot] for _, slot in items])
