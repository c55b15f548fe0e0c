"""The least that exactly once costs with kafka-python: consume, produce as much, commit, and nothing else.

    bare_kafka_python.py ADDRESS INPUT OUTPUT GROUP BATCH VALUE_BYTES

Runs until it is ended. No message is decoded; each is answered with VALUE_BYTES bytes under its own key.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition

Answers = Callable[[list[Any]], Iterable[tuple[str, bytes, bytes]]]
"""A function from messages to topic, key and value of the records to write."""


def transactions(address: str, topic: str, group: str, batch: int, answers: Answers) -> None:
    """Answer the messages of partition 0 in transactions of at most `batch`, until it is stopped."""
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=address,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_poll_records=batch,
    )
    # The flush sends at once what waits; until then no half-filled request should go out. The defaults for
    # linger and batch reach two thirds of this; without the flush it is about a tenth slower, within noise.
    producer = KafkaProducer(
        bootstrap_servers=address,
        transactional_id=group,
        linger_ms=1000,
        batch_size=1_000_000,
        metrics_enabled=False,
    )
    producer.init_transactions()
    place = TopicPartition(topic, 0)
    while True:
        messages = consumer.poll(timeout_ms=100, max_records=batch).get(place)
        if not messages:
            continue
        producer.begin_transaction()
        for output, key, value in answers(messages):
            producer.send(output, value, key=key, partition=0)
        producer.flush()
        ends = {place: OffsetAndMetadata(messages[-1].offset + 1, "", -1)}
        producer.send_offsets_to_transaction(ends, consumer.group_metadata())
        producer.commit_transaction()


def main(address: str, topic: str, output: str, group: str, batch: int, value_bytes: int) -> None:
    """Answer everything with the same bytes."""
    value = b"v" * value_bytes
    transactions(address, topic, group, batch, lambda messages: [(output, m.key, value) for m in messages])


if __name__ == "__main__":
    first, second, third, fourth = sys.argv[1:5]
    main(first, second, third, fourth, int(sys.argv[5]), int(sys.argv[6]))
