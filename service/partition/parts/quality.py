"""Quality of labelled predictions: calibration error, log loss, area under ROC, and the confusion matrix.

With several classes, only the probability of the predicted class is evaluated.

Scores are unbounded, so bins widen with them: a bin holds the doubles with the same sign, exponent and first
three bits of the mantissa, and is at most an eighth as wide as its scores.

The matrix gives precision, recall and similar metrics of each class, and the error of the majority baseline,
which always predicts the most frequent class. A model that makes as many mistakes as this baseline has
learned nothing from the features.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any, Final, NamedTuple, TypeVar

from perceptron_core.elementary import exp, log1p, logistic
from service.messages.labels import TrueLabel
from service.partition.examples import Correction, LearnedExamples, count_numbers
from service.partition.parts.thresholds import BITS_LEFT_OUT

BINS: Final = 15
"""Number of bins of equal width for probabilities from 0 to 1."""
_SMALLEST_NEGATIVE: Final = -(1 << 63 - BITS_LEFT_OUT)
"""Lowest bin number of negative scores, whose numbers rise with the absolute value."""

MAX_CLASSES: Final = 32
"""Number of classes that are distinguished; all further classes count as one."""
OTHERS: Final = "(others)"
"""Name of the further classes."""

Label = TypeVar("Label", bound=Hashable)


def copied(sums: Any) -> Any:  # noqa: ANN401
    """Return a deep copy of a data class of counts, sums and nested data classes."""
    values = {each.name: getattr(sums, each.name) for each in fields(sums)}
    for name, value in values.items():
        if not isinstance(value, (int, float)):
            values[name] = copied(value) if is_dataclass(value) else value.copy()
    return type(sums)(**values)


class Bin(NamedTuple):
    """The predictions whose probability lies in one interval."""

    low: float
    """Lower end of the interval, which is 1/`BINS` wide."""
    predictions: int
    mean_probability: float
    accuracy: float
    """Share of correct predictions, 0-1."""


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
    """Correct predictions by bin."""
    probabilities: list[float] = field(default_factory=lambda: [0.0] * BINS)
    """Sum of the probabilities by bin."""
    loss: float = 0.0
    """Sum of the logistic losses."""

    def state(self) -> dict[str, Any]:
        """Return all sums as plain values."""
        return asdict(self)

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Calibration:
        """Return the calibration of a state."""
        return cls(list(state["counts"]), list(state["correct"]), list(state["probabilities"]), state["loss"])

    def observe(self, learned: LearnedExamples) -> None:
        """Record labelled predictions, if they have log-odds."""
        if not learned.has_log_odds:
            return
        for log_odds, mistake in zip(learned.log_odds(), learned.mistakes, strict=True):
            self.add(log_odds, correct=not mistake)

    def take_back(self, correction: Correction) -> None:
        """Record that a correction made a recorded prediction wrong, or right."""
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
        """Number of predictions."""
        return sum(self.counts)

    def bins(self) -> list[Bin]:
        """List the bins that are not empty, from the lowest probability to the highest."""
        return [
            Bin(number / BINS, count, self.probabilities[number] / count, self.correct[number] / count)
            for number, count in enumerate(self.counts)
            if count
        ]

    def expected_calibration_error(self) -> float | None:
        """Return the mean distance between a bin's accuracy and mean probability, 0-1.

        Bins are weighted by their share of the predictions. None before the first prediction.
        """
        gaps = sum(each.predictions * abs(each.accuracy - each.mean_probability) for each in self.bins())
        return gaps / self.count if self.count else None

    def log_loss(self) -> float | None:
        """Return the mean logistic loss, −ln of the probability of the truth; None before the first."""
        return self.loss / self.count if self.count else None


def logistic_loss(margin: float) -> float:
    """Compute ln(1 + e⁻ᶻ) = −ln σ(z) without overflow."""
    return log1p(exp(-abs(margin))) - min(margin, 0.0)


class Pairs(NamedTuple):
    """Pairs of a positive and a negative example, scored by one model."""

    ordered: float
    """Pairs whose positive example has the higher score; ties count half."""
    total: int

    def auc(self) -> float | None:
        """Return the share of pairs in order; None without pairs."""
        return self.ordered / self.total if self.total else None


@dataclass(slots=True)
class ScoreBins:
    """Labelled scores of two classes, in bins of bounded memory.

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

    positives: Counter[int] = field(default_factory=Counter)
    """Examples of True by bin."""
    negatives: Counter[int] = field(default_factory=Counter)
    """Examples of False by bin."""

    @property
    def count(self) -> int:
        """Number of predictions."""
        return self.positives.total() + self.negatives.total()

    def state(self) -> dict[str, Any]:
        """Return all counts as plain values."""
        return {"positives": [*self.positives.items()], "negatives": [*self.negatives.items()]}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> ScoreBins:
        """Return the counts of a state."""
        return cls(*(Counter(dict(state[name])) for name in ("positives", "negatives")))

    def observe(self, learned: LearnedExamples) -> None:
        """Record labelled predictions of two classes; scores of several classes have no sign."""
        _add(self.positives, learned.scores_of(True))  # noqa: FBT003 - a class
        _add(self.negatives, learned.scores_of(False))  # noqa: FBT003

    def correct(self, correction: Correction) -> None:
        """Move a score to the other class."""
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


def least_score(number: int) -> float:
    """Return the lower bound of a bin.

    >>> least_score(8184), least_score(-8192)
    (1.0, -2.25)
    """
    bits = number if number >= 0 else number + 1
    return float(memoryview(array("q", [bits << BITS_LEFT_OUT])).cast("B").cast("d")[0])


