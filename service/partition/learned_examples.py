"""What is noted of learned examples. In: an example and its truth. Out: its step, for observers.

`learned_examples.pxd` gives this module its C types.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Final

from perceptron_core.logistic import logistic
from service.messages.features import X
from service.messages.labels import Truth
from service.models.probability import log_odds_of
from service.partition.example import Example


class Step:  # noqa: PLW1641 - holds a dictionary, so it is not hashable
    """One prediction whose truth is known, told to whoever observes.

    Parameters
    ----------
    event_id, x, score, predicted, truth, mistake
        The event, what was predicted of it, and how that turned out.
    updates
        Updates the model had made once it had learned the truth.
    label_delay_seconds
        Event time from the event to its label; None where they came together.
    log_odds
        Of the predicted class; None where the learner's scores are no log-odds.

    """

    def __init__(
        self,
        event_id: str,
        x: X,
        score: float,
        predicted: Truth,
        truth: Truth,
        mistake: bool,  # noqa: FBT001 - as its neighbours
        updates: int,
        label_delay_seconds: float | None = None,
        log_odds: float | None = None,
    ) -> None:
        self.event_id = event_id
        self.x = x
        self.score = score
        self.predicted = predicted
        self.truth = truth
        self.mistake = mistake
        self.updates = updates
        self.label_delay_seconds = label_delay_seconds
        self.log_odds = log_odds

    def __eq__(self, other: object) -> bool:
        """Return whether another step says the same."""
        return isinstance(other, Step) and bool(_fields(self) == _fields(other))

    def __repr__(self) -> str:
        return f"Step{_fields(self)}"

    @property
    def probability(self) -> float | None:
        """Of the predicted class; None where the learner's scores are no log-odds."""
        return None if self.log_odds is None else logistic(self.log_odds)

    @property
    def n_features(self) -> int:
        """How many features the event had."""
        return len(self.x)


_fields: Final = attrgetter(
    *("event_id", "x", "score", "predicted", "truth", "mistake", "updates", "label_delay_seconds", "log_odds")
)

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
