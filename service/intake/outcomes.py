"""The predictions and rejections in the outputs of a committed batch."""

from __future__ import annotations

import json
from collections.abc import Sequence

from service.intake.tickets import Prediction
from service.messages.dead_letter import MESSAGE, REASON, SOURCE
from service.messages.rejection import Reason, Rejection
from service.stream import Output, Record


def prediction_in(outputs: Sequence[Output], topic: str, event_id: str) -> Prediction | None:
    """Return the first prediction of an event; its outcome, which has the same key, is none."""
    key = event_id.encode()
    for output in outputs:
        if output.key == key and output.topic == topic:
            fields: Prediction = json.loads(output.value or b"{}")
            if "score" in fields:
                return fields
    return None


def rejection_in(outputs: Sequence[Output], record: Record) -> Rejection | None:
    """Return why a record became a dead letter, if it did."""
    source = tuple(str(each).encode() for each in record[: len(SOURCE)])
    for output in outputs:
        headers = dict(output.headers)
        if tuple(headers.get(name) for name in SOURCE) == source:
            return Rejection(Reason(headers[REASON].decode()), headers[MESSAGE].decode())
    return None
