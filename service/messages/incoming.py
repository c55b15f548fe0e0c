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
from service.messages.json_values import REASONS, check_keys, read_json
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
