"""What becomes of a label. In: labels of events kept, still to come, or let go. Out: their outcomes.

`label_learner.pxd` gives this module its C types.
"""

from __future__ import annotations

from collections import Counter
from math import nan
from typing import Final

from perceptron_core import LearnerError
from service.batches.output_batch import OutputBatch
from service.messages.decoder import Incoming
from service.messages.encoder import Answers
from service.messages.labels import Truth
from service.messages.trace import trace_headers
from service.models.binary import BinaryLearner
from service.models.registry import Learner
from service.models.river import ModelError
from service.partition.example import Example
from service.partition.label_join import EarlyLabel, LabelJoin
from service.partition.learned_examples import LearnedExamples

_REFUSALS: Final = (LearnerError, ModelError)


class LabelLearner:
    """Joins labels with the events they belong to, and learns them.

    Parameters
    ----------
    join
        Where the events are kept.
    answers
        Writes outcomes.
    truth_on_timeout
        The class of an event whose label does not come in time; None if it has none then.

    Attributes
    ----------
    counts : Counter
        Labels by result of the join.

    """

    def __init__(self, join: LabelJoin, answers: Answers, truth_on_timeout: Truth | None) -> None:
        self._join = join
        self._answers = answers
        self._truth_on_timeout = truth_on_timeout
        self._learner: Learner
        self._binary: BinaryLearner | None = None
        self._learned = LearnedExamples()
        self._outputs = OutputBatch()
        self.counts: Counter[str] = Counter()
        self._n_matched = 0  # of the batch

    def begin(
        self, learner: Learner, counts: Counter[str], learned: LearnedExamples, outputs: OutputBatch
    ) -> None:
        """Begin a batch: this learner learns; labels, labelled predictions and outcomes go there."""
        self._learner, self.counts, self._learned, self._outputs = learner, counts, learned, outputs
        self._n_matched = 0
        self._binary = learner if type(learner) is BinaryLearner else None

    def end(self) -> None:
        """Count what was matched in the batch."""
        if self._n_matched:
            self.counts["matched"] += self._n_matched

    def _match(self) -> None:
        """Note that a label was matched."""
        if not self._n_matched:
            self.counts["matched"] += 0  # counts are in the order in which they were counted first
        self._n_matched += 1

    def receive(self, label: Incoming, timestamp_ms: int, trace: bytes) -> None:
        """Join a label with its event: kept, still to come, let go, or labelled before."""
        assert label.truth is not None
        self._answers.follow(label.label)
        example = self._join.examples.get(label.id)
        if example is None:
            if result := self._join.hold_alone(label.id, EarlyLabel(label.truth, timestamp_ms)):
                self.counts[result] += 1
            return
        if example.truth is not None:
            self._reconsider(example, label.truth)
            return
        delay_seconds = (timestamp_ms - example.timestamp_ms) / 1000.0
        event_id = example.event_id  # the string that is kept anyway
        self._settle(event_id, example, label.truth, delay_seconds)
        self._match()
        predicted, time_ms = example.predicted, example.timestamp_ms
        trace = example.trace or trace
        headers = trace_headers(trace) if trace else ()
        self._answers.outcome(
            self._outputs, event_id, label.truth, predicted, delay_seconds, time_ms, headers
        )

    def repeated(self, event: Incoming, known: Example) -> Truth | None:
        """Find the label of an event that came before; what it says now may be news about that one."""
        if event.truth is not None:
            self._answers.follow(event.label)
            if known.truth is None:
                self._settle(event.id, known, event.truth)
            else:
                self._reconsider(known, event.truth)
        return known.truth

    def first(self, event: Incoming, early: EarlyLabel | None) -> None:
        """Note with what label a new event was learned: its own, or one that came before it."""
        if early is not None:
            self._join.drop_early_label(event.id)
        if event.truth is None:
            self._match()
            return
        self._answers.follow(event.label)
        if early is not None:
            self.counts["duplicate" if early.truth == event.truth else "corrected"] += 1

    def settle_overdue(self, timestamp_ms: int) -> None:
        """Learn what an event without a label is, for all whose time is over when event time advances."""
        join, truth = self._join, self._truth_on_timeout
        assert truth is not None
        for event_id, example in join.overdue(timestamp_ms):
            try:
                self._settle(event_id, example, truth)
                self.counts["timed_out"] += 1
            except _REFUSALS:  # no fault of the record that advances the time
                self._learned.note(event_id, example, truth, 0.0, self._learner.updates)
                join.stop_waiting()
                self.counts["refused"] += 1
            seconds, headers = join.timeout_seconds, trace_headers(example.trace)
            predicted, time_ms = example.predicted, example.timestamp_ms
            self._answers.outcome(self._outputs, event_id, truth, predicted, seconds, time_ms, headers)

    def _settle(self, event_id: str, example: Example, truth: Truth, delay_seconds: float = nan) -> None:
        """Learn the truth about an example that waited for it."""
        change: object
        if self._binary is not None:
            change = self._binary.learn_step(example.features(), truth)  # type: ignore[arg-type] # of two
        else:
            change = self._learner.learn(example.x, truth, example.step or b"")
        self._learned.note(event_id, example, truth, change, self.n_updates(), delay_seconds)
        self._join.stop_waiting()

    def n_updates(self) -> int:
        """Return the updates that the learner has made."""
        return self._learner.updates if self._binary is None else self._binary.n_updates()

    def _reconsider(self, example: Example, truth: Truth) -> None:
        """Take another label for a learned example: the same is a duplicate, a different one corrects.

        Where labels are learned by timeout, a model that cannot undo learns the real one in addition, as with
        the fake negatives of delayed feedback (Ktena et al. 2019).
        """
        if truth == example.truth:
            self.counts["duplicate"] += 1
            return
        x = example.x
        if self._learner.undo(x, example.step) or self._truth_on_timeout is not None:
            example.truth, example.step = truth, self._learner.learn(x, truth)
            self.counts["corrected"] += 1
        else:
            self.counts["refused"] += 1
