"""The experts and mixers of `AutoClassifier`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from perceptron_core.auto.characters import CharacterVote
from perceptron_core.auto.ensemble import Ensemble
from perceptron_core.auto.plan import (
    BINNED,
    BOOSTED,
    CHARACTERS,
    FOREST,
    FOURIER,
    GRAMS,
    LINEAR,
    MAP_OF_GROUP,
    NEIGHBORS,
    PAIRED,
    STANDARDISED,
    WIDE,
    WORDS,
    Plan,
)
from perceptron_core.linear.arow import AROW
from perceptron_core.linear.bayesian_logistic import BayesianLogistic
from perceptron_core.linear.logistic_regression import LogisticRegression
from perceptron_core.linear.normalized_adagrad import NormalizedAdaGrad
from perceptron_core.mixing.full_covariance import FullCovarianceLogistic
from perceptron_core.mixing.mixer import Mixer
from perceptron_core.mixing.mixture import name_of, scale_of, sparse_experts
from perceptron_core.trees.neighbors import NeighborVote
from perceptron_core.trees.refitted import RefittedVote

_BITS: Final = 8
"""Initial size of the tables in bits; they grow with the slots of their maps."""

_MAP_NAMES: Final = {
    WORDS: "words",
    GRAMS: "grams",
    LINEAR: "numbers",
    BINNED: "bins",
    PAIRED: "pairs",
    FOURIER: "waves",
    WIDE: "wide waves",
    FOREST: "trees",
    CHARACTERS: "characters",
    NEIGHBORS: "neighbours",
    BOOSTED: "boosted trees",
    STANDARDISED: "numbers",
}
_CANDIDATES: Final = {"words": (0,), "dense": (0, 1), "boosted": (0,)}
"""Which experts of a group may predict by themselves; all of them without a mixer."""
_SHARES: Final = {"words": 0.5, "grams": 0.5, "dense": 1.0}
"""Sum of the initial weights of a group's experts; other groups start at 0. Words and characters share the
weight of a text."""


def mixers(plan: Plan) -> list[Mixer]:
    """Make the mixers of an ensemble."""
    return [Mixer(variance, forgetting) for variance, forgetting in plan.mixers]


def discount(groups: Sequence[str]) -> float:
    """Return the discount of older mistakes per event, for these groups of maps."""
    return 0.999 if "dense" in groups else 0.9997


def add_experts(ensemble: Ensemble, group: str) -> None:
    """Add the experts of a group to an ensemble."""
    made = [*_experts_of(group, ensemble.number)]
    weight = _SHARES.get(group, 0.0) / len(made)
    for k, (map_number, rule) in enumerate(made):
        ensemble.add_expert(
            f"{_MAP_NAMES[map_number]}: {name_of(rule)}",
            rule if rule.hash_bits else rule.hashed(_BITS),
            map_number,
            scale_of(rule),
            weight,
            k in _CANDIDATES.get(group, ()) or not ensemble.mixers,
        )


def _experts_of(group: str, number: int) -> Iterable[tuple[int, Any]]:
    """Return the experts of a group for a class, each with its map."""
    if group == "dense":
        return dense_experts()
    if group in {"words", "grams"}:
        return ((MAP_OF_GROUP[group], rule) for rule in sparse_experts())
    makers: dict[str, Callable[[], Any]] = {
        "forest": NormalizedAdaGrad,
        "characters": partial(CharacterVote, number),
        "neighbors": partial(NeighborVote, number),
        "boosted": partial(RefittedVote, number),
        "covariances": FullCovarianceLogistic,
    }
    return [(MAP_OF_GROUP[group], makers[group]())]


def dense_experts() -> Iterator[tuple[int, Any]]:
    """Yield the experts of dense numbers, each with its map."""
    yield LINEAR, LogisticRegression()
    yield LINEAR, BayesianLogistic()
    yield BINNED, BayesianLogistic()
    yield BINNED, BayesianLogistic(forgetting=0.995, intercept_forgetting=0.95)
    yield FOURIER, NormalizedAdaGrad()
    yield FOURIER, AROW(forgetting=0.995, intercept_forgetting=0.95)
    yield PAIRED, NormalizedAdaGrad()
    yield WIDE, NormalizedAdaGrad()
