"""Evaluate labelled predictions: confusion matrix, ranking by scores, and baselines without features.

In pure Python, as `replay` needs no NumPy.
"""

from __future__ import annotations

import operator
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate, compress, pairwise
from typing import Any, Final, NamedTuple, Self

from service.messages.labels import TrueLabel, Vocabulary
from service.partition.examples import LearnedExamples
from service.partition.parts.quality import class_metrics
from service.partition.processor import Processor

GOALS: Final = ("precision", "recall", "false_positive_rate")


class Threshold(NamedTuple):
    """The results if examples with at least this score are predicted as positive."""

    score: float
    precision: float
    recall: float
    false_positive_rate: float
    decided: int
    """Number of examples with at least this score."""


class ScoreCurve(NamedTuple):
    """Examples of two classes by score, the highest first; equal scores are one step.

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
    """Number of positive examples with at least each score."""
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
        """Return the threshold at each score."""
        return [self._threshold(index) for index in range(len(self.scores))]

    def at(self, goal: str, least: float) -> Threshold | None:
        """Return the threshold that reaches a goal with the most positive examples; None if there is none.

        For a goal of recall, it is the threshold with the fewest negative examples.
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

    def _threshold(self, index: int) -> Threshold:
        good, bad = self.true_positives[index], self.false_positives[index]
        return Threshold(
            self.scores[index], good / (good + bad), good / self.positives, bad / self.negatives, good + bad
        )


class Evaluation:
    """Collects labelled predictions, in 9 bytes each.

    Parameters
    ----------
    classes
        Names of the two classes, the negative one first, if they have names.

    """

    def __init__(self, classes: Sequence[str] = ()) -> None:
        self._name = Vocabulary(classes).name
        self._confusion: Counter[tuple[TrueLabel, TrueLabel]] = Counter()
        self._scores = array("d")
        self._truths = bytearray()
        self._corrections = Counter[tuple[float, bool]]()
        """Changes of the number of scores of a truth by corrections."""
        self._changes = 0
        """Number of labels that differ from the label before, including the first; without corrections."""
        self._last: TrueLabel | None = None

    @property
    def labelled(self) -> int:
        """Labelled predictions so far."""
        return len(self._truths)

    def observe(self, learned: LearnedExamples) -> None:
        """Record labelled predictions."""
        truths = learned.truths
        self._confusion.update(zip(truths, learned.predictions(), strict=True))
        self._changes += sum(map(operator.ne, truths, [self._last, *truths]))
        self._last = truths[-1] if truths else self._last
        self._scores.extend(learned.scores())
        self._truths.extend([truth is True for truth in truths])
        for correction in learned.corrections:
            self._confusion[correction.before, correction.predicted] -= 1
            self._confusion[correction.truth, correction.predicted] += 1
            self._corrections[correction.score, correction.before is True] -= 1
            self._corrections[correction.score, correction.truth is True] += 1

    def confusion(self) -> dict[str, dict[str, int]]:
        """Count predictions as {truth: {predicted: count}}."""
        classes = sorted({name for pair in self._confusion for name in pair}, key=str)
        return {self._name(t): {self._name(p): self._confusion[t, p] for p in classes} for t in classes}

    def curve(self) -> ScoreCurve | None:
        """Rank the scores, each given before its label was learned.

        None unless there are examples of exactly two classes.
        """
        if not self._has_two_classes:
            return None
        return ScoreCurve.of(
            self._corrected(compress(self._scores, self._truths), truth=True),
            self._corrected(compress(self._scores, map(operator.not_, self._truths)), truth=False),
        )

    @property
    def _has_two_classes(self) -> bool:
        return {truth for (truth, _), count in self._confusion.items() if count} == {False, True}

    def ranking(self) -> dict[str, Any]:
        """Return the metrics of how well scores separate two classes; empty if there are none."""
        curve = self.curve()
        return {"auc": curve.auc(), "average_precision": curve.average_precision()} if curve else {}

    def classes(self) -> dict[str, dict[str, Any]]:
        """Return how well each class is separated from the others."""
        cells = {(self._name(t), self._name(p)): count for (t, p), count in self._confusion.items()}
        return {name: figures._asdict() for name, figures in class_metrics(cells).items()}

    def baselines(self) -> dict[str, dict[str, Any]]:
        """Evaluate two baselines without features: the majority class and the last label.

        The majority class gives all examples the same score. The result is empty before the first label. If
        labels were corrected, their order is unknown, and the last label is left out.
        """
        if not self.labelled:
            return {}
        truths: Counter[TrueLabel] = Counter()
        for (truth, _), count in self._confusion.items():
            truths[truth] += count
        ranked = (
            {"auc": 0.5, "average_precision": truths[True] / self.labelled} if self._has_two_classes else {}
        )
        mistakes = {"majority_class": self.labelled - max(truths.values())}
        if not self._corrections:
            mistakes["last_label"] = self._changes
        results = {name: {"mistakes": n, "error_rate": n / self.labelled} for name, n in mistakes.items()}
        results["majority_class"] |= ranked
        return results

    def _corrected(self, scores: Iterable[float], *, truth: bool) -> list[float]:
        """Return the scores of a truth after corrections."""
        changes = {score: n for (score, of), n in self._corrections.items() if of is truth and n}
        return [*(Counter(scores) + Counter(changes)).elements()] if changes else [*scores]


def summarise(processor: Processor, evaluation: Evaluation, seconds: float) -> dict[str, Any]:
    """Return the summary of a run, as `replay --format json` prints it."""
    counters, learner = processor.counters, processor.learner
    summary: dict[str, Any] = {
        "events": counters.predictions,
        "labelled": counters.labelled,
        "mistakes": counters.known_mistakes(),
        **counters.totals().labels(),
        "updates": learner.updates,
        "error_rate": counters.error_ratio(),
        "rejected": counters.rejected.total(),
        "rejected_by_reason": dict(counters.rejected),
        "skipped": counters.skipped.total() or None,
        "confusion": evaluation.confusion(),
        "classes": evaluation.classes(),
        "baselines": evaluation.baselines() or None,
        **evaluation.ranking(),
        "log_loss": counters.calibration.log_loss(),
        "expected_calibration_error": counters.calibration.expected_calibration_error(),
        "seconds": seconds,
        "events_per_second": counters.predictions / seconds if seconds else 0.0,
    }
    weights = learner.weights()
    if weights is not None:
        summary |= {"weights_nonzero": len(weights[0]), "bias": weights[1]}
    if (mixture := learner.mixture) is not None:
        experts = [expert._asdict() for expert in mixture.experts]
        summary |= {"leader": mixture.leader, "experts": experts}
    for part in processor.optional_parts:
        summary |= part.summary(counters.confusion.cells)
    return {name: value for name, value in summary.items() if value is not None}
