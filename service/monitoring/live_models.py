"""The models of the partitions that this process serves, as other threads read them.

Each model has a lock. The loop holds it while it learns a batch, and yields it every few records to a waiting
reader; a reader holds it for one response. So no reader sees a model in the middle of an update. Predictions
may be a batch ahead of the last commit; if the commit fails, the same batch is replayed.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any, Final, NamedTuple, Self, TypeAlias

from perceptron_core import LearnerError
from service.clock import SYSTEM_CLOCK
from service.errors import ModelBusy, NoSuchModel
from service.intake.partition import PartitionIntake
from service.messages.decoder import Decoder, Incoming, TimeBounds
from service.messages.features import X
from service.messages.labels import LabelValue, TrueLabel, Vocabulary
from service.messages.rejection import Reason, Rejection
from service.models.explanation import decide
from service.models.learner import Learner, ModelError, rejection_of
from service.monitoring.history import History, Point
from service.monitoring.metrics import Published
from service.monitoring.recent import Recent, RecentOutputs
from service.monitoring.summary import ModelSummary, Terms, rank_weights
from service.partition.factory import make_extractor, make_question_decoder
from service.partition.output_writer import assessment
from service.partition.parts.decisions import decisions_among
from service.partition.processor import Processor, leave_for_others
from service.settings.load import Settings
from service.stream.partitioner import partition_at_work, partition_for_key
from service.stream.protocol import Output, Record


class Turns:
    """A lock with a long-term holder, which yields it to a waiting thread at each `yield_to_threads`.

    The holder enters it as a context; other threads `acquire` and `release` it for a short time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = threading.Lock()
        """Held by the next thread to get the lock, while it waits."""

    def acquire(self, timeout: float) -> bool:
        """Return whether the lock was acquired within a time; 0 tries at once, before waiting threads."""
        if not timeout:
            return self._lock.acquire(blocking=False)
        deadline = monotonic() + timeout
        if not self._next.acquire(timeout=timeout):
            return False
        try:
            return self._lock.acquire(timeout=max(0.0, deadline - monotonic()))
        finally:
            self._next.release()

    def release(self) -> None:
        """Release the lock."""
        self._lock.release()

    def locked(self) -> bool:
        """Return whether a thread has the lock."""
        return self._lock.locked()

    def __enter__(self) -> Self:
        self._lock.acquire()
        leave_for_others.set(self._leave)
        return self

    def __exit__(self, *exception: object) -> None:
        leave_for_others.set(None)
        self._lock.release()

    def _leave(self) -> None:
        """Yield the lock to a waiting thread, if there is one; return with the lock."""
        if self._next.locked():
            self._lock.release()
            with self._next:  # free once the other one has the lock
                self._lock.acquire()


class Question(NamedTuple):
    """An event to be predicted."""

    id: str
    x: X
    """Features of the event, without the features of windows by key."""
    event: Incoming
    timestamp_ms: int
    """Event time, or the present if the event has none."""


class QuestionReader:
    """Reads the events of requests for a prediction.

    Parameters
    ----------
    settings
        The settings of the mapping.

    Attributes
    ----------
    is_plain : bool
        Whether the time to read an event depends only on its length: there are no expressions and no hook.

    """

    def __init__(self, settings: Settings) -> None:
        self.is_plain = not settings.events.is_mapped
        self._decoder = make_question_decoder(settings)
        self._own_decoder = Decoder(Vocabulary(settings.classes), settings.max_message_bytes)
        self._extractor = make_extractor(settings)
        self._times = TimeBounds(settings.max_event_time_ahead_seconds)

    def follow(self, stream: Decoder) -> None:
        """Expect vectors of the lengths that a partition's decoder has seen."""
        if (own := self._decoder.vectors) is not None and stream.vectors is not None:
            own.follow(stream.vectors)

    def read(self, message: bytes, *, is_native: bool = False) -> Question:
        """Read an event as the stream would, or in the native schema.

        Raises `Rejection`, also for an event with a label.
        """
        decoder = self._own_decoder if is_native else self._decoder
        event = decoder.decode(message)
        if event.label is not None:
            raise Rejection(Reason.UNKNOWN_FIELD, "label: not learned here; write labels to the stream")
        now_ms = int(SYSTEM_CLOCK.time() * 1000)
        time_ms = now_ms if event.timestamp_ms is None else event.timestamp_ms
        self._times.check(time_ms, now_ms, decoder.time_location(None))
        x = self._extractor.extract(event.features, event.text, event.tenant)
        return Question(event.id, x, event, time_ms)


Assessed: TypeAlias = dict[str, Any]
"""The fields of an `Assessment`."""

_PATIENCE_SECONDS: Final = 5.0
"""Seconds that a request waits while a batch is learned."""

