"""A member of a group on a Kafka stream, in a process of its own: to be killed, frozen and thawed.

``python -m tests.support.kafka_member ADDRESS GROUP EVENTS PREDICTIONS HOW [INSTANCE]`` takes partition 0,
says so, and then goes on as HOW says:

- ``commit``: commits one prediction after the other, without ever polling again, until it may not;
- ``dangle``: writes a prediction and offsets, says so, and never commits.
"""

from __future__ import annotations

import sys
import time

from kafka.structs import OffsetAndMetadata, TopicPartition

from service.errors import ServiceError
from service.transport.base import Output
from service.transport.kafka_python import KafkaPythonTransport
from service.transport.kafka_python.writer import KafkaPythonWriter

SESSION_SECONDS = 2.0


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


class Worker:
    def __init__(self, address: str, group: str, events: str, instance: str | None) -> None:
        self.writer: KafkaPythonWriter | None = None
        self.transport = KafkaPythonTransport(
            [address], session_timeout_seconds=SESSION_SECONDS, instance_id=instance
        )
        self.consumer = self.transport.join(group, [events], self)

    def partitions_assigned(self, partitions: frozenset[int]) -> None:
        self.writer = self.consumer.writer(0)

    def partitions_revoked(self, partitions: frozenset[int]) -> None:
        say("revoked")

    def partitions_lost(self, partitions: frozenset[int]) -> None:
        say("lost")


def commit(writer: KafkaPythonWriter, events: str, predictions: str) -> None:
    number = 0
    while True:
        try:
            writer.commit([Output(predictions, b"zombie", b"%d" % number)], {events: number + 1})
        except ServiceError as error:
            say(type(error).__name__, error)
            return
        number += 1
        say("committed", number)
        time.sleep(0.05)


def dangle(worker: Worker, events: str, predictions: str) -> None:
    assert worker.writer is not None
    producer = worker.writer._producer
    assert producer is not None
    producer.begin_transaction()
    producer.send_outputs([Output(predictions, b"dangling", b"0")], time.monotonic() + 10)
    offsets = {TopicPartition(events, 0): OffsetAndMetadata(1, "", -1)}
    producer.send_offsets_to_transaction(offsets, worker.consumer._leading.group_metadata())
    say("dangling")
    while True:
        time.sleep(1)


def main() -> None:
    address, group, events, predictions, how, *instance = sys.argv[1:]
    worker = Worker(address, group, events, instance[0] if instance else None)
    while worker.writer is None:
        worker.consumer.poll(0.1, 100)
    say("assigned")
    if how == "commit":
        commit(worker.writer, events, predictions)
    else:
        dangle(worker, events, predictions)


if __name__ == "__main__":
    main()
