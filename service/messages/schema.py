"""The messages of the stream as Pydantic models: strict, finite, nothing unknown let through.

In: JSON as others wrote it. Out: the one definition that decoding, the HTTP API and
`perceptron schema` share.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Required, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from perceptron_core.validation import MAX_MAGNITUDE
from service.messages.labels import LabelValue

MAX_ID_LENGTH: Final = 256

EventId = Annotated[
    str,
    Field(min_length=1, max_length=MAX_ID_LENGTH, description="Names the event; its label refers to it."),
]
Number = Annotated[float, Field(allow_inf_nan=False, ge=-MAX_MAGNITUDE, le=MAX_MAGNITUDE)]
Scalar = Annotated[Number | bool | str, Field(union_mode="left_to_right")]
"""Numbers first, as most values are; being strict, a number takes no boolean and no text for itself."""
Features = dict[str, Scalar]

Fields = tuple[str, Features | None, str | None, LabelValue | None]
"""Id, features, text and label of a message that was read."""

_STRICT: Final = ConfigDict(strict=True, extra="forbid", frozen=True, hide_input_in_errors=True)


_EVENT_TIME: Final = "The event's timestamp: milliseconds since the Unix epoch."


class Message(BaseModel):
    """What all messages have in common: strictness."""

    model_config = _STRICT


class UnlabelledEvent(Message):
    """Something to be classified, and nothing said about its class."""

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
    features: Features | None = Field(
        None, description="Numbers as they are, booleans as 0/1, strings as categories."
    )
    text: str | None = Field(None, description="Split into words or character n-grams by the service.")

    @model_validator(mode="after")
    def _has_something_to_go_by(self) -> Self:
        if self.features is None and self.text is None:
            raise PydanticCustomError("missing", "an event needs features or text (either may be empty)")
        return self


class Event(UnlabelledEvent):
    """Something to be classified, with its label if that is known already."""

    label: Scalar | None = Field(None, description="true/false, 1/-1, 1/0 or a configured class name.")


class Label(Message):
    """The truth about an event, coming later or earlier than the event itself."""

    id: EventId
    label: Scalar = Field(description="true/false, 1/-1, 1/0 or a configured class name.")


class Prediction(Message):
    """The class predicted for an event, before the model learned from it."""

    id: EventId
    label: LabelValue = Field(description="The predicted class, in the events' own label vocabulary.")
    score: float = Field(description="Signed distance from the decision, unscaled: w·x + b.")
    probability: float | None = Field(
        None, ge=0, le=1, description="Of the predicted class, where the score is a log-odds."
    )
    updates: int = Field(ge=0, description="Updates the model had made when it predicted.")
    truth: LabelValue | None = Field(None, description="The label, where it was known already.")
    mistake: bool | None = Field(None, description="Whether `label` and `truth` differ.")
    event_time_ms: int | None = Field(None, description=_EVENT_TIME)


class Outcome(Message):
    """How a prediction turned out, when the label came later."""

    id: EventId
    label: LabelValue = Field(description="The truth.")
    predicted: LabelValue = Field(description="The class that had been predicted.")
    mistake: bool = Field(description="Whether the two differ.")
    label_delay_seconds: float = Field(description="Event time from the event to its label.")
    event_time_ms: int | None = Field(None, description=_EVENT_TIME)


class Input(TypedDict, total=False):
    """An event or a label as it came: what `read_input` gives. A label has no features and no text."""

    __pydantic_config__ = _STRICT  # type: ignore[misc]  # the way Pydantic configures a typed dictionary

    id: Required[EventId]
    features: Features | None
    text: str | None
    label: Scalar | None


_input: Final = TypeAdapter(Input).validator

read_input: Final = _input.validate_json
"""Reads an event or a label from bytes: what the models above take, with nothing built around the values."""

check_input: Final = _input.validate_python
"""Checks the fields of an event or a label that were found elsewhere, as strictly."""

KINDS: Final[dict[str, type[Message]]] = {
    "event": Event,
    "label": Label,
    "prediction": Prediction,
    "outcome": Outcome,
}


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of a kind of message: event, label, prediction or outcome."""
    return {"$schema": GenerateJsonSchema.schema_dialect, **KINDS[kind].model_json_schema()}