_LOOKED_AT_ONCE: Final = 20
"""Events whose terms are added to a summary at a time."""

_SHARE_FOR_SUMMARIES: Final = 0.02
"""Share of the time that may be spent on finding the largest weights of a large model."""


class LiveModel:
    """A partition's model, shared between the loop, which learns, and threads that read it.

    Parameters
    ----------
    partition
        Number of the partition.
    processor
        The processor that the loop drives.
    vocabulary
        The names of the classes in predictions.
    history, recent
        The curve of the error, and the latest outputs; None if they are not shown.
    intakes
        The intakes by partition, which respond to requests that have submitted an event or a label.

    Attributes
    ----------
    learning : Turns
        Lock held by the loop while it processes a batch; it is yielded between records.

    """

    def __init__(
        self,
        partition: int,
        processor: Processor,
        vocabulary: Vocabulary,
        history: History,
        recent: RecentOutputs | None,
        intakes: Sequence[PartitionIntake],
    ) -> None:
        self.partition = partition
        self.intakes = intakes
        self.learning = Turns()
        self.history = history
        self.recent = recent
        self.published: Published | None = None
        self.processor = processor
        self._vocabulary = vocabulary
        self._decisions = decisions_among(processor.optional_parts)
        self._summary = ModelSummary(None, None)
        self.terms = Terms()

    def committed(
        self, published: Published, records: Sequence[Record] = (), outputs: Sequence[Output] = ()
    ) -> None:
        """Record a processed batch; called by the loop."""
        self.published = published
        now = SYSTEM_CLOCK.monotonic()
        self.history.add(Point.of(published.counters, published.counts["updates"], now))
        if self.recent is not None:
            self.recent.note(records, outputs, now)
        for intake in self.intakes:
            intake.committed(records, outputs)

    def predict(self, question: Question, patience_seconds: float = _PATIENCE_SECONDS) -> Assessed:
        """Predict, and learn nothing; return the fields of an `Assessment`.

        Raises
        ------
        Rejection
            The model cannot take these features, or fails.
        ModelBusy
            Try again later.

        """
        with self._locked_learner(patience_seconds) as learner:
            return self._assessment(question, *learner.assess(self._x_of(question)))

    def explain(self, question: Question, patience_seconds: float = _PATIENCE_SECONDS) -> Assessed:
        """Predict as `predict` does; return also which features decided. Raises as `predict`."""
        with self._locked_learner(patience_seconds) as learner:
            x = self._x_of(question)
            predicted, score = learner.assess(x)
            decision = decide(learner, x, predicted, score)
            return {**self._assessment(question, predicted, score), **decision.fields()}

    def decisions(self) -> Mapping[str, Any]:
        """Return the decisions, and the results of other thresholds; empty without decisions."""
        taken = self.decisions_taken()["decisions"]
        with self._locked_learner():
            results = self._decisions.rows() if self._decisions else ()
            rows = [{**row, "class": self.label_of(truth)} for truth, row in results]
        return {"decisions": taken, "thresholds": rows}

    def decisions_taken(self) -> dict[str, Any]:
        """Return the results of each decision so far, the cost of all, and the cost of a mistake."""
        part = self._decisions
        if part is None:
            return {"decisions": [], "cost": None, "costs": None}
        costs = {"false_positive": part.cost_positive, "false_negative": part.cost_negative}
        with self._locked_learner():
            taken = [
                {"name": rule.name, "class": self.label_of(rule.truth), **part.results_of(rule)}
                for rule in part.rules
            ]
            cost = part.cost if part.cost_positive else None
        return {"decisions": taken, "cost": cost, "costs": None if cost is None else costs}

    def summary(self) -> ModelSummary:
        """Return the largest weights and the bound; for a large model, they may be some time old."""
        monotonic = SYSTEM_CLOCK.monotonic
        if monotonic() < self._summary.valid_until:
            return self._summary
        started, published = monotonic(), self.published
        with self._locked_learner() as learner:
            weights_and_bias = learner.weights()
            entries = [] if weights_and_bias is None else list(weights_and_bias[0].items())
            bound = published.mistake_bound() if published else None
        if self.recent is not None and learner.mixture is not None:
            self._add_terms([*self.recent.contents()])
        weights = None if weights_and_bias is None else rank_weights(entries, weights_and_bias[1])
        n_examples = published.bound.n_examples if published and published.bound else 0
        pause_seconds = (monotonic() - started) / _SHARE_FOR_SUMMARIES
        self._summary = ModelSummary(weights, bound, n_examples, monotonic() + pause_seconds)
        return self._summary

    def _add_terms(self, event_ids: Sequence[str]) -> None:
        """Add the terms of the scores of some of these events to the summary."""
        for event_id in self.terms.unseen(event_ids, _LOOKED_AT_ONCE):
            with self._locked_learner() as learner, suppress(LearnerError):
                example = self.processor.join.examples.get(event_id)
                if example is not None:
                    predicted, score = learner.assess(example.x)
                    self.terms.add(predicted, decide(learner, example.x, predicted, score).contributions)

    def latest(self) -> tuple[list[Recent], list[Recent]]:
        """Return the latest outputs, and the latest mistakes, newest first."""
        if self.recent is None:
            return [], []
        with self._locked_learner() as learner:
            return self.recent.latest(self.processor.join.examples.get, has_log_odds=learner.has_log_odds)

    @property
    def classes(self) -> Sequence[LabelValue]:
        """The classes as predictions spell them; of two classes, the negative one is first."""
        vocabulary = self._vocabulary
        return vocabulary.classes if vocabulary.is_multiclass else self.processor.spelling

    def label_of(self, truth: TrueLabel) -> LabelValue:
        """Return a class as predictions spell it."""
        return self._vocabulary.spell(truth, self.processor.spelling)

    def _x_of(self, question: Question) -> X:
        """Return the features of a question, with the current features of the windows."""
        if question.event.windowed is None:
            return question.x
        return self.processor.x_of(question.event, question.timestamp_ms)

    def _assessment(self, question: Question, predicted: TrueLabel, score: float) -> Assessed:
        learner = self.processor.learner
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
                hint="try again; lower max_batch_records for shorter waits",
            )
        try:
            yield self.processor.learner
        except (LearnerError, ModelError) as error:
            raise rejection_of(error) from error  # with the reason of a dead letter
        finally:
            self.learning.release()


