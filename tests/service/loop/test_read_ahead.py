"""A stream is asked about all partitions at once."""

import json
from collections import Counter

import pytest
from prometheus_client import CollectorRegistry

from service.loop.context import Context
from service.loop.read_ahead import ReadAhead
from service.loop.restore import restore
from service.loop.runner import Runner
from service.loop.task import Task
from service.monitoring.metrics import Metrics
from service.settings.topics import ensure_topics
from service.stream.opening import open_transport
from service.stream.protocol import Output, by_partition
from tests.service.building import event, settings


class Counted:
    """A transport that counts what it is asked."""

    def __init__(self, transport):
        self._transport = transport
        self.asked = Counter()

    def __getattr__(self, name):
        found = getattr(self._transport, name)
        if not callable(found):
            return found

        def ask(*given):
            self.asked[name] += 1
            return found(*given)

        return ask


@pytest.fixture
def stream(tmp_path):
    transport = open_transport(f"memory://{tmp_path}")
    ensure_topics(transport, settings(partitions=3))
    transport.produce([Output("checkpoints", b"key", b"%d" % n, partition=n % 3) for n in range(9)])
    yield Counted(transport)
    transport.close()


def values(records):
    return [record.value for record in records]


def test_read_ahead_returns_logs_and_bounds_without_another_request(stream):
    ahead = ReadAhead(stream, settings(), [0, 2])
    asked = stream.asked.total()
    assert ahead.bounds("checkpoints", 2) == (0, 3)
    assert ahead.bounds("events", 0) == (0, 0)
    assert values(ahead.read("checkpoints", 0)) == [b"0", b"3", b"6"]
    assert stream.asked.total() == asked


def test_logs_of_large_total_size_are_read_one_by_one(stream, monkeypatch):
    monkeypatch.setattr("service.loop.read_ahead._MAX_BYTES", 4)
    ahead = ReadAhead(stream, settings(), [0, 1, 2])
    assert stream.asked["read"] == 0
    assert values(ahead.read("checkpoints", 1)) == [b"1", b"4", b"7"]
    assert stream.asked["read"] == 1


def test_restore_uses_what_was_read_ahead(stream):
    stream.ensure_topics({"other": 3})
    given = settings(checkpoints_topic="other")
    ahead = ReadAhead(stream, given, [0, 1, 2])
    stream.asked.clear()
    restore(ahead, given, 1)
    assert stream.asked == {"topic_id": 2}  # of events and of labels
    restore(ahead, given, 2)
    assert stream.asked == {"topic_id": 2}  # of events and of labels


@pytest.mark.parametrize("labels_topic", ["labels", ""])
def test_read_ahead_reads_replayed_records_of_all_partitions_together(tmp_path, monkeypatch, labels_topic):
    monkeypatch.setattr(Task, "hand_over", lambda *_: 0)  # killed
    transport = open_transport(f"memory://{tmp_path}-killed")
    given = settings(partitions=2, labels_topic=labels_topic, max_batch_records=3)
    ensure_topics(transport, given)
    events = [json.dumps(event(f"{n}", label=n % 3 == 0)).encode() for n in range(20)]
    transport.produce([Output("events", None, each, partition=n % 2) for n, each in enumerate(events)])
    Runner(Context(transport, given, Metrics(CollectorRegistry()))).run(exit_at_end=True)
    stream = Counted(transport)
    ahead = ReadAhead(stream, given, [0, 1])
    stream.asked.clear()
    for partition in range(2):
        committed = by_partition({partition: transport.committed(given.group, ["events"], partition)})
        restored = restore(ahead, given, partition, committed, log=ahead.logs[partition])
        assert restored.processor.counters.predictions == 10
    assert stream.asked.keys() == {"topic_id"}
    transport.close()
