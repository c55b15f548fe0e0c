"""How long an event takes from production to committed prediction, at a steady 1,000 events a second."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from statistics import median, quantiles

from confluent_kafka import Consumer, Producer, TopicPartition

from .base import Contest, Goal, Measure, Reading, Row
from .examples import events
from .stream import COMMIT_INTERVAL_SECONDS, Stream, shared_stream, unused

_EVENTS_PER_SECOND = 1000
_LEAD_IN_EVENTS = 1000
"""Not counted: they find everything cold."""
_SECONDS, _QUICK_SECONDS = 6, 3
_PATIENCE_SECONDS = 30.0


class _Stopwatch:
    """Produces events at a steady rate and notes when the prediction of each can be read."""

    def __init__(self, stream: Stream, values: Sequence[bytes]) -> None:
        self._stream = stream
        self._values = values
        self._sent = [0.0] * len(values)
        self._read = [0.0] * len(values)

    def run(self) -> Sequence[float]:
        """Run it once; return the median and the 99th percentile in milliseconds."""
        stream = self._stream
        topic, predictions, group = stream.create("events"), stream.create("predictions"), unused("serve")
        running = stream.serve(
            topic, group, predictions_topic=predictions, commit_interval_seconds=COMMIT_INTERVAL_SECONDS
        )
        with running, stream.progress(group, topic) as progress:
            stream.fill(topic, self._values[:1])
            running.until(progress)
            reader = threading.Thread(target=self._watch, args=(predictions,))
            reader.start()
            self._produce(topic)
            reader.join()
        return self._waits()

    def _produce(self, topic: str) -> None:
        # Neither linger nor Nagle: the producer's own delay is not what is measured.
        producer = Producer(
            {"bootstrap.servers": self._stream.address, "linger.ms": 0, "socket.nagle.disable": True}
        )
        began = time.perf_counter()
        for n in range(1, len(self._values)):
            time.sleep(max(0.0, began + n / _EVENTS_PER_SECOND - time.perf_counter()))
            self._sent[n] = time.perf_counter()
            producer.produce(topic, self._values[n], partition=0)
            producer.poll(0)
        producer.flush()

    def _watch(self, predictions: str) -> None:
        """Read committed predictions, whose key is the event's id, until there is one for every event."""
        consumer = Consumer(
            {
                "bootstrap.servers": self._stream.address,
                "group.id": unused("reader"),
                "isolation.level": "read_committed",
            }
        )
        consumer.assign([TopicPartition(predictions, 0, 0)])
        missing = len(self._values)
        while missing and (message := consumer.poll(_PATIENCE_SECONDS)) is not None:
            self._read[int(message.key().removeprefix(b"event-"))] = time.perf_counter()
            missing -= 1
        consumer.close()

    def _waits(self) -> Sequence[float]:
        counted = slice(1 + _LEAD_IN_EVENTS, None)
        if not all(self._read):
            raise RuntimeError(
                f"{self._read.count(0.0)} of {len(self._read)} predictions did not come in time"
            )
        waits = [
            1000 * (read - sent) for sent, read in zip(self._sent[counted], self._read[counted], strict=True)
        ]
        return median(waits), quantiles(waits, n=100)[98]


@contextlib.contextmanager
def _contest(quick: bool) -> Iterator[Contest]:  # noqa: FBT001 - what `Measure.prepare` is called with
    stream = shared_stream()
    seconds = _QUICK_SECONDS if quick else _SECONDS
    values = events(1 + _LEAD_IN_EVENTS + seconds * _EVENTS_PER_SECOND)
    yield Contest(lambda: _Stopwatch(stream, values).run())


_INTERVAL_MS = 1000 * COMMIT_INTERVAL_SECONDS
_HOW = (
    f"One process produces {_EVENTS_PER_SECOND:,} events/s and reads predictions as a read_committed "
    f"consumer; commit interval {_INTERVAL_MS:.0f} ms, default client; the first {_LEAD_IN_EVENTS:,} events "
    "are not counted."
)

MEASURES = (
    Measure(
        "latency",
        (
            Row(
                "latency-median",
                "Produced → committed prediction, median",
                "ms",
                Goal(60, "ms", at_least=False),
                _HOW,
                Reading.AMOUNT,
            ),
            Row(
                "latency-p99",
                "Produced → committed prediction, 99th percentile",
                "ms",
                Goal(120, "ms", at_least=False),
                _HOW,
                Reading.AMOUNT,
            ),
        ),
        _contest,
    ),
)
