"""Decode records of other schemas into messages."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from service.formats.readers import Reader
from service.mapping.mapper import EventMapper, Mapper
from service.messages.decoder import Decoder, Incoming
from service.messages.paths import PathError, parse_path
from service.messages.rejection import OWN_TIME, Reason, Rejection, Skipped
from service.settings.mapping import LabelSettings
from service.stream import Record


class Topic(NamedTuple):
    """How the records of one topic are read."""

    read: Reader
    mapper: Mapper | Decoder
    """The decoder of the own schema where documents have its fields; null is then a missing value."""
    check: Callable[[object], None] | None
    """Raises `Skipped` for a document that a filter leaves out; None without a filter."""


def make_filter(settings: LabelSettings) -> Callable[[object], None] | None:
    """Make the function that skips documents for which `where` is false or null; None if it is not set."""
    if not settings.where:
        return None
    name, find = f"{settings.table()}.where", parse_path(settings.where).find

    def check(document: object) -> None:
        try:
            found = find(document)
        except PathError as error:
            raise Rejection(Reason.INVALID_TYPE, f"{name}: {error}") from None
        if found is None or found is False:
            raise Skipped(f"{name}: it is false or null for this record")

    return check


class MappedDecoder(Decoder):
    """Turns values of any schema into messages.

    Parameters
    ----------
    events, labels
        How the records of each topic are read; None if they have the service's own schema.
    labels_topic
        Records of this topic are labels.
    own
        Reads the own schema.
    max_message_bytes
        Longest value taken.

    """

    def __init__(
        self,
        events: Topic | None,
        labels: Topic | None,
        labels_topic: str,
        own: Decoder,
        max_message_bytes: int,
    ) -> None:
        self._events = events
        self._labels = labels
        self._labels_topic = labels_topic
        self._own = own
        self.max_message_bytes = max_message_bytes
        self.vectors = events.mapper.vectors if events and isinstance(events.mapper, EventMapper) else None
        """How long vectors are: a part of the state of the partition whose records are read."""
        self.maps_time = any(topic is not None and topic.mapper.maps_time for topic in (events, labels))

    def decode(self, value: bytes | None, record: Record | None = None) -> Incoming:
        """Read one message. Without a record, it is one of the events topic.

        Raises `Rejection`, and `Skipped` for what a filter leaves out.
        """
        topic = self._topic_of(record)
        if topic is None:
            return self._own.decode(value)
        value = self.checked(value)
        headers = record.headers if record is not None else ()
        document = topic.read(value, headers)
        if topic.check is not None:
            topic.check(document)
        return topic.mapper.read(document, record, len(value))

    def unfound(self) -> tuple[int, Collection[str]]:
        """Return what settings name and no event had; see `Decoder.unfound`."""
        mapper = self._events.mapper if self._events else None
        if not isinstance(mapper, EventMapper):
            return 0, ()
        return (1, ()) if mapper.unfound is None else mapper.unfound.found()

    def place_of_time(self, record: Record) -> str:
        """Say where a record's event time is found, for messages."""
        topic = self._topic_of(record)
        return topic.mapper.place_of_time(record) if topic else OWN_TIME

    def _topic_of(self, record: Record | None) -> Topic | None:
        if record is not None and record.topic == self._labels_topic:
            return self._labels
        return self._events
