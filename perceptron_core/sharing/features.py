"""Name features to other lanes: by name, by slot or by index."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from perceptron_core.auto.layout import WORDS
from perceptron_core.formats.packed import pack, unpack
from perceptron_core.sharing import rows
from perceptron_core.weights.buffers import from_bytes, to_bytes

if TYPE_CHECKING:
    from perceptron_core.auto.auto_classifier import AutoClassifier
    from perceptron_core.sharing.columns import SharedColumn
    from perceptron_core.weights.example import Example
    from perceptron_core.weights.touches import Touches
    from perceptron_core.weights.weight_table import WeightTable


class NamedFeatures:
    """Features of any names, whose slots differ from lane to lane."""

    def __init__(self, table: WeightTable) -> None:
        self.table = table

    def updated(self, touches: Touches, n: int) -> Example:
        """Return the first n rows that were updated, in the order of a contribution."""
        return rows.at_slots(self.table, rows.touched(touches, n))

    def kept(self, columns: list[SharedColumn]) -> Example:  # noqa: ARG002  all names, so that these keep their order
        """Return the rows that a state describes."""
        return rows.at_slots(self.table, rows.in_order(self.table))

    def learned(self) -> Example:
        """Return the rows in which something was learned."""
        return rows.at_slots(self.table, rows.in_order(self.table))

    def coordinates(self, x: Example) -> Sequence[Any]:
        """Return rows as others know them."""
        return x.names

    def at(self, coordinates: Sequence[Any]) -> Example:
        """Return the rows of coordinates; new ones are stored."""
        return rows.at_names(self.table, coordinates)

    def arrange(self, coordinates: Sequence[Any]) -> None:
        """Restore the order of the features."""
        self.table.arrange(coordinates)

    def pack(self, x: Example) -> bytes:
        """Return rows as bytes."""
        return pack(x.names)

    def unpack(self, written: bytes) -> Sequence[Any]:
        """Return the coordinates of what `pack` returned."""
        names: Sequence[Any] = unpack(written)
        return names


class HashedFeatures(NamedFeatures):
    """Features that are their own slots in all lanes."""

    def updated(self, touches: Touches, n: int) -> Example:
        """Return the first n rows that were updated, in ascending order."""
        return rows.at_slots(self.table, rows.ascending(rows.touched(touches, n)))

    def kept(self, columns: list[SharedColumn]) -> Example:
        """Return the rows with a base."""
        return rows.at_slots(self.table, rows.based(columns, self.table.n_slots))

    def learned(self) -> Example:
        """Return the rows in which something was learned."""
        return rows.at_slots(self.table, array("i", self.table.changed_slots()))

    def coordinates(self, x: Example) -> Sequence[Any]:
        """Return the slots."""
        return rows.slots_of(x)

    def at(self, coordinates: Sequence[Any]) -> Example:
        """Return the rows of slots."""
        return rows.at_slots(self.table, array("i", coordinates))

    def arrange(self, coordinates: Sequence[Any]) -> None:
        """Leave the features, which have no order."""

    def pack(self, x: Example) -> bytes:
        """Return rows as bytes."""
        return to_bytes("i", rows.slots_of(x))

    def unpack(self, written: bytes) -> Sequence[Any]:
        """Return the slots of what `pack` returned."""
        return from_bytes("i", written)


class Tokens(HashedFeatures):
    """Hashed features of `AutoClassifier`, which have slots in the order in which a lane met them.

    Lanes know them by their indices. All learners of a map have the same slots.
    """

    def __init__(self, table: WeightTable, model: AutoClassifier, map_number: int) -> None:
        super().__init__(table)
        self._model = model
        self._number = map_number
        self._tokens = model.maps.words if map_number == WORDS else model.maps.grams

    def updated(self, touches: Touches, n: int) -> Example:
        """Return the first n rows that were updated, in ascending order of their indices."""
        indices = self._tokens.indices_at(rows.touched(touches, n))
        return rows.at_slots(self.table, self._tokens.slots_of(rows.ascending(indices)))

    def coordinates(self, x: Example) -> Sequence[Any]:
        """Return the indices."""
        return self._tokens.indices_at(rows.slots_of(x))

    def at(self, coordinates: Any) -> Example:
        """Return the rows of indices; new ones are given slots, in the tables of all learners of the map."""
        slots = self._model.maps.slots_of(self._number, coordinates)
        self._model.widen()
        return rows.at_slots(self.table, slots)

    def pack(self, x: Example) -> bytes:
        """Return rows as bytes."""
        return to_bytes("i", self.coordinates(x))


def features_of(table: WeightTable) -> NamedFeatures:
    """Return how the features of a table are named."""
    return HashedFeatures(table) if table.is_fixed else NamedFeatures(table)
