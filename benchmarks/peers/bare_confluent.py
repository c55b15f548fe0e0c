"""The least that exactly once costs with confluent-kafka: consume, produce as much, commit, and nothing else.

    bare_confluent.py ADDRESS INPUT OUTPUT GROUP BATCH VALUE_BYTES

Runs until it is ended. No message is decoded; each is answered with VALUE_BYTES bytes under its own key.
"""

from __future__ import annotations

import sys

from confluent_kafka import Consumer, Producer, TopicPartition


def main(address: str, topic: str, output: str, group: str, batch: int, value_bytes: int) -> None:
    """Answer the messages of partition 0 in transactions of at most `batch`."""
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
        }
    )
    # Lingers of 0, 5 (the default) and 100 ms, and produce() for each message, were not to be told apart.
    producer = Producer({"bootstrap.servers": address, "transactional.id": group, "batch.size": 1_000_000})
    producer.init_transactions()
    consumer.subscribe([topic])
    value = b"v" * value_bytes
    while True:
        messages = consumer.consume(batch, 0.1)
        if not messages:
            continue
        producer.begin_transaction()
        producer.produce_batch(output, [{"key": each.key(), "value": value} for each in messages], 0)
        ends = [TopicPartition(topic, 0, messages[-1].offset() + 1)]
        producer.send_offsets_to_transaction(ends, consumer.consumer_group_metadata())
        producer.commit_transaction()


if __name__ == "__main__":
    first, second, third, fourth = sys.argv[1:5]
    main(first, second, third, fourth, int(sys.argv[5]), int(sys.argv[6]))
