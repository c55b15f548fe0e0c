"""Parse written predictions and outcomes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from math import isclose, tanh  # noqa: TID251  apart from what the service computes with
from sys import float_info
from types import NoneType
from typing import Any, Final, NamedTuple

from service.audit.findings import Place
from service.messages.labels import Truth, UnknownLabelError, Vocabulary
from service.messages.schema import OUTCOME, PREDICTION, answer_fields, labels_in
from service.messages.trace import trace_headers, trace_of
from service.stream import Record


class Found(NamedTuple):
    """A prediction or an outcome."""

    place: Place
    event_id: str
    predicted: Truth
    truth: Truth | None
    delay_seconds: float | None
    """Of an outcome; None for a prediction."""
    event_time_ms: int | None
    """Of its event; None in messages of earlier releases."""
    contradiction: str
    """What in the message contradicts itself; empty if nothing does."""
    fields: tuple[str, ...] = ()
    """Their names, in order."""
    has_decision: bool = False

    @property
    def is_outcome(self) -> bool:
        """Return whether this is an outcome."""
        return self.delay_seconds is not None

    @property
    def mistake(self) -> bool:
        """Return whether the truth is known and another one."""
        return self.truth is not None and self.truth != self.predicted


_LONGEST: Final = 200

_TYPES: Final = {
    field.name: (*field.types, *((NoneType,) if field.written.nullable else ()))
    for field in PREDICTION + OUTCOME
}


def read_output(record: Record, vocabulary: Vocabulary) -> Found | None:
    """Read a record of the predictions topic; None if it is neither a prediction nor an outcome."""
    try:
        fields, names = _read_object(record.value)
        event_id: str = fields["id"]
        is_outcome = "predicted" in fields
        number = float(fields["label_delay_seconds" if is_outcome else "score"])
        key, event_time_ms = event_id.encode(), fields.get("event_time_ms")
        label, truth_label = labels_in(fields)
    except (ArithmeticError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    names, fault = _form(names)
    decided = fields.get("decision") is not None
    predicted: Truth = False  # it still answers its event, whatever its label is
    truth, wrong = None, "its label is of no class"
    with suppress(UnknownLabelError, TypeError):
        predicted = vocabulary.truth(label)
        truth = None if truth_label is None else vocabulary.truth(truth_label)
        wrong = "" if record.key == key else "its key is not its id"
    wrong = wrong or _contradiction(fields, predicted, truth, fault or _fault_of_values(record, fields))
    delay = number if is_outcome else None
    return Found(Place.of(record), event_id, predicted, truth, delay, event_time_ms, wrong, names, decided)


def _contradiction(fields: Mapping[str, Any], predicted: Truth, truth: Truth | None, fault: str) -> str:
    """Return which field does not follow from others; else the fault that was found before."""
    mistake = fields.get("mistake")
    if mistake != (None if truth is None else predicted != truth):
        return f"it says mistake: {json.dumps(mistake)}, which does not follow from its labels"
    if not fault and "probability" in fields and not _is_probable(predicted, fields):
        return f"it says probability: {fields['probability']}, which does not follow from its score"
    return fault


def _read_object(value: bytes | None) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Read an object, and the names of its fields as they are written, one twice if it is there twice."""
    names: tuple[str, ...] = ()

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal names
        names = tuple(name for name, _ in pairs)
        return dict(pairs)

    return json.loads((value or b"").decode(), object_pairs_hook=note), names


@lru_cache(maxsize=32)
def _form(names: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Return the names of a message's fields, one tuple for all that are the same; and what is wrong."""
    wanted = (field.name for field in answer_fields(names) if field.is_required or field.name in names)
    return names, "" if names == tuple(wanted) else f"its fields are {', '.join(names)}"[:_LONGEST]


def _fault_of_values(record: Record, fields: Mapping[str, Any]) -> str:
    """Return how values or headers differ from what the service writes; empty if they do not."""
    if record.headers != trace_headers(trace_of(record.headers)):
        return "it has headers other than a trace context"
    for name, value in fields.items():
        if not _can_be(value, _TYPES[name]):
            return f"its {name} is {json.dumps(value)}"[:_LONGEST]
    return ""


def _can_be(value: Any, types: tuple[type, ...]) -> bool:  # noqa: ANN401 - any JSON
    """Return whether a field of these types may have a value; a whole number is a count."""
    if types == (float,):
        return type(value) in {int, float} and abs(value) <= float_info.max
    return type(value) in types and (types != (int,) or value >= 0)


def _is_probable(predicted: Truth, fields: Mapping[str, Any]) -> bool:
    """Return whether the probability is that of the log-odds: of two classes the score is that of True."""
    log_odds = abs(fields["score"]) if isinstance(predicted, bool) else fields["score"]
    return isclose(fields["probability"], 0.5 + 0.5 * tanh(log_odds / 2), abs_tol=1e-9)
