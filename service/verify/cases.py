"""Check the records of one id: its events and labels against the predictions and outcomes written."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from service.messages.labels import TrueLabel
from service.verify.findings import Fault, Finding, Findings, RecordPosition
from service.verify.outputs import OutputMessage

if TYPE_CHECKING:
    from service.verify.ledger import Ledger


class Event(NamedTuple):
    """An event that was read."""

    position: RecordPosition
    task: int
    number: int
    """Number of its record in its task's order of processing."""
    batch: int
    timestamp_ms: int
    truth: TrueLabel | None
    """The label inside it."""
    truths: tuple[TrueLabel | None, ...]
    """The truths that its prediction may have, if the order of processing is known."""
    first: int
    """The number of the pending event with its id: its own, or the number of an earlier event."""
    labels_first: TrueLabel | None
    """Its label, if that is the first label of an earlier event."""


class Label(NamedTuple):
    """A label; or a record whose time made an event time out."""

    position: RecordPosition
    task: int
    number: int
    batch: int
    timestamp_ms: int
    truth: TrueLabel
    event: int | None
    """The number of the event that it makes an outcome for; None if it makes none."""


class WrittenOutput(NamedTuple):
    """A prediction or an outcome of the topic."""

    position: RecordPosition
    output: OutputMessage
    is_new: bool
    """Whether it was committed during the verification: its cause may lie after the last commit read."""
    n_partitions: int
    """The largest number of partitions with which its id belongs to its partition; 0 if there is none."""


@dataclass
class Completeness:
    """The completeness of a task's input and log, which decides what counts as a contradiction.

    Attributes
    ----------
    is_complete
        Whether all input ever processed is available.
    deleted_until
        The lowest record number that exceeds the numbers of all deleted events.
    has_holes
        Whether records are missing between others.
    unordered
        The batches with records of several partitions whose relative order is unknown: the first, which is
        everything before the oldest progress record, and those where the first records of one are deleted.
    is_exact
        Whether the order of processing is known, and which events were pending when.
    tentative
        Contradictions that depend on assumptions about the order.
    n_ambiguous
        Number of labels in repeated events, which may count or not.
    n_rejected
        The largest number of valid events without a prediction that were rejected: their dead letters are
        deleted.

    """

    is_complete: bool = True
    deleted_until: float = 0
    has_holes: bool = False
    unordered: set[int] = field(default_factory=set)
    is_exact: bool = True
    has_shared_ids: bool = False
    tentative: Findings = field(default_factory=Findings)
    n_ambiguous: int = 0
    n_rejected: float = 0


