"""The state machine of a partition: takes records in order; returns predictions, outcomes and dead letters.

It has no I/O and no clock: the state is a function of the processed records and of the time given with each
batch.

This is the reference engine, for records of any schema, any learner and any part. When compiled, `FastPath`
does the same for records of the common case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Final, NamedTuple, Protocol

from perceptron_core import LearnerError
from perceptron_core.elementary import ARITHMETIC
from perceptron_core.formats.packed import PackedMapping, pack_around
from service.formats.schema import Schemas
from service.messages.dead_letter import dead_letter
from service.messages.decoder import Decoder, Incoming, TimeBounds
from service.messages.features import FeatureExtractor, RawFeatures, X
from service.messages.labels import BOOLEANS, Spelling
from service.messages.rejection import BEFORE_START, Reason, Rejection, Skipped
from service.models.learner import Learner, ModelError, rejection_of
from service.partition.examples import Example, LearnedExamples, Observer
from service.partition.label_join import LabelJoin
from service.partition.label_learner import LabelLearner, own_weight
from service.partition.output_writer import OutputWriter
from service.partition.parts.counters import Counters
from service.partition.parts.kinds import REQUIRED_PARTS, Kept, ModelPart
from service.partition.parts.part import Part
from service.stream.batches import OutputBatch, RecordBatch
from service.stream.protocol import Output, Record

try:
    from service.partition.fast_path import FastPath  # type: ignore[import-not-found]
except ImportError:  # nothing is compiled
    FastPath = None

leave_for_others: Final[ContextVar[Callable[[], None] | None]] = ContextVar("leave_for_others", default=None)
"""Releases the lock that this thread holds during a batch to waiting threads, and acquires it again."""


def yield_to_threads() -> None:
    """Yield the GIL and the lock of this batch to threads that wait for them.

    The interpreter yields the GIL when a Python function is called, so this one is never compiled. Compiled
    code does not yield: without this call, no other thread would commit or respond during a batch.
    """
    if (leave := leave_for_others.get()) is not None:
        leave()


class ProcessorSettings(Protocol):
    """The settings that a processor reads; the settings module imports I/O."""

    @property
    def predictions_topic(self) -> str:
        """The topic of predictions and outcomes."""

    @property
    def dead_letters_topic(self) -> str:
        """The topic of dead letters."""

    @property
    def max_event_time_ahead_seconds(self) -> float:
        """How far an event time may be ahead of the batch's time."""


class Processed(NamedTuple):
    """The outputs of a batch."""

    outputs: OutputBatch
    """All outputs, in the order of the records."""
    dead_letters: list[tuple[int, Output]]
    """The dead letters among the outputs, each with the position of its record in the batch."""


