"""Queues of polled records that wait for a batch: one a task, merged by event time over its topic partitions.

Events and labels of a partition may come from two topics, and one model may learn from all partitions. A
client delivers them in no particular order: in catch-up, the loop would process a day of events before the
first label of that day. So the topic partitions of a task are merged by event time. A record waits until the
next record of every other partition is here, or is known not to exist (as in Kafka Streams, KIP-353).
Meanwhile the partition that is ahead is paused, so the queues are bounded.

A commit takes milliseconds whatever its size, so large batches cost less per record. But the output of a
batch is invisible before its commit, and the whole batch is repeated if the commit fails. So a batch is as
large as can be processed within one commit interval: small for a slow model, large for a fast model with a
backlog. The duration of the commit does not count, because a slow stream needs large batches.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import inf
from typing import Final

from service.errors import TransportUnavailable
from service.settings.load import Settings
from service.stream.batches import RecordBatch, merge_by_time
from service.stream.protocol import Record, TopicPartition

_log = logging.getLogger(__name__)

_FIRST_RECORDS: Final = 16
"""Size before any batch was timed: the model may take a second for an event."""

_WAITING_RECORDS: Final = 100
"""How many records of each partition may wait for its turn."""

_MIN_BATCH_SECONDS: Final = 0.02
"""Shortest target for processing a batch, however short the commit interval: else commits would take most of
the time."""

_MAX_BATCH_SECONDS: Final = 1.0
"""Longest target for processing a batch, however long the commit interval: during a batch the model answers
no request, and after `ready_timeout_seconds` `/readyz` returns 503."""


class BatchSize:
    """The number of records in a batch of all partitions of the process.

    Parameters
    ----------
    settings
        Provides the commit interval and the largest batch.

    Attributes
    ----------
    records : int
        How many to take.

    """

    def __init__(self, settings: Settings) -> None:
        self._most = settings.max_batch_records or inf
        self._seconds = min(max(settings.commit_interval_seconds, _MIN_BATCH_SECONDS), _MAX_BATCH_SECONDS)
        self.records = self._bounded(_FIRST_RECORDS)

    def _bounded(self, n_records: float) -> int:
        return int(min(max(n_records, 1), self._most))

    def waiting(self, n_partitions: int) -> int:
        """Return how many records may wait: enough for one batch of each partition in turn."""
        return max(self.records, self._bounded(_WAITING_RECORDS) * n_partitions)

    def observe(self, n_records: int, seconds: float) -> None:
        """Note how long processing a batch took; adapt the size by a factor of at most 2.

        A batch that was neither full nor too slow is ignored: it predicts nothing about a full batch.
        """
        if n_records >= self.records or seconds > self._seconds:
            wanted = n_records * self._seconds / seconds if seconds > 0 else inf
            self.records = self._bounded(min(max(wanted, self.records / 2), self.records * 2))


_WEIGHT: Final = 1 / 8
"""Weight of the last batch in the moving mean of batch durations."""


class BatchTime:
    """Decides when the waiting records become a batch, full or not; in monotonic seconds.

    A batch is due one wait after the preceding batch. If more records are known to come, it is due one wait
    after its first record, so that it can fill. The wait is the commit interval minus the time that
    processing and committing a batch takes (a moving mean, at most half the interval). So a record's
    prediction is visible about one interval after the record arrived, commit included.

    Parameters
    ----------
    interval_seconds
        From a record's arrival to its visible prediction, while the service keeps up.

    Attributes
    ----------
    due : float
        When the next batch is due; infinity while no record waits.
    expects_no_more : bool
        Whether the batch need not wait for records that were not announced to the client.

    """

    def __init__(self, interval_seconds: float) -> None:
        self._interval_seconds = interval_seconds
        self._last_batch_at = -inf
        self._lead_seconds = 0.0
        self.due = inf
        self.expects_no_more = False

    @property
    def _wait_seconds(self) -> float:
        return self._interval_seconds - min(self._lead_seconds, self._interval_seconds / 2)

    def wait(self, now: float, *, more_comes: bool) -> None:
        """Note that records wait, and whether more were announced to the client."""
        self.due = min(self.due, now + self._wait_seconds)
        if not more_comes:
            self.due = min(
                self.due, now if self.expects_no_more else self._last_batch_at + self._wait_seconds
            )

    def forget(self) -> None:
        """Note that no record waits any more."""
        self.due = inf

    def batch_taken(self, now: float) -> None:
        """Note that a batch was taken; the remaining records wait from now on."""
        self.due, self._last_batch_at = inf, now

    def batch_committed(self, now: float) -> None:
        """Note that the last batch was committed."""
        self._lead_seconds += _WEIGHT * (now - self._last_batch_at - self._lead_seconds)


_FRESH_SECONDS: Final = 0.1
"""How long a known end is trusted: an unseen record can be at most this old."""

_ASK_AGAIN_SECONDS: Final = 1.0
"""How long to wait before another request to a stream that did not answer."""

Ask = Callable[[Collection[TopicPartition]], Mapping[TopicPartition, int]]
"""`Consumer.remaining`."""


@dataclass(slots=True)
class _End:
    """The end of one partition, as the stream last reported it."""

    good_until: float
    lag: int
    """The client's lag at that time; more may have been announced since without being delivered."""
    left: int | None
    """Offsets from the last delivered record to the end at that time; None: unknown."""


