"""What `perceptron serve` does, as one writes it by hand with kafka-python, Pydantic and River.

    river_kafka_python.py ADDRESS INPUT OUTPUT GROUP BATCH

Runs until it is ended: validate, predict, learn, answer; a batch is one transaction, which also holds the
model as it is then. No label comes later, nothing poisonous is told apart, nothing is measured.
"""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Iterable
from typing import Any

from bare_kafka_python import transactions
from kafka import KafkaAdminClient
from river.linear_model import Perceptron
from river_answers import answer


def main(address: str, topic: str, output: str, group: str, batch: int) -> None:
    """Predict and learn the events of partition 0 in transactions of at most `batch`."""
    checkpoints = f"{group}-checkpoints"
    admin = KafkaAdminClient(bootstrap_servers=address)
    admin.create_topics({checkpoints: {"num_partitions": 1, "configs": {"cleanup.policy": "compact"}}})
    admin.close()
    model = Perceptron()

    def answers(messages: Iterable[Any]) -> Iterable[tuple[str, bytes, bytes]]:
        for message in messages:
            yield output, message.key, json.dumps(answer(model, message.value)).encode()
        yield checkpoints, b"model", pickle.dumps(model)

    transactions(address, topic, group, batch, answers)


if __name__ == "__main__":
    first, second, third, fourth = sys.argv[1:5]
    main(first, second, third, fourth, int(sys.argv[5]))
