"""What `perceptron serve` does, with Quix Streams and River: exactly once, but no checkpoint of the model.

    quix_river.py ADDRESS INPUT OUTPUT GROUP BATCH COMMIT_INTERVAL_SECONDS

Runs until it is ended, in an environment of its own. The model is in memory only; to keep it in the
state store would mean to pickle it at every event.
"""

from __future__ import annotations

import sys
import tempfile
from typing import Any

from quixstreams import Application
from river.linear_model import Perceptron


def main(address: str, topic: str, output: str, group: str, batch: int, interval_seconds: float) -> None:
    """Predict and learn the events, committing every `batch` of them or every so many seconds."""
    with tempfile.TemporaryDirectory() as state:
        application = Application(
            address,
            consumer_group=group,
            auto_offset_reset="earliest",
            processing_guarantee="exactly-once",
            commit_every=batch,
            commit_interval=interval_seconds,
            producer_extra_config={"linger.ms": 100, "batch.size": 1_000_000},
            state_dir=state,
            loglevel="ERROR",
        )
        model = Perceptron()

        def answer(event: dict[str, Any]) -> dict[str, Any]:
            x, truth = event["features"], event["label"]
            probability = model.predict_proba_one(x)[True]
            label = probability > 0.5
            model.learn_one(x, truth)
            return {
                "id": event["id"],
                "label": label,
                "score": probability,
                "truth": truth,
                "mistake": label != truth,
            }

        # JSON in and out is its default, with orjson.
        events = application.dataframe(application.topic(topic, value_deserializer="json"))
        events.apply(answer).to_topic(application.topic(output, value_serializer="json"))
        application.run()


if __name__ == "__main__":
    main(*sys.argv[1:5], int(sys.argv[5]), float(sys.argv[6]))
