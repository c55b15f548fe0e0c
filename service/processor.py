"""One partition's state machine. In: records, in order. Out: predictions, outcomes, dead letters.

Receive x, predict, receive y, update on a mistake. No I/O and no clock: the state is a function of the
records processed and of nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic_core import to_json

from perceptron_core import LearnerError
from service.counters import Counters
from service.dead_letters import dead_letter
from service.decode import Decoder, Incoming, Reason, Rejection
from service.features import FeatureExtractor, X
from service.labels import EarlyLabel, Example, LabelJoin
from service.models import Learner
from service.transport.base import Output, Record
from service.vocabulary import LabelValue, Truth, Vocabulary


class Step(NamedTuple):
    """One prediction whose truth is known, told to whoever observes."""

    event_id: str
    x: X
    score: float
    predicted: Truth
    truth: Truth
    mistake: bool
    label_delay_seconds: float | None
    """Event time from the event to its label; None where they came together."""

    @property
    def n_features(self) -> int:
        """How many features the event had."""
        return len(self.x)


@dataclass(frozen=True, slots=True)
class OutputTopics:
    """Where the processor's messages go."""

    predictions: str
    dead_letters: str


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
    topics
        Where outputs go.
    observe
        Told each labelled prediction, in order.

    """

    def __init__(
        self,
        learner: Learner,
        *,
        vocabulary: Vocabulary,
        decoder: Decoder,
        extractor: FeatureExtractor,
        join: LabelJoin,
        topics: OutputTopics,
        observe: Callable[[Step], None] = lambda _: None,
    ) -> None:
        self.learner = learner
        self.join = join
        self.counters = Counters()
        self._vocabulary = vocabulary
        self._decoder = decoder
        self._extractor = extractor
        self._topics = topics
        self.observe = observe
        self._spelling = vocabulary.first_spelling()

    def process(self, record: Record) -> Sequence[Output]:
        """Process the next record of the partition; give what is to be written for it."""
        self.counters.consumed[record.topic] += 1
        self.counters.labels["orphan"] += self.join.advance(record.timestamp_ms)
        try:
            incoming = self._decoder.decode(record.value)
            if incoming.is_label:
                return self._receive_label(incoming, record.timestamp_ms)
            return self._receive_event(incoming, record.timestamp_ms)
        except Rejection as rejection:
            self.counters.rejected[rejection.reason] += 1
            return (dead_letter(record, rejection, self._topics.dead_letters),)

    def state(self) -> dict[str, Any]:
        """Give the whole state as plain values: the model, what waits for labels, the counts."""
        return {
            "model": self.learner.dump(),
            "join": self.join.state(),
            "counters": self.counters.state(),
            "spelling": self._spelling,
            "classes": self._vocabulary.classes,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Become what `state` told: the next record has the same effect as it had there.

        Raises
        ------
        DamagedError
            The model in it cannot be read.

        """
        self.learner.load(state["model"])
        self.join.restore(state["join"])
        self.counters = Counters.from_state(state["counters"])
        if state["classes"] == self._vocabulary.classes:  # else the names are new ones: answer in them
            self._spelling = state["spelling"]

    def replace_model(self, dumped: bytes) -> None:
        """Put another model in the place of this one; what waits for labels and the counts stay.

        The steps that kept examples remember were made on the old model: there is nothing to undo on the
        new one. Raises `DamagedError` if the model cannot be read.
        """
        self.learner.load(dumped)
        self.join.forget_steps()

    def _receive_event(self, event: Incoming, timestamp_ms: int) -> Sequence[Output]:
        """Predict; then learn, if the truth is known and was not learned before."""
        x = self._extractor.extract(event.features, event.text)
        predicted, score = self._assess(x)
        updates = self.learner.updates
        known = self.join.example(event.id)
        if known is None:
            example = Example(x, predicted, score, timestamp_ms)
            self.join.keep(event.id, example)
            truth = self._first_truth(event)
            if truth is not None:
                self._settle(event.id, example, truth, None)
        else:
            truth = self._truth_of_repeated(event, known)
        self.counters.predictions += 1
        fields: dict[str, Any] = {
            "id": event.id,
            "label": self._spell(predicted),
            "score": score,
            "updates": updates,
        }
        if truth is not None:
            fields |= {"truth": self._spell(truth), "mistake": predicted != truth}
        return (self._answer(event.id, fields, timestamp_ms),)

    def _assess(self, x: X) -> tuple[Truth, float]:
        try:
            return self.learner.assess(x)
        except LearnerError as error:
            raise Rejection(Reason.OUT_OF_RANGE, str(error)) from None

    def _first_truth(self, event: Incoming) -> Truth | None:
        """Find the label of a new event: its own, or one that came before it."""
        early = self.join.take_early_label(event.id)
        if event.truth is not None:
            self._learn_spelling(event)
            if early is not None:
                self.counters.labels["duplicate" if early == event.truth else "corrected"] += 1
            return event.truth
        if early is not None:
            self.counters.labels["matched"] += 1
        return early

    def _truth_of_repeated(self, event: Incoming, known: Example) -> Truth | None:
        """Find the label of an event that came before; what it says now may be news about that one."""
        if event.truth is not None:
            self._learn_spelling(event)
            if known.truth is None:
                self._settle(event.id, known, event.truth, None)
            else:
                self._reconsider(known, event.truth)
        return known.truth

    def _receive_label(self, label: Incoming, timestamp_ms: int) -> Sequence[Output]:
        """Bring a label to its event: kept, still to come, let go, or labelled before."""
        assert label.truth is not None
        self._learn_spelling(label)
        example = self.join.example(label.id)
        if example is None:
            self._receive_label_alone(label.id, EarlyLabel(label.truth, timestamp_ms))
            return ()
        if example.truth is not None:
            self._reconsider(example, label.truth)
            return ()
        delay_seconds = (timestamp_ms - example.timestamp_ms) / 1000
        self._settle(label.id, example, label.truth, delay_seconds)
        self.counters.labels["matched"] += 1
        fields = {
            "id": label.id,
            "label": self._spell(label.truth),
            "predicted": self._spell(example.predicted),
            "mistake": example.predicted != label.truth,
            "label_delay_seconds": delay_seconds,
        }
        return (self._answer(label.id, fields, timestamp_ms),)

    def _receive_label_alone(self, event_id: str, label: EarlyLabel) -> None:
        """Hold a label without an example for an event to come, unless that event was let go."""
        if self.join.expired(event_id):
            self.counters.labels["late"] += 1
            return
        earlier = self.join.early_label(event_id)
        if earlier is None:
            self.counters.labels["orphan"] += self.join.hold(event_id, label)
        elif earlier.truth == label.truth:
            self.counters.labels["duplicate"] += 1
        else:
            self.counters.labels["corrected"] += 1
            self.join.hold(event_id, label)

    def _settle(self, event_id: str, example: Example, truth: Truth, delay_seconds: float | None) -> None:
        """Learn an example's truth and count how its prediction turned out."""
        mistake = example.predicted != truth
        self.join.settle(example, truth, self.learner.learn(example.x, truth))
        self.counters.score(mistake=mistake)
        self.observe(
            Step(event_id, example.x, example.score, example.predicted, truth, mistake, delay_seconds)
        )

    def _reconsider(self, example: Example, truth: Truth) -> None:
        """Take another label for a learned example: the same is a duplicate, a different one corrects."""
        if truth == example.truth:
            self.counters.labels["duplicate"] += 1
        elif self.learner.undo(example.x, example.step):
            self.join.settle(example, truth, self.learner.learn(example.x, truth))
            self.counters.labels["corrected"] += 1
        else:
            self.counters.labels["refused"] += 1

    def _learn_spelling(self, message: Incoming) -> None:
        if message.label is not None:
            self._spelling = self._vocabulary.spelling(message.label, self._spelling)

    def _spell(self, truth: Truth) -> LabelValue:
        return self._vocabulary.spell(truth, self._spelling)

    def _answer(self, event_id: str, fields: dict[str, Any], timestamp_ms: int) -> Output:
        return Output(self._topics.predictions, event_id.encode(), to_json(fields), (), None, timestamp_ms)
