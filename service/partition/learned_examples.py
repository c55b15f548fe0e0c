"""The examples that a batch learned. In: an example and its truth. Out: labelled predictions, for observers.

This is the interpreted form; `learned_examples.pyx` is the compiled one, and means the same.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from math import isnan, nan
from typing import overload

from service.messages.labels import Truth
from service.models.probability import log_odds_of
from service.partition.example import Example
from service.partition.processed import Step


class LearnedExamples(Sequence[Step]):
    """The examples that a batch learned, in order: a sequence of their labelled predictions.

    A `Step` is made only when one is asked for; the methods return what is asked of all of them.

    Parameters
    ----------
    steps
        The first of them.
    has_log_odds
        Whether the scores of the examples that are noted later are log-odds.

    Attributes
    ----------
    has_log_odds : bool
        Whether one of them may have log-odds.
    n_mistakes : int
        How many predictions were wrong.

    """

    def __init__(self, steps: Iterable[Step] = (), *, has_log_odds: bool = False) -> None:
        self._steps = list(steps)
        self.has_log_odds = has_log_odds or any(step.log_odds is not None for step in self._steps)
        self.n_mistakes = sum(step.mistake for step in self._steps)

    def __len__(self) -> int:
        return len(self._steps)

    @overload
    def __getitem__(self, place: int) -> Step: ...
    @overload
    def __getitem__(self, place: slice) -> LearnedExamples: ...
    def __getitem__(self, place: int | slice) -> Step | LearnedExamples:
        """Return a labelled prediction, or some of them."""
        if isinstance(place, slice):
            return LearnedExamples(self._steps[place])
        return self._steps[place]

    def __iter__(self) -> Iterator[Step]:
        return iter(self._steps)

    def note(
        self,
        event_id: str,
        example: Example,
        truth: Truth,
        change: object,
        updates: int,
        label_delay_seconds: float = nan,
    ) -> None:
        """Note an example's truth, the change that learning it made, and how its prediction turned out.

        The delay is NaN where label and event came together.
        """
        example.step, example.truth = change, truth
        predicted, score = example.predicted, example.score
        mistake = predicted != truth
        log_odds = log_odds_of(predicted, score) if self.has_log_odds else None
        self.n_mistakes += mistake
        delay_seconds = None if isnan(label_delay_seconds) else label_delay_seconds
        self._steps.append(
            Step(event_id, example.x, score, predicted, truth, mistake, updates, delay_seconds, log_odds)
        )

    def mistakes(self) -> list[bool]:
        """Return whether each prediction was wrong."""
        return [step.mistake for step in self._steps]

    def truths(self) -> list[Truth]:
        """Return each label."""
        return [step.truth for step in self._steps]

    def predictions(self) -> list[Truth]:
        """Return each predicted class."""
        return [step.predicted for step in self._steps]

    def scores(self) -> array[float]:
        """Return each score."""
        return array("d", [step.score for step in self._steps])

    def scores_of(self, truth: Truth) -> array[float]:
        """Return the scores of the examples of one of two classes."""
        return array("d", [step.score for step in self._steps if step.truth is truth])

    def margins(self) -> array[float]:
        """Return y·a of each example of one of two classes: negative where the prediction was wrong."""
        signed = [(step.score, step.truth) for step in self._steps if isinstance(step.truth, bool)]
        return array("d", [score if truth else -score for score, truth in signed])

    def label_delays(self) -> array[float]:
        """Return the delays of the labels that came later, in seconds."""
        return array("d", [delay for step in self._steps if (delay := step.label_delay_seconds) is not None])

    def log_odds(self) -> list[float | None]:
        """Return the log-odds of each predicted class; None where the learner's scores are none."""
        return [step.log_odds for step in self._steps]

    def cells(self) -> bytes | None:
        """Return 2·truth + prediction of each; None where one of them is not one of two classes."""
        cells = bytearray()
        for step in self._steps:
            truth, predicted = step.truth, step.predicted
            if not (isinstance(truth, bool) and isinstance(predicted, bool)):
                return None
            cells.append(2 * truth + predicted)
        return bytes(cells)

    def since_last_update(self) -> list[Step]:
        """Return the steps from the last update of the model on, of labels that came with their events.

        Of a label that came later, the score is an older model's and says nothing of this one.
        """
        latest = [step for step in self._steps if step.label_delay_seconds is None]
        unchanged = takewhile(lambda step: step.updates == latest[-1].updates, reversed(latest))
        return [*unchanged][::-1]


Observer = Callable[[LearnedExamples], None]
"""Called with the labelled predictions of each batch, in order."""
