"""Events and their predictions, paired by id in whatever order the two are read.

What is paired is forgotten, so memory is taken by what has no partner yet. Pairs that are in order are made
in order, however far one topic is read ahead of the other: a pair that is not is a contradiction.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import TypeVar

from service.audit.findings import Fault, Findings, Place
from service.audit.matching.outputs import Found
from service.audit.matching.window import Expected

Each = TypeVar("Each", Expected, Found)


class Pairing:
    """Pairs what is expected with what is found.

    Parameters
    ----------
    contradictions
        By partition, told what contradicts unless an event was let go earlier and came again.
    doubts
        By partition, told what contradicts if events are kept as long as the settings say; None where the
        order in which events and labels were taken is not known.

    """

    def __init__(self, contradictions: Mapping[int, Findings], doubts: Mapping[int, Findings] | None) -> None:
        self._contradictions = contradictions
        self._doubts = doubts
        self._expected: dict[str, deque[Expected]] = {}
        self._found: dict[str, deque[Found]] = {}
        self._last: dict[tuple[str, int, int], tuple[int, int]] = {}
        """The last pair's offsets, by topic and partition of the events and partition of the predictions."""
        self.first_found: dict[int, int] = {}
        """The first prediction that has an event, by partition of the predictions."""
        self.first_expected: dict[int, int] = {}
        """The first event that has a prediction, by partition of the events."""
        self.suspects: list[tuple[Expected, Found]] = []
        """Pairs that are not in the order of the others."""
        self.n_expected = 0
        self.n_found = 0
        self.n_paired = 0
        self.n_ahead = 0
        self.repeats_with_truth = 0

    def expect(self, expected: Expected) -> None:
        """Take an event."""
        found = _pop(self._found, expected.event_id)
        if found is None:
            self._expected.setdefault(expected.event_id, deque()).append(expected)
            self.n_expected += 1
        else:
            self.n_found -= 1
            self._pair(expected, found)

    def find(self, found: Found) -> None:
        """Take a prediction."""
        expected = _pop(self._expected, found.event_id)
        if expected is None:
            self._found.setdefault(found.event_id, deque()).append(found)
            self.n_found += 1
        else:
            self.n_expected -= 1
            self._pair(expected, found)

    def unanswered(self) -> Iterator[Expected]:
        """Yield the events without a prediction."""
        return (each for waiting in self._expected.values() for each in waiting)

    def unasked(self) -> Iterator[Found]:
        """Yield the predictions without an event."""
        return (each for waiting in self._found.values() for each in waiting)

    def _pair(self, expected: Expected, found: Found) -> None:
        self.n_paired += not expected.is_ahead
        self.n_ahead += expected.is_ahead
        _lower(self.first_found, found.place)
        _lower(self.first_expected, expected.place)
        self._check_order(expected, found)
        self._check_truth(expected, found)
        if not expected.is_repeat:
            expected.case.prediction = found
        elif found.truth is not None:
            self.repeats_with_truth += 1

    def _check_order(self, expected: Expected, found: Found) -> None:
        pair = (expected.place.offset or 0, found.place.offset or 0)
        lane = (*expected.place[:2], found.place.partition)
        last = self._last.get(lane, (-1, -1))
        if pair[0] > last[0] and pair[1] > last[1]:
            self._last[lane] = pair
        else:
            self.suspects.append((expected, found))

    def _check_truth(self, expected: Expected, found: Found) -> None:
        if found.contradiction:
            return  # said where it was read
        if expected.own_truth is not None:
            if found.truth != expected.own_truth:
                self._wrong(self._contradictions[expected.place.partition], expected, found)
        elif self._doubts is not None and found.truth not in expected.truths:
            self._wrong(self._doubts[expected.place.partition], expected, found)

    def _wrong(self, findings: Findings, expected: Expected, found: Found) -> None:
        known = " or ".join(sorted(str(truth) for truth in expected.truths))
        message = f"its truth is {found.truth}, that of the event {expected.place} was {known}"
        findings.add(Fault.WRONG, found.place, message, found.event_id)


def _pop(waiting: dict[str, deque[Each]], event_id: str) -> Each | None:
    queue = waiting.get(event_id)
    if queue is None:
        return None
    first = queue.popleft()
    if not queue:
        del waiting[event_id]
    return first


def _lower(first: dict[int, int], place: Place) -> None:
    offset = place.offset or 0
    first[place.partition] = min(offset, first.get(place.partition, offset))
