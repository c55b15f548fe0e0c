"""Results of processing a batch: outputs, dead letters and labelled predictions."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, Final, NamedTuple

from perceptron_core.logistic import logistic
from service.messages.features import X
from service.messages.labels import Truth
from service.stream.batches import OutputBatch
from service.stream.protocol import Output


class Processed(NamedTuple):
    """The outputs of a batch."""

    outputs: OutputBatch
    """All outputs, in the order of the records."""
    dead_letters: list[tuple[int, Output]]
    """The dead letters among the outputs, each with the position of its record in the batch."""


class Correction(NamedTuple):
    """Another label of a labelled prediction, in place of the one that was learned."""

    place: int
    """How many labelled predictions of the batch came before it."""
    predicted: Truth
    score: float
    log_odds: float | None
    """As of a `Step`."""
    before: Truth
    truth: Truth
    example: Any
    """The `Example`."""


class Step:  # noqa: PLW1641 - holds a dictionary, so it is not hashable
    """A labelled prediction, as observers receive it.

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
        """Return whether another step has the same values."""
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
