"""What `perceptron serve` does, as one writes it by hand with kafka-python and River; without checkpoints.

    river_kafka_python.py ADDRESS INPUT OUTPUT GROUP BATCH

Runs until it is ended: decode, predict, learn, answer; a batch is one transaction. The model is in memory
only, nothing is validated, nothing measured.
"""

from __future__ import annotations

import json
import sys

from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from river.linear_model import Perceptron


def main(address: str, topic: str, output: str, group: str, batch: int) -> None:
    """Predict and learn the events of partition 0 in transactions of at most `batch`."""
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=address,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_poll_records=batch,
    )
    # Options as in bare_kafka_python.py.
    producer = KafkaProducer(
        bootstrap_servers=address,
        transactional_id=group,
        linger_ms=1000,
        batch_size=1_000_000,
        metrics_enabled=False,
    )
    producer.init_transactions()
    place = TopicPartition(topic, 0)
    model = Perceptron()
    while True:
        messages = consumer.poll(timeout_ms=100, max_records=batch).get(place)
        if not messages:
            continue
        producer.begin_transaction()
        for message in messages:
            producer.send(output, answer(model, json.loads(message.value)), key=message.key, partition=0)
        producer.flush()
        ends = {place: OffsetAndMetadata(messages[-1].offset + 1, "", -1)}
        producer.send_offsets_to_transaction(ends, consumer.group_metadata())
        producer.commit_transaction()


def answer(model: Perceptron, event: dict) -> bytes:
    """Predict an event, then learn from it."""
    x, truth = event["features"], event["label"]
    probability = model.predict_proba_one(x)[True]
    label = probability > 0.5
    model.learn_one(x, truth)
    fields = {
        "id": event["id"],
        "label": label,
        "score": probability,
        "truth": truth,
        "mistake": label != truth,
    }
    return json.dumps(fields).encode()


if __name__ == "__main__":
    main(*sys.argv[1:5], int(sys.argv[5]))
