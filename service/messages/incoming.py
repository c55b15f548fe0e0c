"""Valid events and labels, and rejections of values of the native schema.

Values that are not finite, too large, unknown or malformed are rejected.

`incoming.pxd` gives this module its C types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from pydantic import ValidationError

from perceptron_core.weights.values import NamedValues
from service.errors import pydantic_sentence
from service.messages.labels import LabelValue, TrueLabel, UnknownLabelError, Vocabulary
from service.messages.rejection import Reason, Rejection
from service.messages.schema import Features, Fields, check_input, read_input

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


def own_message(fields: Fields, vocabulary: Vocabulary, message_bytes: int) -> Incoming:
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
        return _fields(read_input(value))
    except ValidationError as error:
        raise _rejection(value, error) from None


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
    """Return the rejection for Pydantic's errors: of several, for the most informative one."""
    errors = error.errors(include_url=False)
    first = errors[0]
    if first["type"] == "json_invalid":
        return rejection_of_syntax(value, first["msg"])
    if not first["loc"]:
        return Rejection(Reason.NOT_AN_OBJECT, "expected a JSON object")
    return rejection_of_fields(errors, _field_path)


def rejection_of_fields(
    errors: Sequence[Mapping[str, Any]], path_of: Callable[[Sequence[int | str]], str]
) -> Rejection:
    """Return the rejection of fields with these Pydantic errors; `path_of` formats a location."""
    telling = next((e for e in errors if e["type"] in _BY_TYPE), errors[0])
    return Rejection(_reason(telling), f"{path_of(telling['loc'])}: {_wording(telling, errors)}")


def rejection_of_syntax(value: bytes, message: str) -> Rejection:
    """Return the rejection of a value that is not JSON, with a JSON reader's `message`."""
    try:
        value.decode()
    except UnicodeDecodeError as error:
        return Rejection(Reason.INVALID_UTF8, f"byte {error.start} is not UTF-8")
    reason = next((reason for sign, reason in _BY_SYNTAX if sign in message), Reason.INVALID_JSON)
    return Rejection(reason, message.removeprefix("Invalid JSON: ").replace("ident ", "a JSON value "))


def _reason(error: Mapping[str, Any]) -> Reason:
    reason = _BY_TYPE.get(error["type"])
    if reason is None:
        return Reason.INVALID_ID if error["loc"] == ("id",) else Reason.INVALID_TYPE
    return reason


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