class Case:
    """The records of one id that belong to one task.

    Parameters
    ----------
    event_id, events, labels
        The input records; at least one event.
    predictions, outcomes
        The output records.
    ledger
        Receives the results.

    """

    def __init__(
        self,
        event_id: str,
        events: Sequence[Event],
        labels: Sequence[Label],
        predictions: Sequence[WrittenOutput],
        outcomes: Sequence[WrittenOutput],
        ledger: Ledger,
    ) -> None:
        self._id, self._events, self._labels = event_id, events, labels
        self._predictions, self._outcomes, self._ledger = predictions, outcomes, ledger
        self._known = ledger.completeness[events[0].task]
        self._event_of = {event.number: event for event in events}
        self._prediction_of: dict[int, WrittenOutput] = {}
        self._with_outcome: set[int] = set()
        """The numbers of events with an outcome."""

    def check(self) -> None:
        """Check the records; report contradictions."""
        for event, written in self._aligned():
            if event is not None and written is not None:
                self._prediction_of[event.number] = written
                self._check_prediction(event, written)
            elif event is not None:
                self._ledger.add_event_without_output(event, self._id)
            elif written is not None:
                self._ledger.add_unmatched(written, self._events)
        for event in self._events if self._known.is_exact else ():
            first = self._prediction_of.get(event.first)
            if event.labels_first is not None and first is not None:
                is_mistake = first.output.predicted != event.labels_first
                self._ledger.add_comparison(event, is_mistake=is_mistake)
        self._check_outcomes()

    def _flag(self, fault: Fault, position: RecordPosition, message: str) -> None:
        self._ledger.flag(fault, position, message, self._id)

    def _aligned(self) -> Iterator[tuple[Event | None, WrittenOutput | None]]:
        """Pair events with predictions in order; if their numbers differ, event times decide the pairs.

        If records were deleted, pair from the end, as the first ones lack partners; if events may be missing
        in between, pair only equal times.
        """
        step = 1 if self._known.is_complete and not self._ledger.deleted else -1
        events, predictions = deque(self._events[::step]), deque(self._predictions[::step])
        while events or predictions:
            surplus, has_holes = len(predictions) - len(events), self._known.has_holes
            if (surplus == 0 and not has_holes) or (
                events and predictions and events[0].timestamp_ms == predictions[0].output.event_time_ms
            ):
                yield events.popleft(), predictions.popleft()
            elif surplus > 0 or (has_holes and predictions):
                yield None, predictions.popleft()
            else:
                yield events.popleft(), None

    def _check_prediction(self, event: Event, written: WrittenOutput) -> None:
        output, known = written.output, self._known
        first = event.first if known.is_exact else self._events[0].number
        is_first, has_truth = first == event.number, output.truth is not None
        self._ledger.add_pair(written, event, is_compared=is_first and has_truth)
        known.n_ambiguous += has_truth and not is_first
        if output.contradiction:
            return  # reported by `read`
        if output.event_time_ms != event.timestamp_ms:
            message = f"event time {output.event_time_ms} instead of {event.timestamp_ms} of {event.position}"
            self._flag(Fault.WRONG, written.position, message)
        truths = {*event.truths}
        if not known.is_exact:
            may_be_again = self._ledger.deleted or max(len(self._events), len(self._predictions)) > 1
            if not known.is_complete and (event.truth is None or may_be_again):
                return
            labels = *self._labels, *self._ledger.on_timeout(event)
            truths |= {label.truth for label in labels} | {each.truth for each in self._events}
            if event.truth is not None:
                truths.discard(None)
        if output.truth not in truths:
            names = " or ".join(sorted(map(str, truths)))
            message = f"its truth is {output.truth}, the truth of the event {event.position} was {names}"
            self._flag(Fault.WRONG, written.position, message)

    def _check_outcomes(self) -> None:
        left, missing = [*self._outcomes], list[Label]()
        for label in self._labels:
            event = None if label.event is None else self._event_of[label.event]
            if event is None:
                continue
            prediction = self._prediction_of.get(event.number)
            written = next((each for each in left if self._fits(each, event, label)), None)
            if written is not None:
                left.remove(written)
                self._match(written, event, label)
            elif prediction and (self._known.is_exact or prediction.output.truth is None):
                missing.append(label)
        for written in left:
            self._check_unexplained(written, missing)
        for label in missing:
            position = self._event_of[label.event or 0].position
            message = f"this label did not produce an outcome of event {position}"
            if self._known.is_exact:
                self._flag(Fault.MISSING, label.position, message)
            else:
                self._known.tentative.add(Finding(Fault.MISSING, label.position, message, self._id))

    def _fits(self, written: WrittenOutput, event: Event, label: Label) -> bool:
        """Return whether an outcome has the fields that follow from an event and its label."""
        output, prediction = written.output, self._prediction_of.get(event.number)
        return (
            output.truth == label.truth
            and output.event_time_ms == event.timestamp_ms
            and output.delay_seconds == (label.timestamp_ms - event.timestamp_ms) / 1000
            and (prediction is None or output.predicted == prediction.output.predicted)
        )

    def _match(self, written: WrittenOutput, event: Event, label: Label) -> None:
        """Note the outcome of an event."""
        self._with_outcome.add(event.number)
        self._ledger.add_pair(written, label, is_compared=True)
        prediction = self._prediction_of.get(event.number) if self._known.is_complete else None
        position, before = written.position, prediction.position if prediction else None
        if before and position[:2] == before[:2] and position < before:
            self._flag(Fault.OUT_OF_ORDER, position, f"it precedes its prediction {before}")

    def _check_unexplained(self, written: WrittenOutput, missing: list[Label]) -> None:
        """Check an outcome that no label explains under the settings of the label join."""
        known, events = self._known, self._events
        for event in () if known.is_exact else events:
            ways = *self._labels, *self._ledger.on_timeout(event)
            label = next((each for each in ways if self._fits(written, event, each)), None)
            if label is not None and event.number not in self._with_outcome:
                self._match(written, event, label)
                return
        # An event with its id may be missing, in any partition.
        if written.is_new or not all(each.is_complete for each in self._ledger.completeness.values()):
            self._ledger.add_unmatched(written, events)
        elif self._with_outcome and not missing:
            self._flag(Fault.DUPLICATE, written.position, f"second outcome of event {events[0].position}")
        else:
            due = f"it differs from {missing.pop(0).position}" if missing else "its event was not pending"
            self._flag(Fault.WRONG, written.position, f"{due}; event: {events[0].position}")
