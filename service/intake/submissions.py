"""Turn the bodies of requests into records to be appended.

A message is read as the loop reads its record: what would be a dead letter is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from service.clock import SYSTEM_CLOCK, Clock
from service.messages.decoder import Incoming
from service.messages.features import X
from service.messages.labels import Truth
from service.messages.rejection import Reason, Rejection
from service.partition.factory import make_decoder, make_extractor
from service.partition.time_bounds import TimeBounds
from service.settings.load import Settings
from service.settings.mapping import HEADER, OFFSET
from service.stream import Output, Record

NONE: Final[Mapping[str, str]] = MappingProxyType({})
"""No headers."""


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

    """

    def __init__(self, settings: Settings, clock: Clock = SYSTEM_CLOCK) -> None:
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
