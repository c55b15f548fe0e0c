"""Records that a client has delivered and no poll has returned yet."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from service.batches import RecordBatch
from service.stream import Place

Key = TypeVar("Key")


class UndeliveredRecords:
    """Records that the client has moved past and no poll has returned yet.

    Were a poll that fails to forget them, they would be lost.

    Attributes
    ----------
    by_place : dict[Place, RecordBatch]
        The records of each place; compiled code may add to it.

    """

    def __init__(self) -> None:
        self.by_place: dict[Place, RecordBatch] = {}

    def __bool__(self) -> bool:
        return bool(self.by_place)

    def room(self, max_records: int) -> int:
        """Return how many more records there is room for."""
        return max(0, max_records - sum(map(len, self.by_place.values())))

    def keep(self, place: Place, records: RecordBatch) -> None:
        """Add records behind those of their place."""
        _add(self.by_place, place, records)

    def deliver(self, places: Iterable[Place]) -> dict[int, RecordBatch]:
        """Return the records of `places`, in their order, by partition; discard all."""
        merged: dict[int, RecordBatch] = {}
        for place in places:
            if place in self.by_place:
                _add(merged, place[1], self.by_place[place])
        self.by_place.clear()
        return merged


def _add(batches: dict[Key, RecordBatch], key: Key, records: RecordBatch) -> None:
    """Add records behind those of `key`; the first ones become its batch as they are."""
    if key in batches:
        batches[key].extend(records)
    else:
        batches[key] = records
