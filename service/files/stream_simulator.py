"""Play a file of examples as a live stream: without end, with late labels and drifting meanings."""

from __future__ import annotations

import json
from typing import Any

from service.messages.labels import LabelValue, UnknownLabelError, Vocabulary

_as_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
_as_ascii = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


class StreamSimulator:
    """Changes the messages of a file for a stream that they are sent to more than once.

    A message that is no JSON object passes unchanged, for decoding to refuse.

    Parameters
    ----------
    vocabulary
        How the messages write labels.
    drift_every
        Number of messages after which the meaning of the labels changes: each class takes the name of
        the next one, of two classes each that of the other. 0: never.

    Attributes
    ----------
    id_suffix : str
        Put behind each id: an event with an id that was there before would be the same event again.

    """

    def __init__(self, vocabulary: Vocabulary, drift_every: int = 0) -> None:
        self._vocabulary = vocabulary
        self._drift_every = drift_every
        self._played = 0
        self.id_suffix = ""

    def play(self, message: bytes) -> bytes:
        """Return the message with this round's id suffix and the drifted label."""
        turns = self._played // self._drift_every if self._drift_every else 0
        self._played += 1
        fields = _fields(message)
        if not fields or not (self.id_suffix or self._drift_every):
            return message
        if isinstance(fields.get("id"), str):
            fields["id"] += self.id_suffix
        if self._drift_every and "label" in fields:
            fields["label"] = self._turned(fields["label"], turns)
        return _encode(fields)

    def _turned(self, label: LabelValue, turns: int) -> LabelValue:
        """Return a class's name after so many changes; a label that denotes none stays as it is."""
        vocabulary = self._vocabulary
        try:
            truth = vocabulary.truth(label)
        except (UnknownLabelError, TypeError):  # TypeError: a list, say, which no dictionary looks up
            return label
        if isinstance(truth, bool):
            return vocabulary.spell(truth ^ bool(turns % 2), vocabulary.first_spelling())
        classes = vocabulary.classes
        return classes[(classes.index(truth) + turns) % len(classes)]


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
    """Read a message's fields; none if it is no JSON object."""
    try:
        fields = json.loads(message)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}