class Processor:
    """Processes a partition: receives x, predicts, receives y, updates the model.

    Parameters
    ----------
    settings
        The output topics and the limit of event times.
    learner
        The model.
    decoder, extractor
        Read messages, and make features of them.
    parts
        The parts, as `make_parts` returns them.
    uses_fast_path
        Whether compiled code processes records of the common case; False only in comparisons.

    Attributes
    ----------
    schemas : Schemas or None
        The schemas of the records, which the decoder uses; None if records have no schema.
    observe : Observer
        Called with the labelled predictions of each batch, in order, once it is processed.

    """

    def __init__(
        self,
        settings: ProcessorSettings,
        learner: Learner,
        decoder: Decoder,
        extractor: FeatureExtractor | RawFeatures,
        parts: Sequence[Any],
        *,
        uses_fast_path: bool = True,
    ) -> None:
        join, counters, *optional_parts = parts
        self.join: LabelJoin = join
        self.counters: Counters = counters
        self.optional_parts: tuple[Part, ...] = tuple(optional_parts)
        self._featuring, self._predicting, self._learning, self._observing = (
            tuple(part for part in optional_parts if getattr(type(part), what) is not getattr(Part, what))
            for what in ("features", "on_event", "on_label", "on_batch")
        )
        self._feature_names = frozenset[str]().union(*(part.feature_names for part in self._featuring))
        self.decoder, self._extractor = decoder, extractor
        self.schemas: Schemas | None = None
        self._times = TimeBounds(settings.max_event_time_ahead_seconds)
        self.start_ms = self._times.earliest_ms
        """The event time before which records are skipped."""
        self._writer = OutputWriter(decoder.vocabulary, settings.predictions_topic)
        self._dead_letters_topic = settings.dead_letters_topic
        self._labels = LabelLearner(self.join, self._writer, self.counters)
        self.observe: Observer = lambda _: None
        self._fast_path = None
        self._learned = LearnedExamples()
        self._uses_fast_path = uses_fast_path and not any(part.needs_events for part in self._predicting)
        self.learner = learner

    @property
    def learner(self) -> Learner:
        """The model."""
        return self._learner

    @learner.setter
    def learner(self, learner: Learner) -> None:
        """Set the model, and decide whether compiled code processes records of the common case."""
        self._learner = self._labels.learner = learner
        self._labels.takes_weights = learner.takes_weights
        for part in self.optional_parts:
            part.start(has_log_odds=learner.has_log_odds, is_calibrated=learner.is_calibrated)
        self._extract = self._extractor.extract
        if self._uses_fast_path:
            self._fast_path = fast_path(
                learner, self.decoder, self._extractor, self._labels, self._predicting
            )
            self._extract = fast_extraction(learner, self.decoder, self._extractor)

    def process_batch(self, records: Sequence[Record], processing_time_ms: int | None = None) -> Processed:
        """Process the next records of the partition, strictly one after the other; return the outputs.

        How records are split into batches affects only `processing_time_ms`, which bounds event times; None:
        no bound.
        """
        times = self._times
        times.set_now(processing_time_ms)
        batch = records if isinstance(records, RecordBatch) else RecordBatch(records)
        outputs = OutputBatch()
        has_log_odds = self._learner.has_log_odds
        learned = self._learned = LearnedExamples(has_log_odds=has_log_odds, parts=self._learning)
        self._labels.begin(learned, outputs)
        fast_path = self._fast_path
        if fast_path is not None:
            fast_path.begin(batch, learned, max(times.earliest_ms, self.start_ms), times.latest_ms)
        dead_letters: list[tuple[int, Output]] = []
        index, end = 0, len(batch)
        while index < end:
            if fast_path is not None and (index := fast_path.process_from(index)) == end:
                break
            record = batch[index]
            try:
                self._process(record)
            except Skipped:
                self.counters.skipped[record.topic] += 1
            except (Rejection, LearnerError, ModelError) as error:
                rejection = rejection_of(error)
                self.counters.rejected[rejection.reason] += 1
                output = dead_letter(record, rejection, self._dead_letters_topic)
                dead_letters.append((index, output))
                outputs.append(output)
            index += 1
            if not index % 64:  # every few tenths of a millisecond
                yield_to_threads()
        if fast_path is not None:
            self.counters.predictions += fast_path.end()
        self._observe(batch, learned, outputs)
        return Processed(outputs, dead_letters)

    def _observe(self, batch: RecordBatch, learned: LearnedExamples, outputs: OutputBatch) -> None:
        """Count a processed batch, and pass the learned examples to parts and observers."""
        self.counters.consume(batch.counts())
        if self.join.n_evicted:
            self.counters.evicted += self.join.n_evicted
            self.join.n_evicted = 0
        self.counters.observe(learned)
        for part in self._observing:
            part.on_batch(learned)
            outputs += part.outputs(batch)
        self.observe(learned)

    @property
    def classes(self) -> Sequence[str]:
        """The names of the classes, as configured."""
        return self.decoder.vocabulary.classes

    @property
    def spelling(self) -> Spelling:
        """The label values that stand for the two classes in outputs."""
        return self._writer.spelling

    def state(self) -> PackedMapping:
        """Copy the whole state; it is packed lazily, on any thread."""
        return pack_around(self._state({part.name: part.state() for part in self.parts()}))

    def changes(self) -> PackedMapping | None:
        """Copy the changes since the last call; None if a part has not noted them, as in the first call."""
        changes = {part.name: part.changes() for part in self.parts()}
        return None if None in changes.values() else pack_around(self._state(changes))

    def _state(self, kept: Mapping[str, Any]) -> dict[str, Any]:
        made_with = {"spelling": self._writer.spelling, "classes": self.classes}
        first = dict.fromkeys([kind.name for kind in REQUIRED_PARTS])  # each key keeps its first position
        return {**first, **made_with, "arithmetic": ARITHMETIC, **kept}

    def parts(self) -> tuple[Part, ...]:
        """Return everything that has state, in the order of a snapshot."""
        model = ModelPart(self._learner, uses_fast_path=self._fast_path is not None)
        optional = {"schemas": self.schemas, "vectors": self.decoder.vectors}
        kept = [Kept(name, each) for name, each in optional.items() if each is not None]
        return model, self.join, self.counters, *kept, *self.optional_parts

    def counts(self) -> dict[str, int]:
        """Return the counts that are committed with each batch and that recovery checks."""
        return {name: count for part in self.parts() for name, count in part.counts().items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a state: the next record then has the same effect as before.

        Raises
        ------
        DamagedError
            The state cannot be read.

        """
        for part in self.parts():
            part.restore(state.get(part.name))
        vocabulary = self.decoder.vocabulary
        self._labels.check_restored(vocabulary.classes if vocabulary.is_multiclass else BOOLEANS)
        if not (self.classes or state["classes"]):  # classes with names are written by their names
            self._writer.spell_as(state["spelling"])

    def replace_model(self, dumped: bytes) -> None:
        """Replace the model; pending events and counts stay.

        The examples' steps belong to the old model: on the new one there is nothing to undo. Raises
        `DamagedError` if the model cannot be read.
        """
        self._learner.load(dumped)
        self.join.forget_steps()

    def _process(self, record: Record) -> None:
        """Advance event time, decode the message of a record and process it.

        Errors of the message or the model are raised before anything else changes. If messages contain the
        event time, a message that cannot be decoded does not advance it.
        """
        decoder, message, timestamp_ms = self.decoder, None, record.timestamp_ms
        if decoder.maps_time:
            message = decoder.decode(record.value, record)
            if message.timestamp_ms is not None:
                timestamp_ms = message.timestamp_ms
        times = self._times
        if not times.earliest_ms <= timestamp_ms <= times.latest_ms:
            raise times.rejection(timestamp_ms, decoder.time_location(record))
        if timestamp_ms < self.start_ms:
            raise Skipped(BEFORE_START)
        self._labels.advance(timestamp_ms)
        if message is None:
            message = decoder.decode(record.value, record)
        self.check_weight(message.weight)
        if message.is_label:
            self._labels.receive(message, timestamp_ms)
        else:
            self._receive_event(message, timestamp_ms)

    def check_weight(self, weight: float | None) -> None:
        """Raise `Rejection` for the weight of a message, other than 1, if the model takes no weights."""
        if weight is not None and weight != 1.0 and not self._labels.takes_weights:
            raise Rejection(Reason.MODEL_ERROR, "weight: the model does not support example weights")

    def x_of(self, event: Incoming, timestamp_ms: int) -> X:
        """Return the features of an event at this time, without changing any state."""
        if not self._featuring:
            return self._extract(event.features, event.text, event.tenant)
        features = self._extractor.as_numbers(event.features, self._feature_names)
        for part in self._featuring:
            part.features(features, event, timestamp_ms)
        return self._extractor.extract(features, event.text, event.tenant)

    def _receive_event(self, event: Incoming, timestamp_ms: int) -> None:
        """Predict an event; then learn it, if its truth is known and was not learned before."""
        x = self.x_of(event, timestamp_ms)
        updates = self._learner.updates
        example = self.join.examples.get(event.id)
        if example is None:
            example, fields = self._predict_new(event, x, timestamp_ms)
            truth = example.truth
        else:
            predicted, score = self._learner.assess(x)
            truth = self._labels.receive_repeated(event, example, timestamp_ms)
            example = Example(event.id, x, predicted, score, timestamp_ms)
            fields = self._fields_of(example, event, timestamp_ms, is_new=False)
        self.counters.predictions += 1
        self._writer.write_prediction(example, updates, truth, fields)

    def _fields_of(self, example: Example, event: Incoming, timestamp_ms: int, *, is_new: bool) -> bytes:
        """Pass a predicted event to the parts; return the fields that they add to its prediction."""
        fields = b""
        for part in self._predicting:
            fields += part.on_event(example, event, timestamp_ms, is_new)
        return fields

    def _predict_new(self, event: Incoming, x: X, timestamp_ms: int) -> tuple[Example, bytes]:
        """Predict a new event, learn it if its truth is known, and keep it; return the parts' fields, too."""
        early = self.join.early.get(event.id)
        truth, weight = event.truth, own_weight(event.weight, 1.0)
        if truth is None and early is not None:
            truth, weight = early.truth, own_weight(early.weight, weight)
        if truth is None:
            predicted, score = self._learner.assess(x)
            step = self._learner.memo() or 0.0
        else:
            predicted, score, step = self._learner.predict_learn(x, truth, weight)
        example = Example(event.id, x, predicted, score, timestamp_ms, event.message_bytes)
        example.step, example.weight = step, weight
        fields = self._fields_of(example, event, timestamp_ms, is_new=True)
        if truth is not None:
            self._learned.note(example, truth, step, self._learner.updates)
            self._labels.note_first(event, early)
        self.join.keep(example)
        return example, fields


def fast_path(
    learner: Learner,
    decoder: Decoder,
    extractor: FeatureExtractor | RawFeatures,
    labels: LabelLearner,
    predicting: Sequence[Part],
) -> Any:  # noqa: ANN401 - compiled code has no types for Python
    """Return the engine of the common case; None if no record can be of the common case."""
    is_common = (
        type(decoder) is Decoder
        and decoder.has_native_schema
        and not decoder.vocabulary.is_by_name
        and isinstance(extractor, FeatureExtractor)
        and learner.rule is not None
    )
    if not is_common or FastPath is None:
        return None
    return FastPath(learner, decoder, extractor, labels, predicting, yield_to_threads)


def fast_extraction(
    learner: Learner, decoder: Decoder, extractor: FeatureExtractor | RawFeatures
) -> Callable[..., X]:
    """Return the function that makes x of an event: in arrays, if possible and the learner takes them."""
    if FastPath is None or not isinstance(extractor, FeatureExtractor):
        return extractor.extract
    # Learners of several classes read a dictionary as quickly, unless it has hundreds of numbers.
    takes_values = learner.rule is not None or (decoder.vectors is not None and learner.takes_vectors)
    return extractor.extract_values if takes_values else extractor.extract
