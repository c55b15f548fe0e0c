"""What an `AutoClassifier` is made of, by the effort that it may take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple


class Plan(NamedTuple):
    """Which learners may join, and how they are mixed."""

    groups: Sequence[str]
    """Groups of learners, in the order in which they join."""
    mixers: Sequence[tuple[float, float]]
    """s₀ and λ of each."""
    share_of_loss: float
    """Of log loss in what the leader has least of, beside its mistakes."""

    @property
    def mixtures(self) -> list[str]:
        """The names of the mixers' answers."""
        return [*_MIXTURES[: len(self.mixers)]]


_MIXTURES: Final = ("mixture that forgets", "mixture", "mixture that is slow")

PLANS: Final = {
    "low": Plan(("words", "grams", "dense"), ((0.1, 0.999), (0.02, 1.0)), 0.0),
    "high": Plan(("words", "grams", "dense", "forest"), ((0.1, 0.999), (0.02, 1.0), (0.002, 1.0)), 0.1),
}
FOREST_ALONE: Final = Plan(("forest",), (), 0.0)
