"""What becomes of a label: its event is kept, still to come, or was let go."""

from __future__ import annotations

from collections import Counter
from math import nan
from typing import Final

from perceptron_core import LearnerError
from service.batches import OutputBatch
from service.messages.decoder import Incoming
from service.messages.encoder import Answers
from service.messages.labels import Truth
from service.messages.trace import trace_headers
from service.models.learner import Learner
from service.models.river import ModelError
from service.partition.counts.counters import Counters
from service.partition.examples import Example, LearnedExamples
from service.partition.label_join import EarlyLabel, LabelJoin

_REFUSALS: Final = (LearnerError, ModelError)


class LabelLearner:
    """Joins labels with the events they belong to, learns them and writes their outcomes.

    Parameters
    ----------
    join
        Where the events are kept.
    answers
        Writes outcomes.
    counts
        Counts labels by result of the join.
    truth_on_timeout
        The class of an event whose label does not come in time; None if it has none then.

    Attributes
    ----------
    learner : Learner
        What learns; set before the first batch.

    """

    learner: Learner

    def __init__(
        self,
        join: LabelJoin,
        answers: Answers,
        counters: Counters,
        truth_on_timeout: Truth | None = None,
    ) -> None:
        self.join = join
        self.answers = answers
        self._counters = counters
        self.truth_on_timeout = truth_on_timeout
        self._learned = LearnedExamples()
        self._outputs = OutputBatch()

    @property
    def counts(self) -> Counter[str]:
        """Labels by result of the join."""
        return self._counters.labels

    def begin(self, learned: LearnedExamples, outputs: OutputBatch) -> None:
        """Begin a batch: labelled predictions and outcomes go there."""
        self._learned, self._outputs = learned, outputs

    def advance(self, timestamp_ms: int) -> None:
        """Advance event time: learn what is overdue, let go what has waited too long."""
        if self.truth_on_timeout is not None:
            self._learn_overdue(timestamp_ms, self.truth_on_timeout)
        if orphans := self.join.advance(timestamp_ms):
            self.counts["orphan"] += orphans

    def receive(self, label: Incoming, timestamp_ms: int, trace: bytes) -> None:
        """Join a label with its event: kept, still to come, let go, or labelled before."""
        assert label.truth is not None
        self.answers.follow(label.label)
        example = self.join.examples.get(label.id)
        if example is None:
            if result := self.join.hold_alone(label.id, EarlyLabel(label.truth, timestamp_ms)):
                self.counts[result] += 1
            return
        if example.truth is not None:
            self._reconsider(example, label.truth)
            return
        delay_seconds = (timestamp_ms - example.timestamp_ms) / 1000.0
        event_id = example.event_id  # the string that is kept anyway
        self._learn(event_id, example, label.truth, delay_seconds)
        self.counts["matched"] += 1
        predicted, time_ms = example.predicted, example.timestamp_ms
        headers = trace_headers(example.trace or trace)
        self.answers.outcome(self._outputs, event_id, label.truth, predicted, delay_seconds, time_ms, headers)

    def repeated(self, event: Incoming, known: Example) -> Truth | None:
        """Find the label of an event that came before; what it says now may be news about that one."""
        if event.truth is not None:
            self.answers.follow(event.label)
            if known.truth is None:
                self._learn(event.id, known, event.truth)
            else:
                self._reconsider(known, event.truth)
        return known.truth

    def first(self, event: Incoming, early: EarlyLabel | None) -> None:
        """Note with what label a new event was learned: its own, or one that came before it."""
        if early is not None:
            self.join.drop_early_label(event.id)
        if event.truth is None:
            self.counts["matched"] += 1
            return
        self.answers.follow(event.label)
        if early is not None:
            self.counts["duplicate" if early.truth == event.truth else "corrected"] += 1

    def _learn_overdue(self, timestamp_ms: int, truth: Truth) -> None:
        """Learn what an event without a label is, for all whose time is over when event time advances."""
        join = self.join
        for event_id, example in join.overdue(timestamp_ms):
            try:
                self._learn(event_id, example, truth)
                self.counts["timed_out"] += 1
            except _REFUSALS:  # no fault of the record that advances the time
                self._learned.note(event_id, example, truth, 0.0, self.learner.updates)
                join.stop_waiting(event_id)
                self.counts["refused"] += 1
            seconds, headers = join.timeout_seconds, trace_headers(example.trace)
            predicted, time_ms = example.predicted, example.timestamp_ms
            self.answers.outcome(self._outputs, event_id, truth, predicted, seconds, time_ms, headers)

    def _learn(self, event_id: str, example: Example, truth: Truth, delay_seconds: float = nan) -> None:
        """Learn the truth about an example that waited for it."""
        step = self.learner.learn(example.x, truth, example.step or b"")
        self._learned.note(event_id, example, truth, step, self.learner.updates, delay_seconds)
        self.join.stop_waiting(event_id)

    def _reconsider(self, example: Example, truth: Truth) -> None:
        """Take another label for a learned example: the same is a duplicate, a different one corrects.

        Where labels are learned by timeout, a model that cannot undo learns the real one in addition, as with
        the fake negatives of delayed feedback (Ktena et al. 2019).
        """
        if truth == example.truth:
            self.counts["duplicate"] += 1
            return
        x = example.x
        if self.learner.undo(x, example.step) or self.truth_on_timeout is not None:
            example.truth, example.step = truth, self.learner.learn(x, truth)
            self.join.note_change(example.event_id)
            self.counts["corrected"] += 1
        else:
            self.counts["refused"] += 1
