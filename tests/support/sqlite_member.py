"""A consumer of a SQLite stream, in a process of its own: to be killed, stopped and frozen.

``python -m tests.support.sqlite_member FILE GROUP NAME`` writes a prediction with its NAME for every event
and commits both; SIGTERM makes it leave. It prints what happens to it.
"""

from __future__ import annotations

import logging
import signal
import sys

from service.stream.protocol import Consumer, Output, Record, Writer
from service.stream.sqlite import SqliteTransport


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


class Worker:
    def __init__(self, path: str, group: str, name: str) -> None:
        self.name = name.encode()
        self.running = True
        self.writers: dict[int, Writer] = {}
        self.transport = SqliteTransport(path)
        self.consumer: Consumer = self.transport.join(group, ["events"], self)

    def partitions_assigned(self, partitions: frozenset[int]) -> None:
        for partition in partitions:
            self.writers[partition] = self.consumer.writer(partition)
            self.consumer.start(partition, self.consumer.take_over([partition])[partition])
        say("assigned", *sorted(partitions))

    def partitions_revoked(self, partitions: frozenset[int]) -> None:
        say("revoked", *sorted(partitions))

    def partitions_lost(self, partitions: frozenset[int]) -> None:
        say("lost", *sorted(partitions))

    def run(self) -> None:
        while self.running:
            for partition, records in self.consumer.poll(0.05, 20).items():
                self.predict(partition, records)
        self.consumer.close()
        self.transport.close()

    def predict(self, partition: int, records: list[Record]) -> None:
        outputs = [Output("predictions", r.key, self.name, partition=partition) for r in records]
        self.writers[partition].commit(outputs, {"events": records[-1].offset + 1})

    def stop(self, *_: object) -> None:
        self.running = False


def main() -> None:
    logging.basicConfig(stream=sys.stdout, format="warning %(message)s")
    worker = Worker(*sys.argv[1:])
    signal.signal(signal.SIGTERM, worker.stop)
    worker.run()


if __name__ == "__main__":
    main()
