"""How well scores and probabilities of labelled predictions do: calibration error, log loss, area under ROC.

Of several classes, what is judged is the probability that the prediction is right, not those of the others.
Scores have no bounds, so their bins grow with them: a bin holds the doubles that have the same sign, exponent
and first three bits of the mantissa, and is at most an eighth as wide as the scores in it.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from perceptron_core.elementary import exp, log1p, logistic
from service.partition.examples import Correction, LearnedExamples, count_numbers
from service.partition.parts.thresholds import BITS_LEFT_OUT

BINS: Final = 15
"""Of equal width, over probabilities from 0 to 1."""
_SMALLEST_NEGATIVE: Final = -(1 << 63 - BITS_LEFT_OUT)
"""The first of the numbers of negative scores, which as bits rise with the score's size."""


class Bin(NamedTuple):
    """The predictions whose probability lies in one interval."""

    low: float
    """Where the interval begins; it is 1/`BINS` wide."""
    predictions: int
    mean_probability: float
    accuracy: float
    """Share of right predictions, 0-1."""


@dataclass(slots=True)
class Calibration:
    """Labelled predictions by their probability, in constant memory.

    References
    ----------
    Naeini, M. P., Cooper, G. F. and Hauskrecht, M. (2015). Obtaining well calibrated probabilities using
    Bayesian binning. AAAI Conference on Artificial Intelligence 29. The expected calibration error.

    Examples
    --------
    >>> calibration = Calibration()
    >>> for correct in (True, True, True, False):
    ...     calibration.add(2.0, correct=correct)
    >>> calibration.expected_calibration_error(), calibration.log_loss()
    (0.1307..., 0.6269...)

    """

    counts: list[int] = field(default_factory=lambda: [0] * BINS)
    """Predictions by bin."""
    correct: list[int] = field(default_factory=lambda: [0] * BINS)
    """Right ones by bin."""
    probabilities: list[float] = field(default_factory=lambda: [0.0] * BINS)
    """Their probabilities, summed, by bin."""
    loss: float = 0.0
    """Their logistic losses, summed."""

    def copy(self) -> Calibration:
        """Return a copy that later counting leaves alone."""
        return replace(
            self,
            counts=self.counts.copy(),
            correct=self.correct.copy(),
            probabilities=self.probabilities.copy(),
        )

    def state(self) -> dict[str, Any]:
        """Return all sums as plain values."""
        return {
            "counts": self.counts.copy(),
            "correct": self.correct.copy(),
            "probabilities": self.probabilities.copy(),
            "loss": self.loss,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Calibration:
        """Return the calibration that `state` described."""
        return cls(list(state["counts"]), list(state["correct"]), list(state["probabilities"]), state["loss"])

    def observe(self, learned: LearnedExamples) -> None:
        """Record labelled predictions, if they have log-odds."""
        if not learned.has_log_odds:
            return
        for log_odds, mistake in zip(learned.log_odds(), learned.mistakes, strict=True):
            self.add(log_odds, correct=not mistake)

    def take_back(self, correction: Correction) -> None:
        """Record that a prediction which was recorded was right and is not, or the reverse."""
        log_odds, is_right = correction.log_odds, correction.predicted == correction.truth
        was_right = correction.predicted == correction.before
        if log_odds is None or is_right == was_right:
            return
        number = min(int(logistic(log_odds) * BINS), BINS - 1)
        self.correct[number] += is_right - was_right
        self.loss += logistic_loss(log_odds if is_right else -log_odds)
        self.loss -= logistic_loss(log_odds if was_right else -log_odds)

    def add(self, log_odds: float, *, correct: bool) -> None:
        """Record a prediction by the log-odds of its class, and whether it was right."""
        probability = logistic(log_odds)
        number = min(int(probability * BINS), BINS - 1)
        self.counts[number] += 1
        self.correct[number] += correct
        self.probabilities[number] += probability
        self.loss += logistic_loss(log_odds if correct else -log_odds)

    @property
    def count(self) -> int:
        """How many predictions there were."""
        return sum(self.counts)

    def bins(self) -> list[Bin]:
        """List the bins that are not empty, from the lowest probability to the highest."""
        return [
            Bin(number / BINS, count, self.probabilities[number] / count, self.correct[number] / count)
            for number, count in enumerate(self.counts)
            if count
        ]

    def expected_calibration_error(self) -> float | None:
        """Return the mean distance of the bins' accuracy from their mean probability, 0-1.

        Each bin counts with its share of the predictions. None before the first.
        """
        gaps = sum(each.predictions * abs(each.accuracy - each.mean_probability) for each in self.bins())
        return gaps / self.count if self.count else None

    def log_loss(self) -> float | None:
        """Return the mean logistic loss, −ln of the probability of what happened; None before the first."""
        return self.loss / self.count if self.count else None


def logistic_loss(margin: float) -> float:
    """Compute ln(1 + e⁻ᶻ) = −ln σ(z) without overflow."""
    return log1p(exp(-abs(margin))) - min(margin, 0.0)


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
