"""`produce` sends good messages in order, stops at a bad one, and says what it did."""

import itertools
import json

import pytest

from service.cli import produce
from service.cli.produce import Sender
from service.transport import open_transport

GOOD = b'{"id":"%s","text":"hello"}\n'


@pytest.fixture
def records(broker):
    def records(topic="events"):
        transport = open_transport(broker)
        partitions = range(transport.partition_count(topic))
        found = [record for partition in partitions for record in transport.read(topic, partition)]
        transport.close()
        return found

    return records


def test_each_line_becomes_a_record_keyed_by_its_id(perceptron, broker, records):
    result = perceptron("produce", "-", "--broker", broker, stdin=GOOD % b"a" + GOOD % b"b")
    assert result.exit_code == 0, result.stderr
    assert [(record.key, record.value) for record in records()] == [
        (b"a", b'{"id":"a","text":"hello"}'),
        (b"b", b'{"id":"b","text":"hello"}'),
    ]
    assert result.stdout == ""
    assert result.stderr.startswith("produced: 2 records to events in ")


def test_what_follows_a_bad_line_is_not_sent_and_what_precedes_it_is(perceptron, broker, records, tmp_path):
    (tmp_path / "x.ndjson").write_bytes(GOOD % b"a" + b'\n{"id":"b","text":3}\n' + GOOD % b"c")
    result = perceptron("produce", "x.ndjson", "--broker", broker)
    assert result.exit_code == 1
    assert [record.key for record in records()] == [b"a"]
    produced, error, hint = result.stderr.splitlines()
    assert produced.startswith("produced: 1 records to events")
    assert error.startswith("error: x.ndjson:3: invalid_type: text")
    assert "--no-validate" in hint


def test_without_validation_everything_is_sent_as_it_is(perceptron, broker, records):
    lines = [b"not json", b"\xff", b'{"id": "a", "odd": 1}', b'{"id": 7}', b"[1]", b"[" * 100_000]
    result = perceptron("produce", "-", "--no-validate", "--broker", broker, stdin=b"\n".join(lines))
    assert result.exit_code == 0, result.stderr
    assert [record.value for record in records()] == lines
    assert [record.key for record in records()] == [None, None, b"a", b"7", None, None]


def test_labels_can_be_sent_to_a_topic_of_their_own(perceptron, broker, records):
    label = b'{"id":"a","label":true}\n'
    assert perceptron("produce", "-", "--topic", "labels", "--broker", broker, stdin=label).exit_code == 0
    assert [record.key for record in records("labels")] == [b"a"]


def test_class_names_are_labels_if_configured(perceptron, broker, records, tmp_path):
    (tmp_path / "x.tsv").write_text("ham\thello\nspam\twin\n")
    refused = perceptron("produce", "x.tsv", "--broker", broker)
    assert refused.exit_code == 1
    assert "x.tsv:1: unknown_label" in refused.stderr
    assert perceptron("produce", "x.tsv", "--broker", broker, "--classes", "ham,spam").exit_code == 0
    assert [json.loads(record.value)["label"] for record in records()] == ["ham", "spam"]


def test_a_field_or_feature_can_be_the_key(perceptron, broker, records):
    lines = b'{"id":"a","features":{"user":"u1","n":2}}\n'
    perceptron("produce", "-", "--key-field", "user", "--topic", "by-user", "--broker", broker, stdin=lines)
    perceptron("produce", "-", "--key-field", "n", "--topic", "by-n", "--broker", broker, stdin=lines)
    assert [records("by-user")[0].key, records("by-n")[0].key] == [b"u1", b"2"]


def test_the_topic_is_made_with_its_partitions_or_not_at_all(perceptron, broker, records):
    refused = perceptron("produce", "-", "--no-create-topics", "--broker", broker, stdin=GOOD % b"a")
    assert refused.exit_code == 1
    assert "events" in refused.stderr
    lines = b"".join(GOOD % str(number).encode() for number in range(50))
    assert perceptron("produce", "-", "--partitions", 3, "--broker", broker, stdin=lines).exit_code == 0
    assert {record.partition for record in records()} == {0, 1, 2}


def test_a_missing_file_makes_no_topic(perceptron, broker, tmp_path):
    result = perceptron("produce", "nothing.csv", "--broker", broker)
    assert result.exit_code == 1
    assert not (tmp_path / "stream.db").exists()


class Recorder:
    def __init__(self):
        self.batches = []

    def produce(self, outputs):
        self.batches.append([output.value for output in outputs])


def test_records_are_written_in_batches_and_the_rest_on_flush():
    transport = Recorder()
    sender = Sender(transport, "t", batch_records=2)
    for value in (b"1", b"2", b"3"):
        sender.add(None, value)
    assert (transport.batches, sender.sent) == ([[b"1", b"2"]], 2)
    sender.flush()
    sender.flush()
    assert (transport.batches, sender.sent) == ([[b"1", b"2"], [b"3"]], 3)


def test_the_rate_is_kept(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(produce.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(produce.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    transport = Recorder()
    sender = Sender(transport, "t", batch_records=1000, rate=50)
    for _ in itertools.repeat(None, 101):
        sender.add(None, b"x")
    sender.flush()
    assert {len(batch) for batch in transport.batches} == {5, 1}
    assert now[0] == pytest.approx(100 / 50)
