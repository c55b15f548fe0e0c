"""Dead letters under audit: what each says of its record, told apart from what the record says."""

import json

import pytest

from service.audit.findings import Fault
from service.stream import Output, RecordLimit
from tests.service.audit.audited_stream import findings, produce, replay
from tests.service.building import event


def produce_record(stream, value=b"junk", key=None, headers=(), at_ms=1_009_000):
    stream.transport.ensure_topics({"events": 1})
    stream.transport.produce([Output("events", key, value, headers, 0, at_ms)])


def with_headers(at, **changed):
    def change(records):
        headers = tuple((name, changed.get(name, value)) for name, value in records[at].headers)
        return [record._replace(headers=headers) if record.offset == at else record for record in records]

    return change


FOREIGN_HEADERS = [
    (("source.sha256", b"0" * 64),),
    (("error.truncated", b"true"), ("source.size", b"7"), ("source.key_size", b"7")),
    (("source.offset", b"77"), ("source.topic", b"other")),
    (("error.reason", b"empty"), ("error.message", b"no"), ("source.timestamp", b"5")),
    (("replayed.from", b"dead-letters[0]@0"),),
]


@pytest.mark.parametrize("headers", FOREIGN_HEADERS)
def test_headers_of_a_record_are_not_taken_for_those_of_its_letter(open_stream, headers):
    stream = open_stream(labels_topic="")
    produce_record(stream, headers=headers)
    assert stream.run().audit().is_proved
    assert findings(stream) == []


@pytest.mark.parametrize("headers", FOREIGN_HEADERS)
def test_headers_of_a_record_are_not_taken_for_those_of_a_letter_that_was_cut(
    open_stream, monkeypatch, headers
):
    stream = open_stream(labels_topic="")
    monkeypatch.setattr(stream.transport, "record_limit", lambda _: RecordLimit(2000, 2000))
    produce_record(stream, b"x" * 3000, b"k", headers)
    assert stream.run().audit().is_proved


def test_a_record_that_says_it_was_replayed_brings_no_letter_back(open_stream):
    stream = open_stream(labels_topic="")
    produce(stream, event("f", "win", "spam"))
    stream.run()
    replay(stream)
    stream.settings = stream.settings.model_copy(update={"classes": ("ham", "spam")})
    for key in (b"f", b"g"):
        produce_record(stream, key=key, headers=(("replayed.from", b"dead-letters[0]@0"),))
    report = stream.run().audit()
    assert report.is_proved, report.findings
    assert (report.dead_letters, report.predictions) == (3, 1)


@pytest.mark.parametrize(
    "change",
    [
        {"source.timestamp": b"5"},
        {"error.reason": b"empty"},
        {"source.offset": b"1"},
        {"trace": b"8"},
    ],
)
def test_a_letter_that_says_something_else_than_its_record_is_refuted(open_stream, change):
    stream = open_stream(labels_topic="")
    produce_record(stream, headers=(("trace", b"7"),))
    stream.run()
    assert stream.audit().is_proved
    assert findings(stream.changed("dead-letters", with_headers(0, **change)))


@pytest.mark.parametrize("name", ["source.sha256", "source.size", "source.key_size", "source.headers"])
def test_a_letter_that_was_cut_and_says_something_else_of_the_whole_is_refuted(
    open_stream, monkeypatch, name
):
    stream = open_stream(labels_topic="")
    monkeypatch.setattr(stream.transport, "record_limit", lambda _: RecordLimit(1000, 1000))
    produce_record(stream, b"x" * 3000, b"k")
    stream.run()
    changed = stream.changed("dead-letters", with_headers(0, **{name: b"3"}))
    assert findings(changed) == [(Fault.WRONG, "dead-letters[0]@0", None)]


def test_a_letter_with_another_key_is_refuted(open_stream):
    stream = open_stream(labels_topic="")
    produce_record(stream, json.dumps({"id": "a"}).encode(), b"a")
    stream.run()
    changed = stream.changed("dead-letters", lambda records: [records[0]._replace(key=b"b")])
    assert findings(changed) == [(Fault.WRONG, "dead-letters[0]@0", None)]
