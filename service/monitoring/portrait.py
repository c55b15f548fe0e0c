"""The largest weights of a model, their norm and its mistake bound: all that needs every weight."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from perceptron_core import MistakeBound

RANKED: Final = 1000
"""The largest weights that are found."""


class Weights(NamedTuple):
    """The weights that matter most."""

    largest: Sequence[tuple[str, float]]
    """(name, weight) by size; of several classes named `class: feature`."""
    nonzero: int
    norm: float
    bias: float | Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Portrait:
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
