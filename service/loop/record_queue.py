"""Records that wait for their turn. In: what was polled, by partition. Out: batches, topics in step.

Events and their labels may lie on topics of their own, which nothing orders but the time of their records.
A service that keeps up takes them as they come; one that catches up must not take a day of events before
the first label of that day. So the topics of a partition are merged by event time, and a record waits
until every other topic has shown its next record or is known to have none (as in Kafka Streams, KIP-353).
The topic that is ahead is held meanwhile: what waits here is bounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import merge
from itertools import groupby, islice
from operator import attrgetter
from typing import Final

from service.loop.topic_ends import Ask, TopicEnds
from service.stream import Place, Record

_MOST_WAITING: Final = 10_000
"""Records of one topic of a partition that may wait before it is held, if a batch is not larger. A client may
throw away what it has fetched of a topic that is held: the pauses should be few."""

_MOST_WAITING_BYTES: Final = 16_777_216
"""The same in bytes of keys and values."""

_topic: Final = attrgetter("topic")
_event_time: Final = attrgetter("timestamp_ms")


def in_step(topics: Iterable[Sequence[Record]]) -> Iterator[Record]:
    """Merge topics by event time, each topic's records in their order; of equal times, topics in theirs.

    Whatever part of it begins where it begins, taken apart and merged again, is itself: so recovery takes
    a batch in the order in which it was learned.
    """
    return merge(*topics, key=_event_time)


@dataclass(slots=True)
class _Waiting:
    """One partition's records."""

    by_topic: dict[str, list[Record]]
    n_bytes: Counter[str] = field(default_factory=Counter)
    held: set[str] = field(default_factory=set)
    blocked_since: float | None = None
    """When (monotonic seconds) records waited for another topic for the first time, and ever since."""

    def __len__(self) -> int:
        return sum(map(len, self.by_topic.values()))

    def add(self, topic: str, records: Sequence[Record]) -> None:
        self.by_topic[topic].extend(records)
        if len(self.by_topic) > 1:
            self.n_bytes[topic] += _size_bytes(records)

    def first(self, max_records: int, finished: Collection[str]) -> list[Record]:
        """Cut off the first records, in step, up to where a topic that is not finished has no more here."""
        unfinished = [records for topic, records in self.by_topic.items() if topic not in finished]
        if not all(unfinished):
            return []
        stops = {id(records[-1]) for records in unfinished}
        given = []
        for record in islice(in_step(filter(None, self.by_topic.values())), max_records):
            given.append(record)
            if id(record) in stops:
                break
        self._cut(given)
        return given

    def first_of_one(self, max_records: int) -> list[Record]:
        """Cut off the first records of the only topic."""
        (records,) = self.by_topic.values()
        given = records[:max_records]
        del records[:max_records]
        return given

    def _cut(self, given: Sequence[Record]) -> None:
        for topic, count in Counter(map(_topic, given)).items():
            cut = self.by_topic[topic]
            self.n_bytes[topic] -= _size_bytes(cut[:count])
            del cut[:count]

    def empty_topics(self) -> list[str]:
        """List the topics that keep the others waiting, if any waits."""
        empty = [topic for topic, records in self.by_topic.items() if not records]
        return empty if len(empty) < len(self.by_topic) else []

    def hold(self, most_records: int) -> Collection[str]:
        """Choose the topics that are so far ahead that no more of them is wanted before half is taken."""
        for topic, records in self.by_topic.items():
            fullness = max(len(records) / most_records, self.n_bytes[topic] / _MOST_WAITING_BYTES)
            if fullness >= 1:
                self.held.add(topic)
            elif fullness < 1 / 2:
                self.held.discard(topic)
        return self.held


