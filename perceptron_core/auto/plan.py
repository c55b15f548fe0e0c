"""The feature maps of `AutoClassifier` by number, and its experts and mixers by effort."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from perceptron_core.trees import N_TREES

N_MAPS: Final = 12
WORDS, GRAMS, LINEAR, BINNED, PAIRED, FOURIER, WIDE, FOREST, CHARACTERS, NEIGHBORS, BOOSTED, STANDARDISED = (
    range(N_MAPS)
)
MAP_OF_GROUP: Final = {
    "words": WORDS,
    "grams": GRAMS,
    "dense": LINEAR,
    "forest": FOREST,
    "characters": CHARACTERS,
    "neighbors": NEIGHBORS,
    "boosted": BOOSTED,
    "covariances": STANDARDISED,
}
"""The map that must be active once before a group of experts joins."""

N_HATS: Final = 16
"""Hat functions over the range of a column."""
N_CELLS: Final = 8
"""Number of cells of a pair's grid in each direction."""
N_FOURIER: Final = 200
"""Number of random Fourier features of a map."""
MAX_CHARACTERS: Final = 3000
"""Number of a text's first characters whose 4-grams are used."""


class Plan(NamedTuple):
    """Which experts may join, and how they are mixed."""

    groups: Sequence[str]
    """Groups of experts, in the order in which they join."""
    mixers: Sequence[tuple[float, float]]
    """s₀ and λ of each mixer."""
    share_of_loss: float
    """Weight of log loss, next to mistakes, in the criterion that chooses the leader."""
    n_late: int = 0
    """Number of mixers used only with late labels, after those that are always used."""
    n_prompt: int = 0
    """Number of mixers whose inputs include the last labels, used only with prompt labels: the last ones."""
    n_trees: int = 0
    averages: bool = False
    """Whether the first two mixers are averaged when an always used mixer leads."""

    @property
    def n_always(self) -> int:
        """Number of mixers that are always used: the first ones."""
        return len(self.mixers) - self.n_late - self.n_prompt

    @property
    def mixtures(self) -> list[str]:
        """The names of the mixers."""
        return [*_MIXTURES[: len(self.mixers)]]


_MIXTURES: Final = (
    "mixture that forgets",
    "mixture",
    "mixture that is slow",
    "mixture for late labels",
    "mixture with the last labels",
)

PLANS: Final = {
    "low": Plan(("words", "grams", "dense", "covariances"), ((0.1, 0.999), (0.02, 1.0)), 0.0),
    "high": Plan(
        ("words", "grams", "dense", "forest", "characters", "neighbors", "boosted", "covariances"),
        ((0.1, 0.999), (0.02, 1.0), (0.002, 1.0), (0.00005, 1.0), (0.1, 0.999)),
        0.1,
        n_late=1,
        n_prompt=1,
        n_trees=N_TREES,
        averages=True,
    ),
}
FOREST_ALONE: Final = Plan(("forest",), (), 0.0, n_trees=N_TREES)
CHARACTERS_ALONE: Final = Plan(("characters",), (), 0.0)
NEIGHBORS_ALONE: Final = Plan(("neighbors",), (), 0.0)


def plan_of(effort: str) -> Plan:
    """Return the plan of an effort."""
    if effort not in PLANS:
        raise ValueError(f"effort: expected {' or '.join(PLANS)}, got {effort!r}")
    return PLANS[effort]
