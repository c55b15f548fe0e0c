"""Assign labels to events, by the documented rules.

This is written for the audit alone, because the service's label join is among the things judged.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final, NamedTuple

from service.audit.findings import Place
from service.audit.matching.cases import AuditedEvent, AuditedLabel, Case
from service.audit.matching.lanes import Gap, Gaps
from service.messages.labels import Truth

_EXAMPLE_BYTES: Final = 1000
_BYTES_PER_BYTE: Final = 32
"""The most memory of a kept event: a constant, and a number for each byte, as n-grams multiply text."""


class Limits(NamedTuple):
    """How long an event is kept for its label."""

    timeout_ms: int
    """In event time."""
    capacity: int
    """How many events, and how many labels that wait for theirs."""
    max_bytes: int
    truth_on_timeout: Truth | None = None
    """What an event gets whose label has not come in time; None if nothing."""
    correction_ms: int = 0
    """How long after that it is kept for a label that corrects this."""


class Expected(NamedTuple):
    """An expected prediction."""

    event: AuditedEvent
    case: Case
    truths: frozenset[Truth | None]
    """The truths it may name, if records were processed in the order in which they are read here."""
    gaps: tuple[Gap, Gap]
    """The gaps before and behind it."""

    @property
    def is_repeat(self) -> bool:
        """Return whether its event came before, and is kept."""
        return self.event is not self.case.event

    @property
    def own_truth(self) -> Truth | None:
        """Return the label inside an event that came for the first time."""
        return None if self.is_repeat else self.event.truth


class JoinWindow:
    """The events of one partition that are kept for their labels, and labels kept for their events.

    Parameters
    ----------
    limits
        How long that is, at first.
    gaps
        Where outcomes lie.
    release
        Receives each case that ends.

    """

    def __init__(self, limits: Limits, gaps: Gaps, release: Callable[[Case], None]) -> None:
        self._limits = limits
        self._gaps = gaps
        self._waiting: deque[Case] = deque()
        """Cases that may still get a label on timeout, and some that need none any more."""
        self._n_bytes = 0
        self._release = release
        self._now_ms = 0
        self._earliest_ms: int | None = None
        self._cases: OrderedDict[str, Case] = OrderedDict()
        self._early: OrderedDict[str, list[AuditedLabel]] = OrderedDict()
        self._forgotten: OrderedDict[str, None] = OrderedDict()
        self._n_records = 0
        self.may_be_full = False
        """Whether events may have been released for their size, which the audit cannot compute exactly."""
        self._was_short = False

    @property
    def is_never_short(self) -> bool:
        """Return whether nothing can have been released so far, in any order of processing."""
        span_ms = self._now_ms - (self._now_ms if self._earliest_ms is None else self._earliest_ms)
        is_short = span_ms > self._limits.timeout_ms or self._n_records > self._limits.capacity
        return not (self._was_short or is_short)

    def set_limits(self, limits: Limits) -> None:
        """Keep what comes under other limits, as a service does that is started again with others."""
        self._was_short = not self.is_never_short
        self._limits = limits
        self._waiting = deque(() if limits.truth_on_timeout is None else self._cases.values())

    def advance(self, timestamp_ms: int, at: Place, *, is_ahead: bool) -> None:
        """Advance event time by the record `at` a place; one that `is_ahead` may have done so, or not."""
        self._n_records += 1
        self._earliest_ms = min(timestamp_ms, self._earliest_ms or timestamp_ms)
        if timestamp_ms <= self._now_ms:
            return
        self._now_ms = timestamp_ms
        horizon = timestamp_ms - self._limits.timeout_ms
        kept_from = horizon
        if (truth := self._limits.truth_on_timeout) is not None:
            kept_from -= self._limits.correction_ms
            self._time_out(horizon, truth, at, is_ahead=is_ahead)
        while self._cases and next(iter(self._cases.values())).event.timestamp_ms < kept_from:
            self._drop_oldest()
        while self._early and next(iter(self._early.values()))[-1].timestamp_ms < horizon:
            self._early.popitem(last=False)

    def _time_out(self, horizon: int, truth: Truth, at: Place, *, is_ahead: bool) -> None:
        """Label what waited, in the order in which it came; the first that still waits holds up the rest.

        Where labels have a topic of their own, one that is read earlier may have been processed later.
        """
        while self._waiting:
            case = self._waiting[0]
            event = case.event
            if not case.truths and event.timestamp_ms >= horizon:
                return
            self._waiting.popleft()
            if event.truth is None and event.timestamp_ms < horizon:
                time_ms = event.timestamp_ms + self._limits.timeout_ms
                gap = self._gaps.present(event.event_id)
                self._note(case, AuditedLabel(event.place, truth, time_ms, is_ahead, gap, timed_out_at=at))

    def event(self, event: AuditedEvent) -> Expected:
        """Begin the case of an event, or add the event to the case of its id; return the prediction due."""
        case = self._cases.get(event.event_id)
        if case is None:
            case = self._begin(event)
        else:
            case.repeats += 1
            if event.truth is not None:
                if not case.truths:
                    case.labelled_by_repeat = event.place
                case.truths.append(event.truth)
                case.is_provisional = False
        # A correction counts if the model can undo, else the first label stays.
        truths = frozenset([case.truths[0], case.truths[-1]] if case.truths else [None])
        return Expected(event, case, truths, self._gaps.pass_event(case.lane))

    def _begin(self, event: AuditedEvent) -> Case:
        """Begin the case of an event, with the labels that came before it."""
        early = self._early.pop(event.event_id, [])
        known = event.truth if event.truth is not None or not early else early[-1].truth
        truths = [] if known is None else [known]
        case = Case(event, self._gaps.lane(event.event_id), labels=early, truths=truths)
        while len(self._cases) >= self._limits.capacity:
            self._drop_oldest()
        self._cases[event.event_id] = case
        if self._limits.truth_on_timeout is not None:
            self._waiting.append(case)
        self._n_bytes += _size_of(event)
        self.may_be_full |= self._n_bytes > self._limits.max_bytes
        return case

    def label(self, event_id: str, label: AuditedLabel) -> None:
        """Add a label to the case of its id, or keep it for its event."""
        case = self._cases.get(event_id)
        if case is not None:
            self._note(case, label)
        elif event_id not in self._forgotten:
            self._hold(event_id, label)

    @staticmethod
    def _note(case: Case, label: AuditedLabel) -> None:
        case.labels.append(label)
        if not case.truths:
            case.due = label
            case.is_provisional = label.is_timeout
        elif not label.is_timeout:
            case.is_provisional = False
        if not (case.truths and label.is_timeout):
            case.truths.append(label.truth)

    def _hold(self, event_id: str, label: AuditedLabel) -> None:
        earlier = self._early.get(event_id)
        if earlier is None:
            if len(self._early) >= self._limits.capacity:
                self._early.popitem(last=False)
            self._early[event_id] = [label]
        elif earlier[-1].truth != label.truth:
            earlier.append(label)

    def close(self) -> None:
        """End all cases."""
        while self._cases:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        event_id, case = self._cases.popitem(last=False)
        if self._waiting and self._waiting[0] is case:
            self._waiting.popleft()
        self._n_bytes -= _size_of(case.event)
        if not case.truths or case.is_provisional:
            if len(self._forgotten) >= self._limits.capacity:
                self._forgotten.popitem(last=False)
            self._forgotten[event_id] = None
        self._release(case)


def _size_of(event: AuditedEvent) -> int:
    """Return the most memory that the service uses for a kept event."""
    return _EXAMPLE_BYTES + _BYTES_PER_BYTE * event.n_bytes
