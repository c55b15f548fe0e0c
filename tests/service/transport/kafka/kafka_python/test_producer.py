import pytest
from kafka.errors import UnknownTopicOrPartitionError

from service.partitioner import partition_for_key
from service.records import Output
from service.transport.kafka.kafka_python.producer import DeadlineProducer, NullableSerializer


def sent(output):
    producer = object.__new__(DeadlineProducer)
    producer._closed = True
    producer.config = dict.fromkeys(("client_id", "transactional_id"))
    producer.partitions_for = lambda _: range(4)
    return producer._arguments(output)


def test_a_record_with_neither_key_nor_value_is_sent_as_one():
    given = sent(Output("dead-letters", None, None, partition=1))
    assert given["value"] is not None, "the client would refuse it"
    assert NullableSerializer().serialize("dead-letters", [], given["value"]) is None
    assert NullableSerializer().serialize("dead-letters", [], b"") == b""


def test_a_record_goes_to_the_partition_of_its_key():
    assert sent(Output("events", b"key", b"value"))["partition"] == partition_for_key(b"key", 4)


def test_a_partition_that_its_topic_does_not_have_is_an_error():
    with pytest.raises(UnknownTopicOrPartitionError, match="events has no partition 4"):
        sent(Output("events", b"key", b"value", partition=4))
