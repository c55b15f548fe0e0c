"""The confusion matrix and the area under the ROC curve of labelled predictions."""

from __future__ import annotations

import operator
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import compress
from typing import Any

from service.messages.labels import Truth, Vocabulary
from service.models.auto import AutoLearner
from service.models.learner import Learner
from service.partition.counts.counters import Counters
from service.partition.examples import LearnedExamples


class Evaluation:
    """Collects labelled predictions; 9 bytes each.

    Parameters
    ----------
    classes
        Names of the two classes, the negative one first, if they have names.

    """

    def __init__(self, classes: Sequence[str] = ()) -> None:
        self._name = Vocabulary(classes).name
        self._confusion: Counter[tuple[Truth, Truth]] = Counter()
        self._scores = array("d")
        self._truths = bytearray()

    @property
    def labelled(self) -> int:
        """Labelled predictions so far."""
        return len(self._truths)

    def observe(self, learned: LearnedExamples) -> None:
        """Record labelled predictions."""
        truths = learned.truths()
        self._confusion.update(zip(truths, learned.predictions(), strict=True))
        self._scores.extend(learned.scores())
        self._truths.extend([truth is True for truth in truths])

    def confusion(self) -> dict[str, dict[str, int]]:
        """Count predictions as {truth: {predicted: count}}."""
        classes = sorted({name for pair in self._confusion for name in pair}, key=str)
        return {self._name(t): {self._name(p): self._confusion[t, p] for p in classes} for t in classes}

    def auc(self) -> float | None:
        """Compute the area under the ROC curve of the scores, each given before its label was learned.

        It is the Mann-Whitney statistic: the share of (positive, negative) pairs that the scores put in
        the right order, ties counting half. None unless there are examples of exactly two classes.
        """
        positives = [*compress(self._scores, self._truths)]
        negatives = sorted(compress(self._scores, map(operator.not_, self._truths)))
        is_binary = all(isinstance(truth, bool) for truth, _ in self._confusion)
        if not (is_binary and positives and negatives):
            return None
        below = sum(bisect_left(negatives, each) + bisect_right(negatives, each) for each in positives)
        return below / (2 * len(positives) * len(negatives))


def summarise(counters: Counters, learner: Learner, evaluation: Evaluation, seconds: float) -> dict[str, Any]:
    """Sum a run up: what `replay --format json` prints."""
    summary: dict[str, Any] = {
        "events": counters.predictions,
        "labelled": counters.labelled,
        "mistakes": counters.mistakes,
        "updates": learner.updates,
        "error_rate": counters.error_ratio(),
        "rejected": counters.rejected.total(),
        "rejected_by_reason": dict(counters.rejected),
        "skipped": counters.skipped.total() or None,
        "confusion": evaluation.confusion(),
        "auc": evaluation.auc(),
        "log_loss": counters.calibration.log_loss(),
        "expected_calibration_error": counters.calibration.expected_calibration_error(),
        "seconds": seconds,
        "events_per_second": counters.predictions / seconds if seconds else 0.0,
    }
    weights = learner.weights()
    if weights is not None:
        summary |= {"weights_nonzero": len(weights[0]), "bias": weights[1]}
    if isinstance(learner, AutoLearner):
        experts = [each._asdict() for each in learner.experts]
        summary |= {"leader": learner.leader, "experts": experts}
    return {name: value for name, value in summary.items() if value is not None}
