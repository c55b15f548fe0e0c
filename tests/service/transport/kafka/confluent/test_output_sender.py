"""What a producer is given, without a broker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing

import pytest
from confluent_kafka import Producer

from perceptron_core import COMPILED
from service.batches.output_batch import OutputBatch
from service.records import Output
from service.transport.kafka.confluent.output_sender import OutputSender, open_output_sender

pytestmark = pytest.mark.skipif(not COMPILED, reason="uncompiled, all messages come through the client")

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
        self._statistics.clear()
        while len(self._statistics) < 2:
            self.client.poll(1)
        return int(json.loads(self._statistics[-1])["msg_cnt"])


@pytest.fixture
def producer() -> Counted:
    return Counted()


@pytest.fixture
def sender(producer: Counted) -> Iterator[OutputSender]:
    sender = open_output_sender(producer.client)
    assert sender is not None
    with closing(sender):
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
    outputs = OutputBatch([Output("predictions", None, b"")] * 10_001)
    assert sender.send(outputs, 0, 10_000_000, refused) == 10_000
    assert sender.send(outputs, 10_000, 10_000_000, refused) == 10_001


def test_outputs_with_headers_are_given_to_the_client_in_their_place(
    producer: Counted, sender: OutputSender
) -> None:
    with_headers = Output("predictions", b"key", b"value", (("a", b"1"),))
    given: list[tuple[int, Output]] = []
    outputs = OutputBatch([HUNDRED_BYTES, with_headers, HUNDRED_BYTES])
    assert sender.send(outputs, 0, 1000, lambda output: given.append((len(producer), output))) == 3
    assert given == [(1, with_headers)]
    assert len(producer) == 2
