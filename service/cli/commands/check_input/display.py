"""Print the result of reading a record, as lines or as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, Final

from service.messages.decoder import Incoming
from service.messages.labels import Vocabulary
from service.messages.rejection import Rejection
from service.visible import one_line

_FEATURES_SHOWN: Final = 20
_CHARS_SHOWN: Final = 200


def as_json(place: str, found: Incoming | Rejection) -> str:
    """Write one object: place and kind, then the fields that there are; all of them, at full length."""
    fields: dict[str, Any] = {"place": place}
    if isinstance(found, Rejection):
        fields |= {"kind": "dead letter", "reason": found.reason, "message": found.message}
    else:
        known = {
            "id": found.id,
            "features": found.features,
            "text": found.text,
            "label": found.label,
            "event_time_ms": found.timestamp_ms,
            "tenant": found.tenant,
        }
        fields["kind"] = _kind(found)
        fields |= {name: value for name, value in known.items() if value is not None}
    return json.dumps(fields, ensure_ascii=False)


def as_text(vocabulary: Vocabulary) -> Callable[[str, Incoming | Rejection], str]:
    """Return a function that lays a record out in lines; long texts and many features are cut."""

    def show(place: str, found: Incoming | Rejection) -> str:
        head = one_line(f"{place}: {_kind(found)}")
        return "\n".join([head, *(f"  {name:<12} {one_line(value)}" for name, value in _rows(found))])

    def _rows(found: Incoming | Rejection) -> Iterable[tuple[str, str]]:
        if isinstance(found, Rejection):
            yield found.reason, found.message
            return
        yield "id", found.id
        if found.features is not None:
            yield "features", _features(found.features)
        if found.text is not None:
            yield "text", _cut(found.text)
        if found.truth is not None:
            yield "label", vocabulary.name(found.truth)
        if found.timestamp_ms is not None:
            yield "event time", f"{found.timestamp_ms} ms"
        if found.tenant is not None:
            yield "tenant", found.tenant

    return show


def _kind(found: Incoming | Rejection) -> str:
    if isinstance(found, Rejection):
        return "dead letter"
    return "label" if found.is_label else "event"


def _features(features: dict[str, Any]) -> str:
    shown = [
        f"{name}={json.dumps(value, ensure_ascii=False)}"
        for name, value in islice(features.items(), _FEATURES_SHOWN)
    ]
    more = len(features) - len(shown)
    return ", ".join([*map(_cut, shown), *([f"and {more} more"] if more else [])]) or "none"


def _cut(text: str) -> str:
    return text if len(text) <= _CHARS_SHOWN else f"{text[:_CHARS_SHOWN]}…"
