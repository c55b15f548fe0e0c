"""Write predictions and outcomes as records.

Pydantic's encoder writes every value, so reading a score returns the same double. A prediction is inserted
into a prepared form: building a dictionary first would take more than twice the time.

The record's timestamp is the time of writing, which every topic accepts and retention counts from; the event
time is in the message.

`output_writer.pxd` gives this module its C types.
"""

from __future__ import annotations

from typing import Any

from pydantic_core import to_json

from service.messages.labels import BOOLEANS, LabelValue, Spelling, TrueLabel, Vocabulary
from service.partition.examples import Example, probability_of
from service.stream.batches import OutputBatch

Form = tuple[bytes, bytes]
"""The parts that outputs share: the text between the id and the numbers, and the text after them."""


class OutputWriter:
    """Writes predictions and outcomes with the label values of the stream.

    Parameters
    ----------
    vocabulary
        The label values the stream may use.
    topic
        The predictions topic.

    """

    def __init__(self, vocabulary: Vocabulary, topic: str) -> None:
        self._vocabulary = vocabulary
        self._topic = topic
        self._outputs, self._has_log_odds = OutputBatch(), False
        self.spell_as(vocabulary.first_spelling())

    @property
    def spelling(self) -> Spelling:
        """The label values that stand for the two classes at present."""
        return self._spelling

    def spell_as(self, spelling: Spelling) -> None:
        """Set the label values of the two classes."""
        self._spelling = spelling
        self._forms: dict[TrueLabel | None, dict[TrueLabel, Form]] = {}
        """By truth, then by predicted class; a pair as key would be a new object for each output."""
        self._outcome_forms: dict[TrueLabel, dict[TrueLabel, Form]] = {}

    def follow(self, label: LabelValue | None) -> None:
        """Note a label value of the stream: outputs spell unnamed classes as the stream's labels do."""
        if label is None or (isinstance(label, bool) and self._spelling is BOOLEANS):
            return  # the usual case: a known spelling
        spelling = self._vocabulary.spelling(label, self._spelling)
        if spelling is not self._spelling:
            self.spell_as(spelling)

    def begin(self, outputs: OutputBatch, *, has_log_odds: bool) -> None:
        """Begin a batch, written to `outputs`; predictions of log-odds have a probability."""
        self._outputs, self._has_log_odds = outputs, has_log_odds

    def write_prediction(
        self, example: Example, updates: int, truth: TrueLabel | None, further: bytes = b""
    ) -> None:
        """Write the `Prediction` of an example; `updates` is the model's count of updates before it.

        `further` are the remaining fields in the order of their declaration, as JSON, each after a comma.
        """
        forms = self._forms.get(truth)
        form = None if forms is None else forms.get(example.predicted)
        if form is None:
            form = self._make_form(example.predicted, truth)
        numbers = to_json(example.score)
        if self._has_log_odds:
            probability = probability_of(example.predicted, example.score)
            numbers += b',"probability":' + to_json(probability)
        times = f',"updates":{updates},"event_time_ms":{example.timestamp_ms}'.encode()
        value = b"".join([b'{"id":', to_json(example.event_id), form[0], numbers, times, further, form[1]])
        self._outputs.add(self._topic, example.event_id.encode(), value, ())

    def write_outcome(self, example: Example, truth: TrueLabel, delay_seconds: float) -> None:
        """Write the `Outcome` of an example, with the key of its prediction."""
        forms = self._outcome_forms.get(truth)
        form = None if forms is None else forms.get(example.predicted)
        if form is None:
            form = self._make_outcome_form(truth, example.predicted)
        value = b'{"id":%b%b%b,"event_time_ms":%d%b' % (
            to_json(example.event_id),
            form[0],
            to_json(delay_seconds),
            example.timestamp_ms,
            form[1],
        )
        self._outputs.add(self._topic, example.event_id.encode(), value, ())

    def _make_form(self, predicted: TrueLabel, truth: TrueLabel | None) -> Form:
        """Return the text that predictions with this class and truth (or none) share.

        There are at most classes · (classes + 1) forms, each made at first use.
        """
        rest = b"}"
        if truth is not None:
            known = to_json({"truth": self._spell(truth), "mistake": predicted != truth})
            rest = b"," + known[1:]
        label = to_json(self._spell(predicted))
        form = b',"label":%b,"score":' % label, rest
        self._forms.setdefault(truth, {})[predicted] = form
        return form

    def _make_outcome_form(self, truth: TrueLabel, predicted: TrueLabel) -> Form:
        """Return the text that outcomes with this truth and predicted class share."""
        known = to_json(
            {
                "label": self._spell(truth),
                "predicted": self._spell(predicted),
                "mistake": predicted != truth,
                "label_delay_seconds": 0,
            }
        )
        form = b"," + known[1 : len(known) - 2], b"}"
        self._outcome_forms.setdefault(truth, {})[predicted] = form
        return form

    def _spell(self, truth: TrueLabel) -> LabelValue:
        return self._vocabulary.spell(truth, self._spelling)


def assessment(
    event_id: str, label: LabelValue, predicted: TrueLabel, score: float, *, has_log_odds: bool
) -> dict[str, Any]:
    """Return the fields of an `Assessment` without its `updates`; `label` is the spelling of `predicted`."""
    fields = {"id": event_id, "label": label, "score": score}
    return fields | {"probability": probability_of(predicted, score)} if has_log_odds else fields
