"""One partition's state machine. In: records, in order. Out: predictions, outcomes, dead letters.

No I/O and no clock: the state is a function of the records processed, and of the time given with each batch.

`processor.pxd` gives this module its C types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from perceptron_core import LearnerError
from perceptron_core.elementary import ARITHMETIC
from perceptron_core.formats.packed import PackedMapping, pack_around
from perceptron_core.weights.feature_array import FeatureArray
from service.batches.output_batch import OutputBatch
from service.batches.record_batch import RecordBatch
from service.formats.schemas import Schemas
from service.messages.dead_letter import dead_letter
from service.messages.decoder import Decoder, Incoming
from service.messages.encoder import Answers, OutputTopics
from service.messages.features import FeatureExtractor, RawFeatures, X
from service.messages.labels import Spelling, Truth, Vocabulary
from service.messages.rejection import Rejection
from service.messages.trace import trace_headers, trace_of
from service.models.binary import BinaryLearner
from service.models.probability import probability_of
from service.models.registry import Learner
from service.models.rejection import rejection_of
from service.models.river import ModelError
from service.partition.counts.counters import Counters
from service.partition.example import Example, make_example
from service.partition.label_join import LabelJoin
from service.partition.label_learner import LabelLearner
from service.partition.learned_examples import LearnedExamples, Observer
from service.partition.part import JoinPart, Kept, ModelPart, Part
from service.partition.processed import Processed
from service.partition.threads import give_way
from service.partition.time_bounds import TimeBounds
from service.sharing.rounds import Rounds
from service.stream import Output, Record

ALWAYS: Final[tuple[type[Part], ...]] = (ModelPart, JoinPart, Counters)
"""Parts that every processor has, in the order in which snapshots have had them since 0.1.0."""
OTHERS: Final = frozenset({"spelling", "classes", "arithmetic", "rounds", "schemas"})
"""What else there may be in a state, beside the further parts."""


class Processor:
    """Receives x, predicts, receives y, updates on a mistake: for one partition.

    Parameters
    ----------
    learner
        The model.
    vocabulary, decoder, extractor
        How messages are read and written.
    join
        Pairs labels with examples.
    max_ahead_seconds
        How far an event's time may be ahead of the time that is given with its batch.
    topics
        Where outputs go.
    schemas
        Those that records were written with, which the decoder uses; None where they have none.
    truth_on_timeout
        The class of an event whose label does not come in time; None if it has none then.
    rounds
        What the partition shares of its model; None: nothing.
    further
        Its other parts.
    observe
        Called with the labelled predictions of each batch, in order, once it is processed.

    """

    def __init__(
        self,
        learner: Learner,
        *,
        vocabulary: Vocabulary,
        decoder: Decoder,
        extractor: FeatureExtractor | RawFeatures,
        join: LabelJoin,
        max_ahead_seconds: float,
        topics: OutputTopics,
        schemas: Schemas | None = None,
        truth_on_timeout: Truth | None = None,
        rounds: Rounds | None = None,
        further: Sequence[Part] = (),
        observe: Observer = lambda _: None,
    ) -> None:
        self.learner = learner
        self.join = join
        self.rounds = rounds
        self.counters = Counters()
        self.further = tuple(further)
        self._takers = tuple(part for part in self.further if type(part).take is not Part.take)
        self._observers = tuple(part for part in self.further if type(part).observe is not Part.observe)
        self._vocabulary = vocabulary
        self.decoder = decoder
        self.schemas = schemas
        self._extractor = extractor
        self._times = TimeBounds(max_ahead_seconds)
        self._maps_time = decoder.maps_time
        self._answers = Answers(vocabulary, topics.predictions)
        self._dead_letters_topic = topics.dead_letters
        self._labels = LabelLearner(join, self._answers, truth_on_timeout)
        self._times_out = truth_on_timeout is not None
        self.observe = observe
        self._needs_records = type(decoder) is not Decoder  # the own schema is read from values alone
        # Parts take events with their features as a dictionary.
        takes_dictionaries = self._needs_records or bool(self._takers)
        self._has_own_schema = not takes_dictionaries and isinstance(extractor, FeatureExtractor)
        self._own_extractor = extractor if isinstance(extractor, FeatureExtractor) else None
        self._binary: BinaryLearner | None = None
        self._takes_values = False
        self._has_log_odds = False
        self._n_predictions = 0
        self._trace = b""  # of the record that is processed
        self._learned = LearnedExamples()
        self._outputs = OutputBatch()

    def process_batch(self, records: Sequence[Record], now_ms: int | None = None) -> Processed:
        """Process the next records of the partition, strictly one after the other; return what to write.

        Where one batch ends changes nothing but the time, `now_ms`, that bounds event times; None: no bound.
        """
        self._times.set_now(now_ms)
        batch = records if isinstance(records, RecordBatch) else RecordBatch(records)
        outputs = self._outputs = OutputBatch()
        learned = self._learned = LearnedExamples(has_log_odds=self.learner.has_log_odds)
        self._has_log_odds = learned.has_log_odds
        self._binary = self.learner if type(self.learner) is BinaryLearner else None
        self._takes_values = self._has_own_schema and self._binary is not None
        self._n_predictions = 0
        self._labels.begin(self.learner, self.counters.labels, learned, outputs)
        dead_letters: list[tuple[int, Output]] = []
        for place in range(len(batch)):
            if not place % 64:  # tenths of a millisecond
                give_way()
            try:
                self._take(batch, place)
            except (Rejection, LearnerError, ModelError) as error:
                rejection = rejection_of(error)
                self.counters.rejected[rejection.reason] += 1
                letter = dead_letter(batch[place], rejection, self._dead_letters_topic)
                dead_letters.append((place, letter))
                outputs.append(letter)
        self._labels.end()
        self.counters.predictions += self._n_predictions
        self.counters.consumed.update(batch.counts())
        self.counters.observe(learned)
        for part in self._observers:
            part.observe(learned)
        self.observe(learned)
        return Processed(outputs, dead_letters)

    @property
    def spelling(self) -> Spelling:
        """How answers write the two classes at present."""
        return self._answers.spelling

    def state(self) -> dict[str, Any]:
        """Return the whole state as plain values."""
        return self._state({part.name: part.state() for part in self.parts()})

    def packed_state(self) -> PackedMapping:
        """Return what `state` returns, packed: the fastest way to a snapshot."""
        return pack_around(self._state({part.name: part.packed_state() for part in self.parts()}))

    def _state(self, kept: Mapping[str, Any]) -> dict[str, Any]:
        made_with = {"spelling": self._answers.spelling, "classes": self._vocabulary.classes}
        first = dict.fromkeys([kind.name for kind in ALWAYS])  # keys keep their first place
        return {**first, **made_with, "arithmetic": ARITHMETIC, **kept}

    def parts(self) -> tuple[Part, ...]:
        """Return all that has state, in the order of a snapshot."""
        optional = {"rounds": self.rounds, "schemas": self.schemas}
        kept = [Kept(name, each) for name, each in optional.items() if each is not None]
        return ModelPart(self.learner), JoinPart(self.join), self.counters, *kept, *self.further

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned: the next record has the same effect as it had there.

        Raises
        ------
        DamagedError
            The model in it cannot be read.

        """
        for part in self.parts():
            part.restore(state.get(part.name))
        if state["classes"] == self._vocabulary.classes:  # else the names are new ones: answer in them
            self._answers.spell_as(state["spelling"])

    def replace_model(self, dumped: bytes) -> None:
        """Replace the model; pending examples and the counts stay.

        The steps that kept examples remember were made on the old model: there is nothing to undo on the
        new one. Raises `DamagedError` if the model cannot be read.
        """
        self.learner.load(dumped)
        self.join.forget_steps()

    def _take(self, batch: RecordBatch, place: int) -> None:
        """Advance event time, decode the message of a record and process it.

        What the message or the model makes impossible is raised before anything else is changed. Where
        messages say their time, one that cannot be decoded advances nothing.
        """
        headers = batch.headers(place)
        self._trace = trace_of(headers) if headers else b""
        timestamp_ms = batch.timestamp_ms(place)
        message = None
        if self._maps_time:
            message = self._decode(batch, place)
            if (said_ms := message.timestamp_ms) is not None:
                if not self._times.earliest_ms <= said_ms <= self._times.latest_ms:
                    raise self._times.rejection(said_ms, self.decoder.place_of_time(batch[place]))
                timestamp_ms = said_ms
        if not self._times.earliest_ms <= timestamp_ms <= self._times.latest_ms:
            raise self._times.rejection(timestamp_ms, self.decoder.place_of_time(batch[place]))
        if self._times_out:
            self._labels.settle_overdue(timestamp_ms)
        if orphans := self.join.advance(timestamp_ms):
            self.counters.labels["orphan"] += orphans
        if message is None:
            message = self._decode(batch, place)
        if message.is_label:
            self._labels.receive(message, timestamp_ms, self._trace)
        else:
            self._receive_event(message, timestamp_ms)

    def _decode(self, batch: RecordBatch, place: int) -> Incoming:
        """Decode the message of a record; its features may be `FeatureArray` where the learner takes them."""
        if self._takes_values:
            return self.decoder.decode_at(batch.data(place), batch.size(place))
        value = batch.value(place)
        return self.decoder.decode(value, batch[place] if self._needs_records else None)

    def _receive_event(self, event: Incoming, timestamp_ms: int) -> None:
        """Predict; then learn, if the truth is known and was not learned before."""
        event_id = event.id
        x = self._features_of(event)
        updates = self._labels.n_updates()
        known = self.join.examples.get(event_id)
        if known is None:
            known = self._predict_new(event, x, timestamp_ms)
            predicted, score, truth = known.predicted, known.score, known.truth
        else:
            predicted, score = self.learner.assess(x.as_dict() if isinstance(x, FeatureArray) else x)
            truth = self._labels.repeated(event, known)
        self._n_predictions += 1
        probability = probability_of(predicted, score) if self._has_log_odds else None
        headers = trace_headers(self._trace) if self._trace else ()
        self._answers.prediction(
            self._outputs, event_id, predicted, score, updates, truth, timestamp_ms, probability, headers
        )
        for part in self._takers:
            part.take(event, timestamp_ms)

    def _features_of(self, event: Incoming) -> X | FeatureArray:
        if self._takes_values:
            assert self._own_extractor is not None
            return self._own_extractor.extract_values(event.features, event.text, event.tenant)
        return self._extractor.extract(event.features, event.text, event.tenant)

    def _predict_new(self, event: Incoming, x: X | FeatureArray, timestamp_ms: int) -> Example:
        """Predict an event that has not come before, learn it if its truth is known, and keep it."""
        early = self.join.early.get(event.id) if self.join.early else None
        truth = early.truth if event.truth is None and early is not None else event.truth
        example = self._predict(x, truth)
        example.timestamp_ms, example.trace = timestamp_ms, self._trace
        example.message_bytes = event.message_bytes
        if truth is not None:
            self._learned.note(event.id, example, truth, example.step, self._labels.n_updates())
            self._labels.first(event, early)
        self.join.keep(event.id, example)
        return example

    def _predict(self, x: X | FeatureArray, truth: Truth | None) -> Example:
        """Predict, and learn a truth that is known; return the example with the step that was made."""
        binary = self._binary
        if binary is None:
            if truth is None:
                predicted, score = self.learner.assess(x)
                return make_example(x, predicted, score, self.learner.said() or 0.0)
            return make_example(x, *self.learner.predict_learn(x, truth))
        if truth is None:
            decided = binary.decide_only(x)
            return make_example(x, decided, binary.last_score, 0.0)
        decided = binary.decide_and_learn(x, truth)  # type: ignore[arg-type] # one of two
        return make_example(x, decided, binary.last_score, binary.last_step)