class TopicEnds:
    """Caches the distance to the ends of partitions; asks the stream again when one is too old.

    An end holds only for a moment, as records are appended. But that moment is long compared to a batch,
    and a query for each batch would cost more than reading.
    """

    def __init__(self) -> None:
        self._ends: dict[TopicPartition, _End] = {}

    def delivered(self, partition: TopicPartition, count: int) -> None:
        """Note that `count` records of `partition` were delivered: its end is that much nearer."""
        end = self._ends.get(partition)
        if end is not None and end.left is not None:
            end.left -= count
            end.lag = 0  # records that are announced from now on are new

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """Forget the ends of partitions, as they will be read from other offsets."""
        self._ends = {key: each for key, each in self._ends.items() if key not in partitions}

    def partitions_at_end(
        self, partitions: Collection[TopicPartition], ask: Ask, lag: Mapping[TopicPartition, int], now: float
    ) -> frozenset[TopicPartition]:
        """Return the partitions that were delivered up to their ends, as of a moment ago or of now.

        Parameters
        ----------
        partitions
            Partitions without a waiting record.
        ask
            Asks the stream for the remaining offsets.
        lag
            How many records were announced to the client and not delivered.
        now
            Monotonic seconds.

        """
        doubtful = [each for each in partitions if self._is_doubtful(each, lag.get(each, 0), now)]
        if doubtful:
            self._ask(doubtful, ask, lag, now)
        return frozenset(partition for partition in partitions if self._ends[partition].left == 0)

    def _is_doubtful(self, partition: TopicPartition, lag: int, now: float) -> bool:
        """Return whether to ask again: the end is old, or more records were announced since."""
        end = self._ends.get(partition)
        if end is None or now >= end.good_until:
            return True
        return end.left is not None and (end.left < 0 or lag > end.lag)

    def _ask(
        self, partitions: Collection[TopicPartition], ask: Ask, lag: Mapping[TopicPartition, int], now: float
    ) -> None:
        try:
            left: Mapping[TopicPartition, int | None] = ask(partitions)
            good_until = now + _FRESH_SECONDS
        except TransportUnavailable as error:
            _log.debug("the topics' ends are unknown: %s", error)
            left, good_until = {}, now + _ASK_AGAIN_SECONDS
        self._ends |= {each: _End(good_until, lag.get(each, 0), left.get(each)) for each in partitions}


_UNKNOWN_BYTES: Final = 16_384
"""Assumed size of a record before any was seen."""

_MAX_POLLED: Final = 8000
"""Records to ask for in a poll, at most. Their size is unknown before they arrive; a stream returns only what
it has fetched, some tens of megabytes."""

_MAX_WITHOUT_ROOM: Final = 1000
"""Records to ask for when too many are queued: they may wait for records of another partition."""

_MAX_WAITING: Final = 10_000
"""Records of one partition that may wait before it is paused, unless a batch is larger. A client may
discard what it has fetched of a paused partition, so pauses should be few."""

BATCH_BYTES: Final = 16_777_216
"""Bytes of a batch of several records, at most. A partition with as many waiting bytes is paused."""


class PartitionQueue:
    """The waiting records of one partition, in the chunks that were polled: each is freed once it is taken.

    Attributes
    ----------
    n_bytes
        Their total size, as `RecordBatch.size_bytes` counts.

    """

    def __init__(self) -> None:
        self._parts: deque[RecordBatch] = deque()
        self._n_dropped = 0
        """How many records of the first chunk were dropped."""
        self._n = 0
        self.n_bytes = 0

    def __len__(self) -> int:
        """Count the records."""
        return self._n

    @property
    def first_record(self) -> Record:
        """The first record; the queue must not be empty."""
        return self._parts[0][self._n_dropped]

    def add(self, records: RecordBatch) -> None:
        """Append records."""
        if records:
            self._parts.append(records)
            self._n += len(records)
            self.n_bytes += records.size_bytes()

    def peek(self, max_records: int) -> RecordBatch:
        """Return the first records without dropping them."""
        batch, start = RecordBatch(), self._n_dropped
        for part in self._parts:
            if len(batch) >= max_records:
                break
            batch.extend(part[start : start + max_records - len(batch)])
            start = 0
        return batch

    def drop(self, count: int) -> None:
        """Drop the first `count` records; the queue must have them."""
        self._n -= count
        while count:
            part, start = self._parts[0], self._n_dropped
            end = min(start + count, len(part))
            self.n_bytes -= part.size_bytes(start, end)
            count -= end - start
            if end == len(part):
                self._parts.popleft()
                end = 0
            self._n_dropped = end