class RecordQueues:
    """The records of all partitions that were polled and not yet processed.

    Parameters
    ----------
    topics
        What is read, in the order in which records of the same time are taken.

    """

    def __init__(self, topics: Sequence[str]) -> None:
        self._topics = tuple(topics)
        self._partitions: dict[int, _Waiting] = {}
        self._ends = TopicEnds()

    def __len__(self) -> int:
        """Count the records of all partitions."""
        return sum(map(len, self._partitions.values()))

    def counts(self) -> Counter[Place]:
        """Count the records by topic and partition."""
        return Counter(
            {
                (topic, partition): len(records)
                for partition, waiting in self._partitions.items()
                for topic, records in waiting.by_topic.items()
            }
        )

    def first_offset(self, topic: str, partition: int) -> int | None:
        """Return the offset of the first record that waits here; None if none does."""
        waiting = self._partitions.get(partition)
        records = waiting.by_topic[topic] if waiting is not None else ()
        return records[0].offset if records else None

    def open(self, partition: int) -> None:
        """Take records of a partition from now on."""
        self._partitions[partition] = _Waiting({topic: [] for topic in self._topics})
        self._ends.forget(partition)

    def add(self, partition: int, records: Sequence[Record]) -> None:
        """Take what was polled of a partition: each topic's records in their order. Not if it is not open."""
        if (waiting := self._partitions.get(partition)) is not None:
            for topic, run in groupby(records, _topic):
                found = list(run)
                waiting.add(topic, found)
                self._ends.delivered((topic, partition), len(found))

    def forget(self, partition: int) -> None:
        """Close a partition and drop its records: it was revoked, or they will come again."""
        self._partitions.pop(partition, None)

    def held(self, max_records: int) -> frozenset[Place]:
        """Return the topics and partitions that are ahead of the others by so much that they have to wait."""
        if len(self._topics) == 1:
            return frozenset()
        most = max(_MOST_WAITING, max_records)
        return frozenset(
            (topic, partition)
            for partition, waiting in self._partitions.items()
            for topic in waiting.hold(most)
        )

    def take(
        self, max_records: int, ask: Ask, lag: Mapping[Place, int], now: float
    ) -> dict[int, Sequence[Record]]:
        """Take a batch of each partition that has one now.

        Parameters
        ----------
        max_records
            Of one batch.
        ask
            Asks the stream how much it holds.
        lag
            How much of it the client has heard of.
        now
            Monotonic seconds.

        """
        if len(self._topics) == 1:
            found = {p: waiting.first_of_one(max_records) for p, waiting in self._partitions.items()}
            return {partition: batch for partition, batch in found.items() if batch}
        batches = {p: waiting.first(max_records, ()) for p, waiting in self._partitions.items()}
        reached = self._reached(batches, max_records, partial(self._ends.reached, ask=ask, lag=lag, now=now))
        for partition, batch in batches.items():
            waiting = self._partitions[partition]
            if finished := reached.get(partition):
                batch.extend(waiting.first(max_records - len(batch), finished))
            self._note_progress(waiting, batch, now)
        return {partition: batch for partition, batch in batches.items() if batch}

    def _reached(
        self,
        batches: Mapping[int, Sequence[Record]],
        max_records: int,
        look: Callable[[Collection[Place]], Collection[Place]],
    ) -> dict[int, set[str]]:
        """Find out which topics end here, of those for whose sake a batch is not full; by partition."""
        empty = [
            (topic, partition)
            for partition, batch in batches.items()
            if len(batch) < max_records
            for topic in self._partitions[partition].empty_topics()
        ]
        found: dict[int, set[str]] = {}
        for topic, partition in look(empty):
            found.setdefault(partition, set()).add(topic)
        return found

    @staticmethod
    def _note_progress(waiting: _Waiting, batch: Sequence[Record], now: float) -> None:
        if batch or not waiting:
            waiting.blocked_since = None
        elif waiting.blocked_since is None:
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


def _size_bytes(records: Iterable[Record]) -> int:
    return sum(len(each.key or b"") + len(each.value or b"") for each in records)
