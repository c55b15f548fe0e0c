"""The queued records of one partition, merged by event time over its topics."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from service.batches import RecordBatch, in_step
from service.loop.queues.topic_queue import TopicQueue

_MOST_WAITING: Final = 10_000
"""Records of one topic of a partition that may wait before it is held, if a batch is not larger. A client may
throw away what it has fetched of a topic that is held: the pauses should be few."""

BATCH_BYTES: Final = 16_777_216
"""Bytes of a batch at most, if it has more than one record. As many may wait of a topic before it is held."""


class PartitionQueue:
    """One partition's records, by topic.

    Parameters
    ----------
    topics
        Those that it is read from, in the order in which records of the same time are taken.

    Attributes
    ----------
    by_topic
        What waits.
    blocked_since
        When (monotonic seconds) records waited for another topic for the first time, and ever since.

    """

    def __init__(self, topics: Sequence[str]) -> None:
        self.by_topic = {topic: TopicQueue() for topic in topics}
        self.held: set[str] = set()
        self.blocked_since: float | None = None

    def __len__(self) -> int:
        """Count the records of all topics."""
        return sum(map(len, self.by_topic.values()))

    @property
    def n_bytes(self) -> int:
        """What the records count for, all together."""
        return sum(records.n_bytes for records in self.by_topic.values())

    def first(
        self, max_records: int, finished: Collection[str] = (), before: RecordBatch | None = None
    ) -> RecordBatch:
        """Cut off the first records, in step, up to where a topic that is not finished has no more here.

        They are to be a batch with those `before` them.
        """
        unfinished = [topic for topic in self.by_topic if topic not in finished]
        if max_records <= 0 or not all(self.by_topic[topic] for topic in unfinished):
            return RecordBatch()
        given = in_step(records.first(max_records) for records in self.by_topic.values())
        last = given.last_places()
        stop = min((last[topic] + 1 for topic in unfinished), default=len(given))
        given = self._cut(given, min(max_records, stop), before or RecordBatch())
        for topic, count in given.counts().items():
            self.by_topic[topic].drop(count)
        return given

    def first_of_one(self, max_records: int) -> RecordBatch:
        """Cut off the first records of the only topic."""
        (records,) = self.by_topic.values()
        given = self._cut(records.first(max_records), max_records, RecordBatch())
        records.drop(len(given))
        return given

    def _cut(self, records: RecordBatch, max_records: int, before: RecordBatch) -> RecordBatch:
        """Return as many of these as a batch may have with those before them; of none it has one at least."""
        count = records.n_within(max_records, BATCH_BYTES - before.size_bytes())
        count = count or min(max_records, 0 if before else 1)
        return records if count == len(records) else records[:count]

    def empty_topics(self) -> list[str]:
        """List the topics that keep the others waiting, if any waits."""
        empty = [topic for topic, records in self.by_topic.items() if not records]
        return empty if len(empty) < len(self.by_topic) else []

    def hold(self, batch_records: int) -> Collection[str]:
        """Choose the topics that are so far ahead that no more of them is wanted before half is taken."""
        most_records = max(_MOST_WAITING, batch_records)
        for topic, records in self.by_topic.items():
            fullness = max(len(records) / most_records, records.n_bytes / BATCH_BYTES)
            if fullness >= 1:
                self.held.add(topic)
            elif fullness < 1 / 2:
                self.held.discard(topic)
        return self.held
