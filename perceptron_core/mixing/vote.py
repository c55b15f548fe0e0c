"""The answer about one class of what computes those of all classes at once.

`vote.pxd` gives this module its C types.
"""

from __future__ import annotations

from perceptron_core.base import restored
from perceptron_core.base.linear_rule import LinearRule
from perceptron_core.weights.example import Example


class ClassVote(LinearRule):
    """Answers with the log-odds of one class, of an example that has those of all; learns nothing itself."""

    STATE = restored.COUNTS
    hash_bits = 1

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def score(self, x: Example) -> float:
        """Return the log-odds of the class; 0 if the class is not known yet."""
        return x.values[self.number] if self.number < x.n else 0.0

    def learn_at(self, x: Example, sign: int, w: float, a: float) -> float:  # noqa: ARG002  as other rules
        """Count a mistake."""
        self.n_mistakes += (a > 0) != (sign > 0)
        return 0.0
