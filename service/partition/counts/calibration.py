"""Calibration error and log loss of labelled predictions: whether probabilities come true.

Of several classes, what is judged is the probability that the prediction is right, not those of the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from perceptron_core.elementary import exp, log1p
from perceptron_core.logistic import logistic
from service.partition.examples import LearnedExamples
from service.partition.processed import Correction

BINS: Final = 15
"""Of equal width, over probabilities from 0 to 1."""


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
        """Record labelled predictions, those that have log-odds."""
        if not learned.has_log_odds:
            return
        for log_odds, mistake in zip(learned.log_odds(), learned.mistakes(), strict=True):
            if log_odds is not None:
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
