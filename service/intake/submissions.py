"""Submissions: records made of the bodies of requests, and tickets for what becomes of them.

A message is read as the loop reads its record: what would be a dead letter is refused.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import Future
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from service.clock import SYSTEM_CLOCK, Clock
from service.messages.features import X
from service.messages.incoming import Incoming
from service.messages.labels import Truth
from service.messages.rejection import Reason, Rejection
from service.partition.factory import make_decoder, make_extractor
from service.partition.limits import TimeBounds
from service.settings.load import Settings
from service.settings.mapping import HEADER, OFFSET
from service.stream.protocol import Output, Record

NONE: Final[Mapping[str, str]] = MappingProxyType({})
"""No headers."""
SEND_AGAIN: Final = "send it again: the id keeps it from being appended twice"


class Submission(NamedTuple):
    """An event or a label to be appended."""

    id: str
    is_label: bool
    x: X
    """The features of an event, by which it is known again; of a label none."""
    truth: Truth | None
    weight: float | None
    """Of its label."""
    output: Output
    """The record, without its partition."""

    @property
    def name(self) -> tuple[bool, str]:
        """What tells it from others: an event and its label have the same id."""
        return self.is_label, self.id

    def repeats(self, x: X, truth: Truth | None) -> bool:
        """Return whether it says no more than an event, or a label, that came before."""
        return self.x == x and self.truth in {None, truth}


class SubmissionReader:
    """Reads events and labels, of whatever shape the settings describe.

    Parameters
    ----------
    settings
        Say how messages are read, and where they go.
    clock
        Bounds the times that messages say.

    Attributes
    ----------
    is_plain : bool
        Whether the time to read a message depends on its length alone: there are no expressions and no hook.

    """

    def __init__(self, settings: Settings, clock: Clock = SYSTEM_CLOCK) -> None:
        self.is_plain = not (settings.events.is_mapped or settings.labels.is_mapped)
        self._clock = clock
        self._times = TimeBounds(settings.max_event_time_ahead_seconds)
        self._decoder = make_decoder(settings)
        self._extractor = make_extractor(settings)
        self._events_topic = settings.events_topic
        self._labels_topic = settings.labels_topic or settings.events_topic
        places = {self._labels_topic: settings.labels.id, self._events_topic: settings.events.id}
        self._refuses_ids = {topic: place == OFFSET for topic, place in places.items()}
        self._header_of_id = {
            topic: place.removeprefix(HEADER) if place.startswith(HEADER) else ""
            for topic, place in places.items()
        }

    def event(self, value: bytes, key: bytes | None = None, headers: Mapping[str, str] = NONE) -> Submission:
        """Read an event, which may have its label. Raises `Rejection`.

        Parameters
        ----------
        value
            Of the record.
        key
            Of the record; by default the id.
        headers
            In which an id may be, by names in lower case.

        """
        event, output = self._read(self._events_topic, value, key, headers)
        if event.is_label:
            raise Rejection(
                Reason.MISSING_FIELD, "an event needs features or text; POST /labels takes labels"
            )
        x = self._extractor.extract(event.features, event.text, event.tenant)
        return Submission(
            event.id, is_label=False, x=x, truth=event.truth, weight=event.weight, output=output
        )

    def label(self, value: bytes, key: bytes | None = None, headers: Mapping[str, str] = NONE) -> Submission:
        """Read a label; see `event`."""
        label, output = self._read(self._labels_topic, value, key, headers)
        if not label.is_label:
            raise Rejection(
                Reason.UNKNOWN_FIELD, "a label has no features and no text; POST /events takes them"
            )
        return Submission(
            label.id, is_label=True, x={}, truth=label.truth, weight=label.weight, output=output
        )

    def _read(
        self, topic: str, value: bytes, key: bytes | None, headers: Mapping[str, str]
    ) -> tuple[Incoming, Output]:
        """Read a message as the loop will, but for what only the topic knows."""
        if self._refuses_ids[topic]:
            raise Rejection(Reason.INVALID_ID, f"{OFFSET}: an id that the topic gives cannot be repeated")
        name = self._header_of_id[topic]
        found = headers.get(name.lower()) if name else None
        given = () if found is None else ((name, found.encode()),)
        record = Record(topic, 0, 0, 0, key, value, given)
        message = self._decoder.decode(value, record)
        if message.timestamp_ms is not None:
            self._times.set_now(int(self._clock.time() * 1000))
            self._times.check(message.timestamp_ms, self._decoder.place_of_time(record))
        return message, Output(topic, key or message.id.encode(), value, given)


Prediction = Mapping[str, Any]
"""The fields of a prediction, as they were written."""


class Countdown:
    """Waits for all tickets of a request.

    Parameters
    ----------
    count
        How many there are.

    Attributes
    ----------
    done : Future[None]
        Done when each is appended or has failed.

    """

    def __init__(self, count: int) -> None:
        self.done: Future[None] = Future()
        self.done.set_running_or_notify_cancel()  # a waiter that leaves does not cancel it
        self._left = count
        self._lock = threading.Lock()
        if not count:
            self.done.set_result(None)

    def count(self) -> None:
        """Note the end of one ticket."""
        with self._lock:
            self._left -= 1
            is_last = not self._left
        if is_last:
            self.done.set_result(None)


class Ticket:
    """One record of a request, until it is appended and, if it is an event, predicted.

    Parameters
    ----------
    submission
        What is to be appended.
    countdown
        The countdown of the body if this is one of its lines. Predictions of lines are not awaited.

    Attributes
    ----------
    is_line : bool
        Whether it is appended with the other lines of a body.
    repeated : bool
        Whether the record was there already, or on its way; known once `is_decided`.
    is_decided : bool
        Whether the record is durable, or has failed.
    error : Exception | None
        Why the record was refused, or why that is not known.
    answered : Future[Prediction | None] | None
        The committed prediction of an event: None if it is not known here, a `Rejection` if the event became
        a dead letter. No future where the prediction is not awaited.

    """

    __slots__ = (
        "_followers",
        "answered",
        "countdown",
        "error",
        "is_decided",
        "is_line",
        "repeated",
        "submission",
    )

    def __init__(self, submission: Submission, countdown: Countdown | None = None) -> None:
        self.submission = submission
        self.is_line = countdown is not None
        self.countdown = countdown or Countdown(1)
        self.repeated = self.is_decided = False
        self.error: Exception | None = None
        self.answered: Future[Prediction | None] | None = None
        self._followers: tuple[Ticket, ...] = ()
        if not (submission.is_label or self.is_line):
            self.answered = Future()
            self.answered.set_running_or_notify_cancel()  # several may wait for it: nobody cancels it

    @property
    def awaits_prediction(self) -> bool:
        """Whether this request, or a repeated one, waits for the prediction."""
        return self.answered is not None or any(each.awaits_prediction for each in self._followers)

    def follow(self, first: Ticket) -> None:
        """Resolve as an earlier request for the same record does."""
        self.repeated = True
        if first.is_decided:
            self.note_appended()
        if first.answered is not None and first.answered.done():
            self.answer(first.answered.result())
        first._followers += (self,)

    def note_appended(self, error: Exception | None = None) -> None:
        """Note that the record is durable; with an error, that it is not, as far as is known."""
        if not self.is_decided:
            self.is_decided, self.error = True, error
            self.countdown.count()
        for follower in self._followers:
            follower.note_appended(error)

    def answer(self, prediction: Prediction | None, rejection: Rejection | None = None) -> None:
        """Note the prediction, that there will be none here, or why the event became a dead letter."""
        self.note_appended()
        if self.answered is not None and not self.answered.done():
            if rejection is None:
                self.answered.set_result(prediction)
            else:
                self.answered.set_exception(rejection)
        for follower in self._followers:
            follower.answer(prediction, rejection)
