"""A steady stream to all partitions of a topic, and when its predictions could be read."""

from __future__ import annotations

import json
import multiprocessing
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from typing import Final

from confluent_kafka import Consumer, TopicPartition
from kafka import KafkaProducer

from .examples import events
from .stream import Stream, unused

_SPAWN: Final = multiprocessing.get_context("spawn")


def _send(address: str, topic: str, rate: int, stop: Event, stored: Connection) -> None:
    """Send so many events a second until `stop`; then tell when the broker had each, by when it was sent.

    By the key, as the service does: the prediction of an event lies in the event's partition. kafka-python
    sends one request for what waits of all partitions; librdkafka's thousands a second would be the load.
    """
    found: dict[float, float] = {}
    producer = KafkaProducer(bootstrap_servers=address, linger_ms=5)
    values, began, n = [json.loads(value) for value in events(2000)], time.perf_counter(), 0
    while not stop.is_set():
        time.sleep(max(0.0, began + n / rate - time.perf_counter()))
        sent = time.perf_counter()
        value = values[n % len(values)] | {"id": f"{sent!r}"}
        written = producer.send(topic, json.dumps(value).encode(), f"{sent!r}".encode())
        written.add_callback(lambda _, sent=sent: found.__setitem__(sent, time.perf_counter()))
        n += 1
    producer.close()
    stored.send(found)


class Steady:
    """A steady stream to all partitions, and when the prediction of each event could be read.

    An event waits from the moment when the broker has it, which is the slower one on a busy machine.
    """

    def __init__(self, stream: Stream, settings: Mapping[str, object], partitions: int, rate: int) -> None:
        self._address, self._rate, self._partitions = stream.address, rate, partitions
        self._events, self._predictions = str(settings["events_topic"]), str(settings["predictions_topic"])
        self._stop = _SPAWN.Event()
        self._answers: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
        """By partition: when an event was sent, and when its prediction was read."""
        self._stored: dict[float, float] = {}
        """When the broker had the event that was sent at a time."""

    @contextmanager
    def flowing(self) -> Iterator[None]:
        """Send and read for the length of a context."""
        here, there = _SPAWN.Pipe()
        sender = _SPAWN.Process(
            target=_send, args=(self._address, self._events, self._rate, self._stop, there)
        )
        reader = threading.Thread(target=self._read)
        sender.start()
        reader.start()
        try:
            yield
        finally:
            self._stop.set()
            self._stored |= here.recv()
            sender.join()
            reader.join()

    def _read(self) -> None:
        options = {
            "group.id": unused("reader"),
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            # Else each record is a request about all partitions, and the broker is busy with this reader.
            "fetch.min.bytes": 1_000_000,
            "fetch.wait.max.ms": 20,
        }
        consumer = Consumer({"bootstrap.servers": self._address, **options})
        consumer.assign([TopicPartition(self._predictions, each, 0) for each in range(self._partitions)])
        while not self._stop.is_set():
            for message in consumer.consume(1000, 0.05):
                sent = float(json.loads(message.value())["id"])
                self._answers[message.partition()].append((sent, time.perf_counter()))
        consumer.close()

    def missing_and_doubled(self, ended: float) -> tuple[int, int]:
        """Return how many events that were sent before have no prediction, and how many one too many."""
        found = Counter(sent for answers in self._answers.values() for sent, _ in answers)
        missing = sum(sent < ended and sent not in found for sent in self._stored.copy())
        return missing, found.total() - len(found)

    def longest_wait(self, began: float, ended: float, partitions: Collection[int]) -> float:
        """Return the longest wait of an event that was sent in that time to one of these partitions."""
        return max(self.waits(began, ended, partitions), default=0.0)

    def waits(self, began: float, ended: float, partitions: Collection[int]) -> list[float]:
        """Return how long each event waited that was sent in that time to one of these partitions."""
        answers = [each for partition in partitions for each in self._answers[partition]]
        return [read - self._stored.get(sent, sent) for sent, read in answers if began <= sent < ended]