class LiveModels:
    """The models of the partitions that this process serves.

    Parameters
    ----------
    settings
        The settings of the mapping, and whether the contents of messages may be shown.

    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._vocabulary = Vocabulary(settings.classes)
        self.questions = QuestionReader(settings)
        self.predicts_fast = False
        """Whether a prediction takes no longer than reading its event, as with linear models."""
        self.asks_as_mapped = settings.events.maps_fields
        """Whether events in requests have the schema of their topic."""
        self._open_models: dict[int, LiveModel] = {}
        self.histories: dict[int, History] = {}
        """Error curves by partition, including partitions that this process has served before."""
        self._recent: dict[int, RecentOutputs] = {}
        self.intakes: dict[int, PartitionIntake] = {}
        """Intakes of the partitions that this process serves."""
        self.n_partitions = 0
        """Number of partitions of the events topic; 0 until it is known."""

    def open(
        self, partition: int, processor: Processor, partitions: Collection[int] | None = None
    ) -> LiveModel:
        """Start to show the model of one or several partitions; the history in this process continues."""
        self.questions.follow(processor.decoder)
        self.predicts_fast = processor.learner.predicts_fast
        history = self.histories.setdefault(partition, History())
        recent = None
        if self._settings.shows_events:
            recent = self._recent.setdefault(partition, RecentOutputs(self._settings.predictions_topic))
            recent.decoder = processor.decoder
        intakes = [PartitionIntake(each, processor, self._settings) for each in partitions or (partition,)]
        self.intakes |= {each.partition: each for each in intakes}
        model = LiveModel(partition, processor, self._vocabulary, history, recent, intakes)
        self._open_models[partition] = model
        return model

    def close(self, partition: int) -> None:
        """Stop showing a partition's model."""
        if (model := self._open_models.pop(partition, None)) is not None:
            for intake in model.intakes:
                del self.intakes[intake.partition]
                intake.close()

    def partitions(self) -> list[int]:
        """List the partitions served here."""
        return sorted(self._shown())

    def _shown(self) -> dict[int, LiveModel]:
        """Return the models that have counts: a model that is being opened has none yet."""
        return {p: model for p, model in dict(self._open_models).items() if model.published is not None}

    def get(self, partition: int | None = None, event_id: str | None = None) -> LiveModel:
        """Return the model of a partition.

        Without a partition, it is the partition of an event with this id as its key, if this process serves
        it, else the first partition that this process serves.

        Raises
        ------
        NoSuchModel
            This process does not serve the partition, or serves none.

        """
        models = self._shown()
        if partition is None and models:
            partition = partition_at_work(models, event_id, self.n_partitions)
        if partition is None or partition not in models:
            here = ", ".join(map(str, sorted(models))) or "none"
            what = "no partition" if partition is None else f"partition {partition}: not"
            raise NoSuchModel(
                f"{what} served by this process; served here: {here}",
                hint="ask the other processes of the group; /readyz shows the state of this process",
            )
        return models[partition]

    def owns(self, partition: int, event_id: str) -> bool:
        """Return whether an event with this id as its key goes to `partition`; False if not known."""
        n_partitions = self.n_partitions
        return n_partitions > 0 and partition_for_key(event_id.encode(), n_partitions) == partition