class TaskQueue:
    """The waiting records of one task, by partition.

    Parameters
    ----------
    partitions
        The task's topic partitions, in the order in which records of equal time are taken.

    Attributes
    ----------
    by_partition
        The queue of each partition.
    blocked_since
        Since when (monotonic seconds) records have waited for another partition.

    """

    def __init__(self, partitions: Iterable[TopicPartition]) -> None:
        self.by_partition = {partition: PartitionQueue() for partition in partitions}
        self.held: set[TopicPartition] = set()
        self.blocked_since: float | None = None

    def __len__(self) -> int:
        """Count the records of all partitions."""
        return sum(map(len, self.by_partition.values()))

    @property
    def n_bytes(self) -> int:
        """The total size of the records."""
        return sum(records.n_bytes for records in self.by_partition.values())

    def take(
        self, max_records: int, finished: Collection[TopicPartition] = (), before: RecordBatch | None = None
    ) -> RecordBatch:
        """Take the first records, merged by time, until an unfinished partition has no record here.

        Together with the records `before` them they form a batch.
        """
        unfinished = [partition for partition in self.by_partition if partition not in finished]
        if max_records <= 0 or not all(self.by_partition[partition] for partition in unfinished):
            return RecordBatch()
        given = merge_by_time([records.peek(max_records) for records in self.by_partition.values()])
        last = given.last_indices()
        stop = min([last[partition] + 1 for partition in unfinished], default=len(given))
        given = self._cut(given, min(max_records, stop), before or RecordBatch())
        for partition, count in given.counts().items():
            self.by_partition[partition].drop(count)
        return given

    def _cut(self, records: RecordBatch, max_records: int, before: RecordBatch) -> RecordBatch:
        """Return as many records as fit into a batch after those `before` them; an empty batch takes one."""
        count = records.n_within(max_records, BATCH_BYTES - before.size_bytes())
        count = count or min(max_records, 0 if before else 1)
        return records if count == len(records) else records[:count]

    def empty_partitions(self) -> list[TopicPartition]:
        """List the partitions without records that other partitions' records wait for."""
        empty = [partition for partition, records in self.by_partition.items() if not records]
        return empty if len(empty) < len(self.by_partition) else []

    def to_pause(self, batch_records: int) -> Collection[TopicPartition]:
        """Choose the partitions to pause: so far ahead that half of their records are to be taken first."""
        n_records = max(_MAX_WAITING, batch_records)
        for partition, records in self.by_partition.items():
            fullness = max(len(records) / n_records, records.n_bytes / BATCH_BYTES)
            if fullness >= 1:
                self.held.add(partition)
            elif fullness < 1 / 2:
                self.held.discard(partition)
        return self.held


