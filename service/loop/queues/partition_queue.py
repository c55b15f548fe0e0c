"""The records of one partition that wait. In: what was polled of its topics. Out: the first, in step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import accumulate, chain, islice, takewhile
from operator import attrgetter
from typing import Final

from service.stream import Record

_MOST_WAITING: Final = 10_000
"""Records of one topic of a partition that may wait before it is held, if a batch is not larger. A client may
throw away what it has fetched of a topic that is held: the pauses should be few."""

BATCH_BYTES: Final = 16_777_216
"""Bytes of a batch at most, if it has more than one record. As many may wait of a topic before it is held."""

_RECORD_BYTES: Final = 256
"""What a record counts for besides its key and value: it is an object here, and so is its answer."""

_topic: Final = attrgetter("topic")
_key: Final = attrgetter("key")
_value: Final = attrgetter("value")
_event_time: Final = attrgetter("timestamp_ms")


def in_step(topics: Iterable[Sequence[Record]]) -> Iterator[Record]:
    """Merge topics by event time, each topic's records in their order; of equal times, topics in theirs.

    Whatever part of it begins where it begins, taken apart and merged again, is itself: so recovery takes
    a batch in the order in which it was learned.
    """
    return merge(*topics, key=_event_time)


def size_bytes(records: Collection[Record]) -> int:
    """Return what records count for: their keys and values, and what any record takes."""
    contents = chain(map(_key, records), map(_value, records))
    return sum(map(len, filter(None, contents))) + _RECORD_BYTES * len(records)


@dataclass(slots=True)
class PartitionQueue:
    """One partition's records, by topic."""

    by_topic: dict[str, list[Record]]
    n_bytes: Counter[str] = field(default_factory=Counter)
    held: set[str] = field(default_factory=set)
    blocked_since: float | None = None
    """When (monotonic seconds) records waited for another topic for the first time, and ever since."""

    def __len__(self) -> int:
        """Count the records of all topics."""
        return sum(map(len, self.by_topic.values()))

    def add(self, topic: str, records: Sequence[Record]) -> None:
        """Take the next records of a topic."""
        self.by_topic[topic].extend(records)
        self.n_bytes[topic] += size_bytes(records)

    def first(
        self, max_records: int, finished: Collection[str] = (), before: Collection[Record] = ()
    ) -> list[Record]:
        """Cut off the first records, in step, up to where a topic that is not finished has no more here.

        They are to be a batch with those `before` them.
        """
        left_bytes = BATCH_BYTES - size_bytes(before)
        unfinished = [records for topic, records in self.by_topic.items() if topic not in finished]
        if not all(unfinished):
            return []
        stops = {id(records[-1]) for records in unfinished}
        given: list[Record] = []
        for record in islice(in_step(filter(None, self.by_topic.values())), max_records):
            left_bytes -= size_bytes((record,))
            if left_bytes < 0 and (given or before):
                break
            given.append(record)
            if id(record) in stops:
                break
        for topic, count in Counter(map(_topic, given)).items():
            self._cut(topic, count)
        return given

    def first_of_one(self, max_records: int) -> list[Record]:
        """Cut off the first records of the only topic."""
        ((topic, records),) = self.by_topic.items()
        if self.n_bytes[topic] > BATCH_BYTES:
            sizes = accumulate(size_bytes((each,)) for each in records[:max_records])
            max_records = max(1, sum(1 for _ in takewhile(BATCH_BYTES.__ge__, sizes)))
        return self._cut(topic, max_records)

    def _cut(self, topic: str, count: int) -> list[Record]:
        records = self.by_topic[topic]
        given = records[:count]
        del records[:count]
        self.n_bytes[topic] = self.n_bytes[topic] - size_bytes(given) if records else 0
        return given

    def empty_topics(self) -> list[str]:
        """List the topics that keep the others waiting, if any waits."""
        empty = [topic for topic, records in self.by_topic.items() if not records]
        return empty if len(empty) < len(self.by_topic) else []

    def hold(self, batch_records: int) -> Collection[str]:
        """Choose the topics that are so far ahead that no more of them is wanted before half is taken."""
        most_records = max(_MOST_WAITING, batch_records)
        for topic, records in self.by_topic.items():
            fullness = max(len(records) / most_records, self.n_bytes[topic] / BATCH_BYTES)
            if fullness >= 1:
                self.held.add(topic)
            elif fullness < 1 / 2:
                self.held.discard(topic)
        return self.held
