"""The messages of the stream as strict Pydantic models, without infinite numbers or unknown fields.

Decoding, the HTTP API and `perceptron schema` share these definitions.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from types import NoneType
from typing import Annotated, Any, Final, NamedTuple, Required, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from perceptron_core.validation import MAX_MAGNITUDE
from service.messages.labels import MAX_WEIGHT, LabelValue

MAX_ID_LENGTH: Final = 256

EventId = Annotated[
    str, Field(min_length=1, max_length=MAX_ID_LENGTH, description="Names the event; its label refers to it.")
]
Number = Annotated[float, Field(allow_inf_nan=False, ge=-MAX_MAGNITUDE, le=MAX_MAGNITUDE)]
Scalar = Annotated[Number | bool | str, Field(union_mode="left_to_right")]
"""Numbers first, as most values are numbers; a strict number accepts no boolean or text."""
Features = dict[str, Scalar]
Weight = Annotated[float, Field(allow_inf_nan=False, ge=0, le=MAX_WEIGHT)]

Fields = tuple[str, Features | None, str | None, LabelValue | None, float | None]
"""Id, features, text, label and weight of a message."""

_STRICT: Final = ConfigDict(
    strict=True, extra="forbid", frozen=True, hide_input_in_errors=True, use_attribute_docstrings=True
)


EVENT_TIME: Final = "The event's timestamp: milliseconds since the Unix epoch."


class Message(BaseModel):
    """Base class of the messages: strict, and without unknown fields."""

    model_config = _STRICT


class UnlabelledEvent(Message):
    """An event to classify, without its label."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": ["features"], "properties": {"features": {"type": "object"}}},
                {"required": ["text"], "properties": {"text": {"type": "string"}}},
            ],
            "examples": [{"id": "m-17", "features": {"length": 12.5, "lang": "en", "urgent": True}}],
        }
    )

    id: EventId
    features: Features | None = None
    """Numbers as they are, booleans as 0/1, strings as categories."""
    text: str | None = None
    """Split into words or character n-grams by the service."""

    @model_validator(mode="after")
    def _has_something_to_go_by(self) -> Self:
        if self.features is None and self.text is None:
            raise PydanticCustomError("missing", "an event needs features or text (either may be empty)")
        return self


class Event(UnlabelledEvent):
    """An event to classify, with its label if it is known already."""

    label: Scalar | None = None
    """true/false, 1/-1, 1/0 or a configured class name."""
    weight: Weight | None = None
    """Weight of its label in learning (none: 1); the weight of a label replaces the weight of its event."""


class Label(Message):
    """The true class of an event, sent before or after the event."""

    id: EventId
    label: Scalar
    """true/false, 1/-1, 1/0 or a configured class name."""
    weight: Weight | None = None
    """Weight of its label in learning (none: 1); the weight of a label replaces the weight of its event."""


class Written(NamedTuple):
    """How a field of a prediction or an outcome is written, checked and shown.

    JSON, `verify`, the HTTP API, the page and the reference follow from this and from the field's type and
    default; the writers of JSON are tested against it.
    """

    last: bool = False
    """Whether the field comes after the fields that are declared later."""
    nullable: bool = False
    """Whether JSON may have null for it."""
    column: tuple[str, str] | None = None
    """Its heading on the page, and the format of its values: `percent`, `number`, `signed` or `text`."""


def optional(description: str, *, ge: int | None = None, le: int | None = None) -> Any:  # noqa: ANN401 - as `Field`
    """Return a field that is left out if it is None."""
    return Field(None, exclude_if=lambda value: value is None, description=description, ge=ge, le=le)


class Assessment(Message):
    """A model's prediction of an event."""

    id: Annotated[EventId, Written()]
    label: Annotated[LabelValue, Written()]
    """The predicted class: its name in `classes`; without names, a value as the stream's labels have it."""
    score: Annotated[float, Written()]
    """Signed distance from the decision, unscaled: w·x + b."""
    probability: Annotated[float | None, Written(column=("Probability", "percent"))] = optional(
        "Of the predicted class, where the score is a log-odds.", ge=0, le=1
    )
    updates: Annotated[int, Written()] = Field(ge=0)
    """The model's count of updates before the prediction."""
    decision: Annotated[str | None, Written(last=True, nullable=True, column=("Decision", "text"))] = (
        optional("The first of the `decisions` that the event matches; null if there is none.")
    )
    threshold: Annotated[float | None, Written(last=True)] = optional(
        "The threshold of the decision: a probability where the score is a log-odds, else a score."
    )


class Prediction(Assessment):
    """The class predicted for an event, before the model learned from it."""

    truth: Annotated[LabelValue | None, Written(last=True)] = optional("The label, if it was known already.")
    mistake: Annotated[bool | None, Written(last=True)] = optional("Whether `label` and `truth` differ.")
    event_time_ms: Annotated[int | None, Written()] = optional(EVENT_TIME)


class Outcome(Message):
    """A prediction and its label, which came after the event."""

    id: Annotated[EventId, Written()]
    label: Annotated[LabelValue, Written()]
    """The truth."""
    predicted: Annotated[LabelValue, Written()]
    """The predicted class."""
    mistake: Annotated[bool, Written()]
    """Whether the two differ."""
    label_delay_seconds: Annotated[float, Written()]
    """Seconds of event time from the event to its label."""
    event_time_ms: Annotated[int | None, Written()] = optional(EVENT_TIME)


class OutputField(NamedTuple):
    """A field of predictions or of outcomes."""

    name: str
    types: tuple[type, ...]
    """Its type, or the types that a label may have; None is not among them."""
    is_required: bool
    written: Written


def _fields_of(kind: type[Message]) -> list[OutputField]:
    """List the fields of a kind of output in the order of JSON."""
    fields = [
        OutputField(
            name,
            tuple(each for each in get_args(field.annotation) or (field.annotation,) if each is not NoneType),
            field.is_required(),
            next(each for each in field.metadata if isinstance(each, Written)),
        )
        for name, field in kind.model_fields.items()
    ]
    return sorted(fields, key=lambda each: each.written.last)


PREDICTION: Final = _fields_of(Prediction)
OUTCOME: Final = _fields_of(Outcome)


def output_fields(names: Container[str]) -> list[OutputField]:
    """Return the fields of outcomes if the names belong to an outcome, else the fields of predictions."""
    return OUTCOME if "predicted" in names else PREDICTION


def labels_in(output: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the predicted class of an output, and its truth if it has one, else None."""
    if "predicted" in output:
        return output["predicted"], output["label"]
    return output["label"], output.get("truth")


class Input(TypedDict, total=False):
    """An event or a label as `read_input` returns it. A label has no features and no text."""

    __pydantic_config__ = _STRICT  # type: ignore[misc]  # the way Pydantic configures a typed dictionary

    id: Required[EventId]
    features: Features | None
    text: str | None
    label: Scalar | None
    weight: Weight | None


_input: Final = TypeAdapter(Input).validator

read_input: Final = _input.validate_json
"""Reads an event or a label from bytes, as the models above accept it, into plain dictionaries."""

check_input: Final = _input.validate_python
"""Checks the fields of an event or a label from another format, as strictly."""

KINDS: Final[dict[str, type[Message]]] = {
    "event": Event,
    "label": Label,
    "prediction": Prediction,
    "outcome": Outcome,
}


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of a kind of message: event, label, prediction or outcome."""
    return {"$schema": GenerateJsonSchema.schema_dialect, **KINDS[kind].model_json_schema()}
