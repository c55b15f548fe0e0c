"""What is due against what is there. In: events, labels, predictions, outcomes. Out: what contradicts.

A case is forgotten as soon as it is let go and all that was due is there; the others wait for the end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from service.audit.cases import Case
from service.audit.findings import Fault, Finding, Findings
from service.audit.outputs import Found
from service.audit.pairing import Pairing
from service.audit.window import Expected


class Ledger:
    """Brings predictions and outcomes to their events.

    Parameters
    ----------
    findings
        Told what contradicts for certain.
    order_is_known
        Whether events and labels are read in the order in which the service took them.

    Attributes
    ----------
    doubts
        By partition, what contradicts only if no event was let go earlier than its settings say.

    """

    def __init__(self, findings: Findings, *, order_is_known: bool) -> None:
        self.doubts: defaultdict[int, Findings] = defaultdict(Findings)
        self._findings = findings
        self.order_is_known = order_is_known
        self.pairing = Pairing(findings, self.doubts if order_is_known else None)
        self._open: dict[str, list[Case]] = {}
        self._let_go: list[Case] = []
        self._stray: dict[str, list[Found]] = {}
        self.outcomes = 0
        self.labelled = 0
        self.mistakes = 0

    def expect(self, expected: Expected) -> None:
        """Take an event."""
        if not expected.is_repeat:
            self._open.setdefault(expected.event_id, []).append(expected.case)
        self.pairing.expect(expected)
        for outcome in self._stray.pop(expected.event_id, ()):
            self._bring(outcome)

    def find(self, found: Found) -> None:
        """Take a prediction or an outcome."""
        if found.delay_seconds is None:
            self.pairing.find(found)
        else:
            self.outcomes += 1
            self._bring(found)

    def let_go(self, case: Case) -> None:
        """Take a case that has ended; forget it, if nothing is open."""
        if case.prediction is not None and not self._contradictions(case):
            self._forget(case)
        else:
            self._let_go.append(case)

    def stray_outcomes(self) -> Iterator[Found]:
        """Yield the outcomes that belong to no event that is kept."""
        return (outcome for outcomes in self._stray.values() for outcome in outcomes)

    def is_lacking(self) -> bool:
        """Return whether something is due that has not been read."""
        return any(not each.is_ahead for each in self.pairing.unanswered()) or any(
            found.fault is Fault.MISSING
            for cases in self._open.values()
            for case in cases
            if case.prediction
            for found in self._contradictions(case)
        )

    def finish(self) -> None:
        """Judge the cases that are open, once everything is read."""
        for case in self._let_go:
            self._findings.extend(list(case.contradictions()))
            if case.prediction is not None:
                self.doubts[case.place.partition].extend(
                    list(case.doubts(order_is_known=self.order_is_known))
                )
            self._forget(case)
        self._let_go = []

    def _bring(self, outcome: Found) -> None:
        """Assign an outcome to the event that awaits it; else to the latest of that id."""
        cases = self._open.get(outcome.event_id)
        if not cases:
            self._stray.setdefault(outcome.event_id, []).append(outcome)
            return
        waiting = (case for case in cases if case.own_truth is None and not case.outcomes)
        next(waiting, cases[-1]).outcomes.append(outcome)

    def _contradictions(self, case: Case) -> list[Finding]:
        return [*case.contradictions(), *case.doubts(order_is_known=self.order_is_known)]

    def _forget(self, case: Case) -> None:
        labelled, mistakes = case.labelled()
        self.labelled += labelled
        self.mistakes += mistakes
        cases = self._open[case.event_id]
        cases.remove(case)
        if not cases:
            del self._open[case.event_id]
