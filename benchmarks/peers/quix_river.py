"""What `perceptron serve` does, with Quix Streams, Pydantic and River: exactly once, the model kept.

    quix_river.py ADDRESS INPUT OUTPUT GROUP BATCH

Runs until it is ended, in an environment of its own. The model lies in the state store, which Quix Streams
commits together with outputs and offsets. It has no hook before a commit, so the model is written down at
every event; it is read back only where memory has none.
"""

from __future__ import annotations

import pickle
import sys
import tempfile
import time
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from quixstreams import Application, State
from quixstreams.models import BytesDeserializer
from river.linear_model import Perceptron
from river_predictions import predict


class OneKey(BytesDeserializer):
    """Reads every key as the same: state is kept by key, and there is one model."""

    def __call__(self, value: bytes, ctx: object) -> bytes:  # noqa: ARG002 - as Quix Streams calls it
        """Return the key of all events."""
        return b"model"


_NOT_YET = frozenset(
    {
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    }
)
"""The response of a broker to the first request of a new group or transactional id: no coordinator yet."""
_PAUSE_SECONDS = 0.5
_COMMIT_INTERVAL_SECONDS = 0.1


def main(address: str, topic: str, output: str, group: str, batch: str) -> None:
    """Run until it is ended; begin again where the broker is not ready."""
    while True:
        try:
            run(address, topic, output, group, int(batch))
        except KafkaException as error:
            if error.args[0].code() not in _NOT_YET:
                raise
            time.sleep(_PAUSE_SECONDS)


def run(address: str, topic: str, output: str, group: str, batch: int) -> None:
    """Predict and learn the events, committing every `batch` of them or as often as `perceptron serve`."""
    with tempfile.TemporaryDirectory() as folder:
        application = Application(
            address,
            consumer_group=group,
            auto_offset_reset="earliest",
            processing_guarantee="exactly-once",
            commit_every=batch,
            commit_interval=_COMMIT_INTERVAL_SECONDS,
            producer_extra_config={"linger.ms": 100, "batch.size": 1_000_000},
            state_dir=folder,
            loglevel="ERROR",
        )
        in_memory: list[Perceptron] = []

        def predict_and_keep(value: bytes, state: State) -> dict[str, Any]:
            if not in_memory:
                kept = state.get_bytes("model")
                in_memory.append(pickle.loads(kept) if kept else Perceptron())  # noqa: S301 - its own
            (model,) = in_memory
            predicted = predict(model, value)
            state.set_bytes("model", pickle.dumps(model))
            return predicted

        source = application.topic(topic, value_deserializer="bytes", key_deserializer=OneKey())
        # JSON is written by its default, orjson.
        events = application.dataframe(source)
        events.apply(predict_and_keep, stateful=True).to_topic(
            application.topic(output, value_serializer="json")
        )
        application.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
