"""One prequential pass: predict each event, learn it when its label comes."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import log  # noqa: TID251  reported to four digits, also where perceptron_core is not installed
from time import process_time
from typing import Any, NamedTuple, Protocol

_LEAST = 1e-6
"""Probability of the truth, at least: so one event cannot decide about the log loss."""


class Model(Protocol):
    """What River's classifiers and those of this package have in common."""

    def predict_one(self, x: Any, /) -> Any:  # noqa: ANN401 - whatever the learner takes
        """Predict a class."""

    def learn_one(self, x: Any, y: Any, /) -> Any:  # noqa: ANN401 - as above
        """Learn one example."""


@dataclass(frozen=True)
class Condition:
    """When labels come, and how many of them."""

    delay: int = 0
    """So many events are predicted between an event and its label."""
    labels: float = 1.0
    """The share of events whose label ever comes, drawn with a seed."""
    shuffled: bool = False
    """Whether the labels are permuted, so that there is nothing to learn."""

    def labelled(self, n: int) -> list[bool]:
        """Draw whose label comes."""
        draw = random.Random(0)
        return [draw.random() < self.labels for _ in range(n)]

    def applied(self, examples: Sequence[tuple[Any, Hashable]]) -> list[tuple[Any, Any]]:
        """Return the examples with the labels that the condition says."""
        if not self.shuffled:
            return list(examples)
        labels = [y for _, y in examples]
        random.Random(0).shuffle(labels)
        return [(x, y) for (x, _), y in zip(examples, labels, strict=True)]

    def __str__(self) -> str:
        late = f"every label {self.delay} events late" if self.delay else ""
        few = f"{self.labels:.0%} of the labels" if self.labels < 1 else ""
        return ", ".join(filter(None, (late, few, "labels shuffled" if self.shuffled else "")))


def wrongs(
    model: Model,
    examples: Sequence[tuple[Any, Any]],
    condition: Condition,
    patience_seconds: float = float("inf"),
) -> list[bool]:
    """Return for each event whether its prediction was wrong; shorter where processor time ran out.

    No answer, before anything was learned, counts as False, which is what learners of two classes answer.
    """
    waiting: deque[tuple[Any, ...] | None] = deque()
    learn_one: Any = model.learn_one
    said = getattr(model, "said", None)  # what `AutoClassifier` is told when a label comes late
    found: list[bool] = []
    end = process_time() + patience_seconds
    for (x, y), comes in zip(examples, condition.labelled(len(examples)), strict=True):
        predicted = model.predict_one(x)
        found.append(bool((False if predicted is None else predicted) != y))
        told = (1.0, said()) if said and condition.delay else ()
        waiting.append((x, y, *told) if comes else None)
        if len(waiting) > condition.delay and (due := waiting.popleft()):
            learn_one(*due)
        if process_time() > end:
            break
    return found


class Judged(NamedTuple):
    """What one pass of a model that gives probabilities found."""

    wrongs: list[bool]
    """Of each event that it came to."""
    losses: list[float]
    """-ln of the probability of the truth; ln 2 where it gives none, before anything was learned."""
    microseconds: float
    """Processor time of the process per event, predicted and learned."""


def judged(
    model: Any,  # noqa: ANN401 - of this package, of River or of another
    examples: Iterable[tuple[Any, Any]],
    delay: int = 0,
    patience_seconds: float = float("inf"),
) -> Judged:
    """Predict probabilities of each event and learn it when its label comes; stop without processor time."""
    waiting: deque[tuple[Any, ...]] = deque()
    wrongs: list[bool] = []
    losses: list[float] = []
    start = process_time()
    for x, y in examples:
        chances = model.predict_proba_one(x)
        predicted = max(chances, key=chances.__getitem__) if chances else False
        wrongs.append(bool(predicted != y))
        losses.append(-log(max(chances.get(y, 0.0), _LEAST)) if chances else log(2))
        waiting.append((x, y, 1.0, model.said()) if delay and hasattr(model, "said") else (x, y))
        if len(waiting) > delay:
            model.learn_one(*waiting.popleft())
        if process_time() - start > patience_seconds:
            break
    return Judged(wrongs, losses, (process_time() - start) / len(wrongs) * 1e6)
