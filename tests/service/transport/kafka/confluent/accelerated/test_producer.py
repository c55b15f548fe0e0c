"""What a producer is given, without a broker."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from service.batches import OutputBatch
from service.records import Output
from service.transport.kafka.confluent.producer import BulkProducer

pytest.importorskip("service.transport.kafka.confluent.accelerated.librdkafka", reason="it is compiled")

from service.transport.kafka.confluent.accelerated.librdkafka import OutputSender

from service.transport.kafka.confluent.accelerated.handles import entry_points
from service.transport.kafka.confluent.accelerated.producer import BatchProducer

HUNDRED_BYTES = Output("predictions", b"k" * 10, b"v" * 42)
"""With the 48 that librdkafka may add."""


class Counted:
    """A producer that nobody answers, and what it says of its queue."""

    def __init__(self) -> None:
        self._statistics: list[str] = []
        self.client = Producer(
            {
                "bootstrap.servers": "127.0.0.1:1",
                "log_level": 0,
                "statistics.interval.ms": 20,
                "stats_cb": self._statistics.append,
            }
        )

    def __len__(self) -> int:
        """How many messages are enqueued: as the second report from now on says, which began after now."""
        return int(self._look()["msg_cnt"])

    def by_topic(self) -> dict[str, int]:
        """How many messages of each topic are enqueued; their partitions are not known."""
        return {name: each["partitions"]["-1"]["msgq_cnt"] for name, each in self._look()["topics"].items()}

    def _look(self) -> dict[str, Any]:
        self._statistics.clear()
        while len(self._statistics) < 2:
            self.client.poll(1)
        found: dict[str, Any] = json.loads(self._statistics[-1])
        return found


@pytest.fixture
def producer() -> Counted:
    return Counted()


@pytest.fixture
def sender(producer: Counted) -> Iterator[OutputSender]:
    with closing(OutputSender(producer.client, entry_points(producer.client))) as sender:
        yield sender


def refused(output: Output) -> None:
    pytest.fail(f"not sent in bulk: {output}")


@pytest.mark.parametrize(
    ("batch_bytes", "n_sent"), [(1000, 10), (999, 9), (100, 1), (99, 1), (1, 1), (100_000, 25)]
)
def test_so_many_outputs_are_sent_as_are_one_batch_and_one_at_least(
    producer: Counted, sender: OutputSender, batch_bytes: int, n_sent: int
) -> None:
    assert sender.send(OutputBatch([HUNDRED_BYTES] * 25), 0, batch_bytes, refused) == n_sent
    assert len(producer) == n_sent


def test_the_next_batch_begins_where_the_one_before_ended(producer: Counted, sender: OutputSender) -> None:
    outputs, ends = OutputBatch([HUNDRED_BYTES] * 25), [0]
    while ends[-1] < len(outputs):
        ends.append(sender.send(outputs, ends[-1], 1000, refused))
    assert ends == [0, 10, 20, 25]
    assert len(producer) == 25


def test_a_batch_has_as_many_messages_as_librdkafka_takes(sender: OutputSender) -> None:
    outputs = OutputBatch([Output("predictions", b"", b"")] * 10_001)
    assert sender.send(outputs, 0, 10_000_000, refused) == 10_000
    assert sender.send(outputs, 10_000, 10_000_000, refused) == 10_001


@pytest.mark.parametrize(
    "other",
    [
        Output("predictions", b"key", b"value", (("a", b"1"),)),
        Output("predictions", b"key", b"value", timestamp_ms=0),
        Output("predictions", b"key", b"value", partition=3),
        Output("predictions", None, b"value"),
    ],
)
def test_outputs_that_say_more_than_a_key_are_given_to_the_client_in_their_place(
    producer: Counted, sender: OutputSender, other: Output
) -> None:
    given: list[tuple[int, Output]] = []
    outputs = OutputBatch([HUNDRED_BYTES, other, HUNDRED_BYTES])
    assert sender.send(outputs, 0, 1000, lambda output: given.append((len(producer), output))) == 3
    assert given == [(1, other)]
    assert len(producer) == 2


def test_outputs_of_many_topics_go_each_to_their_own(producer: Counted, sender: OutputSender) -> None:
    topics = ["predictions", "shared", "predictions"]
    outputs = OutputBatch([Output(topic, b"key", b"value") for topic in topics for _ in range(700)])
    assert sender.send(outputs, 0, 1_000_000, refused) == 2100
    assert producer.by_topic() == {"predictions": 1400, "shared": 700}


def test_the_error_of_an_output_that_is_refused_is_raised(sender: OutputSender) -> None:
    too_large = Output("predictions", b"key", bytes(2_000_000))
    with pytest.raises(KafkaException) as refusal:
        sender.send(OutputBatch([HUNDRED_BYTES, too_large, HUNDRED_BYTES]), 0, 10_000_000, refused)
    assert refusal.value.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE


class Steps:
    """A cluster, its client and a sender of batches of two outputs, which note what they are asked for."""

    def __init__(self) -> None:
        self.steps: list[object] = []

    def client(self, *_: object) -> Steps:
        return self

    def begin_transaction(self) -> None:
        pass

    def commit_transaction(self, _: float) -> None:
        pass

    def flush(self, _: float) -> int:
        self.steps.append("flush")
        return 0

    def send(self, outputs: OutputBatch, first: int, batch_bytes: int, _: object) -> int:
        self.steps.append((first, batch_bytes))
        return min(first + 2, len(outputs))


@pytest.mark.parametrize(
    ("n_outputs", "steps"),
    [(0, []), (2, [(0, 900), "flush"]), (5, [(0, 900), "flush", (2, 900), "flush", (4, 900), "flush"])],
)
def test_each_batch_is_acknowledged_before_the_next_is_sent(n_outputs: int, steps: list[object]) -> None:
    client, outputs = Steps(), OutputBatch([Output("predictions", None, b"")] * n_outputs)
    bulk = object.__new__(BatchProducer)
    BulkProducer.__init__(bulk, client, timeout_seconds=1, batch_bytes=900)
    bulk._sender = client
    bulk.transact(outputs, {}, None, deadline=time.monotonic() + 10, where="events[0]")
    assert client.steps == steps
