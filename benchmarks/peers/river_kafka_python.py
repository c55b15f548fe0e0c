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
from typing import Annotated

from bare_kafka_python import transactions
from kafka import KafkaAdminClient
from pydantic import ConfigDict, Field, TypeAdapter
from river.linear_model import Perceptron
from typing_extensions import TypedDict


class Event(TypedDict):
    """What is taken from the stream."""

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")

    id: str
    features: dict[str, Annotated[float, Field(allow_inf_nan=False)]]
    label: bool


read_event = TypeAdapter(Event).validator.validate_json


def main(address: str, topic: str, output: str, group: str, batch: int) -> None:
    """Predict and learn the events of partition 0 in transactions of at most `batch`."""
    checkpoints = f"{group}-checkpoints"
    admin = KafkaAdminClient(bootstrap_servers=address)
    admin.create_topics({checkpoints: {"num_partitions": 1, "configs": {"cleanup.policy": "compact"}}})
    admin.close()
    model = Perceptron()

    def answers(messages: Iterable) -> Iterable[tuple[str, bytes, bytes]]:
        for message in messages:
            yield output, message.key, answer(model, read_event(message.value))
        yield checkpoints, b"model", pickle.dumps(model)

    transactions(address, topic, group, batch, answers)


def answer(model: Perceptron, event: Event) -> bytes:
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
