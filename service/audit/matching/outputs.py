"""Parse written predictions and outcomes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isclose, isfinite, tanh  # noqa: TID251  apart from what the service computes with
from typing import Any, Final, NamedTuple

from service.audit.findings import Place
from service.messages.labels import Truth, UnknownLabelError, Vocabulary
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

    @property
    def is_outcome(self) -> bool:
        """Return whether this is an outcome."""
        return self.delay_seconds is not None

    @property
    def mistake(self) -> bool:
        """Return whether the truth is known and another one."""
        return self.truth is not None and self.truth != self.predicted


_LONGEST: Final = 200

_TRUTH: Final = ("truth", "mistake")
_PREDICTION: Final = ("id", "label", "score", "updates")
_PROBABLE: Final = ("id", "label", "score", "probability", "updates")
_OUTCOME: Final = ("id", "label", "predicted", "mistake", "label_delay_seconds")
_TIME: Final = ("event_time_ms",)
_FORMS: Final = frozenset(
    form[: len(form) - n] + time + form[len(form) - n :]
    for form, n in (
        *((form, 0) for form in (_PREDICTION, _PROBABLE, _OUTCOME)),
        *((form + _TRUTH, len(_TRUTH)) for form in (_PREDICTION, _PROBABLE)),
    )
    for time in ((), _TIME)
)
"""The fields of predictions and outcomes in their order; earlier releases did not write the event's time."""

_FORM_OF: Final = {form: form for form in _FORMS}
"""So that messages of the same form share its names."""


def read_output(record: Record, vocabulary: Vocabulary) -> Found | None:
    """Read a record of the predictions topic; None if it is neither a prediction nor an outcome."""
    try:
        fields, names = _read_object(record.value)
        event_id: str = fields["id"]
        if "predicted" in fields:
            predicted, truth = fields["predicted"], fields["label"]
            delay = float(fields["label_delay_seconds"])
        else:
            predicted, truth, delay = fields["label"], fields.get("truth"), None
            float(fields["score"]), int(fields["updates"])
        key, event_time_ms = event_id.encode(), fields.get("event_time_ms")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    try:
        said = vocabulary.truth(predicted)
        known = None if truth is None else vocabulary.truth(truth)
    except (UnknownLabelError, TypeError):
        # It still answers its event, whatever it says.
        wrong = "its label is of no class"
        return Found(
            Place(*record[:3]),
            event_id,
            predicted=False,
            truth=None,
            delay_seconds=delay,
            event_time_ms=event_time_ms,
            contradiction=wrong,
        )
    mistake, wrong = fields.get("mistake"), _fault_of_form(record, fields, names)
    if record.key != key:
        wrong = "its key is not its id"
    elif mistake != (None if known is None else said != known):
        wrong = f"it says mistake: {json.dumps(mistake)}, which does not follow from its labels"
    elif not wrong and "probability" in fields and not _is_probable(said, fields):
        wrong = f"it says probability: {fields['probability']}, which does not follow from its score"
    return Found(
        Place(*record[:3]), event_id, said, known, delay, event_time_ms, wrong, _FORM_OF.get(names, names)
    )


def _read_object(value: bytes | None) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Read an object, and the names of its fields as they are written, one twice if it is there twice."""
    names: tuple[str, ...] = ()

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal names
        names = tuple(name for name, _ in pairs)
        return dict(pairs)

    return json.loads((value or b"").decode(), object_pairs_hook=note), names


def _fault_of_form(record: Record, fields: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """Return how the form of a message differs from what the service writes; empty if it does not."""
    if names not in _FORMS:
        return f"its fields are {', '.join(names)}"[:_LONGEST]
    if record.headers != trace_headers(trace_of(record.headers)):
        return "it has headers other than a trace context"
    numbers = [fields.get(name, 0.0) for name in ("score", "probability", "label_delay_seconds")]
    if not all(type(number) in {int, float} and isfinite(number) for number in numbers):
        return "its score, its probability or its delay is not a finite number"
    counts = (fields.get("updates", 0), fields.get("event_time_ms", 0))
    if not all(type(count) is int and count >= 0 for count in counts):
        return "its updates or its event time is not a whole number"
    return ""


def _is_probable(predicted: Truth, fields: Mapping[str, Any]) -> bool:
    """Return whether the probability is that of the log-odds: of two classes the score is that of True."""
    log_odds = abs(fields["score"]) if isinstance(predicted, bool) else fields["score"]
    return isclose(fields["probability"], 0.5 + 0.5 * tanh(log_odds / 2), abs_tol=1e-9)
