"""Write predictions and outcomes as records.

Pydantic's encoder writes every value, so a score comes back as the same double. A prediction is written
into a prepared form instead of by way of a dictionary, which would take more than twice the time.

An answer's own timestamp is the time of writing, which every topic takes and from which its retention
counts; the time of the event is in the message.

`answers.pxd` gives this module its C types.
"""

from __future__ import annotations

from typing import Any

from pydantic_core import to_json

from service.messages.labels import BOOLEANS, LabelValue, Spelling, TrueLabel, Vocabulary
from service.partition.examples import Example, probability_of
from service.stream.batches import OutputBatch

Form = tuple[bytes, bytes]
"""What answers share: what stands between the id and the numbers, and what stands last."""


class Answers:
    """Writes predictions and outcomes in the stream's own label vocabulary.

    Parameters
    ----------
    vocabulary
        The label values the stream may use.
    topic
        Where the answers go.

    """

    def __init__(self, vocabulary: Vocabulary, topic: str) -> None:
        self._vocabulary = vocabulary
        self._topic = topic
        self._outputs, self._has_log_odds = OutputBatch(), False
        self.spell_as(vocabulary.first_spelling())

    @property
    def spelling(self) -> Spelling:
        """How the two classes are written at present."""
        return self._spelling

    def spell_as(self, spelling: Spelling) -> None:
        """Write the two classes so from now on."""
        self._spelling = spelling
        self._forms: dict[TrueLabel | None, dict[TrueLabel, Form]] = {}
        """By truth, then by prediction: a pair as the key would be made for each answer."""
        self._outcome_forms: dict[TrueLabel, dict[TrueLabel, Form]] = {}

    def follow(self, label: LabelValue | None) -> None:
        """Record a label value that was seen: answers are spelled as the stream spells its labels."""
        if label is None or (isinstance(label, bool) and self._spelling is BOOLEANS):
            return  # nothing new, as nearly always
        spelling = self._vocabulary.spelling(label, self._spelling)
        if spelling is not self._spelling:
            self.spell_as(spelling)

    def begin(self, outputs: OutputBatch, *, has_log_odds: bool) -> None:
        """Begin a batch: answers go to `outputs`; predictions of log-odds have a probability."""
        self._outputs, self._has_log_odds = outputs, has_log_odds

    def prediction(
        self, example: Example, updates: int, truth: TrueLabel | None, further: bytes = b""
    ) -> None:
        """Write the `Prediction` of an example; `updates` are those the model had made when it predicted.

        `further` are its fields that are not named here, as the declaration orders them: JSON, each after a
        comma.
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

    def outcome(self, example: Example, truth: TrueLabel, delay_seconds: float) -> None:
        """Write the `Outcome` of an example; it has the key of its prediction."""
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
        """Write what predictions of one class with one truth (or none) share: before the score, and last.

        There are at most classes · (classes + 1) forms; each is made when it is first needed.
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
        """Write what outcomes of one truth with one prediction share: before the delay, and last."""
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
