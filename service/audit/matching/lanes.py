"""Lanes: the outputs that the events of one partition write to one partition of the predictions.

In a lane, predictions are in the order of their events, and the outcome of a label that came between two
events lies in the gap between their predictions. Records are deleted from the beginning of a topic, so one
that has lost its partner lies before all pairs.
"""

from __future__ import annotations

from collections.abc import Collection
from math import inf

from service.audit.findings import Place
from service.partitioner import partition_for_key


class Gap:
    """The part of a lane between the predictions of two events that follow each other."""

    __slots__ = ("after", "before", "is_first")

    def __init__(self, *, is_first: bool = False) -> None:
        self.is_first = is_first
        """Whether no event comes before it."""
        self.after: Place | None = None
        """The prediction of the event before it, once that is read."""
        self.before: Place | None = None
        """The prediction of the event behind it, once that is read."""

    @property
    def is_known(self) -> bool:
        """Return whether both its ends are read."""
        return (self.is_first or self.after is not None) and self.before is not None

    def excludes(self, outcome: Place) -> bool:
        """Return whether an outcome cannot lie here."""
        return (self.after is not None and _is_behind(self.after, outcome)) or (
            self.before is not None and _is_behind(outcome, self.before)
        )


class Gaps:
    """The gaps of one partition of events, as far as its input is read.

    Parameters
    ----------
    n_partitions
        How many partitions the predictions topic has.

    """

    def __init__(self, n_partitions: int) -> None:
        self._n_partitions = n_partitions
        self._present: dict[int, Gap] = {}

    def lane(self, event_id: str) -> int:
        """Return the partition of the predictions topic that an id is sent to."""
        return partition_for_key(event_id.encode(), self._n_partitions)

    def present(self, event_id: str) -> Gap:
        """Return the gap that the outcome of a label lies in that is read now."""
        return self._present.setdefault(self.lane(event_id), Gap(is_first=True))

    def pass_event(self, lane: int) -> tuple[Gap, Gap]:
        """Begin a new gap behind an event; return the gaps before and behind its prediction."""
        before = self._present.get(lane) or Gap(is_first=True)
        behind = self._present[lane] = Gap()
        return before, behind


def _is_behind(place: Place, other: Place) -> bool:
    """Return whether a record lies behind another of the same partition."""
    return place.partition == other.partition and (place.offset or 0) > (other.offset or 0)


class Lanes:
    """The pairs made so far."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, int, int], tuple[int, int]] = {}
        """Offsets of an event and its prediction, by the event's topic and partition and the other's."""
        self._first_event: dict[tuple[int, int], int] = {}
        self._first_prediction: dict[tuple[int, int], int] = {}

    def add(self, event: Place, prediction: Place) -> bool:
        """Add a pair; return whether it is in the order of the pairs before it."""
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
