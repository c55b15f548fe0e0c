"""Compare expected outputs with those found, case by case.

A case is forgotten as soon as its event is released and all of its outputs are found; the others wait for
the end of the audit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from service.audit.findings import Fault, Finding, Findings
from service.audit.matching.cases import Case, Compared
from service.audit.matching.outputs import Found
from service.audit.matching.pairing import Pairing, WithoutPartner
from service.audit.matching.shared_ids import SharedIds
from service.audit.matching.window import Expected


class OpenCases:
    """The events of one id whose cases are open, and the outcomes that may belong to any of them.

    An outcome names the id of its event only. Where an id comes again after its event was released, the
    contents of the outcome decide which event it belongs to, and only once the labels of these events are
    known.

    Attributes
    ----------
    cases
        The events, in the order in which they were read.
    outcomes
        The outcomes, in the order in which they were read.
    surplus
        Those that the last call of `allot` assigned to no case.

    """

    __slots__ = ("cases", "outcomes", "surplus")

    def __init__(self) -> None:
        self.cases: list[Case] = []
        self.outcomes: list[Found] = []
        self.surplus: list[Found] = []

    def allot(self, *, order_is_known: bool) -> None:
        """Match each outcome with a case that it fits in every field; at most one to a case."""
        for case in self.cases:
            case.outcomes = []
        self.surplus = self.outcomes
        self._assign(lambda case, outcome: case.is_answered_by(outcome, order_is_known=order_is_known))

    def allot_all(self, *, order_is_known: bool) -> None:
        """Match every outcome with the case that it fits best, once nothing more is to be read."""
        self.allot(order_is_known=order_is_known)
        if not self.cases:
            return
        self._assign(lambda case, outcome: case.awaits_label and case.has_predicted(outcome))
        self._assign(lambda case, outcome: case.repeats > 0 and case.agrees_with_a_label(outcome))
        self._assign(lambda case, _: case.due is not None)
        self._assign(lambda case, _: case.awaits_label)
        self.cases[-1].outcomes += self.surplus
        self.surplus = []

    def forget(self, case: Case) -> None:
        """Remove a case and its outcomes."""
        self.cases.remove(case)
        self.outcomes = _without(self.outcomes, case.outcomes)

    def _assign(self, fits: Callable[[Case, Found], bool]) -> None:
        """Match the rest with the first fitting case that has no outcome."""
        if not self.surplus:
            return
        for outcome in self.surplus:
            waiting = (case for case in self.cases if not case.outcomes and fits(case, outcome))
            if (case := next(waiting, None)) is not None:
                case.outcomes.append(outcome)
        self.surplus = _without(self.surplus, [each for case in self.cases for each in case.outcomes])


def _without(outcomes: Iterable[Found], removed: Iterable[Found]) -> list[Found]:
    places = {each.place for each in removed}
    return [each for each in outcomes if each.place not in places]


class Ledger:
    """Matches predictions and outcomes with their events.

    Parameters
    ----------
    order_is_known
        Whether events and labels are read in the order in which the service took them.
    shared
        The ids of which only the number of predictions can be judged.
    without_partner
        Events and predictions whose partner is deleted, as far as that is known.
    n_partitions
        Of the predictions topic.

    Attributes
    ----------
    contradictions
        By partition, what contradicts unless an event was let go earlier than its settings say, and came
        again.
    doubts
        By partition, what contradicts only if no event was let go earlier than its settings say.

    """

    def __init__(
        self, *, order_is_known: bool, shared: SharedIds, without_partner: WithoutPartner, n_partitions: int
    ) -> None:
        self.contradictions: defaultdict[int, Findings] = defaultdict(Findings)
        self.doubts: defaultdict[int, Findings] = defaultdict(Findings)
        self.order_is_known = order_is_known
        self.shared = shared
        doubts = self.doubts if order_is_known else None
        self.pairing = Pairing(self.contradictions, doubts, without_partner, n_partitions)
        self._open: defaultdict[str, OpenCases] = defaultdict(OpenCases)
        self.outcomes = 0
        self.labelled = 0
        self.mistakes = 0
        self.compared: Callable[[int, Compared], None] = lambda *_: None
        """Called with the partition of each event whose prediction was compared with a label."""

    def expect(self, expected: Expected) -> None:
        """Open the case of an event, and pair the event with its prediction."""
        if expected.event.event_id in self.shared.ids:
            self.shared.expect(expected)
            return
        if not expected.is_repeat:
            self._open[expected.event.event_id].cases.append(expected.case)
        self.pairing.expect(expected)

    def find(self, found: Found) -> None:
        """Match a prediction or an outcome with its event."""
        self.outcomes += found.delay_seconds is not None
        if found.delay_seconds is None:
            (self.shared if found.event_id in self.shared.ids else self.pairing).find(found)
        elif found.event_id not in self.shared.ids:
            self._open[found.event_id].outcomes.append(found)

    def release(self, case: Case) -> None:
        """Forget a case whose event was released, if all of its outputs are found."""
        if case.event.event_id in self.shared.ids:
            return
        same_id = self._open[case.event.event_id]
        same_id.allot(order_is_known=self.order_is_known)
        is_placed = case.is_placed or not self.order_is_known
        if (
            case.prediction is not None
            and is_placed
            and not same_id.surplus
            and not self._contradictions(case)
        ):
            self._forget(same_id, case)

    def stray_outcomes(self) -> Iterator[Found]:
        """Yield the outcomes that belong to no event that is kept."""
        return (
            outcome for same_id in self._open.values() if not same_id.cases for outcome in same_id.outcomes
        )

    def has_surplus(self) -> bool:
        """Return whether there are outcomes that no label read so far explains."""
        for same_id in self._open.values():
            self._allotted(same_id)
        return self.shared.has_surplus() or any(same_id.surplus for same_id in self._open.values())

    def is_lacking(self) -> bool:
        """Return whether something is due that has not been read."""
        if self.shared.is_lacking() or any(not each.event.is_ahead for each in self.pairing.unanswered()):
            return True
        return any(
            found.fault is Fault.MISSING
            for same_id in self._open.values()
            for case in self._allotted(same_id)
            if case.prediction
            for found in self._contradictions(case)
        )

    def finish(self) -> None:
        """Judge the cases that are open, once everything is read."""
        for same_id in list(self._open.values()):
            same_id.allot_all(order_is_known=self.order_is_known)
            for case in same_id.cases.copy():
                self._judge(case)
                self._forget(same_id, case)

    def _judge(self, case: Case) -> None:
        self.contradictions[case.event.place.partition].extend(case.contradictions())
        if case.prediction is not None:
            doubts = case.doubts(order_is_known=self.order_is_known)
            self.doubts[case.event.place.partition].extend(doubts)

    def _allotted(self, same_id: OpenCases) -> list[Case]:
        same_id.allot(order_is_known=self.order_is_known)
        return same_id.cases

    def _contradictions(self, case: Case) -> list[Finding]:
        return [*case.contradictions(), *case.doubts(order_is_known=self.order_is_known)]

    def _forget(self, same_id: OpenCases, case: Case) -> None:
        for compared in case.compared():
            self.labelled += 1
            self.mistakes += compared.mistake
            self.compared(case.event.place.partition, compared)
        same_id.forget(case)
        if not same_id.cases and not same_id.outcomes:
            del self._open[case.event.event_id]
