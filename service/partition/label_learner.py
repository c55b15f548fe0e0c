"""What becomes of a label: its event is kept, still to come, or was let go."""

from __future__ import annotations

from collections import Counter
from math import nan
from typing import Final

from perceptron_core import LearnerError
from service.messages.incoming import Incoming
from service.messages.labels import TrueLabel
from service.models.learner import Learner, ModelError
from service.partition.answers import Answers
from service.partition.examples import Example, LearnedExamples
from service.partition.label_join import EarlyLabel, LabelJoin
from service.partition.parts.counters import MOST_UNMATCHED_IDS, Counters
from service.stream.batches import OutputBatch

_REFUSALS: Final = (LearnerError, ModelError)
_AFTER_EARLY: Final = 2.0
"""How often a label counts that takes the place of what was learned early: the model keeps both."""
_ASTRAY: Final = ("late", "orphan")


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

    Attributes
    ----------
    learner : Learner
        What learns; set before the first batch.

    """

    learner: Learner

    def __init__(self, join: LabelJoin, answers: Answers, counters: Counters) -> None:
        self.join = join
        self.answers = answers
        self._counters = counters
        self.takes_weights = True
        """Whether the learner takes other weights than 1."""
        self._learned = LearnedExamples()

    @property
    def counts(self) -> Counter[str]:
        """Labels by result of the join."""
        return self._counters.labels

    def begin(self, learned: LearnedExamples, outputs: OutputBatch) -> None:
        """Begin a batch: labelled predictions and outcomes go there."""
        self._learned = learned
        self.answers.begin(outputs, has_log_odds=learned.has_log_odds)

    def advance(self, timestamp_ms: int) -> None:
        """Advance event time: learn what is due or overdue, let go what has waited too long."""
        if self.join.truth_on_timeout is not None:
            self._learn_due(timestamp_ms, self.join.truth_on_timeout)
            self._learn_overdue(timestamp_ms, self.join.truth_on_timeout)
        if orphans := self.join.advance(timestamp_ms):
            self.counts["orphan"] += len(orphans)
            self._counters.unmatched_ids.extend(orphans[-MOST_UNMATCHED_IDS:])

    def receive(self, label: Incoming, timestamp_ms: int) -> None:
        """Join a label with its event: kept, still to come, let go, or labelled before."""
        assert label.truth is not None
        self.answers.follow(label.label)
        example = self.join.examples.get(label.id)
        if example is None:
            if result := self.join.hold(label.id, EarlyLabel(label.truth, timestamp_ms, label.weight)):
                outcome, event_id = result
                self.counts[outcome] += 1
                if outcome in _ASTRAY:
                    self._counters.unmatched_ids.append(event_id)
            return
        if example.truth is not None:
            self._reconsider(example, label, timestamp_ms)
            return
        delay_seconds = (timestamp_ms - example.timestamp_ms) / 1000.0
        self._learn(example, label, timestamp_ms, delay_seconds)
        self.counts["matched"] += 1
        self.answers.outcome(example, label.truth, delay_seconds)

    def repeated(self, event: Incoming, known: Example, timestamp_ms: int) -> TrueLabel | None:
        """Find the label of an event that came before; what it says now may be news about that one."""
        if event.truth is not None:
            self.answers.follow(event.label)
            if known.truth is None:
                self._learn(known, event, timestamp_ms)
            else:
                self._reconsider(known, event, timestamp_ms)
        return known.truth

    def first(self, event: Incoming, early: EarlyLabel | None) -> None:
        """Note with what label a new event was learned: its own, or one that came before it."""
        if early is not None:
            del self.join.early[event.id]
        if event.truth is None:
            self.counts["matched"] += 1
            return
        self.answers.follow(event.label)
        if early is not None:
            self.counts["duplicate" if early.truth == event.truth else "corrected"] += 1

    def _learn_due(self, timestamp_ms: int, truth: TrueLabel) -> None:
        """Learn what an event without a label is, for all that are due when event time advances.

        It may still get another label. With p, the probability of the other classes, and F, the share of
        labels that come earlier, it counts (1 − p)/(1 − p·F): the probability that it gets none.
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
            except _REFUSALS:  # it is learned at the time-out, if that can be
                continue

    def _learn_overdue(self, timestamp_ms: int, truth: TrueLabel) -> None:
        """Learn what an event without a label is, for all whose time is over when event time advances."""
        join = self.join
        for example in join.overdue(timestamp_ms):
            try:
                step = example.step
                if not example.is_learned_early:
                    step = self.learner.learn_provisionally(example.x, truth, step or b"", example.weight)
                self._note(example, truth, step)
                self.counts["timed_out"] += 1
            except _REFUSALS:  # no fault of the record that advances the time
                self._learned.note(example, truth, 0.0, self.learner.updates)
                join.stop_waiting(example)
                self.counts["rejected"] += 1
            join.take_provisionally(example)
            self._counters.provisional += 1
            self.answers.outcome(example, truth, join.timeout_seconds)

    def _learn(
        self, example: Example, label: Incoming, timestamp_ms: int, delay_seconds: float = nan
    ) -> None:
        """Learn the truth about an example that waited for it."""
        weight, truth = own_weight(label.weight, example.weight), label.truth
        step, on_timeout = example.step, self.join.truth_on_timeout
        assert truth is not None
        if not example.is_learned_early or on_timeout is None:
            step = self.learner.learn(example.x, truth, step or b"", weight)
        elif truth != on_timeout and (found := self._learn_instead(example, on_timeout, truth, weight)):
            (step,) = found
        example.weight = weight
        self._note(example, truth, step, delay_seconds)
        self.join.note_delay(example, truth, timestamp_ms)

    def _note(self, example: Example, truth: TrueLabel, step: object, delay_seconds: float = nan) -> None:
        self._learned.note(example, truth, step, self.learner.updates, delay_seconds)
        self.join.stop_waiting(example)

    def _reconsider(self, example: Example, label: Incoming, timestamp_ms: int) -> None:
        """Take another label for a learned example: the same confirms or is a duplicate, another corrects.

        A model that cannot undo learns it as well as the class of the time-out, and takes no other back.
        """
        weight, before, truth = own_weight(label.weight, example.weight), example.truth, label.truth
        assert before is not None
        assert truth is not None
        if truth != before or example.is_provisional:
            self.join.note_change(example)
        if truth == before:
            self.counts["confirmed" if example.is_provisional else "duplicate"] += 1
        elif (step := self._learn_instead(example, before, truth, weight)) is None:
            self.counts["rejected"] += 1
        else:
            (change,) = step
            self._learned.correct(example, truth, change)
            example.weight = weight
            self.counts["corrected"] += 1
        if example.is_provisional:
            example.is_provisional = False
            self._counters.provisional -= 1
            self.join.note_delay(example, truth, timestamp_ms)

    def _learn_instead(
        self, example: Example, before: TrueLabel, truth: TrueLabel, w: float
    ) -> tuple[object] | None:
        """Learn another class than before; return the step, None if the model cannot."""
        x, learner = example.x, self.learner
        memo = example.step if isinstance(example.step, bytes) else b""
        if learner.undo(x, example.step):
            example.step = 0.0  # should it refuse to learn
            return (learner.learn(x, truth, b"", w),)
        if example.truth is not None and not example.is_provisional and before != self.join.truth_on_timeout:
            return None
        if not example.is_learned_early:
            return (learner.learn_additional(x, truth, before, w),)
        if self.takes_weights and learner.has_log_odds:
            w *= _AFTER_EARLY
        return (learner.learn(x, truth, memo, w),)


def own_weight(given: float | None, of_event: float) -> float:
    """Return how much a label counts by itself: its weight takes the place of its event's."""
    return of_event if given is None else given
