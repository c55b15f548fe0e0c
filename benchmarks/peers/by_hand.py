"""Exactly once as one writes it by hand: consume, predict, commit.

    by_hand.py CLIENT bare|river ADDRESS INPUT OUTPUT GROUP BATCH

Runs until it is ended. `bare` decodes nothing and writes as many bytes as a prediction has: the least
that a transaction costs in Python. `river` does what `perceptron serve` does: validate, predict, learn
and write; a transaction holds the model as it is then. No label comes later, no bad message is told apart,
nothing is measured.
"""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Predictor = Callable[[Sequence[tuple[bytes, bytes]]], Iterable[tuple[str, bytes, bytes]]]
"""A function from keys and values of messages to topic, key and value of the records to write."""
PREDICTION = (
    b'{"id":"event-123456","label":true,"score":-1.2345,"updates":12345,"truth":true,"mistake":false}'
)


def by_kafka_python(address: str, topic: str, group: str, batch: int, predict: Predictor) -> None:
    """Predict the messages of partition 0 in transactions of at most `batch`, until it is stopped."""
    from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition  # noqa: PLC0415

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
    partition = TopicPartition(topic, 0)
    while True:
        messages = consumer.poll(timeout_ms=100, max_records=batch).get(partition)
        if not messages:
            continue
        producer.begin_transaction()
        for output, key, value in predict([(message.key, message.value) for message in messages]):
            producer.send(output, value, key=key, partition=0)
        producer.flush()
        ends = {partition: OffsetAndMetadata(messages[-1].offset + 1, "", -1)}
        producer.send_offsets_to_transaction(ends, consumer.group_metadata())
        producer.commit_transaction()


def by_confluent(address: str, topic: str, group: str, batch: int, predict: Predictor) -> None:
    """Do the same with confluent-kafka."""
    from confluent_kafka import Consumer, Producer  # noqa: PLC0415

    servers = {"bootstrap.servers": address}
    consumer = Consumer(
        servers | {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    )
    consumer.subscribe([topic])
    producer = Producer(
        servers | {"transactional.id": group, "linger.ms": 5, "queue.buffering.max.messages": 1_000_000}
    )
    producer.init_transactions()
    while True:
        messages = consumer.consume(batch, 0.1)
        if not messages:
            continue
        producer.begin_transaction()
        for output, key, value in predict([(message.key(), message.value()) for message in messages]):
            producer.produce(output, value, key, 0)
        producer.send_offsets_to_transaction(
            consumer.position(consumer.assignment()), consumer.consumer_group_metadata()
        )
        producer.commit_transaction()


def bare(output: str) -> Predictor:
    """Return a function that makes the same bytes of every message."""
    return lambda messages: [(output, key, PREDICTION) for key, _ in messages]


def with_river(address: str, output: str, group: str) -> Predictor:
    """Return a function that predicts and learns with River."""
    from kafka import KafkaAdminClient  # noqa: PLC0415
    from river.linear_model import Perceptron  # noqa: PLC0415
    from river_predictions import predict  # noqa: PLC0415

    checkpoints, model = f"{group}-checkpoints", Perceptron()
    admin = KafkaAdminClient(bootstrap_servers=address)
    admin.create_topics({checkpoints: {"num_partitions": 1, "configs": {"cleanup.policy": "compact"}}})
    admin.close()

    def predict_each(messages: Iterable[Any]) -> Iterable[tuple[str, bytes, bytes]]:
        for key, value in messages:
            yield output, key, json.dumps(predict(model, value)).encode()
        yield checkpoints, b"model", pickle.dumps(model)

    return predict_each


def main(client: str, what: str, address: str, topic: str, output: str, group: str, batch: str) -> None:
    """Run until it is ended."""
    predict_each = bare(output) if what == "bare" else with_river(address, output, group)
    run = by_confluent if client == "confluent" else by_kafka_python
    run(address, topic, group, int(batch), predict_each)


if __name__ == "__main__":
    main(*sys.argv[1:])