class RecordQueues:
    """The polled and unprocessed records of all tasks.

    Parameters
    ----------
    topics
        The input topics, in the order in which records of equal time are taken.

    """

    def __init__(self, topics: Sequence[str]) -> None:
        self._topics = tuple(topics)
        self._tasks: dict[int, TaskQueue] = {}
        self._filled: dict[int, TaskQueue] = {}
        """The tasks with waiting records, in the order of their turns: few of hundreds in a quiet stream."""
        self._numbers: dict[int, int] = {}
        """The task of each partition."""
        self._ends = TopicEnds()
        self._record_bytes = _UNKNOWN_BYTES

    def __len__(self) -> int:
        """Count the records of all tasks."""
        return sum(map(len, self._filled.values()))

    def __bool__(self) -> bool:
        return bool(self._filled)

    @property
    def n_partitions(self) -> int:
        """The number of partitions that are open."""
        return len(self._numbers)

    @property
    def _n_bytes(self) -> int:
        return sum(waiting.n_bytes for waiting in self._filled.values())

    def is_full(self, max_records: int) -> bool:
        """Return whether a batch of `max_records` records, or of the largest size in bytes, is here."""
        return len(self) >= max_records or self._n_bytes >= BATCH_BYTES

    def n_to_poll(self, max_records: int) -> int:
        """Return how many records to poll for, if `max_records` may wait and new ones are as large as these.

        It is never 0, as all records here may wait for a record of another partition.
        """
        if count := len(self):
            self._record_bytes = self._n_bytes // count
        left = min(max_records - count, (BATCH_BYTES - self._n_bytes) // self._record_bytes)
        if left > 0:
            return min(left, _MAX_POLLED)
        return _MAX_WITHOUT_ROOM if self._merges else 1

    @property
    def _merges(self) -> bool:
        """Whether a task reads several partitions."""
        return len(self._topics) > 1 or len(self._tasks) < len(self._numbers)

    def counts(self) -> Counter[TopicPartition]:
        """Count the records by topic and partition."""
        return Counter(
            {
                partition: len(records)
                for waiting in self._filled.values()
                for partition, records in waiting.by_partition.items()
            }
        )

    def first_offset(self, topic: str, partition: int) -> int | None:
        """Return the offset of the first waiting record of a partition; None if no record waits."""
        number = self._numbers.get(partition)
        records = None if number is None else self._tasks[number].by_partition[topic, partition]
        return records.first_record.offset if records else None

    def open(self, task: int, partitions: Iterable[int]) -> None:
        """Start to accept records of the partitions of a task."""
        self.forget(task)
        numbers = sorted(partitions)
        topic_partitions = [(topic, number) for topic in self._topics for number in numbers]
        self._tasks[task] = TaskQueue(topic_partitions)
        self._numbers |= dict.fromkeys(numbers, task)
        self._ends.forget(topic_partitions)

    def add(self, partition: int, records: RecordBatch) -> None:
        """Add polled records, each topic's in order; ignore records of a partition that is not open."""
        if (number := self._numbers.get(partition)) is not None:
            waiting = self._filled[number] = self._tasks[number]
            for topic, run in records.runs():
                waiting.by_partition[topic, partition].add(run)
                self._ends.delivered((topic, partition), len(run))

    def forget(self, task: int) -> None:
        """Close a task's queue and drop its records: its partitions were revoked, or will be read again."""
        self._tasks.pop(task, None)
        self._filled.pop(task, None)
        self._numbers = {partition: number for partition, number in self._numbers.items() if number != task}

    def to_pause(self, max_records: int) -> frozenset[TopicPartition]:
        """Return the partitions to pause, as they are far ahead of the other partitions of their task."""
        if not self._merges:
            return frozenset()
        return frozenset(chain(*(waiting.to_pause(max_records) for waiting in self._filled.values())))

    def next_batches(
        self, max_records: int, ask: Ask, lag: Mapping[TopicPartition, int], now: float
    ) -> dict[int, RecordBatch]:
        """Return the next batch of each task that has one and whose turn it is.

        Parameters
        ----------
        max_records
            Of all batches together. Tasks left out because of it come first next time.
        ask
            Asks the stream for the remaining offsets.
        lag
            How many records were announced to the client and not delivered.
        now
            Monotonic seconds.

        """
        batches: dict[int, RecordBatch] = {}
        left = max_records
        for task, waiting in self._filled.items():
            if left <= 0:
                break
            batches[task] = waiting.take(left)
            left -= len(batches[task])
        if left > 0 and self._merges:
            self._extend(batches, left, ask, lag, now)
        for task in [task for task, batch in batches.items() if batch]:
            waiting = self._filled.pop(task)
            waiting.blocked_since = None
            if waiting:
                self._filled[task] = waiting
        given = {task: batch for task, batch in batches.items() if batch}
        if sum(map(len, given.values())) < max_records:  # else tasks may only wait for their turn
            for task in batches.keys() - given:
                waiting = self._filled[task]
                waiting.blocked_since = now if waiting.blocked_since is None else waiting.blocked_since
        return given

    def _extend(
        self,
        batches: Mapping[int, RecordBatch],
        left: int,
        ask: Ask,
        lag: Mapping[TopicPartition, int],
        now: float,
    ) -> None:
        """Add up to `left` records that only wait for partitions whose end is reached."""
        empty = {task: self._filled[task].empty_partitions() for task in batches}
        reached = self._ends.partitions_at_end([*chain(*empty.values())], ask, lag, now)
        for task, batch in batches.items():
            if finished := reached.intersection(empty[task]):
                more = self._filled[task].take(left, finished, batch)
                left -= len(more)
                batch.extend(more)

    def note_full_poll(self, now: float) -> None:
        """Note that a poll was full: other partitions' records may wait for their turn in the client."""
        for waiting in self._filled.values():
            if waiting.blocked_since is not None:
                waiting.blocked_since = now

    def blocked(self, since: float) -> list[TopicPartition]:
        """List the partitions that records have been waiting for since then or longer."""
        return [
            partition
            for waiting in self._filled.values()
            if waiting.blocked_since is not None and waiting.blocked_since <= since
            for partition in waiting.empty_partitions()
        ]
