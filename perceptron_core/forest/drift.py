"""Notice when a tree errs more often lately than it used to.

`drift.pxd` gives this module its C types.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any, Final

from perceptron_core.base import restored
from perceptron_core.weights.buffers import doubles, integers

_YOUNG: Final = 300
"""Events that a tree is older than when it is grown again."""
_SHORT: Final = 100.0
_LONG: Final = 2000.0
"""Events over which the errors of a tree are compared."""
_DEVIATIONS: Final = 4.0
_OLDEST: Final = 1 << 30
_share = restored.between(0.0, 1.0)


class Drift:
    """The errors of each tree over the last 100 events and over the last 2,000."""

    def __init__(self, n_trees: int) -> None:
        self.ages = integers(n_trees)
        self.lately, self.errors = doubles(n_trees), doubles(n_trees)

    def restart(self, tree: int) -> None:
        """Forget the errors of a tree."""
        self.ages[tree] = 0
        self.lately[tree] = self.errors[tree] = 0.0

    def is_noticed(self, tree: int, is_wrong: bool) -> bool:
        """Count a vote of a tree; return whether it errs more often lately than it used to."""
        self.ages[tree] = min(self.ages[tree] + 1, _OLDEST)
        age = self.ages[tree]
        self.lately[tree] += (is_wrong - self.lately[tree]) / min(age, _SHORT)
        self.errors[tree] += (is_wrong - self.errors[tree]) / min(age, _LONG)
        p = self.errors[tree]
        return age > _YOUNG and self.lately[tree] - p > _DEVIATIONS * sqrt(max(p * (1.0 - p), 0.0) / _SHORT)

    def get_state(self) -> dict[str, Any]:
        """Return what was counted as plain values."""
        return {
            "ages": memoryview(self.ages).tolist(),
            "lately": memoryview(self.lately).tolist(),
            "errors": memoryview(self.errors).tolist(),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take what `get_state` returned. Raises ValueError for what is no such thing."""
        n_trees = len(self.ages)
        ages = restored.several(state["ages"], restored.whole(_OLDEST), n_trees)
        lately = restored.several(state["lately"], _share, n_trees)
        errors = restored.several(state["errors"], _share, n_trees)
        for tree in range(n_trees):
            self.ages[tree], self.lately[tree], self.errors[tree] = ages[tree], lately[tree], errors[tree]
