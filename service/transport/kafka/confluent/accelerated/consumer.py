"""A member of a group that makes no object of a message."""

from __future__ import annotations

from collections.abc import Mapping

from confluent_kafka import KafkaError

from service.stream import Assignee
from service.transport.kafka.confluent.accelerated.handles import entry_points
from service.transport.kafka.confluent.accelerated.librdkafka import (  # type: ignore[import-not-found] # compiled
    FetchQueue,
)
from service.transport.kafka.confluent.consumer import ConfluentConsumer


class QueueConsumer(ConfluentConsumer):
    """A member whose records come through a queue of librdkafka."""

    _queue: FetchQueue | None = None

    def _open(self, assignee: Assignee) -> None:
        super()._open(assignee)
        addresses = entry_points(self._open_client)
        if addresses is not None:
            self._queue = FetchQueue(self._open_client, addresses)

    def _fetch(self, room: int, wait_seconds: float) -> int:
        if self._queue is None:
            return super()._fetch(room, wait_seconds)
        # Rebalances and errors come through the client, and records that were fetched before the partition
        # was forwarded.
        n_found: int = self._keep_messages(self._open_client.consume(room, 0) if room else [])
        errors: list[tuple[int, str, str | None, int, int]] = []
        self._queue.forward(self._places())
        n_found += self._queue.poll(
            room - n_found,
            0.0 if n_found else wait_seconds,
            self._undelivered.by_place,
            self._membership.begun,
            errors,
        )
        for code, text, topic, partition, offset in errors:
            self._note(KafkaError(code, text), topic, partition, offset)
        return n_found

    def _begin(self, partition: int, offsets: Mapping[str, int]) -> None:
        if self._queue is not None:
            self._queue.forward([(topic, partition) for topic in self._topics])
        super()._begin(partition, offsets)

    def _leave(self) -> None:
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.close()
        super()._leave()
