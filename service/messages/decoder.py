"""Decode the value of a record to an event or a label, or reject it with a reason.

The service's own schema is read here; records of any other shape by `service.mapping`, which ends here too.
What is not finite, too large, unknown or malformed is rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, cast

from pydantic import ValidationError

from perceptron_core.validation import MAX_MAGNITUDE
from perceptron_core.weights.values import NamedValues
from service.messages.labels import MAX_WEIGHT, LabelValue, Truth, UnknownLabelError, Vocabulary
from service.messages.rejection import OWN_TIME, Reason, Rejection
from service.messages.schema import Features, Fields, check_input, read_input
from service.stream.protocol import Record

try:
    from service.messages.event_reader import EventReader  # type: ignore[import-not-found]
except ImportError:  # nothing is compiled
    EventReader = None


WindowInput = tuple[int, list[float], list[int]]
"""A hash of the key, 0 where there is none; numbers, NaN where there is none; and hashes, likewise 0."""


class Incoming:  # noqa: PLW1641 - holds a dictionary, so it is not hashable
    """An event, or a label (`is_label`), that may reach the model.

    Parameters
    ----------
    id, features, text
        As the message has them.
    label
        As it was spelled.
    truth
        The class the label denotes.
    is_label
        Whether this is a bare label: no features, no text.
    message_bytes
        Length of the message.
    timestamp_ms
        Event time, where the message says it; else it is the record's.
    tenant
        Whose event it is; None: of nobody in particular.
    windowed
        What windows by key count of it, by window; None where there are none.
    weight
        How much its label counts in learning; None: nothing is said of that.

    """

    def __init__(
        self,
        id: str,  # noqa: A002 - as the message has it
        features: Features | None,
        text: str | None,
        label: LabelValue | None,
        truth: Truth | None,
        is_label: bool,  # noqa: FBT001 - as its neighbours
        message_bytes: int,
        timestamp_ms: int | None = None,
        tenant: str | None = None,
        windowed: tuple[WindowInput, ...] | None = None,
        weight: float | None = None,
    ) -> None:
        self.id = id
        self.features = features
        self.text = text
        self.label = label
        self.truth = truth
        self.is_label = is_label
        self.message_bytes = message_bytes
        self.timestamp_ms = timestamp_ms
        self.tenant = tenant
        self.windowed = windowed
        self.weight = weight

    def __eq__(self, other: object) -> bool:
        """Return whether another message says the same."""
        return isinstance(other, Incoming) and bool(_fields_of(self) == _fields_of(other))

    def __repr__(self) -> str:
        return f"Incoming{_fields_of(self)}"


_fields_of: Final = attrgetter(
    *("id", "features", "text", "label", "truth", "is_label", "message_bytes", "timestamp_ms"),
    *("tenant", "windowed", "weight"),
)


class Decoder:
    """Turns values into messages.

    Parameters
    ----------
    vocabulary
        The label values to take.
    max_message_bytes
        Longest value taken.

    """

    def __init__(self, vocabulary: Vocabulary, max_message_bytes: int) -> None:
        self.vocabulary = vocabulary
        self.max_message_bytes = max_message_bytes
        self._read_common = _nothing if EventReader is None else EventReader().read

    maps_time = False
    """Whether messages may say their event time: then it is known only once they are decoded."""
    vectors = cast("Any", None)
    """How long vectors are, where there are any: state of the partition."""

    def decode(self, value: bytes | None, record: Record | None = None) -> Incoming:  # noqa: ARG002 - see below
        """Read one message.

        Parameters
        ----------
        value
            What the message is.
        record
            Where it lies, for what is read from key, headers or offset; not needed for the own schema.

        Raises
        ------
        Rejection
            With the reason, for anything that is no valid event or label.

        """
        value = self.checked(value)
        if (fields := self._read_common(value)) is None:
            return self._judged(value)
        event_id, features, text, label, weight = fields
        if type(features) is NamedValues:
            features = features.as_dict()
        return self._incoming(event_id, features, text, label, weight, len(value))

    def checked(self, value: bytes | None) -> bytes:
        """Return the value of a record; raise `Rejection` if there is none, or if it is too large."""
        if not value:
            raise Rejection(Reason.EMPTY, "the record has no value")
        if len(value) > self.max_message_bytes:
            limit = self.max_message_bytes
            raise Rejection(Reason.TOO_LARGE, f"{len(value)} bytes; max_message_bytes is {limit}")
        return value

    def _judged(self, value: bytes) -> Incoming:
        """Read a message with Pydantic."""
        try:
            event_id, features, text, label, weight = _fields(read_input(value))
        except ValidationError as error:
            raise _rejection(value, error) from None
        return self._incoming(event_id, features, text, label, weight, len(value))

    def read(self, document: object, _record: Record | None, message_bytes: int) -> Incoming:
        """Read a message of fields that were found elsewhere; a feature that is None is none.

        Raises `Rejection`.
        """
        try:
            event_id, features, text, label, weight = _fields(check_input(document))
        except ValidationError as error:
            if (without := _without_nulls(document)) is not None:
                return self.read(without, None, message_bytes)
            found = error.errors(include_url=False, include_input=False, include_context=False)
            raise rejection_of_fields(found, _place) from None
        return self._incoming(event_id, features, text, label, weight, message_bytes)

    def _incoming(
        self,
        event_id: str,
        features: Features | None,
        text: str | None,
        label: LabelValue | None,
        weight: float | None,
        message_bytes: int,
    ) -> Incoming:
        is_label = features is None and text is None
        truth: Truth | None = None
        if label is not None:
            try:
                truth = self.vocabulary.truth(label)
            except UnknownLabelError as error:
                raise Rejection(Reason.UNKNOWN_LABEL, str(error)) from None
        elif is_label:
            raise Rejection(Reason.MISSING_FIELD, "an event needs features or text, a label needs label")
        made = Incoming.__new__(Incoming)  # compiled, with less ado than by its constructor
        made.id, made.features, made.text, made.label, made.truth = event_id, features, text, label, truth
        made.is_label, made.message_bytes = is_label, message_bytes
        made.timestamp_ms = made.tenant = made.windowed = None
        made.weight = weight
        return made

    def place_of_time(self, record: Record) -> str:  # noqa: ARG002 - others look at the record's topic
        """Say where a record's event time is found, for messages."""
        return OWN_TIME

    def unfound(self) -> tuple[int, Collection[str]]:
        """Return how many events were looked at, and what the mapping names and none of them had."""
        return 0, ()


