"""Decode records to events and labels, or reject them with a reason; the bounds of event times.

The native schema is read here; records of other schemas are read by the mapper of their topic. Values that
are not finite, too large, unknown or malformed are rejected.

`decoder.pxd` gives this module its C types.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from pydantic import ValidationError

from perceptron_core.weights.values import NamedValues
from service.errors import pydantic_sentence
from service.messages.json_values import REASONS, check_keys, read_json
from service.messages.labels import LabelValue, TrueLabel, UnknownLabelError, Vocabulary
from service.messages.rejection import RECORD_TIME, Reason, Rejection
from service.messages.schema import Features, Fields, check_input, read_input
from service.stream.protocol import Record

try:
    from service.messages.event_reader import EventReader  # type: ignore[import-not-found]
except ImportError:  # nothing is compiled
    EventReader = None

WindowInput = tuple[int, list[float], list[int]]
"""A hash of the key; numbers; hashes of values. A missing hash is 0, a missing number NaN."""


class Incoming:
    """A valid event or label.

    Parameters
    ----------
    id, features, text
        The fields of the message.
    label
        The label as written.
    truth
        The class the label denotes.
    message_bytes
        Length of the message in bytes.

    Attributes
    ----------
    is_label : bool
        Whether this is a bare label: no features, no text.
    timestamp_ms : int or None
        Event time of the message; None: it is the record's.
    tenant : str or None
        The tenant of the event; None: no tenant.
    windowed : tuple of WindowInput or None
        The inputs of each window by key; None without windows.
    weight : float or None
        The weight of its label in learning; None: not given.

    """

    def __init__(
        self,
        id: str,  # noqa: A002 - as the message has it
        features: Features | None,
        text: str | None,
        label: LabelValue | None,
        truth: TrueLabel | None,
        message_bytes: int,
    ) -> None:
        self.id = id
        self.features = features
        self.text = text
        self.label = label
        self.truth = truth
        self.message_bytes = message_bytes
        self.is_label = features is None and text is None
        self.timestamp_ms: int | None = None
        self.tenant: str | None = None
        self.windowed: tuple[WindowInput, ...] | None = None
        self.weight: float | None = None


class RecordMapper(Protocol):
    """Reads the records of a topic that have another schema than the native one."""

    vectors: Any
    """The lengths of vectors; None if there are none."""

    @property
    def maps_time(self) -> bool:
        """Whether messages contain their event time."""

    def decode(self, value: bytes, record: Record | None) -> Incoming:
        """Read a message. Raises `Rejection`, and `Skipped` if a filter skips the record."""

    def time_location(self) -> str:
        """Return the name of the event time, for messages."""

    def missing_fields(self) -> tuple[int, Collection[str]]:
        """Return how many events were checked, and the mapped fields that none of them had."""


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
        events: RecordMapper | None = None,
        labels: RecordMapper | None = None,
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

    def _mapper_of(self, record: Record | None) -> RecordMapper | None:
        if record is not None and record.topic == self._labels_topic:
            return self._labels
        return self._events


def native_message(fields: Fields, vocabulary: Vocabulary, message_bytes: int) -> Incoming:
    """Return the message with these fields of the native schema. Raises `Rejection`."""
    event_id, features, text, label, weight = fields
    if type(features) is NamedValues:
        features = features.as_dict()
    truth: TrueLabel | None = None
    if label is not None:
        try:
            truth = vocabulary.truth(label)
        except UnknownLabelError as error:
            raise Rejection(Reason.UNKNOWN_LABEL, str(error)) from None
    elif features is None and text is None:
        raise Rejection(Reason.MISSING_FIELD, "expected features or text in an event, label in a label")
    made = Incoming(event_id, features, text, label, truth, message_bytes)
    made.weight = weight
    return made


def read_fields(value: bytes) -> Fields:
    """Read the fields of the native schema from JSON. Raises `Rejection`."""
    try:
        read = read_input(value)
    except ValidationError as error:
        read_json(value)  # raises for any value but an object
        raise rejection_of_fields(error.errors(include_url=False), _field_path) from None
    check_keys(value, read)
    return _fields(read)


def check_fields(document: object) -> Fields:
    """Check fields of the native schema from another format; drop features that are None.

    Raises `Rejection`.
    """
    try:
        return _fields(check_input(document))
    except ValidationError as error:
        if (without := _without_nulls(document)) is not None:
            return check_fields(without)
        errors = error.errors(include_url=False)
        raise rejection_of_fields(errors, _field_path) from None


def _fields(read: Mapping[str, Any]) -> Fields:
    get = read.get
    return read["id"], get("features"), get("text"), get("label"), get("weight")


def _without_nulls(document: object) -> object:
    """Return a document without the features that are None; None if it has no such features."""
    if not isinstance(document, dict):
        return None
    features = document.get("features")
    if not isinstance(features, dict) or None not in features.values():
        return None
    return document | {"features": {name: value for name, value in features.items() if value is not None}}


_UNION_BRANCHES: Final = frozenset({"bool", "constrained-float", "str"})


def rejection_of_fields(
    errors: Sequence[Mapping[str, Any]], path_of: Callable[[Sequence[int | str]], str]
) -> Rejection:
    """Return the rejection of fields with these Pydantic errors: of several, for the most informative one.

    `path_of` formats a location.
    """
    telling = next((each for each in errors if each["type"] in REASONS), errors[0])
    reason = Reason.INVALID_ID if telling["loc"] == ("id",) else Reason.INVALID_TYPE
    reason = REASONS.get(telling["type"], reason)
    return Rejection(reason, f"{path_of(telling['loc'])}: {_wording(telling, errors)}")


def _field_path(location: Iterable[int | str]) -> str:
    """Format a location in the message, such as `features.length`, without the type that Pydantic tried."""
    parts = list(location)
    last = len(parts) - 1
    if last > 0 and parts[last] in _UNION_BRANCHES:
        parts.pop()
    return ".".join(map(str, parts))


def _wording(telling: Mapping[str, Any], errors: Sequence[Mapping[str, Any]]) -> str:
    if telling["type"] == "float_type" and len(errors) > 1:
        return "expected a number, a boolean or text"
    return pydantic_sentence(telling)


_EARLIEST_MS: Final = -(2**63)
_LATEST_MS: Final = 2**63 - 1
_MAX_DIGITS: Final = 20  # digits; no time of a record has more


class TimeBounds:
    """Bounds of event times: from 1970 to some time ahead of the clock; none before `set_now` gets a time.

    Parameters
    ----------
    max_ahead_seconds
        How far an event time may be ahead of the clock.

    """

    def __init__(self, max_ahead_seconds: float) -> None:
        self._max_ahead_ms = int(max_ahead_seconds * 1000)
        self.set_now(None)

    def set_now(self, processing_time_ms: int | None) -> None:
        """Set the clock's time, in milliseconds since the epoch; None: no bounds."""
        self.earliest_ms = 0 if processing_time_ms is not None else _EARLIEST_MS
        self.latest_ms = (
            processing_time_ms + self._max_ahead_ms if processing_time_ms is not None else _LATEST_MS
        )

    def check(self, timestamp_ms: int, processing_time_ms: int, location: str) -> None:
        """Set the clock's time; raise `Rejection` for an event time out of bounds."""
        self.set_now(processing_time_ms)
        if not self.earliest_ms <= timestamp_ms <= self.latest_ms:
            raise self.rejection(timestamp_ms, location)

    def rejection(self, timestamp_ms: int, location: str) -> Rejection:
        """Return the rejection of a time out of bounds, any number; `location` is where the record has it."""
        what = f"{location}, {_cut(timestamp_ms)} ms,"
        if timestamp_ms < 0:
            return Rejection(Reason.EVENT_TIME_OUT_OF_RANGE, f"{what} is before 1970")
        ahead_ms = timestamp_ms - self.latest_ms + self._max_ahead_ms
        what = f"{what} is {_cut((ahead_ms + 500) // 1000)} s ahead of the clock"
        return Rejection(
            Reason.EVENT_TIME_OUT_OF_RANGE, f"{what}, more than max_event_time_ahead_seconds allows"
        )


def _cut(number: int) -> str:
    """Format a number that may be too large for a float; of a very long one, only its beginning."""
    digits = str(number)
    return digits if len(digits) <= _MAX_DIGITS else f"{digits[:_MAX_DIGITS]}…"
