"""The largest weights of a model, their norm and its mistake bound: everything that reads all weights.

A mixture does not have a single weight for a feature: it is described by what features added to the scores.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from perceptron_core import MistakeBound
from perceptron_core.auto.explanation import OTHER_CLASSES
from service.messages.labels import TrueLabel
from service.models.explanation import FeatureContribution

RANKED: Final = 1000
"""Number of the largest weights that are found."""
_LOOKED_AT: Final = 400
"""Events whose terms are added up before older events begin to count less."""
_MAX_NAMES: Final = 8000
_MAX_FIELDS: Final = 8
_MAX_OF_A_FIELD: Final = 12


class Weights(NamedTuple):
    """The weights that matter most."""

    largest: Sequence[tuple[str, float]]
    """(name, weight), the largest first; with several classes, the name is `class: feature`."""
    nonzero: int
    norm: float
    bias: float | Mapping[str, float]


class Terms:
    """What features added to the scores of examined events, by class; older events count less.

    With two classes, contributions are to the score of the positive class; with several, to the score of the
    predicted class.

    >>> terms, added = Terms(), FeatureContribution
    >>> terms.add(True, [added("lang=en", 1.0, None, 0.5, None), added("lang=de", 1.0, None, 0.25, None)])
    >>> terms.add(False, [added("lang=en", 1.0, None, 0.5, None), added("n", 1.0, None, -3.0, None)])
    >>> [(field["name"], field["plus"], field["minus"]) for field in terms.of(True)["fields"]]
    [('n', 0.0, -1.5), ('lang', 0.625, 0.0)]
    >>> terms.of(True)["fields"][1]["features"]
    [('lang=en', 0.5), ('lang=de', 0.125)]
    """

    def __init__(self) -> None:
        self.classes: dict[TrueLabel, tuple[dict[str, float], dict[str, float]]] = {}
        """What each feature added to the scores of each class, positive and negative."""
        self._n_events: dict[TrueLabel, float] = {}
        self._seen: deque[str] = deque(maxlen=_LOOKED_AT)

    def unseen(self, event_ids: Sequence[str], most: int) -> Sequence[str]:
        """Return the newest events that were not examined yet, and mark them as examined."""
        unseen = [event_id for event_id in event_ids if event_id not in self._seen]
        chosen = unseen[-most:]
        self._seen.extend(chosen)
        return chosen

    def add(self, predicted: TrueLabel, contributions: Iterable[FeatureContribution]) -> None:
        """Add the contributions to the score of an event."""
        truth = predicted or isinstance(predicted, bool)
        sums = self.classes.setdefault(truth, ({}, {}))
        for contribution in contributions:
            if contribution.feature != OTHER_CLASSES:
                side = sums[contribution.contribution < 0]
                side[contribution.feature] = side.get(contribution.feature, 0.0) + contribution.contribution
        self._n_events[truth] = self._n_events.get(truth, 0.0) + 1.0
        if self._n_events[truth] > _LOOKED_AT or len(sums[0]) + len(sums[1]) > _MAX_NAMES:
            self._n_events[truth] /= 2
            for side in sums:
                kept = heapq.nlargest(_MAX_NAMES // 4, side.items(), key=_size)
                side.clear()
                side.update({name: added / 2 for name, added in kept})

    def of(self, truth: TrueLabel) -> dict[str, Any]:
        """Return the number of examined events, and what each field added to a score on average."""
        n_events = self._n_events[truth]
        fields: dict[str, dict[str, Any]] = {}
        for side, sums in zip(("plus", "minus"), self.classes[truth], strict=True):
            for name, added in [*sums.items()]:  # in one step, as another request may add meanwhile
                field = re.split("=|: ", name, maxsplit=1)[0]
                if field not in fields:
                    fields[field] = {"name": field, "plus": 0.0, "minus": 0.0, "features": Counter()}
                fields[field][side] += added / n_events
                fields[field]["features"][name] += added / n_events
        largest = heapq.nlargest(_MAX_FIELDS, fields.values(), key=lambda each: each["plus"] - each["minus"])
        for each in largest:
            each["features"] = heapq.nlargest(_MAX_OF_A_FIELD, each["features"].items(), key=_size)
        return {"n_events": round(n_events), "fields": largest}


def _size(item: tuple[str, float]) -> float:
    return abs(item[1])


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """A model's weights and its bound at a recent moment."""

    weights: Weights | None
    """None if the model has no weights."""
    bound: MistakeBound | None
    """None if the theorem does not apply to the model."""
    bound_examples: int = 0
    """Number of latest examples that the bound covers."""
    valid_until: float = 0.0
    """Time in monotonic seconds after which the summary is renewed."""


def rank_weights(entries: list[tuple[Any, float]], bias: float | Mapping[Any, float]) -> Weights:
    """Find the largest of all weights, and their norm."""
    largest = heapq.nsmallest(RANKED, entries, key=lambda item: (-abs(item[1]), str(item[0])))
    norm = sum(weight * weight for _, weight in entries) ** 0.5
    named = {str(name): each for name, each in bias.items()} if isinstance(bias, Mapping) else bias
    return Weights([(str(name), weight) for name, weight in largest], len(entries), norm, named)
