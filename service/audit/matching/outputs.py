"""Predictions and outcomes as they were written. In: records. Out: what they say, or why they say nothing."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from service.audit.findings import Place
from service.messages.labels import Truth, UnknownLabelError, Vocabulary
from service.stream import Record


class Found(NamedTuple):
    """A prediction or an outcome."""

    place: Place
    event_id: str
    predicted: Truth
    truth: Truth | None
    delay_seconds: float | None
    """Of an outcome; None for a prediction."""
    contradiction: str
    """What in the message contradicts itself; empty if nothing does."""

    @property
    def mistake(self) -> bool:
        """Return whether the truth is known and another one."""
        return self.truth is not None and self.truth != self.predicted


def read_output(record: Record, vocabulary: Vocabulary) -> Found | None:
    """Read a record of the predictions topic; None if it is neither a prediction nor an outcome."""
    try:
        fields: dict[str, Any] = json.loads(record.value or b"")
        event_id: str = fields["id"]
        mistake = fields.get("mistake")
        if "predicted" in fields:
            predicted, truth = fields["predicted"], fields["label"]
            delay = float(fields["label_delay_seconds"])
        else:
            predicted, truth, delay = fields["label"], fields.get("truth"), None
            float(fields["score"]), int(fields["updates"])
        key = event_id.encode()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    try:
        said = vocabulary.truth(predicted)
        known = None if truth is None else vocabulary.truth(truth)
    except (UnknownLabelError, TypeError):
        # It still answers its event, whatever it says.
        return Found(Place(*record[:3]), event_id, False, None, delay, "its label is of no class")  # noqa: FBT003 - no class
    wrong = ""
    if record.key != key:
        wrong = "its key is not its id"
    elif mistake != (None if known is None else said != known):
        wrong = f"it says mistake: {json.dumps(mistake)}, which does not follow from its labels"
    return Found(Place(*record[:3]), event_id, said, known, delay, wrong)
