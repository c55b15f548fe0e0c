"""The probability of a prediction. In: a predicted class and its score, a log-odds. Out: a probability."""

from __future__ import annotations

from perceptron_core.logistic import logistic
from service.messages.labels import Truth


def log_odds_of(predicted: Truth, score: float) -> float:
    """Return the log-odds of the predicted class: of two classes the score is that of True, and signed."""
    return abs(score) if isinstance(predicted, bool) else score


def probability_of(predicted: Truth, score: float) -> float:
    """Return the probability of the predicted class.

    >>> probability_of(False, -2.0), probability_of("spam", -2.0)
    (0.8807..., 0.1192...)

    """
    return logistic(log_odds_of(predicted, score))
