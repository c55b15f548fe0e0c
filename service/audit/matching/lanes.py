"""The order of pairs in a lane, and the records before its first pair.

A lane holds the pairs of one partition of events and one of predictions; its predictions are in the order of
their events. Records are deleted from the beginning of a topic, so a record that has lost its partner lies
before all pairs.
"""

from __future__ import annotations

from collections.abc import Collection
from math import inf

from service.audit.findings import Place


class Lanes:
    """The pairs made so far."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, int, int], tuple[int, int]] = {}
        """Offsets of an event and its prediction, by the event's topic and partition and the other's."""
        self._first_event: dict[tuple[int, int], int] = {}
        self._first_prediction: dict[tuple[int, int], int] = {}

    def add(self, event: Place, prediction: Place) -> bool:
        """Take a pair; return whether it is in the order of those before."""
        offsets = event.offset or 0, prediction.offset or 0
        lane = event.partition, prediction.partition
        self._first_event[lane] = min(offsets[0], self._first_event.get(lane, offsets[0]))
        self._first_prediction[lane] = min(offsets[1], self._first_prediction.get(lane, offsets[1]))
        last = self._last.get((event.topic, *lane), (-1, -1))
        if offsets[0] > last[0] and offsets[1] > last[1]:
            self._last[event.topic, *lane] = offsets
            return True
        return False

    def is_begun(self, partition: int) -> bool:
        """Return whether an event of a partition has its prediction."""
        return any(lane[0] == partition for lane in self._first_event)

    def lost_its_event(
        self, prediction: Place, partitions: Collection[int], with_holes: Collection[int]
    ) -> bool:
        """Return whether a prediction may be of an event deleted in one of these partitions.

        From the beginning of some, from anywhere in those `with_holes`.
        """
        if self._candidates(prediction.partition, with_holes):
            return True
        events = self._candidates(prediction.partition, partitions)
        firsts = (self._first_prediction.get((p, prediction.partition), inf) for p in events)
        return any((prediction.offset or 0) < first for first in firsts)

    def lost_its_prediction(self, event: Place, partitions: Collection[int]) -> bool:
        """Return whether the prediction of an event may be deleted in one of these partitions."""
        predictions = self._candidates(event.partition, partitions)
        firsts = (self._first_event.get((event.partition, q), inf) for q in predictions)
        return any((event.offset or 0) < first for first in firsts)

    def _candidates(self, partition: int, others: Collection[int]) -> Collection[int]:
        """Return which others a partition may share a lane with: where ids are keys, that of its number."""
        if all(p == q for p, q in self._first_event):
            return {partition}.intersection(others)
        return others
