"""What both peers with River do with an event: validate, predict, learn, return."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter
from river.linear_model import Perceptron
from typing_extensions import TypedDict


class Event(TypedDict):
    """What is taken from the stream."""

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")  # type: ignore[misc] # as Pydantic wants it

    id: str
    features: dict[str, Annotated[float, Field(allow_inf_nan=False)]]
    label: bool


_read_event = TypeAdapter(Event).validator.validate_json


def predict(model: Perceptron, value: bytes) -> dict[str, Any]:
    """Predict an event, then learn from it."""
    event = _read_event(value)
    x, truth = event["features"], event["label"]
    probability = model.predict_proba_one(x)[True]
    label = probability > 0.5
    model.learn_one(x, truth)
    return {
        "id": event["id"],
        "label": label,
        "score": probability,
        "truth": truth,
        "mistake": label != truth,
    }
