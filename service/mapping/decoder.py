"""Decode records to events and labels, or reject them with a reason.

The native schema is read here; records of other schemas are read by the mapper of their topic.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from service.messages.incoming import Incoming, native_message, read_fields
from service.messages.labels import Vocabulary
from service.messages.rejection import RECORD_TIME, Reason, Rejection
from service.stream.protocol import Record

if TYPE_CHECKING:
    from service.mapping.mapper import Mapper

try:
    from service.messages.event_reader import EventReader  # type: ignore[import-not-found]
except ImportError:  # nothing is compiled
    EventReader = None


class Decoder:
    """Turns records into messages.

    Parameters
    ----------
    vocabulary
        The accepted label values.
    max_message_bytes
        Longest accepted value.
    events, labels
        Mappers of the records of each topic; None for the native schema.
    labels_topic
        The topic whose records are labels.

    Attributes
    ----------
    maps_time : bool
        Whether messages may contain the event time, which is then known only after decoding.
    vectors : Vectors or None
        The lengths of vectors, if there are any: state of the partition.

    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        max_message_bytes: int,
        events: Mapper | None = None,
        labels: Mapper | None = None,
        labels_topic: str = "",
    ) -> None:
        self.vocabulary = vocabulary
        self.max_message_bytes = max_message_bytes
        self._events, self._labels, self._labels_topic = events, labels, labels_topic
        self._read_common = read_fields if EventReader is None else EventReader().read
        self.maps_time = any(each is not None and each.maps_time for each in (events, labels))
        self.vectors = None if events is None else events.vectors

    @property
    def has_native_schema(self) -> bool:
        """Whether all records have the native schema."""
        return self._events is None and self._labels is None

    def decode(self, value: bytes | None, record: Record | None = None) -> Incoming:
        """Read one message.

        Parameters
        ----------
        value
            The bytes of the message.
        record
            The record of the message; None: the message is an event that did not come from a topic.

        Raises
        ------
        Rejection
            The value is not a valid event or label; `Skipped` if a filter skips the record.

        """
        if not value:
            raise Rejection(Reason.EMPTY, "expected a value, got a record without one")
        if len(value) > self.max_message_bytes:
            limit = self.max_message_bytes
            raise Rejection(Reason.TOO_LARGE, f"{len(value)} bytes are more than max_message_bytes = {limit}")
        mapper = self._mapper_of(record)
        if mapper is not None:
            return mapper.decode(value, record)
        return native_message(self._read_common(value) or read_fields(value), self.vocabulary, len(value))

    def time_location(self, record: Record | None) -> str:
        """Return the name of the event time of a record or a posted event, for messages."""
        mapper = self._mapper_of(record)
        return RECORD_TIME if mapper is None else mapper.time_location()

    def missing_fields(self) -> tuple[int, Collection[str]]:
        """Return how many events were checked, and the mapped fields that none of them had."""
        return (0, ()) if self._events is None else self._events.missing_fields()

    def _mapper_of(self, record: Record | None) -> Mapper | None:
        if record is not None and record.topic == self._labels_topic:
            return self._labels
        return self._events
