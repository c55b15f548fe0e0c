"""What an `AutoClassifier` is made of, by the effort that it may take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from perceptron_core.forest.sizes import FORMER_TREES, N_TREES
from perceptron_core.text.tokenizer import Analyzer


class Plan(NamedTuple):
    """Which learners may join, and how they are mixed."""

    groups: Sequence[str]
    """Groups of learners, in the order in which they join."""
    mixers: Sequence[tuple[float, float]]
    """s₀ and λ of each."""
    share_of_loss: float
    """Of log loss in what the leader has least of, beside its mistakes."""
    analyzer: Analyzer = "words"
    """What texts are cut into."""
    n_late: int = 0
    """Mixers that are in use where labels come late, after those that always are."""
    n_prompt: int = 0
    """Mixers that know the last labels besides, in use where these come at once: the last ones."""
    n_trees: int = 0
    averages: bool = False
    """Whether the first two mixers answer together where one that is always in use leads."""

    @property
    def n_always(self) -> int:
        """Mixers that are always in use: the first ones."""
        return len(self.mixers) - self.n_late - self.n_prompt

    def known_to(self, state: Mapping[str, Any]) -> Plan:
        """Return the plan of a model that is read: without what came since it was made."""
        groups = [each for each in self.groups if each not in _LATER or each in state["maps"]]
        plan = self if "prompt_labels" in state else self.for_any_delay()
        if self.n_trees and len(state["maps"]["trees"]["n_nodes"]) == FORMER_TREES:
            plan = plan._replace(n_trees=FORMER_TREES)
        return plan._replace(groups=groups, averages=self.averages and "surprises" in state)

    def for_any_delay(self) -> Plan:
        """Return the plan with the mixers that are always in use."""
        return self._replace(mixers=self.mixers[: self.n_always], n_late=0, n_prompt=0)

    @property
    def mixtures(self) -> list[str]:
        """The names of the mixers' answers."""
        return [*_MIXTURES[: len(self.mixers)]]


_MIXTURES: Final = (
    "mixture that forgets",
    "mixture",
    "mixture that is slow",
    "mixture for late labels",
    "mixture with the last labels",
)

PLANS: Final = {
    "low": Plan(("words", "grams", "dense"), ((0.1, 0.999), (0.02, 1.0)), 0.0),
    "high": Plan(
        ("words", "grams", "dense", "forest"),
        ((0.1, 0.999), (0.02, 1.0), (0.002, 1.0), (0.00005, 1.0), (0.1, 0.999)),
        0.1,
        n_late=1,
        n_prompt=1,
        n_trees=N_TREES,
    ),
}
_LATER: Final = ("neighbors",)
"""Groups with a state in the maps that models of earlier releases have not, whatever their parameters."""
FOREST_ALONE: Final = Plan(("forest",), (), 0.0, n_trees=N_TREES)
FERNS_ALONE: Final = Plan(("ferns",), (), 0.0)
CHARACTERS_ALONE: Final = Plan(("characters",), (), 0.0)
NEIGHBORS_ALONE: Final = Plan(("neighbors",), (), 0.0)
TOKENS: Final = ("words", "scripts")


def plan_of(effort: str, tokens: str) -> Plan:
    """Return the plan of an effort; with words for tokens, that of a release that had nothing else."""
    if effort not in PLANS:
        raise ValueError(f"effort must be one of {', '.join(PLANS)}, not {effort!r}")
    if tokens not in TOKENS:
        raise ValueError(f"tokens must be one of {', '.join(TOKENS)}, not {tokens!r}")
    plan = PLANS[effort]
    if tokens == "words":
        return plan.for_any_delay()._replace(n_trees=FORMER_TREES if plan.n_trees else 0)
    groups = (*plan.groups, "characters", "neighbors") if plan.n_trees else plan.groups
    return plan._replace(groups=groups, analyzer="scripts", averages=plan.n_trees > 0)
