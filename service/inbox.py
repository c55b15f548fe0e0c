"""Records that wait for their turn. In: what was polled, by partition. Out: batches, topics in step.

Events and their labels may lie on topics of their own, which nothing orders but the time of their records.
A service that keeps up takes them as they come; one that catches up must not take a day of events before
the first label of that day. So the topics of a partition are merged by event time, and a record waits as
long as an earlier one may come from a topic that is known to hold more (as in Kafka Streams, KIP-353).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import groupby, islice, takewhile
from math import inf
from operator import attrgetter
from typing import Final

from service.transport.base import Record

_PATIENCE_SECONDS: Final = 5.0
"""How long records wait for a topic from which nothing comes although it holds more: librdkafka may take more
than a second to begin with one."""

_MOST_WAITING: Final = 20_000
"""Records of a partition that wait at most: more than one fetch brings of any topic."""

_topic: Final = attrgetter("topic")
_event_time: Final = attrgetter("timestamp_ms")


def in_step(topics: Iterable[Sequence[Record]]) -> Iterator[Record]:
    """Merge topics by event time, each topic's records in their order; of equal times, topics in theirs.

    Whatever part of it begins where it begins, taken apart and merged again, is itself: so recovery takes
    a batch in the order in which it was learned.
    """
    return merge(*topics, key=_event_time)


Horizon = tuple[float, int]
"""The last place in the order up to which everything has come: event time, number of the topic."""

NOTHING: Final[Horizon] = (-inf, 0)
EVERYTHING: Final[Horizon] = (inf, 0)


@dataclass(slots=True)
class _Waiting:
    """One partition's records."""

    by_topic: dict[str, list[Record]]
    lag_at_start: Mapping[str, int]
    blocked_since: float | None = None
    """When (monotonic seconds) nothing could be given for the first time, and nothing could ever since."""

    def __len__(self) -> int:
        return sum(map(len, self.by_topic.values()))

    def first(self, max_records: int, horizon: Horizon) -> Sequence[Record]:
        """Cut off the first records, in step, none behind the horizon."""
        if horizon == NOTHING:
            return []
        rank = {topic: n for n, topic in enumerate(self.by_topic)}
        merged = islice(in_step(self.by_topic.values()), max_records)
        given = list(
            merged
            if horizon == EVERYTHING
            else takewhile(lambda each: (each.timestamp_ms, rank[each.topic]) <= horizon, merged)
        )
        for topic, count in Counter(map(_topic, given)).items():
            del self.by_topic[topic][:count]
        return given


class Inbox:
    """The records of all partitions that were polled and not yet processed.

    Parameters
    ----------
    topics
        What is read, in the order in which records of the same time are taken.

    """

    def __init__(self, topics: Sequence[str]) -> None:
        self._topics = tuple(topics)
        self._partitions: dict[int, _Waiting] = {}

    def __len__(self) -> int:
        """Count the records of all partitions."""
        return sum(map(len, self._partitions.values()))

    def counts(self) -> Counter[tuple[str, int]]:
        """Count the records by topic and partition."""
        return Counter(
            {
                (topic, partition): len(records)
                for partition, waiting in self._partitions.items()
                for topic, records in waiting.by_topic.items()
            }
        )

    def open(self, partition: int, lag: Mapping[str, int]) -> None:
        """Take records of a partition from now on; `lag` is how much there is of each topic to be polled."""
        self._partitions[partition] = _Waiting({topic: [] for topic in self._topics}, lag)

    def add(self, partition: int, records: Sequence[Record]) -> None:
        """Take what was polled of a partition: each topic's records in their order. Not if it is not open."""
        if (waiting := self._partitions.get(partition)) is not None:
            for topic, run in groupby(records, _topic):
                waiting.by_topic[topic].extend(run)

    def forget(self, partition: int) -> None:
        """Close a partition and drop its records: it is no longer ours, or they will come again."""
        self._partitions.pop(partition, None)

    def take(
        self, max_records: int, lag: Mapping[tuple[str, int], int], now: float
    ) -> dict[int, Sequence[Record]]:
        """Give a batch of each partition that has one now.

        Parameters
        ----------
        max_records
            Of one batch.
        lag
            How much is still to be polled, by topic and partition; of one that is missing, nothing is known
            yet but what `open` was told.
        now
            Monotonic seconds.

        """
        taken = {}
        for partition, waiting in self._partitions.items():
            batch = waiting.first(max_records, self._horizon(partition, waiting, lag))
            if batch:
                waiting.blocked_since = None
            elif waiting and self._is_out_of_patience(waiting, now):
                batch = waiting.first(max_records, EVERYTHING)
            if batch:
                taken[partition] = batch
        return taken

    def _horizon(self, partition: int, waiting: _Waiting, lag: Mapping[tuple[str, int], int]) -> Horizon:
        """Find how far the order is known; of one topic alone it is."""
        if len(self._topics) == 1:
            return EVERYTHING
        unfinished = [
            (records[-1].timestamp_ms, number) if records else NOTHING
            for number, (topic, records) in enumerate(waiting.by_topic.items())
            if lag.get((topic, partition), waiting.lag_at_start[topic])
        ]
        return min(unfinished, default=EVERYTHING)

    def _is_out_of_patience(self, waiting: _Waiting, now: float) -> bool:
        if waiting.blocked_since is None:
            waiting.blocked_since = now
        return now - waiting.blocked_since >= _PATIENCE_SECONDS or len(waiting) >= _MOST_WAITING
