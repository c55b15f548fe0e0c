"""What is noted of learned examples. In: an example and its truth. Out: its step, for observers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from service.messages.features import X
from service.messages.labels import Truth
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

    @property
    def n_features(self) -> int:
        """How many features the event had."""
        return len(self.x)


Observer = Callable[[Sequence[Step]], None]
"""Called with the labelled predictions of each batch, in order."""


class LearnedExamples:
    """The examples that a batch learned, in order.

    Attributes
    ----------
    steps
        Their labelled predictions.

    """

    def __init__(self) -> None:
        self.steps: list[Step] = []

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
        predicted = example.predicted
        mistake = predicted != truth
        self.steps.append(
            Step(event_id, x, example.score, predicted, truth, mistake, updates, label_delay_seconds)
        )
