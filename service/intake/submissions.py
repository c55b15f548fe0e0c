"""Submissions: records made from the bodies of requests, and tickets for their results.

A message is read as the loop reads its record; one that would become a dead letter is rejected.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any, Final, NamedTuple

from service.clock import SYSTEM_CLOCK, Clock
from service.messages.decoder import TimeBounds
from service.messages.features import X
from service.messages.labels import TrueLabel
from service.messages.rejection import Reason, Rejection
from service.partition.factory import make_decoder, make_extractor
from service.settings.load import Settings
from service.settings.mapping import HEADER, OFFSET
from service.stream.protocol import Output, Record

SEND_AGAIN: Final = "send it again: the id prevents a duplicate"


class Submission(NamedTuple):
    """An event or a label to be appended."""

    id: str
    is_label: bool
    x: X
    """Features of an event, to recognise a repetition; a label has none."""
    truth: TrueLabel | None
    weight: float | None
    """Class of the label, if any."""
    output: Output
    """The record, without its partition."""

    @property
    def name(self) -> tuple[bool, str]:
        """What identifies the submission: an event and its label have the same id."""
        return self.is_label, self.id

    def repeats(self, x: X, truth: TrueLabel | None) -> bool:
        """Return whether it repeats an earlier event or label."""
        return self.x == x and self.truth in {None, truth}


_MISPLACED: Final = {
    False: (Reason.MISSING_FIELD, "an event needs features or text; send labels to POST /labels"),
    True: (Reason.UNKNOWN_FIELD, "a label has neither features nor text; send events to POST /events"),
}
"""Why a message is rejected that is not an event, or not a label, as expected."""


class SubmissionReader:
    """Reads events and labels in the form that the settings describe.

    Parameters
    ----------
    settings
        How messages are read, and the topics.
    clock
        Bounds the times of messages.

    Attributes
    ----------
    is_plain : bool
        Whether the time to read a message depends only on its length, without expressions and a hook.

    """

    def __init__(self, settings: Settings, clock: Clock = SYSTEM_CLOCK) -> None:
        self.is_plain = not (settings.events.is_mapped or settings.labels.is_mapped)
        self._clock = clock
        self._times = TimeBounds(settings.max_event_time_ahead_seconds)
        self._decoder = make_decoder(settings)
        self._extractor = make_extractor(settings)
        self._events_topic = settings.events_topic
        self._labels_topic = settings.labels_topic or settings.events_topic
        self._ids = {self._labels_topic: settings.labels.id, self._events_topic: settings.events.id}

    def event(self, value: bytes, key: bytes | None = None) -> Submission:
        """Read an event, which may have its label. Raises `Rejection`.

        Parameters
        ----------
        value
            Value of the record.
        key
            Key of the record; by default the id.

        """
        return self._read(self._events_topic, value, key, is_label=False)

    def label(self, value: bytes, key: bytes | None = None) -> Submission:
        """Read a label; see `event`."""
        return self._read(self._labels_topic, value, key, is_label=True)

    def _read(self, topic: str, value: bytes, key: bytes | None, *, is_label: bool) -> Submission:
        """Read a message as the loop will, except for what only the topic knows."""
        if (location := self._ids[topic]).startswith((OFFSET, HEADER)):
            raise Rejection(
                Reason.INVALID_ID,
                f"{location}: a request has no keys, headers or offsets; write to the topic",
            )
        record = Record(topic, 0, 0, 0, key, value)
        message = self._decoder.decode(value, record)
        if message.is_label != is_label:
            raise Rejection(*_MISPLACED[is_label])
        if message.timestamp_ms is not None:
            now_ms = int(self._clock.time() * 1000)
            self._times.check(message.timestamp_ms, now_ms, self._decoder.time_location(record))
        x = {} if is_label else self._extractor.extract(message.features, message.text, message.tenant)
        output = Output(topic, key or message.id.encode(), value)
        return Submission(message.id, is_label, x, message.truth, message.weight, output)


Prediction = Mapping[str, Any]
"""Fields of a prediction, as written."""
Result = Prediction | Rejection | None
"""Result of an event; None if it is unknown here."""


class Ticket:
    """One record of a request, until it is appended and, for an event, predicted.

    Parameters
    ----------
    submission
        The record to be appended.
    is_line
        Whether it is one of several lines of a body; their predictions are not awaited.

    Attributes
    ----------
    appended : Future[Exception | None]
        Done once the record is durable or its append failed: then with the error, even if the record may be
        on the topic.
    result : Future[Result] | None
        The committed prediction of an event, or the `Rejection` of its dead letter. None if no request waits
        for it.
    repeated : bool
        Whether the record was already appended or queued; known once `appended`.

    """

    __slots__ = ("appended", "is_line", "repeated", "result", "submission")

    def __init__(self, submission: Submission, *, is_line: bool = False) -> None:
        self.submission = submission
        self.is_line = is_line
        self.appended: Future[Exception | None] = _running()
        self.result: Future[Result] | None = None if submission.is_label or is_line else _running()
        self.repeated = False

    def follow(self, first: Ticket) -> None:
        """Resolve like an earlier request for the same record."""
        self.repeated = True
        first.appended.add_done_callback(lambda done: self.note_appended(done.result()))
        if self.result is not None:
            if first.result is None:
                first.result = _running()
            first.result.add_done_callback(lambda done: self.set_result(done.result()))

    def note_appended(self, error: Exception | None = None) -> None:
        """Note that the record is durable or, with an error, perhaps not."""
        with suppress(InvalidStateError):  # known already
            self.appended.set_result(error)

    def set_result(self, result: Result) -> None:
        """Note the result of an event."""
        self.note_appended()
        if self.result is not None:
            with suppress(InvalidStateError):
                self.result.set_result(result)


def _running() -> Future[Any]:
    """Return a future that no waiter can cancel: several may wait for it."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()
    return future
