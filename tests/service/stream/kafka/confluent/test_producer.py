"""A producer asks who leads its topics while acknowledgements are missing and a connection has failed."""

import time

import pytest

from service.stream.kafka.confluent.producer import BulkProducer
from service.stream.kafka.limits import ClientOptions
from service.stream.protocol import Output

OUTPUTS = [Output(topic, None, b"") for topic in ("predictions", "checkpoints", "predictions")]


class Moved:
    """A client, and its cluster, whose topics have moved: it sends once it has asked for all of them."""

    def __init__(self, failure):
        self.failure, self.asked = failure, []

    def client(self, _, options, log):
        self.log = log
        return self

    def produce(self, *_):
        pass

    def poll(self, _):
        if self.failure:
            self.log.log(0, "%s %s", *self.failure)

    def flush(self, _):
        return 0 if set(self.asked) == {"predictions", "checkpoints"} else 2

    def list_topics(self, topic, _):
        self.asked.append(topic)


def flushed(client, seconds):
    producer = BulkProducer(client, ClientOptions(commit_timeout_seconds=1))
    producer.send_outputs(OUTPUTS, time.monotonic() + seconds)


def test_leaders_are_asked_for_once_a_connection_has_failed():
    client = Moved(("FAIL", "Connect to 127.0.0.1:9092 failed"))
    flushed(client, seconds=10)
    assert sorted(client.asked) == ["checkpoints", "predictions"]


def test_a_slow_broker_is_not_asked():
    client = Moved(None)
    with pytest.raises(Exception, match="2 records were not acknowledged in time"):
        flushed(client, seconds=0.01)
    assert client.asked == []