def _rank(number: int) -> int:
    """Return the position of a bin in the order of scores."""
    return number if number >= 0 else _SMALLEST_NEGATIVE - number - 1


@dataclass(slots=True)
class Confusion:
    """Labelled predictions by truth and predicted class.

    Examples
    --------
    >>> confusion = Confusion()
    >>> confusion.add_all([(True, True), (True, True), (False, True)])
    >>> confusion.cells[False, True], confusion.baseline_mistakes
    (1, 1)

    """

    cells: Counter[tuple[TrueLabel, TrueLabel]] = field(default_factory=Counter)
    """Predictions by (truth, predicted)."""
    truths: Counter[TrueLabel] = field(default_factory=Counter)
    """Labels by class."""
    revoked: Counter[tuple[TrueLabel, TrueLabel]] = field(default_factory=Counter)
    """Predictions by the (truth, predicted) that they had before a label corrected the truth."""

    @property
    def count(self) -> int:
        """Number of predictions."""
        return self.truths.total()

    @property
    def baseline_mistakes(self) -> int:
        """Predictions whose truth is not the majority class: the mistakes of the majority baseline."""
        return self.count - max(self.truths.values(), default=0)

    def state(self) -> dict[str, Any]:
        """Return all counts as plain values."""
        counted = {"cells": self.cells, "revoked": self.revoked}
        return {name: [[*cell, count] for cell, count in cells.items()] for name, cells in counted.items()}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Confusion:
        """Return the counts of a state."""
        confusion = cls()
        for truth, predicted, count in state["cells"]:
            confusion.cells[truth, predicted] = count
            confusion.truths[truth] += count
        for truth, predicted, count in state["revoked"]:
            confusion.revoked[truth, predicted] = count
        return confusion

    def observe(self, learned: LearnedExamples) -> None:
        """Record labelled predictions, in order."""
        cells = learned.cells()
        if cells is None or not isinstance(next(iter(self.truths), True), bool):
            self.add_all([*zip(learned.truths, learned.predictions(), strict=True)])
            return
        for cell in sorted(set(cells), key=cells.index):
            count = cells.count(cell)
            self.cells[cell > 1, cell % 2 == 1] += count
            self.truths[cell > 1] += count

    def add_all(self, pairs: Sequence[tuple[TrueLabel, TrueLabel]]) -> None:
        """Record predictions as (truth, predicted), in order."""
        self.cells.update(pairs)
        self.truths.update(truth for truth, _ in pairs)

    def correct(self, correction: Correction) -> None:
        """Record a corrected truth."""
        predicted, before, truth = correction.predicted, correction.before, correction.truth
        self.cells[before, predicted] -= 1
        self.cells[truth, predicted] += 1
        self.truths[before] -= 1
        self.truths[truth] += 1
        self.revoked[before, predicted] += 1


class ClassMetrics(NamedTuple):
    """Metrics of one class against all others, 0-1; None where the denominator is 0.

    References
    ----------
    Matthews, B. W. (1975). Comparison of the predicted and observed secondary structure of T4 phage lysozyme.
    Biochimica et Biophysica Acta 405(2). The correlation: 1 if all are right, 0 if by chance, -1 if none is.

    """

    labelled: int
    """Examples of the class."""
    precision: float | None
    """Share of correct predictions among the predictions of the class."""
    recall: float | None
    """Share of the class's examples that were predicted as the class."""
    f1: float | None
    """Harmonic mean of precision and recall."""
    specificity: float | None
    """Share of the other classes' examples that were not predicted as the class."""
    matthews_correlation: float | None


def class_metrics(cells: Mapping[tuple[Label, Label], int]) -> dict[Label, ClassMetrics]:
    """Return the metrics of each class, in the order of classes, from predictions by (truth, predicted).

    >>> found = class_metrics({("ham", "ham"): 8, ("ham", "spam"): 1, ("spam", "spam"): 1})["spam"]
    >>> found.precision, found.recall, found.specificity, found.matthews_correlation
    (0.5, 1.0, 0.888..., 0.666...)
    """
    truths, predictions = labels_of(cells), Counter[Label]()
    for (_, predicted), count in cells.items():
        predictions[predicted] += count
    labels = sorted(truths | predictions, key=str)
    total = truths.total()
    return {
        label: _metrics_of(cells.get((label, label), 0), truths[label], predictions[label], total)
        for label in labels
    }


def labels_of(cells: Mapping[tuple[Label, Label], int]) -> Counter[Label]:
    """Return the labels by class, from predictions by (truth, predicted)."""
    truths = Counter[Label]()
    for (truth, _), count in cells.items():
        truths[truth] += count
    return truths


def _metrics_of(hits: int, positives: int, predicted: int, total: int) -> ClassMetrics:
    negatives, rejected = total - positives, total - predicted
    spread = math.sqrt(predicted * positives * negatives * rejected)
    return ClassMetrics(
        positives,
        ratio(hits, predicted),
        ratio(hits, positives),
        ratio(2 * hits, predicted + positives),
        ratio(negatives - predicted + hits, negatives),
        ratio(total * hits - predicted * positives, spread),
    )


def ratio(part: float, whole: float) -> float | None:
    """Return part / whole; None if whole is 0."""
    return part / whole if whole else None


def first_classes(pairs: Iterable[tuple[Label, Label]]) -> list[Label]:
    """Return the distinguished classes: the first to occur, so that the choice never changes."""
    return [*dict.fromkeys(label for pair in pairs for label in pair)][:MAX_CLASSES]
