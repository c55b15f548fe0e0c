"""The latest mistakes of one partition: events, what was predicted of them, and which features spoke for it.

The loop keeps references to the surest mistakes of each batch; each is explained once, when somebody looks,
by the model as it is then. `service.lab.surest_mistakes` keeps those of a whole run, explained before they
were learned.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import Any, Final

from perceptron_core.auto.explanation import OTHER_CLASSES
from service.messages.features import X
from service.messages.labels import Truth
from service.models.explanation import Contribution
from service.models.probability import log_odds_of
from service.partition.examples import Example, LearnedExamples
from service.partition.processed import Correction, Step

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

    step: Step
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


class RecentMistakes:
    """Mistakes that a partition made, written by the loop and read by others."""

    def __init__(self) -> None:
        self._kept: deque[tuple[Mistake, int]] = deque()
        self._size_bytes = 0
        self._seconds = -_PAUSE_SECONDS
        self._lock = threading.Lock()

    def observe(self, learned: LearnedExamples, seconds: float) -> None:
        """Keep the surest mistakes of a batch, learned at a time (monotonic seconds)."""
        if len(learned) >= _LARGE_BATCH and seconds < self._seconds + _PAUSE_SECONDS:
            return
        self._seconds = seconds
        if learned.n_mistakes:
            scores, predicted = learned.scores(), learned.predictions()
            places = [place for place, is_mistake in enumerate(learned.mistakes()) if is_mistake]
            sureness = {place: log_odds_of(predicted[place], scores[place]) for place in places}
            for place in sorted(nlargest(_OF_A_BATCH, places, key=sureness.__getitem__)):
                self._keep(learned[place], seconds)
        for each in learned.corrections[-_OF_A_BATCH:]:
            if each.predicted != each.truth:
                self._keep(_step_of(each), seconds)

    def _keep(self, step: Step, seconds: float) -> None:
        size_bytes = _size_of(step.x)
        with self._lock:
            self._kept.append((Mistake(step, seconds), size_bytes))
            self._size_bytes += size_bytes
            while len(self._kept) > MISTAKES_KEPT or self._size_bytes > _MOST_BYTES:
                self._size_bytes -= self._kept.popleft()[1]

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
            kept = [mistake for mistake, _ in self._kept]
        found = {}
        for mistake in kept:
            step, example = mistake.step, find(mistake.step.event_id)
            if example is not None and example.truth is not None:
                step.truth = example.truth
            mistake.content = contents.get(step.event_id) or mistake.content or content_of(step.x)
            if step.truth != step.predicted:
                found[step.event_id] = mistake
        return sorted(found.values(), key=lambda each: -each.sureness)


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


def _step_of(correction: Correction) -> Step:
    _, predicted, score, log_odds, _, truth, example = correction
    return Step(example.event_id, example.x, score, predicted, truth, True, 0, None, log_odds)  # noqa: FBT003


def _size_of(x: X) -> int:
    return sum(_FEATURE_BYTES + (len(value) if isinstance(value, str) else 0) for value in x.values())
