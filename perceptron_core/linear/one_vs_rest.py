"""Learners of one kind, one for each class against the rest, that are scored and updated together.

This is the interpreted form; the compiled form, `one_vs_rest.pyx`, has the same results and computes several
classes at once.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from perceptron_core.linear.linear_rule import LinearRule
from perceptron_core.weights.buffers import doubles
from perceptron_core.weights.example import Example


class OneVsRest:
    """Scores and learns an event with the same results as its learners one by one.

    Their cells form one row for each slot, with all columns, each of which has a cell for every class.
    Examples have no missing slots.

    Parameters
    ----------
    rules
        A learner for each class, all with the same parameters; their features are integers.

    Attributes
    ----------
    n_lanes : int
        Number of cells of a column in a row: one for each class, and spare ones.
    scores : array
        Scores of the last event, by class.

    """

    def __init__(self, rules: Sequence[LinearRule]) -> None:
        self.rules = [*rules]
        self.n_lanes = len(self.rules)
        self.scores = doubles(self.n_lanes)

    def settle(self, block: array[float], first: int, width: int) -> None:
        """Set the block of cells: rows of `width` numbers, with the first column from `first` on."""

    def score(self, x: Example) -> None:
        """Compute `scores`."""
        for k, rule in enumerate(self.rules):
            self.scores[k] = rule.score(x)

    def learn(self, x: Example, number: int, w: float) -> None:
        """Learn the last scored example, with its class and weight w."""
        for k, rule in enumerate(self.rules):
            rule.learn_at(x, 1 if k == number else -1, w, self.scores[k])
