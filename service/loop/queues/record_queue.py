"""Queue polled records by partition, and cut batches in which topics are in step.

Events and their labels may lie on topics of their own, which only the time of their records puts in order. A
service that keeps up processes them as they come; one that catches up must not process a day of events
before the first label of that day. So the topics of a partition are merged by event time, and a record waits
until every other topic has shown its next record or is known to have none (as in Kafka Streams, KIP-353).
The topic that is ahead is paused meanwhile, so the queues are bounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Final

from service.batches import RecordBatch
from service.loop.queues.partition_queue import BATCH_BYTES, PartitionQueue
from service.loop.queues.topic_ends import Ask, TopicEnds
from service.stream import Place

_UNKNOWN_BYTES: Final = 16_384
"""What a record is taken to have before any was seen."""

_MOST_POLLED: Final = 8000
"""Records to ask for at most in a poll. How large they are shows only when they are here; no stream
returns more than it has fetched, some tens of megabytes."""

_MOST_WITHOUT_ROOM: Final = 1000
"""The same where too many are here, which may wait for another topic's."""


class RecordQueues:
    """The records of all partitions that were polled and not yet processed.

    Parameters
    ----------
    topics
        What is read, in the order in which records of the same time are taken.

    """

    def __init__(self, topics: Sequence[str]) -> None:
        self._topics = tuple(topics)
        self._partitions: dict[int, PartitionQueue] = {}
        """In the order of their turns."""
        self._filled: dict[int, PartitionQueue] = {}
        """Those in which records wait: of hundreds, a few in a quiet stream."""
        self._ends = TopicEnds()
        self._record_bytes = _UNKNOWN_BYTES

    def __len__(self) -> int:
        """Count the records of all partitions."""
        return sum(map(len, self._filled.values()))

    @property
    def n_partitions(self) -> int:
        """The number of partitions that are open."""
        return len(self._partitions)

    @property
    def _n_bytes(self) -> int:
        return sum(waiting.n_bytes for waiting in self._filled.values())

    def is_full(self, max_records: int) -> bool:
        """Return whether a batch of so many records is here, or one of as many bytes as it may have."""
        return len(self) >= max_records or self._n_bytes >= BATCH_BYTES

    def room(self, max_records: int) -> int:
        """Return how many records to poll for, if so many may wait and those to come are like those here.

        Where there is no room, those here may wait for another topic's; of one alone a poll has to take one.
        """
        if count := len(self):
            self._record_bytes = self._n_bytes // count
        left = min(max_records - count, (BATCH_BYTES - self._n_bytes) // self._record_bytes)
        if left > 0:
            return min(left, _MOST_POLLED)
        return 1 if len(self._topics) == 1 else _MOST_WITHOUT_ROOM

    def counts(self) -> Counter[Place]:
        """Count the records by topic and partition."""
        return Counter(
            {
                (topic, partition): len(records)
                for partition, waiting in self._filled.items()
                for topic, records in waiting.by_topic.items()
            }
        )

    def first_offset(self, topic: str, partition: int) -> int | None:
        """Return the offset of the first record that waits here; None if none does."""
        waiting = self._partitions.get(partition)
        records = waiting.by_topic[topic] if waiting is not None else None
        return records.first_record.offset if records else None

    def open(self, partition: int) -> None:
        """Take records of a partition from now on."""
        self.forget(partition)
        self._partitions[partition] = PartitionQueue(self._topics)
        self._ends.forget(partition)

    def add(self, partition: int, records: RecordBatch) -> None:
        """Take what was polled of a partition: each topic's records in their order. Not if it is not open."""
        if (waiting := self._partitions.get(partition)) is not None:
            self._filled[partition] = waiting
            for topic, run in records.runs():
                waiting.by_topic[topic].add(run)
                self._ends.delivered((topic, partition), len(run))

    def forget(self, partition: int) -> None:
        """Close a partition and drop its records: it was revoked, or they will come again."""
        self._partitions.pop(partition, None)
        self._filled.pop(partition, None)

    def held(self, max_records: int) -> frozenset[Place]:
        """Return the topics and partitions that are ahead of the others by so much that they have to wait."""
        if len(self._topics) == 1:
            return frozenset()
        return frozenset(
            (topic, partition)
            for partition, waiting in self._filled.items()
            for topic in waiting.hold(max_records)
        )

    def next_batches(
        self, max_records: int, ask: Ask, lag: Mapping[Place, int], now: float
    ) -> dict[int, RecordBatch]:
        """Return the next batch of each partition that has one now and whose turn it is.

        Parameters
        ----------
        max_records
            Of all batches together. Partitions that got none because of it are the first in the next.
        ask
            Asks the stream how much it holds.
        lag
            How much of it the client has heard of.
        now
            Monotonic seconds.

        """
        if len(self._topics) == 1:
            batches = self._cut_each(max_records, PartitionQueue.first_of_one)
        else:
            batches = self._cut_each(max_records, PartitionQueue.first)
            left = max_records - sum(map(len, batches.values()))
            reached = self._reached(batches, left, partial(self._ends.reached, ask=ask, lag=lag, now=now))
            self._extend(batches, left, reached)
            self._note_progress(batches, max_records, now)
        given = {partition: batch for partition, batch in batches.items() if batch}
        for partition in given:
            self._partitions[partition] = self._partitions.pop(partition)
            if not self._partitions[partition]:
                del self._filled[partition]
        return given

    def _cut_each(
        self, max_records: int, first: Callable[[PartitionQueue, int], RecordBatch]
    ) -> dict[int, RecordBatch]:
        """Cut a batch of each partition in its turn, until there are `max_records`; not of those behind."""
        batches = {}
        for partition, waiting in self._partitions.items():
            if max_records <= 0:
                break
            if partition not in self._filled:
                continue
            batches[partition] = first(waiting, max_records)
            max_records -= len(batches[partition])
        return batches

    def _extend(
        self, batches: Mapping[int, RecordBatch], left: int, reached: Mapping[int, Collection[str]]
    ) -> None:
        """Add to batches what need not wait for topics whose end was reached, until there are `left` more."""
        for partition, batch in batches.items():
            if finished := reached.get(partition):
                more = self._partitions[partition].first(left, finished, batch)
                left -= len(more)
                batch.extend(more)

    def _reached(
        self,
        batches: Mapping[int, RecordBatch],
        left: int,
        look: Callable[[Collection[Place]], Collection[Place]],
    ) -> dict[int, set[str]]:
        """Find out which topics end here, of those for whose sake `left` records are missing."""
        empty = [
            (topic, partition)
            for partition in batches
            if left > 0
            for topic in self._partitions[partition].empty_topics()
        ]
        found: dict[int, set[str]] = {}
        for topic, partition in look(empty):
            found.setdefault(partition, set()).add(topic)
        return found

    def _note_progress(self, batches: Mapping[int, RecordBatch], max_records: int, now: float) -> None:
        """Note since when partitions wait for another topic, and not for their turn."""
        is_full = sum(map(len, batches.values())) >= max_records
        for partition, waiting in self._partitions.items():
            if batches.get(partition) or not waiting:
                waiting.blocked_since = None
            elif waiting.blocked_since is None and not is_full:
                waiting.blocked_since = now

    def rush(self, now: float) -> None:
        """Note that so much comes of some topics that others may have to wait for their turn."""
        for waiting in self._partitions.values():
            if waiting.blocked_since is not None:
                waiting.blocked_since = now

    def blocked(self, since: float) -> list[Place]:
        """List the topics and partitions from which nothing has come since then, and others wait for it."""
        return [
            (topic, partition)
            for partition, waiting in self._partitions.items()
            if waiting.blocked_since is not None and waiting.blocked_since <= since
            for topic in waiting.empty_topics()
        ]
