"""The gaps between predictions in which outcomes must lie.

A lane is the sequence of outputs that the events of one partition write to one partition of the predictions.
In it, the outcome of a label that came between two events lies between their predictions.
"""

from __future__ import annotations

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
        """Take an event; return the gaps before and behind its prediction."""
        before = self._present.get(lane) or Gap(is_first=True)
        behind = self._present[lane] = Gap()
        return before, behind


def _is_behind(place: Place, other: Place) -> bool:
    """Return whether a record lies behind another of the same partition."""
    return place.partition == other.partition and (place.offset or 0) > (other.offset or 0)
