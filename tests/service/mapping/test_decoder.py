"""Each topic is read by its own mapping, and an event's own time is the one that counts."""

import json

import pytest

from service.messages.rejection import Reason, Rejection, Skipped
from service.partition.factory import make_decoder
from service.stream import Record
from tests.service.building import Feed, settings


def record(topic, value, key=None):
    return Record(topic, 0, 5, 1000, key, value)


def decode(topic, value, key=None, **given):
    return make_decoder(settings(**given)).decode(value, record(topic, value, key))


EVENTS = {"id": "order.id", "features": ["order.*"]}
LABELS = {"id": "ref", "label": "paid"}


def test_the_labels_topic_has_a_mapping_of_its_own():
    found = decode("labels", b'{"ref": 7, "paid": true}', events=EVENTS, labels=LABELS)
    assert (found.id, found.truth, found.is_label) == ("7", True, True)


def test_a_topic_that_is_not_mapped_has_the_own_schema():
    assert decode("labels", b'{"id": "7", "label": true}', events=EVENTS).is_label
    assert decode("events", b'{"id": "7", "text": "x"}', labels=LABELS).text == "x"


def test_a_message_without_a_record_is_an_event():
    assert make_decoder(settings(events=EVENTS)).decode(b'{"order": {"id": 7, "n": 1}}').features == {
        "n": 1.0
    }


@pytest.mark.parametrize(
    ("value", "reason"), [(None, Reason.EMPTY), (b"", Reason.EMPTY), (b'"' + b"x" * 99, Reason.TOO_LARGE)]
)
def test_a_value_that_is_empty_or_too_large_is_not_read(value, reason):
    with pytest.raises(Rejection) as refused:
        decode("events", value, events=EVENTS, max_message_bytes=64)
    assert refused.value.reason is reason


def test_the_size_counts_long_names_of_features():
    value = json.dumps({"order": {"id": 7, "n" * 100: {str(n): n for n in range(50)}}}).encode()
    assert decode("events", value, events=EVENTS).message_bytes > len(value)


@pytest.mark.parametrize("given", [{}, {"events": {"unknown_fields": "refuse"}}])
def test_without_a_mapping_the_own_schema_is_read_by_its_own_decoder(given):
    from service.messages.decoder import Decoder  # noqa: PLC0415

    assert type(make_decoder(settings(**given))) is Decoder


@pytest.mark.parametrize("value", [True, "", 0, [], "c"])
def test_a_filter_lets_through_what_is_neither_false_nor_null(value):
    message = json.dumps({"id": "a", "kind": value, "features": {"n": 1}, "label": True}).encode()
    assert decode("events", message, events={"where": "kind"}).features == {"n": 1}
    assert decode("labels", message, labels={"where": "kind"}).is_label


@pytest.mark.parametrize("value", ["false", "null"])
@pytest.mark.parametrize("topic", ["events", "labels"])
def test_a_filter_skips_what_is_false_or_null_whatever_else_is_wrong(topic, value):
    with pytest.raises(Skipped, match=f"{topic}.where"):
        decode(topic, f'{{"kind": {value}, "features": 7}}'.encode(), **{topic: {"where": "kind"}})


def test_a_filter_that_fails_on_a_record_makes_a_dead_letter_that_names_it():
    with pytest.raises(Rejection, match=r"invalid_type: events.where: length\(n\)") as refused:
        decode("events", b'{"id": "a", "n": 7}', events={"where": "length(n) > `1`"})
    assert not isinstance(refused.value, Skipped)


def test_what_a_filter_looks_at_is_a_feature_and_a_known_field():
    mapping = {"where": "n || m", "features": "*", "unknown_fields": "refuse"}
    assert decode("events", b'{"id": "a", "n": 1}', events=mapping).features == {"n": 1}
    assert decode("events", b'{"id": "a", "m": 1, "k": 2}', events=mapping | {"features": "k"})


TIMED = {"features": "n", "timestamp": "at", "label": "y"}


def test_a_prediction_carries_the_mapped_time():
    feed = Feed(events=TIMED)
    assert feed.answer({"id": 1, "n": 1, "at": 7}, at_seconds=1000)["event_time_ms"] == 7000


def test_the_label_delay_is_the_difference_of_mapped_times():
    feed = Feed(events=TIMED, labels={"id": "id", "timestamp": "at"})
    feed({"id": 1, "n": 1, "at": 7}, at_seconds=500)
    outcome = feed.answer({"id": 1, "label": True, "at": "1970-01-01T00:00:10Z"}, topic="labels")
    assert outcome["label_delay_seconds"] == 3


def test_events_wait_for_labels_in_mapped_time():
    feed = Feed(events=TIMED, label_timeout_seconds=60)
    feed({"id": 1, "n": 1, "at": 0}, at_seconds=500)
    feed({"id": 2, "n": 1, "at": 61}, at_seconds=500)
    assert [*feed.processor.join.examples] == ["2"]


@pytest.mark.parametrize(("at", "what"), [(10**400, "ahead"), (-(10**400), "before 1970")], ids=["+", "-"])
def test_a_time_too_large_for_a_float_is_a_dead_letter_that_says_why(at, what):
    (letter,) = Feed(events=TIMED)({"id": 1, "n": 1, "at": at}, now_ms=1_000_000)
    headers = dict(letter.headers)
    assert headers["error.reason"] == b"event_time_out_of_range"
    assert what in headers["error.message"].decode()


@pytest.mark.parametrize("at", [-5, 10_000])
def test_a_mapped_time_out_of_range_is_refused_by_its_path(at):
    (letter,) = Feed(events=TIMED, max_event_time_ahead_seconds=60)(
        {"id": 1, "n": 1, "at": at}, now_ms=1_000_000
    )
    headers = dict(letter.headers)
    assert headers["error.reason"] == b"event_time_out_of_range"
    assert headers["error.message"].startswith(b"at (events.timestamp), ")


def test_a_record_that_cannot_be_decoded_does_not_advance_mapped_time():
    feed = Feed(events=TIMED, label_timeout_seconds=60)
    feed({"id": 1, "n": 1, "at": 0})
    feed({"id": 2, "at": 1000})
    assert [*feed.processor.join.examples] == ["1"]
