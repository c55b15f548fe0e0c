"""The latest predictions, outcomes and mistakes, with the records of their events.

The loop only keeps references; records are parsed on request. While a record is kept, it is found by its id;
after that, the pending event is read, which waits for its label or for a correction.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from service.messages.decoder import Decoder
from service.messages.features import X
from service.messages.rejection import Rejection
from service.partition.examples import Example, probability_of
from service.stream.protocol import Output, Record

OUTPUTS_KEPT: Final = 12
MISTAKES_KEPT: Final = 60
_LOOKED_AT: Final = 500
"""Latest outputs of a batch that are searched for mistakes."""
_MISTAKE: Final = b'"mistake":true'
"""Part of the JSON of a mistake and of no other output: quotes within texts have a backslash."""
_RECORDS_KEPT: Final = 200
_RECORDS_BYTES: Final = 1_000_000
"""Largest size of the values of the kept records."""
_TEXT: Final = "text"
"""The feature of a text, or of each of its tokens."""


@dataclass(frozen=True, slots=True)
class Recent:
    """A prediction, or its outcome after the label came."""

    fields: Mapping[str, Any]
    """A `Prediction` or an `Outcome` as written; an outcome includes the known fields of its prediction."""
    content: Mapping[str, Any]
    """`text` and `features` of the event, if known."""
    seconds: float = 0.0
    """Time of the commit, monotonic."""


class RecentOutputs:
    """The latest outputs and mistakes of one partition, written by the loop and read by others.

    Parameters
    ----------
    topic
        Topic of predictions and outcomes; other outputs are ignored.

    Attributes
    ----------
    decoder : Decoder or None
        Reads events; None before a partition is open.

    """

    def __init__(self, topic: str) -> None:
        self.decoder: Decoder | None = None
        self._topic = topic
        self._outputs: deque[tuple[Output, float]] = deque(maxlen=OUTPUTS_KEPT)
        self._mistakes: deque[tuple[Output, float]] = deque(maxlen=MISTAKES_KEPT)
        self._records: deque[Record] = deque()
        self._size_bytes = 0
        self._lock = threading.Lock()

    def note(self, records: Sequence[Record], outputs: Sequence[Output], seconds: float = 0.0) -> None:
        """Record a batch, committed at a time (monotonic seconds)."""
        found = [(output, seconds) for output in outputs[-_LOOKED_AT:] if output.topic == self._topic]
        mistakes = [each for each in found if _MISTAKE in (each[0].value or b"")]
        with self._lock:
            self._outputs.extend(found[-OUTPUTS_KEPT:])
            self._mistakes.extend(mistakes)
            for record in records[-_RECORDS_KEPT:]:
                self._records.append(record)
                self._size_bytes += len(record.value or b"")
            while len(self._records) > _RECORDS_KEPT or self._size_bytes > _RECORDS_BYTES:
                self._size_bytes -= len(self._records.popleft().value or b"")

    def contents(self) -> dict[str, dict[str, Any]]:
        """Return text and features of the events of the kept records, by id, oldest first."""
        with self._lock:
            records, decoder = [*self._records], self.decoder
        contents: dict[str, dict[str, Any]] = {}
        if decoder is None:
            return contents
        for record in records:
            with suppress(Rejection):
                message = decoder.decode(record.value, record)
                if not message.is_label:
                    content = {"text": message.text, "features": dict(message.features or {})}
                    contents[message.id] = {name: value for name, value in content.items() if value}
        return contents

    def latest(
        self, find: Callable[[str], Example | None], *, has_log_odds: bool
    ) -> tuple[list[Recent], list[Recent]]:
        """List the latest outputs, and the latest mistakes that no label has corrected, newest first.

        Parameters
        ----------
        find
            Returns the example of an event id; None if it is no longer kept.
        has_log_odds
            Whether scores are log-odds, so that there are probabilities.

        """
        with self._lock:
            outputs, mistakes = [*self._outputs], [*self._mistakes]
        contents = self.contents()

        def read(kept: Iterable[tuple[Output, float]], *, are_mistakes: bool) -> list[Recent]:
            rows = []
            for output, seconds in kept:
                fields = json.loads(output.value or b"{}")
                example = find(fields["id"])
                if example is not None:
                    fields = _predicted_by(example, has_log_odds=has_log_odds) | fields
                content = contents.get(fields["id"]) or (content_of(example.x) if example else {})
                if not (are_mistakes and example is not None and example.truth == example.predicted):
                    rows.append(Recent(fields, content, seconds))
            return rows

        return read(reversed(outputs), are_mistakes=False), read(reversed(mistakes), are_mistakes=True)


def _predicted_by(example: Example, *, has_log_odds: bool) -> dict[str, Any]:
    """Return the fields of a prediction that its outcome lacks."""
    fields = {"score": example.score, "decision": example.decision}
    if has_log_odds:
        fields["probability"] = probability_of(example.predicted, example.score)
    return {name: value for name, value in fields.items() if value is not None}


def content_of(x: X) -> dict[str, Any]:
    """Return the contents of an event whose record is gone: its features, and its text or the words of it.

    >>> content_of({"length": 3.0, "lang=en": 1.0, "text=win": 1.0, "text=money": 1.0})
    {'text': 'win money', 'features': {'length': 3.0, 'lang': 'en'}}
    """
    words: list[str] = []
    content: dict[str, Any] = {"text": "", "features": {}}
    for name, value in x.items():
        category, is_category, word = str(name).partition("=")
        if isinstance(value, str) and name == _TEXT:
            content["text"] = value
        elif not is_category or value != 1:
            content["features"][f"#{name}" if isinstance(name, int) else str(name)] = value
        elif category == _TEXT:
            words += [word] if " " not in word else []
        else:
            content["features"][category] = word
    content["text"] = content["text"] or " ".join(words)
    return {name: value for name, value in content.items() if value}
