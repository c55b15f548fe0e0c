"""Pair events and predictions by id, in whatever order the two topics are read.

Pairs are forgotten, so only records without a partner use memory. Pairs that are in order are found in
order, however far one topic is read ahead of the other; a pair out of order is a contradiction.

Where the beginning of a topic was deleted, the first records of a repeated id may have no partner: its
remaining events and predictions are paired from the end backwards.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Final, NamedTuple, TypeVar

from service.audit.findings import Fault, Findings, Place
from service.audit.matching.lanes import Lanes
from service.audit.matching.one_way import OneWayChanges
from service.audit.matching.outputs import Found
from service.audit.matching.window import Expected

Each = TypeVar("Each", Expected, Found)


class WithoutPartner(NamedTuple):
    """How many of the first events and predictions of an id have no partner, by id."""

    events: Counter[str]
    predictions: Counter[str]


ALL_HAVE_PARTNERS: Final = WithoutPartner(Counter(), Counter())


class Pairing:
    """Pairs what is expected with what is found.

    Parameters
    ----------
    contradictions
        By partition: collects contradictions unless an event was released earlier and came again.
    doubts
        By partition: collects contradictions if events are kept as long as the settings say; None where the
        order of processing of events and labels is not known.
    without_partner
        Those of which it is known already.
    n_partitions
        Of the predictions topic.

    """

    def __init__(
        self,
        contradictions: Mapping[int, Findings],
        doubts: Mapping[int, Findings] | None,
        without_partner: WithoutPartner,
        n_partitions: int,
    ) -> None:
        self._contradictions = contradictions
        self._doubts = doubts
        self._expected: dict[str, deque[Expected]] = {}
        self._found: dict[str, deque[Found]] = {}
        self._due_alone = without_partner.events.copy()
        self._found_alone = without_partner.predictions.copy()
        self._events_alone: list[Expected] = []
        self._predictions_alone: list[Found] = []
        self.lanes = Lanes()
        self.changes = OneWayChanges(n_partitions)
        self.paired: Callable[[Place, Found], None] = lambda *_: None
        """Called with the place of each event and its prediction."""
        self.suspects: list[tuple[Expected, Found]] = []
        """Pairs that are not in the order of the others."""
        self.n_expected = 0
        self.n_found = 0
        self.n_paired = 0
        self.n_ahead = 0
        self.repeats_with_truth = 0

    def expect(self, expected: Expected) -> None:
        """Pair an event with its prediction, or keep it until that is read."""
        if _take_one(self._due_alone, expected.event.event_id):
            self._events_alone.append(expected)
            expected.case.is_prediction_deleted |= not expected.is_repeat
            return
        found = _pop(self._found, expected.event.event_id)
        if found is None:
            self._expected.setdefault(expected.event.event_id, deque()).append(expected)
            self.n_expected += 1
        else:
            self.n_found -= 1
            self._pair(expected, found)

    def find(self, found: Found) -> None:
        """Pair a prediction with its event, or keep it until that is read."""
        if _take_one(self._found_alone, found.event_id):
            self._predictions_alone.append(found)
            return
        expected = _pop(self._expected, found.event_id)
        if expected is None:
            self._found.setdefault(found.event_id, deque()).append(found)
            self.n_found += 1
        else:
            self.n_expected -= 1
            self._pair(expected, found)

    def unanswered(self) -> Iterator[Expected]:
        """Yield the events without a prediction."""
        return chain(self._events_alone, (each for waiting in self._expected.values() for each in waiting))

    def unasked(self) -> Iterator[Found]:
        """Yield the predictions without an event."""
        return chain(self._predictions_alone, self.surplus())

    def surplus(self) -> Iterator[Found]:
        """Yield those of them that were not known to have none."""
        return (each for waiting in self._found.values() for each in waiting)

    def without_partner(self) -> WithoutPartner:
        """Count the events and predictions without a partner."""
        events = Counter(each.event.event_id for each in self.unanswered() if not each.event.is_ahead)
        return WithoutPartner(events, Counter(each.event_id for each in self.unasked()))

    def _pair(self, expected: Expected, found: Found) -> None:
        self.n_paired += not expected.event.is_ahead
        self.n_ahead += expected.event.is_ahead
        if not self.lanes.add(expected.event.place, found.place):
            self.suspects.append((expected, found))
        before, behind = expected.gaps
        before.before = behind.after = found.place
        self.changes.note(expected, found)
        self.paired(expected.event.place, found)
        self._check_truth(expected, found)
        if not expected.is_repeat:
            expected.case.prediction = found
        elif found.truth is not None:
            self.repeats_with_truth += 1

    def _check_truth(self, expected: Expected, found: Found) -> None:
        if found.contradiction:
            return  # reported where it was read
        if found.event_time_ms not in {None, expected.event.timestamp_ms}:
            message = expected.event.contradiction(found.event_time_ms)
            findings = self._contradictions[expected.event.place.partition]
            findings.add(Fault.WRONG, found.place, message, found.event_id)
        if expected.own_truth is not None:
            if found.truth != expected.own_truth:
                self._wrong(self._contradictions[expected.event.place.partition], expected, found)
        elif self._doubts is not None and found.truth not in expected.truths:
            self._wrong(self._doubts[expected.event.place.partition], expected, found)

    def _wrong(self, findings: Findings, expected: Expected, found: Found) -> None:
        known = " or ".join(sorted(str(truth) for truth in expected.truths))
        message = f"its truth is {found.truth}, that of the event {expected.event.place} was {known}"
        findings.add(Fault.WRONG, found.place, message, found.event_id)


def _pop(waiting: dict[str, deque[Each]], event_id: str) -> Each | None:
    queue = waiting.get(event_id)
    if queue is None:
        return None
    first = queue.popleft()
    if not queue:
        del waiting[event_id]
    return first


def _take_one(left: Counter[str], event_id: str) -> bool:
    if not left[event_id]:
        return False
    left[event_id] -= 1
    return True
