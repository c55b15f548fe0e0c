"""The area under the ROC curve: how well scores tell two classes apart.

Scores have no bounds, so bins grow with them: a bin holds the doubles that have the same sign, exponent and
first three bits of the mantissa, and is at most an eighth as wide as the scores in it.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from service.partition.decisions.bins import BITS_LEFT_OUT
from service.partition.examples import LearnedExamples, count_numbers
from service.partition.processed import Correction

_SMALLEST_NEGATIVE: Final = -(1 << 63 - BITS_LEFT_OUT)
"""The first of the numbers of negative scores, which as bits rise with the score's size."""


class Pairs(NamedTuple):
    """Pairs of a positive and a negative example, scored by one model."""

    ordered: float
    """Those whose positive example has the higher score; ties count half."""
    total: int

    def auc(self) -> float | None:
        """Return the share in order; None where there are no pairs."""
        return self.ordered / self.total if self.total else None


class ScoreBins:  # noqa: PLW1641 - counted on, so not hashable
    """Labelled scores of two classes, in bins: bounded memory, however many there were.

    References
    ----------
    Hanley, J. A. and McNeil, B. J. (1982). The meaning and use of the area under a receiver operating
    characteristic (ROC) curve. Radiology 143(1). The area is the share of pairs in order.

    Examples
    --------
    >>> bins = ScoreBins()
    >>> bins.add_all(positives=[0.5, 3.0], negatives=[-1.0, 2.0])
    >>> bins.pairs().auc()
    0.75

    """

    def __init__(self) -> None:
        self.positives: Counter[int] = Counter()
        """Examples of True by bin."""
        self.negatives: Counter[int] = Counter()
        """Examples of False by bin."""

    def __eq__(self, other: object) -> bool:
        """Return whether the other has counted the same."""
        if not isinstance(other, ScoreBins):
            return NotImplemented
        return (self.positives, self.negatives) == (other.positives, other.negatives)

    @property
    def count(self) -> int:
        """How many predictions there were."""
        return self.positives.total() + self.negatives.total()

    def copy(self) -> ScoreBins:
        """Return a copy that later counting leaves alone."""
        copy = ScoreBins()
        copy.positives, copy.negatives = self.positives.copy(), self.negatives.copy()
        return copy

    def state(self) -> dict[str, Any]:
        """Return all counts as plain values."""
        return {"positives": [*self.positives.items()], "negatives": [*self.negatives.items()]}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> ScoreBins:
        """Return the counts that `state` described."""
        bins = cls()
        bins.positives.update(dict(state["positives"]))
        bins.negatives.update(dict(state["negatives"]))
        return bins

    def observe(self, learned: LearnedExamples) -> None:
        """Record labelled predictions of two classes; a score among several classes has no sign."""
        _add(self.positives, learned.scores_of(True))  # noqa: FBT003 - a class
        _add(self.negatives, learned.scores_of(False))  # noqa: FBT003

    def correct(self, correction: Correction) -> None:
        """Record that a score is one of the other class."""
        if isinstance(correction.truth, bool):
            ((number, _),) = count_numbers(array("d", [correction.score]))
            of = {True: self.positives, False: self.negatives}
            of[correction.before is True][number] -= 1
            of[correction.truth][number] += 1

    def add_all(self, *, positives: Sequence[float], negatives: Sequence[float]) -> None:
        """Record scores of examples of True and of False."""
        _add(self.positives, array("d", positives))
        _add(self.negatives, array("d", negatives))

    def pairs(self) -> Pairs:
        """Count the pairs of a positive and a negative example, and those in order."""
        ordered, below = 0.0, 0
        for number in sorted(self.positives | self.negatives, key=_rank):
            positives, negatives = self.positives[number], self.negatives[number]
            ordered += positives * (below + negatives / 2)
            below += negatives
        return Pairs(ordered, self.positives.total() * below)


def _add(counts: Counter[int], scores: array[float]) -> None:
    for number, count in count_numbers(scores):
        counts[number] += count


def least_score(number: int, width: int = 1) -> float:
    """Return the bound below which no score of a bin lies, nor of as many as `width` from it on.

    >>> least_score(8184), least_score(-8192), least_score(-8192, 8)
    (1.0, -2.25, -4.0)
    """
    bits = number if number >= 0 else number + width
    return float(memoryview(array("q", [bits << BITS_LEFT_OUT])).cast("B").cast("d")[0])


def _rank(number: int) -> int:
    """Return the place of a bin: it rises with the scores."""
    return number if number >= 0 else _SMALLEST_NEGATIVE - number - 1
