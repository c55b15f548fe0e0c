"""What a record says besides what it is of: forms, times and counts that follow from the input."""

import json

import pytest

from service.audit.findings import Fault
from tests.service.audit.audited_stream import LOG, doubled, findings, produce, with_fields
from tests.service.building import label


def with_bytes(at, change):
    def changed(records):
        return [
            record._replace(value=change(record.value)) if record.offset == at else record
            for record in records
        ]

    return changed


@pytest.mark.parametrize("at", [1, 3])
@pytest.mark.parametrize(
    "change",
    [
        lambda value: value.replace(b"{", b'{"id":"x",', 1),
        lambda value: value.replace(b"{", b'{"more":1,', 1),
        lambda value: value.replace(b'"id":"b",', b"").replace(b"}", b',"id":"b"}'),
        lambda value: b"\xef\xbb\xbf" + value,
    ],
    ids=["a field twice", "an unknown field", "another order", "a byte order mark"],
)
def test_a_message_of_another_form_is_refuted(stream, at, change):
    assert findings(stream.changed("predictions", with_bytes(at, change)))


@pytest.mark.parametrize(
    ("at", "fields"),
    [
        (1, {"score": float("nan")}),
        (3, {"mistake": 0}),
        (3, {"mistake": 1}),
        (1, {"updates": -1}),
        (1, {"updates": 1.5}),
        (1, {"event_time_ms": 5}),
        (3, {"event_time_ms": 5}),
    ],
)
def test_a_number_that_cannot_be_is_named(stream, at, fields):
    changed = stream.changed("predictions", with_fields(at, **fields))
    assert findings(changed)[0] == (Fault.WRONG, f"predictions[0]@{at}", "b")


def test_a_number_beyond_all_doubles_makes_no_prediction(stream):
    changed = stream.changed("predictions", with_fields(1, score=10**400))
    assert findings(changed)[0] == (Fault.FOREIGN, "predictions[0]@1", None)


def with_headers(*headers):
    return lambda records: [records[0]._replace(headers=headers), *records[1:]]


@pytest.mark.parametrize(
    "headers",
    [[("h", b"1")], [("tracestate", b"a=1")], [("tracestate", b"a=1"), ("traceparent", b"00-1-1-01")]],
    ids=["another", "half a trace", "another order"],
)
def test_headers_of_a_prediction_are_named(stream, headers):
    changed = stream.changed("predictions", with_headers(*headers))
    assert findings(changed) == [(Fault.WRONG, "predictions[0]@0", "a")]


@pytest.mark.parametrize(
    "headers", [[("traceparent", b"00-1-1-01")], [("traceparent", b"00-1-1-01"), ("tracestate", b"a=1")]]
)
def test_a_prediction_carries_the_trace_context_of_its_event(stream, headers):
    assert findings(stream.changed("predictions", with_headers(*headers))) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"pending":1', b'"pending":0'),
        (b'"labelled":4', b'"labelled":5'),
        (b'"now_ms":', b'"now_ms":-'),
    ],
)
def test_a_progress_record_that_its_snapshot_contradicts_is_refuted(stream, old, new):
    def change(records):
        last = max(n for n, record in enumerate(records) if ("kind", b"progress") in record.headers)
        assert old in records[last].value
        changed = records[last]._replace(value=records[last].value.replace(old, new))
        return [*records[:last], changed, *records[last + 1 :]]

    assert findings(stream.changed("checkpoints", change))


def test_messages_of_releases_without_event_times_are_proved(stream):
    def change(records):
        fields = [json.loads(record.value) for record in records]
        for each in fields:
            del each["event_time_ms"]
        values = [json.dumps(each, separators=(",", ":")).encode() for each in fields]
        return [record._replace(value=value) for record, value in zip(records, values, strict=True)]

    assert stream.changed("predictions", change).audit().is_proved


def test_an_id_twice_in_an_event_is_read_as_the_service_reads_it(stream):
    produce(stream, b'{"id":"x","id":"y","text":"win"}', label("x", True), label("y", True))
    report = stream.run().audit()
    assert report.is_proved
    assert (report.records, report.outcomes) == (len(LOG) + 3, 3)
    assert findings(stream.changed("predictions", doubled(7)))[0][2] == "y"


@pytest.fixture
def probable(open_stream):
    stream = open_stream(labels_topic="", model="normalized-adagrad")
    produce(stream, *LOG)
    return stream.run()


def test_predictions_with_probabilities_are_proved(probable):
    assert probable.audit().is_proved
    values = [record.value for record in probable.transport.read("predictions", 0)]
    assert [b'"probability":' in value for value in values[:3]] == [True] * 3


@pytest.mark.parametrize("probability", [0.75, 1.5, float("nan"), None, "0.5", True])
def test_a_probability_that_does_not_follow_from_its_score_is_named(probable, probability):
    changed = probable.changed("predictions", with_fields(1, probability=probability))
    assert findings(changed)[0] == (Fault.WRONG, "predictions[0]@1", "b")


def test_a_score_that_its_probability_contradicts_is_named(probable):
    changed = probable.changed("predictions", with_fields(2, score=9.0))
    assert findings(changed)[0] == (Fault.WRONG, "predictions[0]@2", "c")
