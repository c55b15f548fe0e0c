"""What an `AutoClassifier` is made of, by the effort that it may take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

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
    averages: bool = False
    """Whether the first two mixers answer together, by how well each predicted, where a mixer leads."""

    def known_to(self, state: Mapping[str, Any]) -> Plan:
        """Return the plan of a model that is read: without what came since it was made."""
        return self._replace(
            groups=[each for each in self.groups if each not in _LATER or each in state["maps"]],
            averages=self.averages and "surprises" in state,
        )

    @property
    def mixtures(self) -> list[str]:
        """The names of the mixers' answers."""
        return [*_MIXTURES[: len(self.mixers)]]


_MIXTURES: Final = ("mixture that forgets", "mixture", "mixture that is slow")

PLANS: Final = {
    "low": Plan(("words", "grams", "dense"), ((0.1, 0.999), (0.02, 1.0)), 0.0),
    "high": Plan(("words", "grams", "dense", "forest"), ((0.1, 0.999), (0.02, 1.0), (0.002, 1.0)), 0.1),
}
_LATER: Final = ("neighbors",)
"""Groups with a state in the maps that models of earlier releases have not, whatever their parameters."""
FOREST_ALONE: Final = Plan(("forest",), (), 0.0)
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
        return plan
    groups = (*plan.groups, "characters", "neighbors") if "forest" in plan.groups else plan.groups
    return plan._replace(groups=groups, analyzer="scripts", averages="forest" in plan.groups)
