"""What is noted of learned examples. In: an example and its truth. Out: its step, for observers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from perceptron_core.logistic import logistic
from service.messages.features import X
from service.messages.labels import Truth
from service.models.probability import log_odds_of
from service.partition.label_join import Example


@dataclass(slots=True)
class Step:
    """One prediction whose truth is known, told to whoever observes."""

    event_id: str
    x: X
    score: float
    predicted: Truth
    truth: Truth
    mistake: bool
    updates: int
    """Updates the model had made once it had learned the truth."""
    label_delay_seconds: float | None = None
    """Event time from the event to its label; None where they came together."""
    log_odds: float | None = None
    """Of the predicted class; None where the learner's scores are no log-odds."""

    @property
    def probability(self) -> float | None:
        """Of the predicted class; None where the learner's scores are no log-odds."""
        return None if self.log_odds is None else logistic(self.log_odds)

    @property
    def n_features(self) -> int:
        """How many features the event had."""
        return len(self.x)


Observer = Callable[[Sequence[Step]], None]
"""Called with the labelled predictions of each batch, in order."""


class LearnedExamples:
    """The examples that a batch learned, in order.

    Parameters
    ----------
    has_log_odds
        Whether the learner's scores are log-odds.

    Attributes
    ----------
    steps
        Their labelled predictions.

    """

    def __init__(self, *, has_log_odds: bool = False) -> None:
        self.steps: list[Step] = []
        self._has_log_odds = has_log_odds

    def note(
        self,
        event_id: str,
        example: Example,
        x: X,
        truth: Truth,
        change: object,
        updates: int,
        label_delay_seconds: float | None = None,
    ) -> None:
        """Note an example's truth, the change that learning it made, and how its prediction turned out."""
        example.step, example.truth = change, truth
        predicted, score = example.predicted, example.score
        mistake = predicted != truth
        log_odds = log_odds_of(predicted, score) if self._has_log_odds else None
        self.steps.append(
            Step(event_id, x, score, predicted, truth, mistake, updates, label_delay_seconds, log_odds)
        )
