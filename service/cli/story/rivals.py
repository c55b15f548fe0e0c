"""Models beside the one that is served, over the same events, in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from perceptron_core import AutoClassifier
from service.cli.story.streams import Demonstrated

_WIDTH: Final = 12


class Rival(NamedTuple):
    """A model that is predicted with, and then learned."""

    name: str
    model: Any
    """A River classifier."""


def rivals_of(stream: Demonstrated) -> Sequence[Rival]:
    """Return `auto`, and what River's own examples take for such events."""
    from river import feature_extraction, linear_model, preprocessing  # noqa: PLC0415  imports pandas

    is_text = "text" in json.loads(stream.messages[0])
    first = feature_extraction.BagOfWords() if is_text else preprocessing.StandardScaler()
    return [Rival("auto", AutoClassifier()), Rival("River", first | linear_model.LogisticRegression())]


def about(rivals: Sequence[Rival]) -> str:
    """Say what River's is."""
    return " | ".join(type(step).__name__ for step in rivals[-1].model.steps.values())


class MistakeTable:
    """Mistakes of several models so far, a row as the events double.

    Parameters
    ----------
    stream
        The events.
    rivals
        The models beside the one that is served.
    write_line
        Takes each row.

    """

    def __init__(
        self, stream: Demonstrated, rivals: Sequence[Rival], write_line: Callable[[str], None]
    ) -> None:
        self._positive = stream.classes[1]
        self._events = [json.loads(message) for message in stream.messages]
        self._rivals = rivals
        self._mistakes = [0] * (1 + len(rivals))
        self._write_line = write_line
        self._next = 1
        self.n_events = 0
        self._write("events", "perceptron", *(each.name for each in rivals))

    def add(self, *, is_mistaken: bool) -> None:
        """Add an event of the stream, and whether the served model was wrong."""
        event = self._events[self.n_events]
        self.n_events += 1
        self._mistakes[0] += is_mistaken
        x, y = event.get("features") or event["text"], event["label"] == self._positive
        for number, (_, model) in enumerate(self._rivals, start=1):
            self._mistakes[number] += (model.predict_one(x) or False) != y
            model.learn_one(x, y)
        if self.n_events in (self._next, len(self._events)):
            self._next = 2 * self._next
            self._write(*(f"{count:,}" for count in (self.n_events, *self._mistakes)))

    def _write(self, *cells: str) -> None:
        self._write_line("".join(cell.rjust(_WIDTH) for cell in cells))
