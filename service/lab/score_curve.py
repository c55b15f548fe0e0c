"""Rank examples by their scores: ROC, precision and recall at each threshold, and what sums them up.

In pure Python, as `replay` needs no NumPy.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate, pairwise
from typing import Final, NamedTuple, Self

GOALS: Final = ("precision", "recall", "false_positive_rate")


class Threshold(NamedTuple):
    """What happens if the examples that score at least so much are taken for positive ones."""

    score: float
    precision: float
    recall: float
    false_positive_rate: float
    decided: int
    """How many examples score so much."""


class ScoreCurve(NamedTuple):
    """Examples of two classes by their scores, the highest first; equal ones are one step.

    References
    ----------
    Fawcett, T. (2006). An introduction to ROC analysis. Pattern Recognition Letters 27(8), algorithm 2.

    Examples
    --------
    >>> curve = ScoreCurve.of(positives=[0.5, 3.0], negatives=[-1.0, 2.0])
    >>> curve.auc(), curve.average_precision(), curve.at("precision", 0.6).recall
    (0.75, 0.8333..., 1.0)

    """

    scores: list[float]
    true_positives: list[int]
    """Positive examples that score at least so much."""
    false_positives: list[int]

    @classmethod
    def of(cls, positives: Iterable[float], negatives: Iterable[float]) -> Self | None:
        """Return the curve; None unless there are examples of both classes."""
        good, bad = Counter(positives), Counter(negatives)
        if not (good and bad):
            return None
        scores = sorted(good.keys() | bad.keys(), reverse=True)
        return cls(
            scores, [*accumulate(good[each] for each in scores)], [*accumulate(bad[each] for each in scores)]
        )

    @property
    def positives(self) -> int:
        """Examples of the positive class."""
        return self.true_positives[-1]

    @property
    def negatives(self) -> int:
        """Examples of the negative class."""
        return self.false_positives[-1]

    def auc(self) -> float:
        """Compute the area under the ROC curve.

        It is the Mann-Whitney statistic: the share of (positive, negative) pairs that the scores put in the
        right order, ties counting half.
        """
        steps = pairwise([(0, 0), *zip(self.true_positives, self.false_positives, strict=True)])
        doubled = sum((bad - bad_0) * (good + good_0) for (good_0, bad_0), (good, bad) in steps)
        return doubled / (2 * self.positives * self.negatives)

    def average_precision(self) -> float:
        """Compute the mean of the precision at each positive example: the area under precision and recall."""
        before, total = 0, 0.0
        for good, bad in zip(self.true_positives, self.false_positives, strict=True):
            total += (good - before) * good / (good + bad)
            before = good
        return total / self.positives

    def thresholds(self) -> list[Threshold]:
        """Return what happens at each score."""
        return [self._threshold(place) for place in range(len(self.scores))]

    def at(self, goal: str, least: float) -> Threshold | None:
        """Return the threshold that reaches a goal with the most positive examples; None if none does.

        For a recall, it is the one with the fewest negative ones.
        """
        rows = range(len(self.scores))
        good, bad = self.true_positives, self.false_positives
        if goal == "recall":
            return self._threshold(next(n for n in rows if good[n] >= least * self.positives))
        if goal == "precision":
            reached = [n for n in rows if good[n] >= least * (good[n] + bad[n])]
        else:
            reached = [n for n in rows if bad[n] <= least * self.negatives]
        return self._threshold(max(reached, key=lambda n: (good[n], -n))) if reached else None

    def recall_at(self, precision: float) -> float:
        """Return the most recall with that much precision; 0 where no threshold has it."""
        found = self.at("precision", precision)
        return found.recall if found else 0.0

    def _threshold(self, place: int) -> Threshold:
        good, bad = self.true_positives[place], self.false_positives[place]
        return Threshold(
            self.scores[place], good / (good + bad), good / self.positives, bad / self.negatives, good + bad
        )


def logistic_misclassification(mistaken: tuple[int, int], right: tuple[int, int]) -> float | None:
    """Return lam, 0-1: the logistic mean of the error rates of two classes, whatever their shares.

    It is the rate whose log-odds is the mean of the two; None where one class is always right and the other
    never.

    References
    ----------
    Cormack, G. V. and Lynam, T. R. (2005). TREC 2005 spam track overview. lam%.

    >>> logistic_misclassification((1, 10), (99, 90))
    0.0324...
    """
    wrong, correct = math.sqrt(mistaken[0] * mistaken[1]), math.sqrt(right[0] * right[1])
    return wrong / (wrong + correct) if wrong + correct else None
