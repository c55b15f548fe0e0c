import importlib.util
from operator import truediv
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic_core import to_json

from service.messages import answer_record
from service.messages.encoder import Answers
from service.messages.labels import Vocabulary
from service.messages.schema import OUTCOME, PREDICTION, Outcome, Prediction, answer_fields
from service.stream.batches import OutputBatch

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
NAMES = ("ham", 'quo"te', "per%b cent", "Ωmega\n")
WRITER = answers(NAMES)
classes = st.sampled_from(NAMES)
delays = st.builds(truediv, st.integers(0, 2 * 10**12), st.sampled_from([1000, 999.9999, -1000]))


def declared(answer):
    """Return an answer in JSON, as its declaration says."""
    fields = answer_fields(type(answer).model_fields)
    said = {field.name: getattr(answer, field.name) for field in fields}
    return to_json({name: value for name, value in said.items() if value is not None})


VALUES = {float: finite, int: st.integers(0, 2**63 - 1), bool: st.booleans(), str: st.text()}
OWN = ("id", "label", "score", "probability", "updates", "truth", "mistake", "event_time_ms")
further = st.fixed_dictionaries(
    {}, optional={field.name: VALUES[field.types[0]] for field in PREDICTION if field.name not in OWN}
)


@given(
    ids,
    classes,
    finite,
    st.integers(0, 2**63 - 1),
    st.none() | classes,
    st.integers(-(2**63), 2**63 - 1),
    st.none() | st.floats(0, 1),
    further,
)
def test_a_prediction_has_the_bytes_of_its_declaration(
    event_id, predicted, score, updates, truth, time_ms, probability, further
):
    ordered = {field.name: further[field.name] for field in PREDICTION if field.name in further}
    added = b"," + to_json(ordered)[1:-1] if further else b""
    output = WRITER.prediction(event_id, predicted, score, updates, truth, time_ms, probability, (), added)
    prediction = Prediction(
        id=event_id,
        label=predicted,
        score=score,
        probability=probability,
        updates=updates,
        truth=truth,
        mistake=None if truth is None else predicted != truth,
        event_time_ms=time_ms,
        **further,
    )
    assert output.value == declared(prediction)
    assert Prediction.model_validate_json(output.value) == prediction
    assert (output.topic, output.key, output.timestamp_ms) == ("predictions", event_id.encode(), None)


@given(ids, classes, classes, finite | delays)
@example("e", "ham", "ham", 0.0)
@example("e", "ham", "ham", -1.0)
@example("e", "ham", "ham", 999_999_999.999)
@example("e", "ham", "ham", 1e9)
def test_an_outcome_has_the_bytes_of_its_declaration(event_id, truth, predicted, delay):
    output = WRITER.outcome(event_id, truth, predicted, delay, 7)
    outcome = Outcome(
        id=event_id,
        label=truth,
        predicted=predicted,
        mistake=predicted != truth,
        label_delay_seconds=delay,
        event_time_ms=7,
    )
    assert output.value == declared(outcome)
    assert Outcome.model_validate_json(output.value) == outcome
    assert output.key == event_id.encode()


def test_a_field_has_one_number_and_one_type_in_all_answers():
    numbers = {field.name: field.written.number for field in PREDICTION + OUTCOME}
    types = {field.name: field.types for field in PREDICTION + OUTCOME}
    assert sorted(numbers.values()) == [*range(len(numbers))]
    for field in PREDICTION + OUTCOME:
        assert (field.written.number, field.types) == (numbers[field.name], types[field.name])


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
