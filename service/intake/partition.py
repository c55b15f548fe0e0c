"""Append events and labels that come by HTTP to one partition, once for each id.

An intake asks the label join of the loop, one entry at a time, whether an id was processed already.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from service.errors import (
    AppendUnsure,
    IdTaken,
    MessageTooLarge,
    PartitionMoved,
    ServiceError,
    TooManyWaiting,
)
from service.intake.submissions import SEND_AGAIN, Prediction, Submission, Ticket
from service.messages.dead_letter import MESSAGE, REASON, SOURCE, record_bytes
from service.messages.features import X
from service.messages.labels import Vocabulary
from service.messages.rejection import Reason, Rejection
from service.partition.output_writer import assessment
from service.partition.parts.decisions import decisions_among
from service.partition.processor import Processor
from service.settings.load import Settings
from service.stream.protocol import Output, Record, Writer

_log = logging.getLogger(__name__)

_RecordName = tuple[str, bytes | None, bytes | None]

_MAX_AT_ONCE: Final = 5000
"""Records of one transaction."""


class PartitionIntake:
    """Appends new events and labels to one partition.

    The HTTP server calls `submit`, the loop the methods whose docstrings name it; a separate thread appends.

    Parameters
    ----------
    partition
        Number of the partition.
    processor
        Tells what the loop has processed.
    settings
        Topic of predictions, classes, and the class of an event whose label does not come.

    Attributes
    ----------
    ends : Mapping[str, int] | None
        Ends of the topics when the current writer was made; None without a writer, and once the loop has
        committed all records before them.

    """

    def __init__(self, partition: int, processor: Processor, settings: Settings) -> None:
        self.partition = partition
        self.ends: Mapping[str, int] | None = None
        self._processor = processor
        self._vocabulary = Vocabulary(settings.classes)
        self._truth_on_timeout = settings.events.truth_on_timeout(settings.classes)
        self._predictions_topic = settings.predictions_topic
        self._has_labels_topic = bool(settings.labels_topic)
        self._changed = threading.Condition()
        self._writer: Writer | None = None
        self._is_ready = False
        self._is_closed = False
        self._undecided: list[Ticket] = []
        """Submitted before the intake was ready."""
        self._queue: list[Ticket] = []
        """To be appended next."""
        self._latest: dict[tuple[bool, str], Ticket] = {}
        """By id: records to be appended, or appended and not yet processed."""
        self._by_record: dict[_RecordName, list[Ticket]] = {}
        """The same by topic, key and value, to recognise the loop's records."""
        self._n_appending = 0
        self._limits: Mapping[str, int] = {}

    @property
    def n_open(self) -> int:
        """Number of submissions that are not processed yet."""
        return len(self._undecided) + self._n_appending

    def submit(self, tickets: Iterable[Ticket], max_open: int) -> None:
        """Accept records until `max_open` submissions are open; reject those after them.

        A record is appended once it is certain that the topic does not have it. If the append of a line is
        not confirmed, no later line is appended, so that their order is kept when the body is sent again.
        """
        error: TooManyWaiting | None = None
        with self._changed:
            for ticket in tickets:
                if error is None and self.n_open >= max_open:
                    error = self.backlog_error(0, max_open)
                if error is None:
                    self._take(ticket)
                else:
                    ticket.note_appended(error)
            self._changed.notify_all()

    def backlog_error(self, waiting: int, max_open: int) -> TooManyWaiting | None:
        """Return the error that rejects a submission if too many records or submissions wait."""
        waiting = max(waiting, self.n_open)
        if waiting < max_open:
            return None
        return TooManyWaiting(
            f"partition {self.partition}: {waiting} records are waiting to be processed",
            hint="send it again later, or raise http_max_lag",
        )

    def _take(self, ticket: Ticket) -> None:
        if self._is_closed:
            ticket.note_appended(_moved(self.partition))
        elif self._is_ready:
            self._decide(ticket)
        else:
            self._undecided.append(ticket)

    def _decide(self, ticket: Ticket) -> None:
        """Append a new record; repeat the result of an earlier one; reject one that differs from it."""
        submission = ticket.submission
        first = self._latest.get(submission.name)
        try:
            if first is not None and submission.repeats(first.submission.x, first.submission.truth):
                ticket.follow(first)
            elif first is None and self._was_processed(submission):
                ticket.repeated = True
                ticket.set_result(self._prediction(submission))
            else:
                if first is not None:
                    self._reject_other(submission, first.submission.x)
                self._processor.check_weight(submission.weight)
                self._append(ticket)
        except (ServiceError, Rejection) as error:
            ticket.note_appended(error)

    def _was_processed(self, submission: Submission) -> bool:
        """Return whether the label join has it. Raises `IdTaken` for an event with other contents."""
        join, event_id = self._processor.join, submission.id
        example = join.examples.get(event_id)
        if submission.is_label:
            label = example or join.early.get(event_id)
            if label is None or label.truth != submission.truth:
                return False
            # A class that was learned because no label came is on no topic, so such a label is new.
            may_be_assumed = label.truth == self._truth_on_timeout
            return example is None or not (may_be_assumed and join.is_overdue(example))
        if example is not None and not submission.repeats(example.x, example.truth):
            self._reject_other(submission, example.x)
            return False
        is_news = submission.truth is not None and not self._has_labels_topic
        return example is not None or (join.expired(event_id) and not is_news)

    def _reject_other(self, submission: Submission, x: X) -> None:
        """Raise `IdTaken` for another event than one with the features `x`.

        Without a labels topic, the same event may bring its label or a correction.
        """
        if not (submission.is_label or (submission.x == x and not self._has_labels_topic)):
            what = f"event {submission.id!r} exists with other features, text or label"
            later = "; send a later label to POST /labels" * self._has_labels_topic
            raise IdTaken(what, hint=f"give another event a new id{later}")

    def _prediction(self, submission: Submission) -> Prediction | None:
        """Return the kept fields of an earlier event's prediction: all except `updates` and `threshold`."""
        processor = self._processor
        example = processor.join.examples.get(submission.id)
        if submission.is_label or example is None:
            return None
        label = self._vocabulary.spell(example.predicted, processor.spelling)
        has_log_odds = processor.learner.has_log_odds
        fields = assessment(submission.id, label, example.predicted, example.score, has_log_odds=has_log_odds)
        if decisions_among(processor.optional_parts):
            fields["decision"] = example.decision
        return fields | {"event_time_ms": example.timestamp_ms}

    def _append(self, ticket: Ticket) -> None:
        output = ticket.submission.output
        n_bytes, limit = record_bytes(output), self._limits[output.topic]
        if n_bytes > limit:
            raise MessageTooLarge(f"{n_bytes} bytes, but topic {output.topic!r} takes at most {limit}")
        self._latest[ticket.submission.name] = ticket
        self._by_record.setdefault(_name_of(output), []).append(ticket)
        self._n_appending += 1
        self._queue.append(ticket)

    @property
    def wants_writer(self) -> bool:
        """Whether a submission waits for the loop to make a writer."""
        return bool(self._undecided) and self._writer is None

    def fence(self, writer: Writer, ends: Mapping[str, int], limits: Mapping[str, int]) -> None:
        """Use a new writer. `ends` were read after it was made; `limits` are the largest records in bytes.

        Called by the loop.
        """
        self._writer, self.ends, self._limits = writer, ends, limits

    def open(self) -> None:
        """Begin to append: the loop has committed all records before the ends. Called by the loop."""
        writer = self._writer
        assert writer is not None
        with self._changed:
            self.ends, self._is_ready = None, True
            waiting, self._undecided = self._undecided, []
            for ticket in waiting:
                self._decide(ticket)
        name = f"intake of partition {self.partition}"
        threading.Thread(target=self._append_all, args=(writer,), name=name, daemon=True).start()

    def reject(self, error: ServiceError) -> None:
        """Fail what waits, as no writer can be made now. Called by the loop."""
        with self._changed:
            waiting, self._undecided = self._undecided, []
        for ticket in waiting:
            ticket.note_appended(error)

    def close(self) -> None:
        """Stop, as the partition is no longer served here. Called by the loop.

        The current append is finished. A later owner sees its records, as its own writer fences this one.
        """
        if self._writer is not None and self.ends is not None:  # made, but not yet passed to the thread
            self._writer.close()
        with self._changed:
            self._is_closed, self._is_ready = True, False
            waiting = {*self._undecided, *self._queue}
            going = {*self._latest.values()} - waiting
            self._undecided, self._queue = [], []
            self._changed.notify_all()
        for ticket in waiting:
            ticket.note_appended(_moved(self.partition))
        for ticket in going:
            if ticket.appended.done():
                ticket.set_result(None)

    def committed(self, records: Sequence[Record], outputs: Sequence[Output]) -> None:
        """Set the results of tickets whose records are in a committed batch. Called by the loop."""
        if not self._by_record:
            return
        with self._changed:
            taken = [(ticket, record) for record in records if (ticket := self._taken(record)) is not None]
        for ticket, record in taken:
            if ticket.result is None:
                ticket.note_appended()
            else:
                prediction = _prediction_in(outputs, self._predictions_topic, ticket.submission.id)
                ticket.set_result(prediction or _rejection_in(outputs, record))

    def _taken(self, record: Record) -> Ticket | None:
        """Remove and return the ticket of a record, which the label join has from now on."""
        tickets = self._by_record.get(_name_of(record))
        if tickets is None:
            return None
        ticket = tickets[0]
        self._forget(ticket)
        return ticket

    def _append_all(self, writer: Writer) -> None:
        """Append the queue, in one transaction each time, until one fails or the intake closes."""
        while batch := self._next_batch():
            try:
                writer.commit([self._placed(ticket) for ticket in batch], {})
            except Exception as error:  # noqa: BLE001  whatever it is, it is not known to be appended
                self._fail(batch, error)
                break
            with self._changed:
                for ticket in batch:
                    ticket.note_appended()
        writer.close()

    def _placed(self, ticket: Ticket) -> Output:
        topic, key, value, headers, *_ = ticket.submission.output
        return Output(topic, key, value, headers, self.partition)

    def _next_batch(self) -> Sequence[Ticket]:
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._is_closed)
            batch, self._queue = self._queue[:_MAX_AT_ONCE], self._queue[_MAX_AT_ONCE:]
            return batch

    def _fail(self, batch: Sequence[Ticket], error: Exception) -> None:
        """Fail a batch that may have been appended, and the lines that wait after it, to keep their order.

        All other queued tickets wait for a new writer.
        """
        _log.warning("partition %d: HTTP append failed: %s", self.partition, error)
        with self._changed:
            for ticket in (*batch, *self._queue):
                self._forget(ticket)
            batch = [*batch, *(each for each in self._queue if each.is_line)]
            self._undecided += (each for each in self._queue if not each.is_line)
            self._queue, self._is_ready, self._writer = [], False, None
        what = f"the stream did not confirm the append: {error}"
        unsure = AppendUnsure(what, hint=SEND_AGAIN)
        for ticket in batch:
            ticket.note_appended(unsure)

    def _forget(self, ticket: Ticket) -> None:
        name = _name_of(ticket.submission.output)
        if ticket in self._by_record.get(name, ()):
            self._n_appending -= 1
            self._by_record[name].remove(ticket)
            if not self._by_record[name]:
                del self._by_record[name]
        if self._latest.get(ticket.submission.name) is ticket:
            del self._latest[ticket.submission.name]


def _prediction_in(outputs: Sequence[Output], topic: str, event_id: str) -> Prediction | None:
    """Return the first prediction of an event; an outcome has the same key, but is not a prediction."""
    key = event_id.encode()
    for output in outputs:
        if output.key == key and output.topic == topic:
            fields: Prediction = json.loads(output.value or b"{}")
            if "score" in fields:
                return fields
    return None


def _rejection_in(outputs: Sequence[Output], record: Record) -> Rejection | None:
    """Return the reason why a record became a dead letter, if it did."""
    source = tuple(str(each).encode() for each in record[: len(SOURCE)])
    for output in outputs:
        headers = dict(output.headers)
        if tuple(headers.get(name) for name in SOURCE) == source:
            return Rejection(Reason(headers[REASON].decode()), headers[MESSAGE].decode())
    return None


def _name_of(record: Output | Record) -> _RecordName:
    return record.topic, record.key, record.value


def _moved(partition: int) -> PartitionMoved:
    return PartitionMoved(f"partition {partition} is no longer served by this process", hint=SEND_AGAIN)
