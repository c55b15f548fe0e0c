"""The latest predictions, outcomes and mistakes, with the records that they answer.

The loop only keeps references; records are parsed on request. A record is found by its id as long as it is
kept; after that, what is read is the example that waits for its label or for a correction.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import Any, Final

from perceptron_core.auto.explanation import OTHER_CLASSES
from service.mapping.decoder import Decoder
from service.messages.features import X
from service.messages.labels import Truth, log_odds_of
from service.messages.rejection import Rejection
from service.models.explanation import Contribution
from service.partition.examples import Example, LabelledPrediction, LearnedExamples
from service.stream.protocol import Output, Record

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


MISTAKES_KEPT: Final = 60
_OF_A_BATCH: Final = 12
_LARGE_BATCH: Final = 100
_PAUSE_SECONDS: Final = 0.1
"""Between two large batches that are looked at: they come faster than anybody can watch."""
_MOST_BYTES: Final = 8_000_000
"""Of the features of the mistakes kept, estimated: few, should they be huge."""
_FEATURE_BYTES: Final = 128
_MOST_TERMS: Final = 6
_TEXT: Final = "text"
"""The feature of a text, or of each of its tokens."""


@dataclass(slots=True)
class Mistake:
    """A prediction that its label said to be wrong."""

    step: LabelledPrediction
    seconds: float
    """When it was learned; monotonic."""
    content: Mapping[str, Any] | None = None
    """`text` and `features` of the event, as far as they are known; None before somebody looks."""
    terms: Sequence[Contribution] | None = None
    """The features that spoke most for the prediction when somebody first looked; None before that."""

    @property
    def sureness(self) -> float:
        """By which mistakes are sorted: the distance from the decision, or the score of several classes."""
        return log_odds_of(self.step.predicted, self.step.score)


class RecentAnswers:
    """The latest answers and mistakes of one partition, written by the loop and read by others.

    Parameters
    ----------
    topic
        Of predictions and outcomes: other outputs are not for showing.

    Attributes
    ----------
    decoder : Decoder or None
        Reads events; None before a partition is open.

    """

    def __init__(self, topic: str) -> None:
        self.decoder: Decoder | None = None
        self._topic = topic
        self._answers: deque[tuple[Output, float]] = deque(maxlen=ANSWERS_KEPT)
        self._records: deque[Record] = deque()
        self._size_bytes = 0
        self._steps: deque[LabelledPrediction] = deque(maxlen=ANSWERS_KEPT)
        self._mistakes: deque[tuple[Mistake, int]] = deque()
        self._mistakes_bytes = 0
        self._looked_seconds = -_PAUSE_SECONDS
        self._lock = threading.Lock()

    def observe(self, learned: LearnedExamples, seconds: float = 0.0) -> None:
        """Record labelled predictions, learned at a time (monotonic seconds), and the surest mistakes."""
        with self._lock:
            self._steps.extend(learned[-ANSWERS_KEPT:])
        if len(learned) >= _LARGE_BATCH and seconds < self._looked_seconds + _PAUSE_SECONDS:
            return
        self._looked_seconds = seconds
        places = [place for place, is_mistake in enumerate(learned.mistakes) if is_mistake]
        if places:
            sureness = learned.log_odds()
            for place in sorted(nlargest(_OF_A_BATCH, places, key=sureness.__getitem__)):
                self._keep(learned[place], seconds)
        for each in learned.corrections[-_OF_A_BATCH:]:
            if each.predicted != each.truth:
                step = LabelledPrediction(each.example, each.truth, 0, None, learned.has_log_odds)
                self._keep(step, seconds)

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
        return _contents(records, self.decoder) if self.decoder else {}

    def latest(
        self, contents: Mapping[str, Mapping[str, Any]], find: Callable[[str], Example | None]
    ) -> list[Recent]:
        """List the latest answers, newest first; the parameters are those of `surest`."""
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

    def _keep(self, step: LabelledPrediction, seconds: float) -> None:
        size_bytes = _size_of(step.x)
        with self._lock:
            self._mistakes.append((Mistake(step, seconds), size_bytes))
            self._mistakes_bytes += size_bytes
            while len(self._mistakes) > MISTAKES_KEPT or self._mistakes_bytes > _MOST_BYTES:
                self._mistakes_bytes -= self._mistakes.popleft()[1]

    def surest(
        self, contents: Mapping[str, Mapping[str, Any]], find: Callable[[str], Example | None]
    ) -> list[Mistake]:
        """List the mistakes kept, the surest first, as they are known now: a label may have been corrected.

        Parameters
        ----------
        contents
            What events say, by id.
        find
            Returns the example of an event id; None if it is not kept any more.

        """
        with self._lock:
            kept = [mistake for mistake, _ in self._mistakes]
        found = {}
        for mistake in kept:
            example = find(mistake.step.event_id)
            if example is not None and example.truth is not None:
                mistake.step = mistake.step._replace(truth=example.truth)
            step = mistake.step
            mistake.content = contents.get(step.event_id) or mistake.content or content_of(step.x)
            if step.truth != step.predicted:
                found[step.event_id] = mistake
        return sorted(found.values(), key=lambda each: -each.sureness)


def _predicted_by(source: LabelledPrediction | Example | None) -> dict[str, Any]:
    """Return the fields of a learned prediction that its outcome does not have."""
    if source is None:
        return {}
    fields = {name: getattr(source, name, None) for name in ("score", "probability", "decision")}
    return {name: value for name, value in fields.items() if value is not None}


def _contents(records: Sequence[Record], decoder: Decoder) -> dict[str, dict[str, Any]]:
    """Read the events among these records: what they say, by id."""
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


def spoke_for(predicted: Truth, contributions: Iterable[Contribution]) -> list[Contribution]:
    """Return the largest contributions to a prediction; of two classes, those to False are negative."""
    sign = -1.0 if predicted is False else 1.0
    found = [each for each in contributions if sign * each.contribution > 0 and each.feature != OTHER_CLASSES]
    return found[:_MOST_TERMS]


def content_of(x: X) -> dict[str, Any]:
    """Return what can be read of the features of an event whose record is gone: its text, or the words of it.

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


def _size_of(x: X) -> int:
    return sum(_FEATURE_BYTES + (len(value) if isinstance(value, str) else 0) for value in x.values())
