import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import ConfigurationError, RegistryUnavailable
from service.formats.answers import AnswerWriter, answer_reader, schema_of
from service.formats.sources import Sources
from service.formats.topics import make_schemas
from service.settings.kafka import RegistrySettings
from service.stream.protocol import Output
from service.verify.verify import verify
from tests.service.building import WrittenAnswers, settings
from tests.service.formats.test_streams import given_for, in_avro, outputs, produce, run, some_events

PREFIX = b"\x00\x00\x00\x00\x07"
FORMATS = ["avro", "json-schema"]
ANSWERS = WrittenAnswers()
numbers = st.floats(allow_nan=False, allow_infinity=False)


predictions = st.builds(
    ANSWERS.prediction,
    st.text(min_size=1),
    st.booleans(),
    numbers,
    st.integers(0, 2**40),
    st.none() | st.booleans(),
    st.integers(0, 2**50),
    st.booleans(),
)
outcomes = st.builds(
    ANSWERS.outcome,
    st.text(min_size=1),
    st.booleans(),
    st.booleans(),
    numbers,
    st.integers(0, 2**50),
)


def in_format(answer_format, *found):
    schema = schema_of(answer_format)
    writer = AnswerWriter(answer_format, "predictions")
    return writer.write(found, schema._replace(parts=(*schema.parts, PREFIX)))


@pytest.mark.parametrize("answer_format", FORMATS)
@given(predictions | outcomes)
def test_an_answer_comes_back_as_it_was_in_json(answer_format, answer):
    (found,) = in_format(answer_format, answer)
    assert found.value.startswith(PREFIX)
    plain = answer_reader(answer_format)(found.value)
    assert list(json.loads(plain).items()) == list(json.loads(answer.value).items())


@pytest.mark.parametrize("label", [True, 1, -1, 0.5, "spam"])
def test_labels_keep_their_type_in_avro(label):
    answer = Output("predictions", b"a", json.dumps({"id": "a", "label": label, "score": 1.0}).encode())
    plain = answer_reader("avro")(in_format("avro", answer)[0].value)
    assert repr(json.loads(plain)["label"]) == repr(label)


def test_an_answer_of_a_release_that_had_a_field_less_is_read(monkeypatch):
    monkeypatch.setattr("service.formats.answers._AT_FIRST", 11)
    answer = Output("predictions", b"a", b'{"id":"a","label":true,"score":1.0,"updates":3}')
    (found,) = in_format("avro", answer)
    assert found.value.endswith(b"\x00")  # the last field is null
    assert answer_reader("avro")(found.value[:-1]) == answer.value


@pytest.mark.parametrize("answer_format", FORMATS)
def test_other_records_stay_as_they_are(answer_format):
    letter = Output("dead-letters", b"a", b"{}")
    assert in_format(answer_format, letter) == [letter]
    for value in (None, b"", b"{}", b"\x00"):
        assert answer_reader(answer_format)(value) in {value, b""}


@pytest.mark.parametrize("answer_format", FORMATS)
def test_a_stream_with_such_answers_is_the_same_and_is_verified(stream, registry, answer_format):
    produce(stream, in_avro(registry, some_events()))
    given = given_for(registry, predictions_format=answer_format)
    run(stream, given)
    kind, schema_id = schema_of(answer_format).kind, registry.catalog.subjects["predictions-value"][1]
    assert registry.catalog.by_id[schema_id].type == kind
    registry.stop()  # its id is kept
    produce(stream, [value for _, value in outputs(stream, "events")][:5], since=99)
    run(stream, given)
    values = [value for _, value in outputs(stream)]
    assert {value[:5] for value in values} == {b"\x00" + schema_id.to_bytes(4, "big")}
    plain = [json.loads(answer_reader(answer_format)(value)) for value in values]
    assert [answer["id"] for answer in plain] == [*(f"m{n}" for n in range(60)), *(f"m{n}" for n in range(5))]
    report = verify(stream, given)
    assert report.is_proved, report.findings.kept


def test_answers_in_a_format_need_no_schemas_of_events(stream, registry):
    event = b'{"id": "a", "text": "x", "label": true}'
    produce(stream, [event])
    run(stream, given_for(registry, "json", predictions_format="json-schema"))
    (value,) = [value for _, value in outputs(stream)]
    assert json.loads(value[5:])["id"] == "a"


def test_a_schema_that_the_subject_does_not_take_holds_the_service_up(registry):
    registry.status = 409
    given = settings(predictions_format="avro", schema_registry=RegistrySettings(url=registry.url))
    with pytest.raises(RegistryUnavailable, match="HTTP 409"):
        Sources(given).find(make_schemas(given), [])


def test_without_a_registry_the_setting_is_refused():
    with pytest.raises(ConfigurationError, match="predictions_format avro needs a Schema Registry"):
        Sources(settings(predictions_format="avro"))
