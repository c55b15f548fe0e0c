"""Learn or score the leading rows of a data frame in one call.

The leading rows are those before the first with which anything is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perceptron_core.linear.batches import DenseBatch, decide, signs_of, weights_of
from perceptron_core.linear.data_frames import sound_rows
from perceptron_core.linear.linear_rule import LinearRule

if TYPE_CHECKING:
    from perceptron_core.linear.batches import Doubles


def learn_leading(rule: LinearRule, frame: Any, labels: list[Any], weights: list[Any]) -> int:
    """Learn the leading rows; return their number."""
    matrix = sound_rows(frame)
    signs = signs_of(labels[: len(matrix)])
    sizes = weights_of(weights[: len(signs)])
    if len(sizes):
        batch = DenseBatch(rule.table, frame.columns, matrix)
        batch.learn(rule, signs[: len(sizes)], sizes)
    return len(sizes)


def predict_leading(rule: LinearRule, frame: Any) -> list[bool]:
    """Predict the leading rows."""
    import numpy as np  # noqa: PLC0415  takes long to import

    scores = score_leading(rule, frame)
    classes = np.empty(len(scores), bool)
    decide(rule, scores, classes.view(np.uint8))
    return classes.tolist()


def score_leading(rule: LinearRule, frame: Any) -> Doubles:
    """Compute the signed scores of the leading rows."""
    import numpy as np  # noqa: PLC0415  takes long to import

    matrix = sound_rows(frame)
    scores = np.empty(len(matrix))
    if len(matrix):
        DenseBatch(rule.table, frame.columns, matrix).score(rule, scores)
    return scores
