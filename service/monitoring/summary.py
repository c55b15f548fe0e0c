"""The largest weights of a model, their norm and its mistake bound: all that needs every weight.

A mixture has no one weight for a feature: it is described by what features added to the scores of events.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from perceptron_core import MistakeBound
from perceptron_core.auto.explanation import OTHER_CLASSES
from service.messages.labels import Truth
from service.models.explanation import Contribution

RANKED: Final = 1000
"""The largest weights that are found."""
_LOOKED_AT: Final = 400
"""Events whose terms are added up before they begin to count less."""
_MOST_NAMES: Final = 8000


class Weights(NamedTuple):
    """The weights that matter most."""

    largest: Sequence[tuple[str, float]]
    """(name, weight) by size; of several classes named `class: feature`."""
    nonzero: int
    norm: float
    bias: float | Mapping[str, float]


class Term(NamedTuple):
    """What a feature added to the scores of events, on average over all that were looked at."""

    name: str
    """Of several classes `class: feature`."""
    plus: float
    """The positive contributions; of several classes, to the score of the class predicted."""
    minus: float
    """The negative ones."""


class Terms:
    """What features added to the scores of the events that were looked at; older events count less.

    >>> terms = Terms()
    >>> terms.add(True, [Contribution("win", 1.0, None, 0.5)])
    >>> terms.add(False, [Contribution("win", 1.0, None, 0.5), Contribution("see", 1.0, None, -3.0)])
    >>> terms.largest(2)
    [Term(name='see', plus=0.0, minus=-1.5), Term(name='win', plus=0.5, minus=0.0)]
    """

    def __init__(self) -> None:
        self.n_events = 0.0
        self._sums: dict[str, list[float]] = {}
        self._seen: deque[str] = deque(maxlen=_LOOKED_AT)

    def unseen(self, event_ids: Sequence[str], most: int) -> Sequence[str]:
        """Return the newest events that were not looked at; they count as looked at from now on."""
        unseen = [each for each in event_ids if each not in self._seen]
        chosen = unseen[-most:]
        self._seen.extend(chosen)
        return chosen

    def add(self, predicted: Truth, contributions: Iterable[Contribution]) -> None:
        """Add those of an event."""
        prefix = "" if isinstance(predicted, bool) else f"{predicted}: "
        for each in contributions:
            if each.feature != OTHER_CLASSES:
                sums = self._sums.setdefault(prefix + each.feature, [0.0, 0.0])
                sums[each.contribution < 0] += each.contribution
        self.n_events += 1
        if self.n_events > _LOOKED_AT or len(self._sums) > _MOST_NAMES:
            kept = heapq.nlargest(_MOST_NAMES // 2, self._sums.items(), key=_size)
            self._sums = {name: [each / 2 for each in sums] for name, sums in kept}
            self.n_events /= 2

    def largest(self, most: int) -> list[Term]:
        """Return the terms that matter most."""
        found = heapq.nlargest(most, self._sums.items(), key=_size)
        return [Term(name, *(each / self.n_events for each in sums)) for name, sums in found]


def _size(item: tuple[str, Sequence[float]]) -> float:
    return item[1][0] - item[1][1]


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """A model's weights and its bound, as they were a moment ago."""

    weights: Weights | None
    """None of a model that has none."""
    bound: MistakeBound | None
    """None of a model that the theory says nothing about."""
    bound_examples: int = 0
    """How many examples, the latest, the bound is about."""
    valid_until: float = 0.0
    """Monotonic seconds."""


def rank_weights(entries: list[tuple[Any, float]], bias: float | Mapping[Any, float]) -> Weights:
    """Find the largest of all weights, and their norm."""
    largest = heapq.nsmallest(RANKED, entries, key=lambda item: (-abs(item[1]), str(item[0])))
    norm = sum(weight * weight for _, weight in entries) ** 0.5
    named = {str(name): each for name, each in bias.items()} if isinstance(bias, Mapping) else bias
    return Weights([(str(name), weight) for name, weight in largest], len(entries), norm, named)
