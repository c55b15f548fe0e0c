"""A member that listens to two clients."""

from types import SimpleNamespace

import pytest
from kafka.structs import TopicPartition

from service.batches import RecordBatch
from service.records import Record
from service.transport.kafka.kafka_python.consumer import _SHARED_WAIT_SECONDS, KafkaPythonConsumer
from service.transport.kafka.undelivered import UndeliveredRecords


class Client:
    """One that gives what it has, and notes how long it was waited for."""

    def __init__(self):
        self.waits = []
        self.records = {}

    def may_have_fetched(self):
        return bool(self.records)

    def fetched(self, _, wait_seconds):
        self.waits.append(wait_seconds / _SHARED_WAIT_SECONDS)
        records, self.records = self.records, {}
        return records


@pytest.fixture
def member():
    made = object.__new__(KafkaPythonConsumer)
    made._membership = SimpleNamespace(keep_join=lambda: None)
    made._undelivered, made._paused = UndeliveredRecords(), frozenset()
    made._leading, made._further = Client(), Client()
    made._clients = [made._further, made._leading]
    made._shared_wait_seconds, made._ask_again_at = _SHARED_WAIT_SECONDS, float("inf")
    return made


def test_while_nothing_comes_each_wait_is_longer_and_for_the_leading_topic(member):
    for _ in range(4):
        member._poll_each(1.0, 10)
    assert member._leading.waits == pytest.approx([1, 2, 4, 8])
    member._further.records = {
        TopicPartition("labels", 0): RecordBatch([Record("labels", 0, 0, 0, None, b"")])
    }
    member._poll_each(1.0, 10)
    member._undelivered.by_place.clear()
    member._poll_each(1.0, 10)
    assert member._further.waits[-1] == pytest.approx(1)
    member._poll_each(1.0, 10)
    assert member._leading.waits[-1] == pytest.approx(2)
