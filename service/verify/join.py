"""Join labels with events by the documented rules.

A separate implementation for the verification, as the service's join is one of the things to verify. Memory
is bounded as in the service: by `max_pending` events, labels and ids.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from service.messages.decoder import Incoming
from service.messages.labels import TrueLabel
from service.settings.load import Settings

_EXAMPLE_BYTES: Final = 1000
_BYTES_PER_BYTE: Final = 32
"""Largest memory of a pending event: a constant, and a factor for each byte, as n-grams multiply text."""


@dataclass(slots=True)
class PendingEvent:
    """A pending event, which waits for its label or for a correction."""

    number: int
    """Number of its record in the order of processing."""
    timestamp_ms: int
    size_bytes: int
    truths: list[TrueLabel] = field(default_factory=list)
    """Every label so far; whether a later one is accepted depends on the model."""
    is_provisional: bool = False
    """Whether its label was assumed at the timeout."""


class Expected(NamedTuple):
    """The expected result of an event."""

    truths: tuple[TrueLabel | None, ...]
    """The truths that its prediction may have."""
    first: int
    """The number of the record of the pending event with its id: its own, or an earlier one."""
    labels_first: TrueLabel | None = None
    """The label inside it, if that is the first label of the earlier event."""


class Join:
    """The pending events and early labels of one task.

    Attributes
    ----------
    counts
        As in progress records: pending_labels, assumed, evicted, late and orphaned; corrected is an upper
        bound.
    timeout_ms, truth_on_timeout
        Event time after which an event times out, and its label then.
    may_be_full
        Whether events may have been evicted by size, which depends on the model.

    """

    def __init__(self, settings: Settings) -> None:
        self.timeout_ms = int(settings.label_timeout_seconds * 1000)
        self.truth_on_timeout = settings.events.truth_on_timeout(settings.classes)
        times_out = self.truth_on_timeout is not None
        self._age_ms = self.timeout_ms + times_out * int(settings.correction_seconds * 1000)
        self._capacity, self._max_bytes = settings.max_pending, settings.max_pending_bytes
        self._now_ms = self._n_bytes = 0
        self._events: OrderedDict[str, PendingEvent] = OrderedDict()
        self._waiting: deque[str] | None = deque() if times_out else None
        self._early: OrderedDict[str, tuple[TrueLabel, int]] = OrderedDict()
        self._expired: OrderedDict[str, None] = OrderedDict()
        self.counts: Counter[str] = Counter()
        self.may_be_full = False

    def advance(self, timestamp_ms: int) -> Iterator[tuple[str, PendingEvent]]:
        """Advance event time; yield the events that time out now and get a provisional label."""
        if timestamp_ms > self._now_ms:
            horizon = timestamp_ms - self.timeout_ms
            yield from self._overdue(horizon)
            self._now_ms = timestamp_ms
            oldest_ms = timestamp_ms - self._age_ms
            while self._events and next(iter(self._events.values())).timestamp_ms < oldest_ms:
                self._drop_oldest()
            while self._early and next(iter(self._early.values()))[1] < horizon:
                self._early.popitem(last=False)
                self.counts["orphaned"] += 1

    def _overdue(self, horizon: int) -> Iterator[tuple[str, PendingEvent]]:
        """Label the events that timed out, in order, up to the first event that has not."""
        while self._waiting:
            event_id = self._waiting[0]
            event = self._events[event_id]
            if not event.truths:
                if event.timestamp_ms >= horizon:
                    return
                assert self.truth_on_timeout is not None
                self._label(event, self.truth_on_timeout)
                event.is_provisional = True
                self.counts["assumed"] += 1
                yield event_id, event
            self._waiting.popleft()

    def add_event(self, number: int, event: Incoming, timestamp_ms: int) -> Expected:
        """Add a pending event, or note that it is repeated."""
        pending = self._events.get(event.id)
        if pending is not None:
            labels_first = None if pending.truths else event.truth
            if labels_first is not None:
                self._label(pending, labels_first)
            elif event.truth is not None:
                self._reconsider(pending, event.truth)
            return Expected(tuple(pending.truths) or (None,), pending.number, labels_first)
        early, _ = self._early.pop(event.id, (None, 0))
        truth = early if event.truth is None else event.truth
        self.counts["corrected"] += early is not None and early != truth
        pending = PendingEvent(number, timestamp_ms, _EXAMPLE_BYTES + _BYTES_PER_BYTE * event.message_bytes)
        while len(self._events) >= self._capacity:
            self.counts["evicted"] += self._drop_oldest()
        self._n_bytes += pending.size_bytes
        self.may_be_full |= self._n_bytes > self._max_bytes
        self._events[event.id] = pending
        if self._waiting is not None:
            self._waiting.append(event.id)
        self.counts["pending_labels"] += 1
        if truth is not None:
            self._label(pending, truth)
        return Expected((truth,), number)

    def join_label(self, event_id: str, truth: TrueLabel, timestamp_ms: int) -> PendingEvent | None:
        """Join a label; return the event if this is its first label, so that an outcome is due."""
        pending = self._events.get(event_id)
        if pending is None:
            self._hold(event_id, truth, timestamp_ms)
            return None
        if pending.truths:
            self._reconsider(pending, truth)
            return None
        self._label(pending, truth)
        return pending

    def _label(self, pending: PendingEvent, truth: TrueLabel) -> None:
        pending.truths.append(truth)
        self.counts["pending_labels"] -= 1

    def _reconsider(self, pending: PendingEvent, truth: TrueLabel) -> None:
        self.counts["corrected"] += {truth} != set(pending.truths)
        if truth not in pending.truths:
            pending.truths.append(truth)
        self.counts["assumed"] -= pending.is_provisional
        pending.is_provisional = False

    def _hold(self, event_id: str, truth: TrueLabel, timestamp_ms: int) -> None:
        """Hold an early label for its event, unless the event has expired."""
        if event_id in self._expired:
            self.counts["late"] += 1
            return
        earlier = self._early.get(event_id)
        if earlier is None and len(self._early) >= self._capacity:
            self._early.popitem(last=False)
            self.counts["orphaned"] += 1
        if earlier is None or earlier[0] != truth:
            self.counts["corrected"] += earlier is not None
            self._early[event_id] = truth, timestamp_ms

    def _drop_oldest(self) -> bool:
        """Drop the oldest event; return whether it has no label, not even the timeout's."""
        event_id, pending = self._events.popitem(last=False)
        if self._waiting and self._waiting[0] == event_id:
            self._waiting.popleft()
        self._n_bytes -= pending.size_bytes
        self.counts["pending_labels"] -= not pending.truths
        if not pending.truths or pending.is_provisional:
            if len(self._expired) >= self._capacity:
                self._expired.popitem(last=False)
            self._expired[event_id] = None
        return not pending.truths
