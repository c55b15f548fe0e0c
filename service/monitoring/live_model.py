"""One partition's model, as other threads read it.

A lock for each model: the loop holds it while it learns a batch, and leaves it every few records to a reader
that waits; a reader holds it for one answer. So nobody ever sees a model in the middle of an update. Answers
may be a batch ahead of the last commit: should that commit fail, the same batch is learned again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeAlias

from perceptron_core import LearnerError, MistakeBound, Perceptron
from service.clock import SYSTEM_CLOCK, Clock
from service.errors import ModelBusy
from service.intake.partition import PartitionIntake
from service.messages.features import X
from service.messages.labels import LabelValue, Truth, Vocabulary
from service.messages.rejection import Rejection
from service.models.auto import AutoLearner
from service.models.explanation import Contribution, Decision, decide
from service.models.learner import Learner
from service.models.multiclass import MulticlassLearner
from service.models.probability import assessment
from service.models.rejection import rejection_of
from service.models.river import ModelError
from service.monitoring.committed_state import Published
from service.monitoring.error_history import History, Point
from service.monitoring.event_rate import EventRate
from service.monitoring.portrait import Portrait, Terms, rank_weights
from service.monitoring.questions import Question
from service.monitoring.recent_mistakes import Mistake, spoke_for
from service.monitoring.recent_predictions import Recent, RecentAnswers
from service.monitoring.turns import Turns
from service.partition.decisions.part import Decisions
from service.partition.examples import LearnedExamples
from service.partition.processed import Step
from service.partition.processor import Processor
from service.settings.decisions import spell_goal
from service.stream import Output, Record

Assessed: TypeAlias = dict[str, Any]
"""The fields of an `Assessment`."""

_PATIENCE_SECONDS: Final = 5.0
"""How long a question waits for a batch to be learned."""

_LOOKED_AT_ONCE: Final = 20
"""Events whose terms are added to a portrait."""

_SECONDS_FOR_MISTAKES: Final = 0.02
"""For explanations of mistakes in one answer: the loop waits for each of them."""

_SHARE_FOR_PORTRAITS: Final = 0.02
"""Of the time, for finding the largest weights of a large model again and again."""


class LiveModel:
    """One partition's model, shared between the loop, which learns, and threads that read it.

    Parameters
    ----------
    partition
        Its number.
    processor
        The one that the loop drives.
    vocabulary
        The names of the classes in answers.
    history, recent
        The curve of the error, and the latest answers; None if those are not to be shown.
    intake
        Answers requests that have submitted an event or a label.
    clock
        The time of what is recorded.

    Attributes
    ----------
    learning : Turns
        Held by the loop while it processes a batch, but for turns between two records.
    answers_at_once : bool
        Whether an answer takes no longer than reading its question: of models with a weight for a feature.

    """

    def __init__(
        self,
        partition: int,
        processor: Processor,
        vocabulary: Vocabulary,
        history: History,
        recent: RecentAnswers | None,
        intake: PartitionIntake,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.partition = partition
        self._intake = intake
        self.learning = Turns()
        self.history = history
        self.recent = recent
        self.published: Published | None = None
        learner = processor.learner
        has_weights = isinstance(learner, (AutoLearner, MulticlassLearner))
        self.answers_at_once = has_weights or getattr(learner, "rule", None) is not None
        self._rate = EventRate()
        self._clock = clock
        self._processor = processor
        self._vocabulary = vocabulary
        self._decisions = next((each for each in processor.further if isinstance(each, Decisions)), None)
        self._portrait = Portrait(None, None)
        self.terms = Terms()

    def observe(self, learned: LearnedExamples) -> None:
        """Record labelled predictions; called by the loop."""
        if self.recent is not None:
            self.recent.observe(learned, self._clock.monotonic())

    def committed(
        self, published: Published, records: Sequence[Record] = (), outputs: Sequence[Output] = ()
    ) -> None:
        """Record a batch; called by the loop."""
        self.published = published
        now = self._clock.monotonic()
        self._rate.add(now, published.counters.predictions)
        self.history.add(Point.of(published.counters, published.counts["updates"], published.mixture, now))
        if self.recent is not None:
            self.recent.note(records, outputs, now)
        self._intake.committed(records, outputs)

    def events_per_second(self) -> float:
        """Return how many events a second were predicted lately."""
        return self._rate.value(self._clock.monotonic())

    def predict(self, question: Question, patience_seconds: float = _PATIENCE_SECONDS) -> Assessed:
        """Predict, and learn nothing; return the fields of an `Assessment`.

        Raises
        ------
        Rejection
            The model cannot take these features, or fails.
        ModelBusy
            Try again later.

        """
        with self._locked_learner(patience_seconds) as learner, _as_rejections():
            return self._answer(question, *learner.assess(self._x_of(question)))

    def predict_all(self, questions: Sequence[Question]) -> Sequence[Assessed | Rejection]:
        """Predict several as `predict` does, in one turn; one that is rejected has its rejection."""
        answers: list[Assessed | Rejection] = []
        with self._locked_learner() as learner:
            for question in questions:
                try:
                    answers.append(self._answer(question, *learner.assess(self._x_of(question))))
                except (LearnerError, ModelError) as error:
                    answers.append(rejection_of(error))
        return answers

    def explain(
        self, question: Question, patience_seconds: float = _PATIENCE_SECONDS
    ) -> tuple[Assessed, Decision]:
        """Predict as `predict` does, and return which features decided. Raises as `predict`."""
        with self._locked_learner(patience_seconds) as learner, _as_rejections():
            x = self._x_of(question)
            predicted, score = learner.assess(x)
            decision = decide(learner, x, predicted, score)
            return self._answer(question, predicted, score), decision

    def decisions(self) -> Mapping[str, Any]:
        """Return the decisions as they are, and what other thresholds would come to; nothing without any."""
        taken, _ = self.decisions_taken()
        with self._locked_learner():
            found = self._decisions.rows() if self._decisions else ()
            rows = [{**row, "class": self.label_of(truth)} for truth, row in found]
        return {"decisions": taken, "thresholds": rows}

    def decisions_taken(self) -> tuple[list[dict[str, Any]], float | None]:
        """Return what came of each decision so far, and what all have cost; None without costs."""
        part = self._decisions
        if part is None:
            return [], None
        with self._locked_learner():
            taken = [
                {
                    "name": rule.name,
                    "class": self.label_of(rule.truth),
                    "goal": spell_goal(rule.goal, rule.level, rule.budget, rule.period_ms),
                    **part.came_of(rule),
                }
                for rule in part.decider.rules
            ]
            return taken, part.decider.cost if part.decider.cost_positive else None

    def costs(self) -> dict[str, float] | None:
        """Return what mistakes cost; None without costs."""
        decider = self._decisions.decider if self._decisions else None
        if decider is None or not decider.cost_positive:
            return None
        return {"false_positive": decider.cost_positive, "false_negative": decider.cost_negative}

    def portrait(self) -> Portrait:
        """Return the largest weights and the bound; of a large model, as they were a while ago."""
        monotonic = self._clock.monotonic
        if monotonic() < self._portrait.valid_until:
            return self._portrait
        began = monotonic()
        with self._locked_learner() as learner:
            found = learner.weights()
            entries = [] if found is None else list(found[0].items())
            bound, n_examples = self._bound(learner)
        if self.recent is not None and isinstance(learner, AutoLearner):
            self._add_terms([*self.recent.contents()])
        weights = None if found is None else rank_weights(entries, found[1])
        pause_seconds = (monotonic() - began) / _SHARE_FOR_PORTRAITS
        self._portrait = Portrait(weights, bound, n_examples, monotonic() + pause_seconds)
        return self._portrait

    def _add_terms(self, event_ids: Sequence[str]) -> None:
        """Look at what the features of some of these events add to their scores."""
        for event_id in self.terms.unseen(event_ids, _LOOKED_AT_ONCE):
            with self._locked_learner() as learner, suppress(LearnerError):
                example = self._processor.join.examples.get(event_id)
                if example is not None:
                    predicted, score = learner.assess(example.x)
                    self.terms.add(predicted, decide(learner, example.x, predicted, score).contributions)

    def latest(self) -> tuple[list[Recent], list[Mistake]]:
        """Return the latest answers, newest first, and the latest mistakes, the surest first.

        As many mistakes are explained as there is time for; the others in the next calls.
        """
        if self.recent is None:
            return [], []
        contents, find = self.recent.contents(), self._processor.join.examples.get
        with self._locked_learner():
            answers = self.recent.latest(contents, find)
            mistakes = self.recent.mistakes.surest(contents, find)
        deadline = self._clock.monotonic() + _SECONDS_FOR_MISTAKES
        for each in mistakes:
            if each.terms is None and self._clock.monotonic() <= deadline:
                each.terms = self._spoke_for(each.step)
        return answers, mistakes

    def _spoke_for(self, step: Step) -> Sequence[Contribution]:
        with self._locked_learner() as learner, suppress(LearnerError, ModelError):
            decision = decide(learner, step.x, step.predicted, learner.score(step.x, step.predicted))
            return spoke_for(step.predicted, decision.contributions)
        return ()

    def _bound(self, learner: Learner) -> tuple[MistakeBound | None, int]:
        model = getattr(learner, "model", None)
        online = self.published.bound if self.published else None
        if online is None or not isinstance(model, Perceptron):
            return None, 0
        return online.value(model), online.n_examples

    def current_learner(self) -> Learner:
        """Return the learner, for what does not change while it learns."""
        return self._processor.learner

    @property
    def classes(self) -> Sequence[LabelValue]:
        """The names of the classes as answers spell them, of two the negative one first."""
        vocabulary = self._vocabulary
        return vocabulary.classes if vocabulary.is_multiclass else self._processor.spelling

    def label_of(self, truth: Truth) -> LabelValue:
        """Return a class as answers spell it."""
        return self._vocabulary.spell(truth, self._processor.spelling)

    def _x_of(self, question: Question) -> X:
        """Return the features of a question, with those of the windows as they are now."""
        if question.event.windowed is None:
            return question.x
        return self._processor.x_of(question.event, question.timestamp_ms)

    def _answer(self, question: Question, predicted: Truth, score: float) -> Assessed:
        learner = self._processor.learner
        label = self.label_of(predicted)
        fields = assessment(question.id, label, predicted, score, has_log_odds=learner.has_log_odds)
        fields["updates"] = learner.updates
        if self._decisions is not None:
            fields |= self._decisions.would_decide(predicted, score, question.timestamp_ms)
        return fields

    @contextmanager
    def _locked_learner(self, patience_seconds: float = _PATIENCE_SECONDS) -> Iterator[Learner]:
        if not self.learning.acquire(timeout=patience_seconds):
            raise ModelBusy(
                f"partition {self.partition}: still learning one batch after {patience_seconds:g} s",
                hint="ask again; a smaller max_batch_records makes the waits shorter",
            )
        try:
            yield self._processor.learner
        finally:
            self.learning.release()


@contextmanager
def _as_rejections() -> Iterator[None]:
    """Turn an error of the model into the rejection that a dead letter would name."""
    try:
        yield
    except (LearnerError, ModelError) as error:
        raise rejection_of(error) from error
