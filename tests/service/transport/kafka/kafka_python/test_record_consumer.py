from types import SimpleNamespace

import pytest
from kafka import KafkaConsumer
from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import CorruptRecordError, KafkaTimeoutError
from kafka.structs import TopicPartition

from service.records import Record
from service.transport.kafka.kafka_python.record_consumer import RecordConsumer

PLACE = TopicPartition("events", 3)


@pytest.fixture
def consumer():
    """Return one without its clients."""
    consumer = object.__new__(RecordConsumer)
    consumer._fetcher = SimpleNamespace(_paused_partition_records={})
    return consumer


def failing(error):
    def poll(*_, **__):
        raise error

    return poll


def test_the_clients_own_records_become_a_batch(consumer, monkeypatch):
    found = ConsumerRecord("events", 3, 0, 7, None, 0, b"key", b"value", [("name", None)], None, 3, 5, -1)
    monkeypatch.setattr(KafkaConsumer, "poll", lambda *_, **__: {PLACE: [found]})
    batch = consumer.fetched(10, 0)[PLACE]
    assert list(batch) == [Record("events", 3, 7, -1, b"key", b"value", (("name", b""),))]


def test_after_records_that_cannot_be_decoded_the_client_is_not_asked_again(consumer, monkeypatch):
    """It would not return."""
    monkeypatch.setattr(KafkaConsumer, "poll", failing(CorruptRecordError("crc")))
    with pytest.raises(CorruptRecordError):
        consumer.fetched(10, 0)
    monkeypatch.setattr(KafkaConsumer, "poll", failing(AssertionError("asked")))
    with pytest.raises(CorruptRecordError):
        consumer.fetched(10, 0)


def test_after_a_timeout_the_client_is_asked_again(consumer, monkeypatch):
    monkeypatch.setattr(KafkaConsumer, "poll", failing(KafkaTimeoutError()))
    with pytest.raises(KafkaTimeoutError):
        consumer.fetched(10, 0)
    monkeypatch.setattr(KafkaConsumer, "poll", lambda *_, **__: {})
    assert consumer.fetched(10, 0) == {}
