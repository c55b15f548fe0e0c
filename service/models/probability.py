"""The probability of a predicted class, from a score that is a log-odds."""

from __future__ import annotations

from typing import Any

from perceptron_core.elementary import logistic
from service.messages.labels import LabelValue, Truth


def log_odds_of(predicted: Truth, score: float) -> float:
    """Return the log-odds of the predicted class: of two classes the score is that of True, and signed."""
    return abs(score) if isinstance(predicted, bool) else score


def probability_of(predicted: Truth, score: float) -> float:
    """Return the probability of the predicted class.

    >>> probability_of(False, -2.0), probability_of("spam", -2.0)
    (0.8807..., 0.1192...)

    """
    return logistic(log_odds_of(predicted, score))


def assessment(
    event_id: str, label: LabelValue, predicted: Truth, score: float, *, has_log_odds: bool
) -> dict[str, Any]:
    """Return the fields of an `Assessment` without its `updates`; `label` is the spelling of `predicted`."""
    fields = {"id": event_id, "label": label, "score": score}
    return fields | {"probability": probability_of(predicted, score)} if has_log_odds else fields
