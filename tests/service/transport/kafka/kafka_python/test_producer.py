from types import SimpleNamespace

import pytest
from kafka.errors import IllegalGenerationError, StaleMetadata

from service.partitioner import partition_for_key
from service.records import Output
from service.transport.kafka.errors import GenerationChanged
from service.transport.kafka.kafka_python.producer import DeadlineProducer, NullableSerializer


def sent(output):
    producer = object.__new__(DeadlineProducer)
    producer._closed = True
    producer.config = dict.fromkeys(("client_id", "transactional_id"))
    producer.partitions_for = lambda _: range(4)
    return producer._arguments(output)


def test_after_a_transaction_that_failed_the_next_producer_is_to_follow(monkeypatch):
    def refuse(*_):
        raise IllegalGenerationError

    producer = object.__new__(DeadlineProducer)
    producer._closed, producer._transaction_manager = True, None
    producer.config = {"client_id": None, "transactional_id": "process"}
    producer.connections = SimpleNamespace(n_ended=0, silent_brokers=list)
    monkeypatch.setattr(producer, "_transact", refuse, raising=False)
    assert not producer.is_worn
    with pytest.raises(GenerationChanged):
        producer.transact([], {}, None, deadline=0.0, where="events[0]")
    assert producer.is_worn


def test_a_record_with_neither_key_nor_value_is_sent_as_one():
    given = sent(Output("dead-letters", None, None, partition=1))
    assert given["value"] is not None, "the client would refuse it"
    assert NullableSerializer().serialize("dead-letters", [], given["value"]) is None
    assert NullableSerializer().serialize("dead-letters", [], b"") == b""


def test_a_record_goes_to_the_partition_of_its_key():
    assert sent(Output("events", b"key", b"value"))["partition"] == partition_for_key(b"key", 4)


def test_a_partition_that_its_topic_does_not_have_is_an_error():
    with pytest.raises(StaleMetadata, match="events has no partition 4"):
        sent(Output("events", b"key", b"value", partition=4))
