import importlib.util
import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic_core import to_json

from service.batches.output_batch import OutputBatch
from service.messages import answer_record
from service.messages.encoder import Answers
from service.messages.labels import Vocabulary
from service.messages.schema import Outcome, Prediction

NAMES = ('quo"te', "per%b cent", "Ωmega\n")
ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=256)
finite = st.floats(allow_nan=False, allow_infinity=False)


class Written:
    """Writes answers one by one."""

    def __init__(self, classes=()):
        self._answers = Answers(Vocabulary(classes), "predictions")
        self.follow = self._answers.follow

    def prediction(self, *given):
        self._answers.prediction(outputs := OutputBatch(), *given)
        (output,) = outputs
        return output

    def outcome(self, *given):
        self._answers.outcome(outputs := OutputBatch(), *given)
        (output,) = outputs
        return output


answers = Written


@given(ids, st.booleans(), finite, st.integers(0, 2**63 - 1), st.none() | st.booleans())
def test_a_prediction_is_valid_json_that_keeps_every_bit_of_the_score(
    event_id, predicted, score, updates, truth
):
    output = answers().prediction(event_id, predicted, score, updates, truth, 5)
    read = Prediction.model_validate_json(output.value)
    assert read == Prediction(
        id=event_id,
        label=predicted,
        score=score,
        updates=updates,
        truth=truth,
        mistake=None if truth is None else predicted != truth,
        event_time_ms=5,
    )
    assert str(json.loads(output.value)["score"]) == str(score)  # and the sign of a zero
    assert (output.topic, output.key, output.timestamp_ms) == ("predictions", event_id.encode(), None)


@given(finite, st.floats(0, 1))
def test_the_probability_follows_the_score_to_the_bit(score, probability):
    value = answers().prediction("a", True, score, 2, None, 0, probability).value
    read = json.loads(value)
    assert [*read][2:4] == ["score", "probability"]
    assert (str(read["score"]), str(read["probability"])) == (str(score), str(probability))


@given(ids, st.booleans(), st.booleans(), finite)
def test_an_outcome_is_valid_json_under_the_key_of_its_prediction(event_id, truth, predicted, delay):
    output = answers().outcome(event_id, truth, predicted, delay, 5)
    assert Outcome.model_validate_json(output.value) == Outcome(
        id=event_id,
        label=truth,
        predicted=predicted,
        mistake=predicted != truth,
        label_delay_seconds=delay,
        event_time_ms=5,
    )
    assert output.key == event_id.encode()


@pytest.mark.parametrize("truth", [None, *NAMES])
@pytest.mark.parametrize("predicted", NAMES)
def test_names_of_classes_may_hold_any_character(predicted, truth):
    output = answers(NAMES).prediction("a", predicted, 0.5, 1, truth, 0)
    fields = json.loads(output.value)
    assert (fields["label"], fields.get("truth"), fields["score"]) == (predicted, truth, 0.5)


def test_without_a_truth_nothing_is_said_of_a_mistake():
    output = answers().prediction("a", True, 1.0, 2, None, 0)
    assert output.value == b'{"id":"a","label":true,"score":1.0,"updates":2,"event_time_ms":0}'


def test_answers_follow_the_labels_of_the_stream():
    written = answers()
    labels = []
    for label in (True, 1, 0, False):
        written.follow(label)
        labels.append(json.loads(written.prediction("a", False, 0.0, 0, True, 0).value))
    assert [(fields["label"], fields["truth"]) for fields in labels] == [
        (False, True),
        (-1, 1),
        (0, 1),
        (False, True),
    ]


@given(ids, st.sampled_from(["ham", "spam", *NAMES]), st.sampled_from(["ham", *NAMES]), finite)
def test_an_outcome_has_the_bytes_that_pydantic_writes(event_id, truth, predicted, delay):
    fields = {"id": event_id, "label": truth, "predicted": predicted, "mistake": predicted != truth}
    fields |= {"label_delay_seconds": delay, "event_time_ms": 7}
    writer = answers(("ham", "spam", *NAMES))
    for _ in range(2):
        assert writer.outcome(event_id, truth, predicted, delay, 7).value == to_json(fields)


@given(st.integers(0, 2 * 10**12) | st.integers(0, 2 * 10**5), st.sampled_from([1000, 999.9999, -1000]))
@example(0, -1000)
@example(999_999_999_999, 1000)
@example(10**12, 1000)
def test_a_delay_of_whole_milliseconds_has_the_bytes_that_pydantic_writes(milliseconds, divisor):
    delay = milliseconds / divisor
    written = answers().outcome("e", True, True, delay, 7).value
    assert b'"label_delay_seconds":%b,' % to_json(delay) in written


@pytest.fixture(scope="module")
def interpreted_record():
    path = Path(answer_record.__file__).with_name("answer_record.py")
    spec = importlib.util.spec_from_file_location("interpreted_answer_record", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.write_answer


@given(
    st.text(st.characters(exclude_categories=["Cs"])) | st.from_regex(r"[ -~]{0,300}", fullmatch=True),
    st.floats(),
    st.none() | st.floats(0, 1),
    st.integers(-1, 2**63 - 1),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([(), (("traceparent", b"00-1"),)]),
)
def test_compiled_or_not_an_answer_has_the_same_bytes(
    interpreted_record, event_id, number, probability, updates, time_ms, headers
):
    form = b',"label":true,"score":', b"}"
    rest = ("predictions", event_id, form, number, probability, updates, time_ms, headers)
    compiled, interpreted = OutputBatch(), OutputBatch()
    for _ in range(3):
        answer_record.write_answer(compiled, *rest)
        interpreted_record(interpreted, *rest)
    assert [*compiled] == [*interpreted]