def _nothing(value: bytes) -> Fields | None:  # noqa: ARG001 - as the compiled reader's
    """Read no message: Pydantic reads all."""
    return None


def _fields(read: Mapping[str, Any]) -> Fields:
    get = read.get
    return read["id"], get("features"), get("text"), get("label"), get("weight")


def _without_nulls(document: object) -> object:
    """Return a document without the features that are None; None if there are none of those."""
    if not isinstance(document, dict):
        return None
    features = document.get("features")
    if not isinstance(features, dict) or None not in features.values():
        return None
    return document | {"features": {name: value for name, value in features.items() if value is not None}}


_BY_TYPE: Final[Mapping[str, Reason]] = {
    "finite_number": Reason.NOT_FINITE,
    "less_than_equal": Reason.OUT_OF_RANGE,
    "greater_than_equal": Reason.OUT_OF_RANGE,
    "extra_forbidden": Reason.UNKNOWN_FIELD,
    "missing": Reason.MISSING_FIELD,
    "string_too_short": Reason.INVALID_ID,
    "string_too_long": Reason.INVALID_ID,
}
_BY_SYNTAX: Final[Sequence[tuple[str, Reason]]] = (
    ("recursion limit", Reason.TOO_DEEP),
    ("number out of range", Reason.OUT_OF_RANGE),
)
_UNION_BRANCHES: Final = frozenset({"bool", "constrained-float", "str"})


def _rejection(value: bytes, error: ValidationError) -> Rejection:
    """Name the reason behind Pydantic's error; where there are several, the most telling one."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    first = found[0]
    if first["type"] == "json_invalid":
        return rejection_of_syntax(value, first["msg"])
    if not first["loc"]:
        return Rejection(Reason.NOT_AN_OBJECT, "the value is JSON, but not an object")
    return rejection_of_fields(found, _place)


def rejection_of_fields(
    found: Sequence[Mapping[str, Any]], place_of: Callable[[Sequence[int | str]], str]
) -> Rejection:
    """Return the refusal of fields in which Pydantic found these errors; `place_of` names a place in them."""
    telling = next((e for e in found if e["type"] in _BY_TYPE), found[0])
    return Rejection(_reason(telling), f"{place_of(telling['loc'])}: {_wording(telling, found)}")


def rejection_of_syntax(value: bytes, message: str) -> Rejection:
    """Return the refusal of a value that is no JSON, which a reader of JSON has called `message`."""
    try:
        value.decode()
    except UnicodeDecodeError as error:
        return Rejection(Reason.INVALID_UTF8, f"byte {error.start} is not UTF-8")
    reason = next((reason for sign, reason in _BY_SYNTAX if sign in message), Reason.INVALID_JSON)
    return Rejection(reason, message.removeprefix("Invalid JSON: "))


def _reason(error: Mapping[str, Any]) -> Reason:
    reason = _BY_TYPE.get(error["type"])
    if reason is None:
        return Reason.INVALID_ID if error["loc"] == ("id",) else Reason.INVALID_TYPE
    return reason


def _place(location: Iterable[int | str]) -> str:
    """Name a place in the message: `features.length`; which type Pydantic tried there is no news."""
    parts = list(location)
    last = len(parts) - 1
    if last > 0 and parts[last] in _UNION_BRANCHES:
        parts.pop()
    return ".".join(map(str, parts))


def _wording(telling: Mapping[str, Any], found: Sequence[Mapping[str, Any]]) -> str:
    if telling["type"] == "float_type" and len(found) > 1:
        return "must be a number, a boolean or a string"
    if telling["type"] in {"less_than_equal", "greater_than_equal"}:  # Pydantic writes all 101 digits
        least, most = (0, MAX_WEIGHT) if telling["loc"] == ("weight",) else (-MAX_MAGNITUDE, MAX_MAGNITUDE)
        return f"must be from {least:g} to {most:g}"
    return str(telling["msg"])
