"""Join labels with pending events, and update the model."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Final

from perceptron_core import DamagedError, LearnerError
from service.messages.decoder import Incoming
from service.messages.labels import MAX_WEIGHT, TrueLabel
from service.models.learner import Learner, ModelError
from service.partition.examples import Example, LearnedExamples
from service.partition.label_join import EarlyLabel, LabelJoin
from service.partition.output_writer import OutputWriter
from service.partition.parts.counters import MAX_UNMATCHED_IDS, Counters
from service.stream.batches import OutputBatch

_REJECTIONS: Final = (LearnerError, ModelError)
_WITHOUT_EVENT: Final = ("late", "orphan")


class LabelLearner:
    """Joins labels with their events, learns them and writes their outcomes.

    Parameters
    ----------
    join
        The pending events.
    writer
        Writes outcomes.
    counters
        Count labels by outcome of the join.

    Attributes
    ----------
    learner : Learner
        The model; set before the first batch.

    """

    learner: Learner

    def __init__(self, join: LabelJoin, writer: OutputWriter, counters: Counters) -> None:
        self.join = join
        self.writer = writer
        self.counters = counters
        self.takes_weights = True
        """Whether the learner accepts weights other than 1."""
        self._learned = LearnedExamples()

    def begin(self, learned: LearnedExamples, outputs: OutputBatch) -> None:
        """Begin a batch: labelled predictions go to `learned`, outcomes to `outputs`."""
        self._learned = learned
        self.writer.begin(outputs, has_log_odds=learned.has_log_odds)

    def check_restored(self, classes: Sequence[object]) -> None:
        """Raise `DamagedError` unless the model can learn the pending examples and the early labels."""
        for example in self.join.examples.values():
            truth = example.predicted if example.truth is None else example.truth
            is_step = self.learner.rule is None or isinstance(example.step, (float, int))
            if not (is_step and _can_learn((example.predicted, truth), example.weight, classes)):
                raise DamagedError(f"join: the example {example.event_id!r:.50} is not of this model")
        for event_id, label in self.join.early.items():
            if not _can_learn((label.truth,), label.weight or 0.0, classes):
                raise DamagedError(f"join: the early label of {event_id!r:.50} is not of this model")

    def advance(self, timestamp_ms: int) -> None:
        """Advance event time: learn examples that are due or overdue, and let others expire."""
        if self.join.truth_on_timeout is not None:
            self._learn_due(timestamp_ms, self.join.truth_on_timeout)
            self._learn_overdue(timestamp_ms, self.join.truth_on_timeout)
        if orphans := self.join.advance(timestamp_ms):
            self.counters.labels["orphan"] += len(orphans)
            self.counters.unmatched_ids.extend(orphans[-MAX_UNMATCHED_IDS:])

    def receive(self, label: Incoming, timestamp_ms: int) -> None:
        """Join a label with its event, which may be pending, expected, expired or already labelled."""
        assert label.truth is not None
        self.writer.follow(label.label)
        example = self.join.examples.get(label.id)
        if example is None:
            if result := self.join.hold(label.id, EarlyLabel(label.truth, timestamp_ms, label.weight)):
                outcome, event_id = result
                self.counters.labels[outcome] += 1
                if outcome in _WITHOUT_EVENT:
                    self.counters.unmatched_ids.append(event_id)
            return
        if example.truth is not None:
            self._reconsider(example, label, timestamp_ms)
            return
        delay_seconds = (timestamp_ms - example.timestamp_ms) / 1000.0
        self._learn(example, label, timestamp_ms, delay_seconds)
        self.counters.labels["matched"] += 1
        self.writer.write_outcome(example, label.truth, delay_seconds)

    def receive_repeated(self, event: Incoming, known: Example, timestamp_ms: int) -> TrueLabel | None:
        """Return the label of a repeated event; its message may bring the label or a correction."""
        if event.truth is not None:
            self.writer.follow(event.label)
            if known.truth is None:
                self._learn(known, event, timestamp_ms)
            else:
                self._reconsider(known, event, timestamp_ms)
        return known.truth

    def note_first(self, event: Incoming, early: EarlyLabel | None) -> None:
        """Note the label that a new event was learned with: from its message, or an early label."""
        if early is not None:
            del self.join.early[event.id]
        if event.truth is None:
            self.counters.labels["matched"] += 1
            return
        self.writer.follow(event.label)
        if early is not None:
            self.counters.labels["duplicate" if early.truth == event.truth else "corrected"] += 1

    def _learn_due(self, timestamp_ms: int, truth: TrueLabel) -> None:
        """Learn the timeout's class on unlabelled events that are due when event time advances.

        Each may still get a label. With p, the probability of the other classes, and F, the share of labels
        that arrive earlier, it has the weight (1 − p)/(1 − p·F): the probability that no label arrives.
        """
        learner = self.learner
        for example, share in self.join.due(timestamp_ms):
            self.join.note_change(example)
            x, memo, weight = example.x, example.step or b"", 1.0
            try:
                if self.takes_weights and learner.has_log_odds and share < 1.0:
                    p = learner.probability_of_others(x, truth)
                    weight = (1.0 - p) / (1.0 - p * share)
                step = learner.learn(x, truth, memo, weight * example.weight)
                example.step = memo or step  # a learner with prediction contexts cannot undo
                example.is_learned_early = True
            except _REJECTIONS:  # learned at the timeout instead, if possible
                continue

    def _learn_overdue(self, timestamp_ms: int, truth: TrueLabel) -> None:
        """Learn the timeout's class on unlabelled events that time out when event time advances."""
        join = self.join
        for example in join.overdue(timestamp_ms):
            try:
                step = example.step
                if not example.is_learned_early:
                    step = self.learner.learn_provisionally(example.x, truth, step or b"", example.weight)
                self._count(example, truth, step)
                self.counters.labels["timed_out"] += 1
            except _REJECTIONS:  # not the fault of the record that advances the time
                self._learned.note(example, truth, 0.0, self.learner.updates)
                join.stop_waiting(example)
                self.counters.labels["rejected"] += 1
            join.take_provisionally(example)
            self.counters.assumed += 1
            self.writer.write_outcome(example, truth, join.timeout_seconds)

    def _learn(
        self, example: Example, label: Incoming, timestamp_ms: int, delay_seconds: float = nan
    ) -> None:
        """Learn the truth of a pending event."""
        weight, truth = own_weight(label.weight, example.weight), label.truth
        step, on_timeout = example.step, self.join.truth_on_timeout
        assert truth is not None
        if not example.is_learned_early or on_timeout is None:
            step = self.learner.learn(example.x, truth, step or b"", weight)
        elif truth != on_timeout and (steps := self._learn_instead(example, on_timeout, truth, weight)):
            (step,) = steps
        example.weight = weight
        self._count(example, truth, step, delay_seconds)
        self.join.note_delay(example, truth, timestamp_ms)

    def _count(self, example: Example, truth: TrueLabel, step: object, delay_seconds: float = nan) -> None:
        self._learned.note(example, truth, step, self.learner.updates, delay_seconds)
        self.join.stop_waiting(example)

    def _reconsider(self, example: Example, label: Incoming, timestamp_ms: int) -> None:
        """Take another label of a learned example: an equal label repeats or confirms, another corrects.

        A model that cannot undo learns the label in addition to the timeout's class, and rejects other
        corrections.
        """
        weight, before, truth = own_weight(label.weight, example.weight), example.truth, label.truth
        assert before is not None
        assert truth is not None
        if truth != before or example.is_provisional:
            self.join.note_change(example)
        if truth == before:
            self.counters.labels["confirmed" if example.is_provisional else "duplicate"] += 1
        elif (step := self._learn_instead(example, before, truth, weight)) is None:
            self.counters.labels["rejected"] += 1
        else:
            (change,) = step
            self._learned.correct(example, truth, change)
            example.weight = weight
            self.counters.labels["corrected"] += 1
        if example.is_provisional:
            example.is_provisional = False
            self.counters.assumed -= 1
            self.join.n_provisional -= 1
            self.join.note_delay(example, truth, timestamp_ms)

    def _learn_instead(
        self, example: Example, before: TrueLabel, truth: TrueLabel, w: float
    ) -> tuple[object] | None:
        """Learn another class in place of the learned one; return the step, None if the model cannot."""
        x, learner = example.x, self.learner
        memo = example.step if isinstance(example.step, bytes) else b""
        if learner.undo(x, example.step):
            example.step = 0.0  # in case the learner rejects
            return (learner.learn(x, truth, b"", w),)
        if example.truth is not None and not example.is_provisional and before != self.join.truth_on_timeout:
            return None
        if not example.is_learned_early:
            return (learner.learn_additional(x, truth, before, w),)
        return (learner.learn_after_early(x, truth, memo, w),)


def own_weight(given: float | None, of_event: float) -> float:
    """Return the weight of a label: its own if given, else its event's."""
    return of_event if given is None else given


def _can_learn(truths: Sequence[TrueLabel], weight: float, classes: Sequence[object]) -> bool:
    """Return whether a model of these classes can predict or learn these truths with this weight."""
    known = all(isinstance(truth, type(classes[0])) and truth in classes for truth in truths)
    return known and 0.0 <= weight <= MAX_WEIGHT
