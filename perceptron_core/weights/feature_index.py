"""Names of features, each with a slot. In: examples by name. Out: entries, checked.

The one place where feature values are checked. This is the interpreted form, a dictionary;
`feature_index.pyx` is the compiled one, a hash table that is about twice as fast, and means the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perceptron_core.validation import MAX_MAGNITUDE, as_double, refuse_features
from perceptron_core.weights.example import NO_SLOT, Entries


class Names:
    """Slots by name, in the order in which the names came."""

    def __init__(self) -> None:
        self._slot_of: dict[Any, int] = {}
        self._name_at: dict[int, Any] = {}
        self.version = 0
        """Counts names that came or went."""

    def __len__(self) -> int:
        return len(self._slot_of)

    def find(self, name: Any) -> int:
        """Return the slot of a name, `NO_SLOT` if it has none."""
        return self._slot_of.get(name, NO_SLOT)

    def has(self, slot: int) -> bool:
        """Return whether a name has this slot."""
        return slot in self._name_at

    def at(self, slot: int) -> Any:
        """Return the name that has a slot."""
        return self._name_at[slot]

    def make_room(self, n_names: int, n_slots: int) -> None:
        """Allocate what so many more names need, all with slots below `n_slots`.

        A dictionary allocates for itself.
        """

    def add(self, name: Any, slot: int) -> None:
        """Add a name that is not there yet."""
        self._slot_of[name] = slot
        self._name_at[slot] = name
        self.version += 1

    def remove(self, name: Any) -> None:
        """Remove a name that is there."""
        del self._name_at[self._slot_of.pop(name)]
        self.version += 1

    def items(self) -> list[tuple[Any, int]]:
        """List (name, slot) in the order in which the names came, in one step for other threads."""
        return list(self._slot_of.items())

    def resolve(self, x: Mapping[Any, Any], entries: Entries) -> None:
        """Make `entries` those of `x`.

        Raises `FeatureError` for a value that is not finite or is larger than `MAX_MAGNITUDE`.
        """
        version = self.version
        n = n_missing = 0
        try:
            for name, value in x.items():
                number = value if type(value) is float else as_double(value)
                if not -MAX_MAGNITUDE <= number <= MAX_MAGNITUDE:
                    raise refuse_features(x)
                if n == entries.capacity:
                    entries.widen()
                slot = self._slot_of.get(name, NO_SLOT)
                entries.names[n], entries.slots[n], entries.values[n] = name, slot, number
                n_missing += slot < 0
                n += 1
        except (TypeError, ValueError, OverflowError):
            raise refuse_features(x) from None
        entries.n, entries.n_missing, entries.version = n, n_missing, version
