"""Change the messages of a file that is sent as a live stream: new ids in each round, late labels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

_as_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
_as_ascii = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def named_anew(message: bytes, place: Sequence[str], suffix: str) -> bytes:
    """Put a suffix after the id of a message: an event whose id was there before would be the same one.

    What has no id at that place passes unchanged, for decoding to refuse.

    >>> named_anew(b'{"order":{"id":7}}', ["order", "id"], "@2")
    b'{"order":{"id":"7@2"}}'
    """
    fields = _fields(message)
    holder: Any = fields
    for key in place[:-1]:
        holder = holder.get(key) if isinstance(holder, dict) else {}
    known = holder.get(place[-1]) if isinstance(holder, dict) else None
    if not isinstance(known, (str, int)):
        return message
    holder[place[-1]] = f"{known}{suffix}"
    return _encode(fields)


def split_label(message: bytes) -> tuple[bytes, bytes | None]:
    """Split a labelled event into the event and its label, as two messages.

    >>> split_label(b'{"id":"a","text":"win","label":true}')
    (b'{"id":"a","text":"win"}', b'{"id":"a","label":true}')
    >>> split_label(b'{"id":"a","label":true}')  # a label already: there is no event to take it from
    (b'{"id":"a","label":true}', None)
    """
    fields = _fields(message)
    if not fields.keys() >= {"id", "label"} or fields.keys().isdisjoint({"features", "text"}):
        return message, None
    label = {"id": fields["id"], "label": fields.pop("label")}
    return _encode(fields), _encode(label)


def _encode(fields: dict[str, Any]) -> bytes:
    """Write a message; one with a lone surrogate, which UTF-8 has no bytes for, in ASCII with escapes."""
    try:
        return _as_text(fields).encode()
    except UnicodeEncodeError:
        return _as_ascii(fields).encode()


def _fields(message: bytes) -> dict[str, Any]:
    """Read a message's fields; none if it is not a JSON object."""
    try:
        fields = json.loads(message)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}
