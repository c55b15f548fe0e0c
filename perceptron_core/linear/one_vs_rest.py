"""Learners of one kind, one for each class against the rest, that see an event together.

This is the interpreted form; `one_vs_rest.pyx` is the compiled one, which means the same, and
computes several classes at once.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from perceptron_core.linear.linear_rule import LinearRule
from perceptron_core.weights.buffers import doubles
from perceptron_core.weights.example import Example


class OneVsRest:
    """Scores an event and learns it as each of its learners would by itself.

    Their cells are in rows, one for each slot, of all columns, each of which has a cell for every class.
    Examples have no missing slots.

    Parameters
    ----------
    rules
        A learner for each class, all of the same parameters; their features are integers.

    Attributes
    ----------
    n_lanes : int
        Cells of a column in a row: one for each class, and some to spare.
    scores : array
        Of the event scored last, by class.

    """

    def __init__(self, rules: Sequence[LinearRule]) -> None:
        self.rules = [*rules]
        self.n_lanes = len(self.rules)
        self.scores = doubles(self.n_lanes)

    def settle(self, block: array[float], first: int, width: int) -> None:
        """Set the block of the cells: `width` numbers a row, the first column's from `first` on."""

    def look(self) -> None:
        """Take in that cells were changed by others."""

    def score(self, x: Example) -> None:
        """Compute `scores`."""
        for k, rule in enumerate(self.rules):
            self.scores[k] = rule.score(x)

    def learn(self, x: Example, number: int, w: float) -> None:
        """Learn the example scored last, of a class and weight w."""
        for k, rule in enumerate(self.rules):
            rule.learn_at(x, 1 if k == number else -1, w, self.scores[k])
