"""A member of a group on a Kafka stream, in a process of its own: to be killed, frozen and thawed.

``python -m tests.support.kafka_member ADDRESS CLIENT GROUP EVENTS PREDICTIONS HOW [INSTANCE]`` takes
partition 0, says so, and then continues as HOW says:

- ``commit``: commits one prediction after the other, without ever polling again, until it may not; what a
  broker does not take in time, again;
- ``hurry``: does so without a pause in between, each in `HURRY_SECONDS`;
- ``dangle``: commits offset 0, writes a prediction and another offset, says so, and never commits these.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import confluent_kafka
import kafka.structs

from service.errors import ServiceError, TransportUnavailable
from service.stream.opening import open_transport
from service.stream.protocol import Output

SESSION_SECONDS = 2.0
HURRY_SECONDS = 5.0


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


class Worker:
    def __init__(
        self, address: str, client: str, group: str, events: str, how: str, instance: str | None
    ) -> None:
        self.writer: Any = None
        options = {"session_timeout_seconds": SESSION_SECONDS, "instance_id": instance}
        if how == "hurry":
            options["commit_timeout_seconds"] = HURRY_SECONDS
        self.transport = open_transport(f"kafka://{address}", kafka=options, kafka_client=client)
        self.consumer = self.transport.join(group, [events], self)

    def partitions_assigned(self, partitions: frozenset[int]) -> None:
        self.writer = self.consumer.writer(0)

    def partitions_revoked(self, partitions: frozenset[int]) -> None:
        say("revoked")

    def partitions_lost(self, partitions: frozenset[int]) -> None:
        say("lost")


def commit(worker: Worker, events: str, predictions: str, pause_seconds: float) -> None:
    number = 0
    while True:
        try:
            worker.writer.commit([Output(predictions, b"zombie", b"%d" % number)], {events: number + 1})
        except TransportUnavailable:  # as the service does, whose time may be over when it thaws
            worker.writer = worker.consumer.writer(0)
            continue
        except ServiceError as error:
            say(type(error).__name__, error)
            return
        number += 1
        say("committed", number)
        time.sleep(pause_seconds)


def dangle(worker: Worker, client: str, events: str, predictions: str) -> None:
    worker.writer.commit([], {events: 0})
    open_transaction = {"kafka-python": _with_kafka_python, "confluent": _with_confluent}[client]
    open_transaction(worker, events, [Output(predictions, b"dangling", b"0")])
    say("dangling")
    while True:
        time.sleep(1)


def _with_kafka_python(worker: Worker, events: str, outputs: list[Output]) -> None:
    producer = worker.writer._transactions._producer
    producer.begin_transaction()
    producer.send_outputs(outputs, time.monotonic() + 10)
    place, offset = kafka.structs.TopicPartition(events, 0), kafka.structs.OffsetAndMetadata(1, "", -1)
    producer.send_offsets_to_transaction({place: offset}, worker.consumer._leading.group_metadata())


def _with_confluent(worker: Worker, events: str, outputs: list[Output]) -> None:
    producer = worker.writer._transactions._producer
    producer._client.begin_transaction()
    producer.send_outputs(outputs, time.monotonic() + 10)
    offsets = [confluent_kafka.TopicPartition(events, 0, 1)]
    producer._client.send_offsets_to_transaction(offsets, worker.consumer._client.consumer_group_metadata())


def main() -> None:
    address, client, group, events, predictions, how, *instance = sys.argv[1:]
    worker = Worker(address, client, group, events, how, instance[0] if instance else None)
    while worker.writer is None:
        worker.consumer.poll(0.1, 100)
    say("assigned")
    if how == "dangle":
        dangle(worker, client, events, predictions)
    else:
        commit(worker, events, predictions, 0.0 if how == "hurry" else 0.05)


if __name__ == "__main__":
    main()
