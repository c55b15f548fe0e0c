"""An event with its labels, predictions and outcomes, and the contradictions between them.

A case begins with an event whose id is not kept. Labels and events with that id belong to the case until the
event is released.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from service.audit.findings import Fault, Finding, Place
from service.audit.matching.lanes import Gap
from service.audit.matching.outputs import Found
from service.messages.labels import Truth


class AuditedEvent(NamedTuple):
    """An event as it was read."""

    place: Place
    event_id: str
    timestamp_ms: int
    truth: Truth | None
    """The label inside the event."""
    n_bytes: int
    """Of its message."""
    is_ahead: bool
    """Whether it lies after the last commit, so that it may be processed or not."""

    def contradiction(self, event_time_ms: int | None) -> str:
        """Return what is wrong with an answer that has another event time."""
        return f"its event time is {event_time_ms}, that of {self.place} {self.timestamp_ms}"


class AuditedLabel(NamedTuple):
    """A label from the topic, or the label that an event got at its timeout."""

    place: Place
    """Of the label, or of the event that got it."""
    truth: Truth
    timestamp_ms: int
    is_ahead: bool
    gap: Gap
    """Where its outcome lies, if the audit reads events and labels in the order of processing."""
    timed_out_at: Place | None = None
    """The record whose time was too late for the label; None if this is a label that came."""

    @property
    def is_timeout(self) -> bool:
        """Return whether no label came in time."""
        return self.timed_out_at is not None

    @property
    def taken_at(self) -> Place:
        """Return the record that made the outcome."""
        return self.timed_out_at or self.place


class Compared(NamedTuple):
    """A prediction that was compared with a label."""

    places: Collection[Place]
    """The records that may have held the label."""
    output: Found
    """The prediction or the outcome with the comparison."""
    mistake: bool


@dataclass(slots=True, eq=False)
class Case:
    """One event."""

    event: AuditedEvent
    lane: int
    """The partition of the predictions topic that its id is sent to."""
    labels: list[AuditedLabel]
    """Labels with its id, in order."""
    truths: list[Truth]
    """Every label so far, the event's own included."""
    due: AuditedLabel | None = None
    """The label that makes an outcome, if the order of processing is known."""
    is_provisional: bool = False
    """Whether it has the label of its time-out, and none has come."""
    repeats: int = 0
    labelled_by_repeat: Place | None = None
    """The same event, sent again, if its first label came inside that."""
    prediction: Found | None = None
    is_prediction_deleted: bool = False
    outcomes: list[Found] = field(default_factory=list)
    """Those that `OpenCases` assigned to it."""

    @property
    def was_labelled_by_repeat(self) -> bool:
        """Return whether its first label came inside the same event, sent again."""
        return self.labelled_by_repeat is not None

    @property
    def is_placed(self) -> bool:
        """Return whether it is known where its outcome must lie."""
        return self.due is None or self.due.gap.is_known

    @property
    def awaits_label(self) -> bool:
        """Return whether its prediction was made without a label, as far as the prediction is read."""
        return self.event.truth is None and (self.prediction is None or self.prediction.truth is None)

    def is_answered_by(self, outcome: Found, *, order_is_known: bool) -> bool:
        """Return whether an outcome says of this event all that it must say."""
        if not self.has_predicted(outcome) or not self._is_at_the_time_of(outcome):
            return False
        if not order_is_known:
            return self.awaits_label and self.agrees_with_a_label(outcome)
        return self.due is not None and not self.was_labelled_by_repeat and self._agrees(outcome, self.due)

    def has_predicted(self, outcome: Found) -> bool:
        """Return whether an outcome says what was predicted, as far as that is there."""
        if self.is_prediction_deleted:
            return True
        return self.prediction is not None and self.prediction.predicted == outcome.predicted

    def _is_at_the_time_of(self, outcome: Found) -> bool:
        if outcome.event_time_ms is None:  # as in releases that wrote its prediction or came before
            return self.prediction is None or self.prediction.event_time_ms is None
        return outcome.event_time_ms == self.event.timestamp_ms

    def agrees_with_a_label(self, outcome: Found) -> bool:
        """Return whether an outcome says what some label of this event says."""
        return any(self._agrees(outcome, label) for label in self.labels)

    def contradictions(self) -> Iterator[Finding]:
        """Yield contradictions that hold in any order of processing."""
        for extra in self.outcomes[1 + self.repeats :]:
            yield self._finding(Fault.DOUBLED, extra.place, "one more outcome of the same event")
        if self.prediction is None:
            return
        for outcome in self.outcomes:
            if outcome.predicted != self.prediction.predicted and not self.repeats:
                message = f"it says another prediction than {self.prediction.place}"
                yield self._finding(Fault.WRONG, outcome.place, message)
            elif outcome.place.partition not in {self.lane, self.prediction.place.partition}:
                message = f"its id belongs to partition {self.lane}"
                yield self._finding(Fault.WRONG, outcome.place, message)
            elif self._is_before_prediction(outcome) and not self.repeats:
                message = f"it comes before the prediction {self.prediction.place}"
                yield self._finding(Fault.OUT_OF_ORDER, outcome.place, message)

    def _is_before_prediction(self, outcome: Found) -> bool:
        """Return whether an outcome lies in the partition of its prediction, before that."""
        if self.prediction is None or self.prediction.place.partition != outcome.place.partition:
            return False
        return (outcome.place.offset or 0) < (self.prediction.place.offset or 0)

    def doubts(self, *, order_is_known: bool) -> Iterator[Finding]:
        """Yield what is wrong if the event was kept as long as the settings say.

        The order between events and labels is known where they share a topic. Else a label was known when
        its event was predicted, or it made an outcome: one of the two.
        """
        if 1 < len(self.outcomes) <= 1 + self.repeats:
            yield self._finding(Fault.DOUBLED, self.outcomes[1].place, "one more outcome of the same event")
        for outcome in self.outcomes[:1]:
            if not self._is_at_the_time_of(outcome):
                message = self.event.contradiction(outcome.event_time_ms)
                yield self._finding(Fault.WRONG, outcome.place, message)
            if not any(self._agrees(outcome, label) for label in self._first_labels()):
                message = f"no first label of the event {self.event.place} says this"
                yield self._finding(Fault.WRONG, outcome.place, message)
        yield from self._of_known_order() if order_is_known else self._of_any_order()

    def _of_known_order(self) -> Iterator[Finding]:
        due = self.due
        if due is None or self.was_labelled_by_repeat:
            for outcome in self.outcomes[:1]:
                yield self._finding(
                    Fault.WRONG, outcome.place, f"the event {self.event.place} awaited no label"
                )
        elif self.outcomes:
            if not self._agrees(self.outcomes[0], due):
                message = f"it does not say what the first label says, {due.place}"
                yield self._finding(Fault.WRONG, self.outcomes[0].place, message)
            elif due.gap.excludes(self.outcomes[0].place):
                message = f"it is not between the predictions of the events around {due.taken_at}"
                yield self._finding(Fault.OUT_OF_ORDER, self.outcomes[0].place, message)
        elif not due.is_ahead:
            yield self._missing(due)

    def _of_any_order(self) -> Iterator[Finding]:
        if self.prediction is None or self.event.is_ahead:
            return
        truth, has_label = self.prediction.truth, self.event.truth is not None
        if has_label or self.was_labelled_by_repeat:
            if has_label and self.outcomes:
                message = f"the event {self.event.place} awaited no label"
                yield self._finding(Fault.WRONG, self.outcomes[0].place, message)
            return
        if truth is not None and truth not in {label.truth for label in self.labels if not label.is_timeout}:
            yield self._finding(Fault.WRONG, self.prediction.place, "it knows a truth that no label says")
        elif truth is not None and self.outcomes:
            message = f"its label was known already at {self.prediction.place}"
            yield self._finding(Fault.DOUBLED, self.outcomes[0].place, message)
        elif truth is None and not self.outcomes:
            for label in [label for label in self.labels if not label.is_ahead][:1]:
                yield self._missing(label)

    def _first_labels(self) -> Collection[AuditedLabel]:
        """Return the first label in each topic, and that on timeout: only one can have made an outcome."""
        firsts: dict[tuple[str, bool], AuditedLabel] = {}
        for label in self.labels:
            firsts.setdefault((label.place.topic, label.is_timeout), label)
        return firsts.values()

    def compared(self) -> Iterator[Compared]:
        """Yield each comparison of its prediction with a label, up to the last commit."""
        prediction = self.prediction
        if prediction is None or self.event.is_ahead:
            return
        if prediction.truth is not None:
            yield Compared([self.event.place], prediction, prediction.mistake)
        elif self.labelled_by_repeat is not None and not self.outcomes:
            yield Compared([self.labelled_by_repeat], prediction, prediction.predicted != self.truths[0])
        else:
            for outcome in self.outcomes:
                if not self._is_ahead(outcome):
                    places = [label.taken_at for label in self._first_agreeing(outcome)]
                    yield Compared(places, outcome, outcome.mistake)

    def _first_agreeing(self, outcome: Found) -> Collection[AuditedLabel]:
        """Return the first label in each topic that an outcome may be of."""
        firsts: dict[str, AuditedLabel] = {}
        for label in self.labels:
            if self._agrees(outcome, label):
                firsts.setdefault(label.place.topic, label)
        return firsts.values()

    def _is_ahead(self, outcome: Found) -> bool:
        agreeing = [label.is_ahead for label in self.labels if self._agrees(outcome, label)]
        return bool(agreeing) and all(agreeing)

    def _agrees(self, outcome: Found, label: AuditedLabel) -> bool:
        delay_seconds = (label.timestamp_ms - self.event.timestamp_ms) / 1000
        return outcome.truth == label.truth and outcome.delay_seconds == delay_seconds

    def _missing(self, label: AuditedLabel) -> Finding:
        message = "no outcome of this event, whose label did not come in time"
        if not label.is_timeout:
            message = f"no outcome of this label; its event is {self.event.place}"
        return self._finding(Fault.MISSING, label.place, message)

    def _finding(self, fault: Fault, place: Place, message: str) -> Finding:
        return Finding(fault, place, self.event.event_id, message)
