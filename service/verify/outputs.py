"""Read predictions and outcomes, and find contradictions within one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from math import isclose, isfinite, tanh  # noqa: TID251  apart from what the service computes with
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from service.messages.labels import TrueLabel, UnknownLabelError, Vocabulary
from service.messages.schema import OUTCOME, PREDICTION, Outcome, Prediction, labels_in, output_fields
from service.stream.protocol import Record

_MAX_LENGTH: Final = 200
_NUMBERS: Final = tuple({field.name for field in PREDICTION + OUTCOME if field.types == (float,)})


class OutputMessage(NamedTuple):
    """A prediction or an outcome."""

    event_id: str
    predicted: TrueLabel
    truth: TrueLabel | None
    delay_seconds: float | None
    """The truth of an outcome; None for a prediction."""
    event_time_ms: int | None
    contradiction: str = ""
    """The contradiction within the message; empty if there is none."""
    is_decided: bool = False
    """Whether a prediction has a decision."""

    @property
    def kind(self) -> str:
        """Return `prediction` or `outcome`."""
        return "prediction" if self.delay_seconds is None else "outcome"

    @property
    def mistake(self) -> bool:
        """Return whether the truth is known and differs from the prediction."""
        return self.truth is not None and self.truth != self.predicted


def read_output(record: Record, vocabulary: Vocabulary) -> OutputMessage | None:
    """Read a record of the predictions topic; None if it is neither a prediction nor an outcome."""
    names: tuple[str, ...] = ()

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal names
        names = tuple(name for name, _ in pairs)  # with repeated names
        return dict(pairs)

    try:
        fields = json.loads((record.value or b"").decode(), object_pairs_hook=note)
        event_id: str = fields["id"]
        delay = float(fields["label_delay_seconds"]) if "predicted" in fields else None
        key, _ = event_id.encode(), float(fields.get("score", 0.0) if delay is not None else fields["score"])
        label, truth_label = labels_in(fields)
    except (ArithmeticError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    predicted: TrueLabel = False  # it still counts as the prediction of its event
    truth, wrong = None, "unknown class as label"
    with suppress(UnknownLabelError, TypeError):
        predicted = vocabulary.truth(label)
        truth = None if truth_label is None else vocabulary.truth(truth_label)
        wrong = "" if record.key == key else "key and id differ"
    wrong = wrong or _contradiction(fields, predicted, truth) or _fault_of_form(names, fields)
    if record.headers:
        wrong = wrong or "unexpected headers"
    time_ms = fields.get("event_time_ms")
    is_decided = delay is None and fields.get("decision") is not None
    return OutputMessage(
        event_id, predicted, truth, delay, time_ms if type(time_ms) is int else None, wrong, is_decided
    )


def _contradiction(fields: Mapping[str, Any], predicted: TrueLabel, truth: TrueLabel | None) -> str:
    """Return the field that does not follow from the others; empty if all do."""
    mistake = fields.get("mistake")
    if mistake is not (None if truth is None else predicted != truth):
        return f"mistake is {json.dumps(mistake)}, which contradicts its labels"
    probability, score = fields.get("probability", 0.5), fields.get("score")
    if "probability" in fields and type(score) is type(probability) is float:
        log_odds = abs(score) if isinstance(predicted, bool) else score  # the score of True, of two classes
        if not isclose(probability, 0.5 + 0.5 * tanh(log_odds / 2), abs_tol=1e-9):
            return f"probability is {probability}, which contradicts its score"
    threshold, is_decided = fields.get("threshold"), fields.get("decision") is not None
    reached = probability if "probability" in fields else score
    if type(threshold) is type(reached) is float:
        most = reached if "probability" in fields or not isinstance(predicted, bool) else abs(reached)
        if not is_decided or most < threshold - 1e-9 * max(1.0, abs(threshold)):
            return f"threshold is {threshold}, which contradicts its decision"
    return ""


def _fault_of_form(names: tuple[str, ...], fields: Mapping[str, Any]) -> str:
    """Return what is wrong with the names, order or types of the fields; empty if they are valid."""
    if names != _wanted(names):
        return f"unexpected fields or order: {', '.join(names)}"[:_MAX_LENGTH]
    try:
        (Outcome if "predicted" in fields else Prediction).model_validate(fields)
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
    else:
        name = next((name for name in _NUMBERS if not isfinite(fields.get(name) or 0.0)), "")
        name = name or ("probability" if fields.get("probability", 0.5) is None else "")
    return f"invalid {name}: {json.dumps(fields.get(name))}"[:_MAX_LENGTH] if name else ""


@lru_cache(maxsize=32)
def _wanted(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the fields, in order, that an output with these names should have."""
    there = {*names, "event_time_ms"}  # optional in the schema, but always written
    return tuple(each.name for each in output_fields(names) if each.is_required or each.name in there)
