"""The latest predictions and outcomes, with the records that they answer.

The loop only keeps references; records are parsed on request. A record is found by its id as long as it is
kept; after that, what is read is the example that waits for its label or for a correction.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from service.messages.decoder import Decoder
from service.messages.rejection import Rejection
from service.monitoring.recent_mistakes import RecentMistakes, content_of
from service.partition.examples import Example, LearnedExamples
from service.partition.processed import Step
from service.stream import Output, Record

ANSWERS_KEPT: Final = 12
_RECORDS_KEPT: Final = 200
_RECORDS_BYTES: Final = 1_000_000
"""Of the values of the records kept: few, should they be huge."""


@dataclass(frozen=True, slots=True)
class Recent:
    """One answer: a prediction, or its outcome once the label came."""

    answer: Mapping[str, Any]
    """A `Prediction` or an `Outcome`, as written; an outcome with what is known of its prediction."""
    content: Mapping[str, Any]
    """`text` and `features` of the event, as far as they are known."""
    seconds: float = 0.0
    """When it was committed; monotonic."""


class RecentAnswers:
    """The latest answers of one partition, written by the loop and read by others.

    Parameters
    ----------
    topic
        Of predictions and outcomes: other outputs are not for showing.

    Attributes
    ----------
    decoder : Decoder or None
        Reads events of another schema than the service's own; None if there are none.
    mistakes : RecentMistakes
        The latest mistakes.

    """

    def __init__(self, topic: str) -> None:
        self.decoder: Decoder | None = None
        self.mistakes = RecentMistakes()
        self._topic = topic
        self._answers: deque[tuple[Output, float]] = deque(maxlen=ANSWERS_KEPT)
        self._records: deque[Record] = deque()
        self._size_bytes = 0
        self._steps: deque[Step] = deque(maxlen=ANSWERS_KEPT)
        self._lock = threading.Lock()

    def observe(self, learned: LearnedExamples, seconds: float = 0.0) -> None:
        """Record labelled predictions, learned at a time (monotonic seconds)."""
        with self._lock:
            self._steps.extend(learned[-ANSWERS_KEPT:])
        self.mistakes.observe(learned, seconds)

    def note(self, records: Sequence[Record], outputs: Sequence[Output], seconds: float = 0.0) -> None:
        """Record a batch, committed at a time (monotonic seconds)."""
        answers = [(each, seconds) for each in outputs[-2 * ANSWERS_KEPT :] if each.topic == self._topic]
        with self._lock:
            self._answers.extend(answers)
            for record in records[-_RECORDS_KEPT:]:
                self._records.append(record)
                self._size_bytes += len(record.value or b"")
            while len(self._records) > _RECORDS_KEPT or self._size_bytes > _RECORDS_BYTES:
                self._size_bytes -= len(self._records.popleft().value or b"")

    def contents(self) -> dict[str, dict[str, Any]]:
        """Return what the events of the records kept say, by id, oldest first."""
        with self._lock:
            records = [*self._records]
        return _decoded(records, self.decoder) if self.decoder else _contents(records)

    def latest(
        self,
        contents: Mapping[str, Mapping[str, Any]] | None = None,
        find: Callable[[str], Example | None] = lambda _: None,
    ) -> list[Recent]:
        """List the latest answers, newest first; the parameters are those of `RecentMistakes.surest`."""
        contents = self.contents() if contents is None else contents
        with self._lock:
            steps, outputs = [*self._steps], [*self._answers]
        learned = {step.event_id: step for step in steps}
        answers = [(json.loads(output.value or b"{}"), seconds) for output, seconds in reversed(outputs)]
        found = []
        for answer, seconds in answers:
            source = learned.get(answer["id"]) or find(answer["id"])
            content = contents.get(answer["id"]) or (content_of(source.x) if source else {})
            found.append(Recent(_predicted_by(source) | answer, content, seconds))
        return found


def _predicted_by(source: Step | Example | None) -> dict[str, Any]:
    """Return the fields of a learned prediction that its outcome does not have."""
    if source is None:
        return {}
    fields = {name: getattr(source, name, None) for name in ("probability", "decision")}
    return {"score": source.score, **fields}


def _decoded(records: Sequence[Record], decoder: Decoder) -> dict[str, dict[str, Any]]:
    """Read the events among these records of any schema: what they say, by id."""
    found = {}
    for record in records:
        try:
            message = decoder.decode(record.value, record)
        except Rejection:
            continue
        if not message.is_label:
            content = {"text": message.text, "features": dict(message.features or {})}
            found[message.id] = {name: value for name, value in content.items() if value}
    return found


def _contents(records: Sequence[Record]) -> dict[str, dict[str, Any]]:
    """Read the events among these records of the own schema: what they say, by id."""
    found = {}
    for record in records:
        try:
            fields = json.loads(record.value or b"")
        except (ValueError, RecursionError):
            continue
        if isinstance(fields, dict) and isinstance(fields.get("id"), str):
            content = {name: fields[name] for name in ("text", "features") if fields.get(name)}
            if content:
                found[fields["id"]] = content
    return found
