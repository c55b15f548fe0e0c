"""The records that were polled and wait for their batch, by task, merged by event time over its places.

Events and labels of a partition may come from two topics, and one model may be learned from all partitions. A
client delivers them in no order to each other: in catch-up it would process a day of events before the first
label of that day. So the places of a task are merged by event time, and a record waits until every other
place has shown its next record or is known to have none (as in Kafka Streams, KIP-353). The place that is
ahead is paused meanwhile, so the queues are bounded.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from service.loop.batching import Ask, TopicEnds
from service.stream.batches import RecordBatch, in_step
from service.stream.protocol import Place
from service.stream.records import Record

_UNKNOWN_BYTES: Final = 16_384
"""What a record is taken to have before any was seen."""

_MOST_POLLED: Final = 8000
"""Records to ask for at most in a poll. How large they are shows only when they are here; no stream
returns more than it has fetched, some tens of megabytes."""

_MOST_WITHOUT_ROOM: Final = 1000
"""The same where too many are here, which may wait for another place's."""

_MOST_WAITING: Final = 10_000
"""Records of one place that may wait before it is held, if a batch is not larger. A client may
throw away what it has fetched of a place that is held: the pauses should be few."""

BATCH_BYTES: Final = 16_777_216
"""Bytes of a batch at most, if it has more than one record. As many may wait of a place before it is held."""


class PlaceQueue:
    """Records in the parts in which they were polled, so that the memory of each is free once it is taken.

    Attributes
    ----------
    n_bytes
        What they count for, all together, as `RecordBatch.size_bytes` counts.

    """

    def __init__(self) -> None:
        self._parts: deque[RecordBatch] = deque()
        self._n_dropped = 0
        """Records of the first part that are not here any more."""
        self._n = 0
        self.n_bytes = 0

    def __len__(self) -> int:
        """Count the records."""
        return self._n

    @property
    def first_record(self) -> Record:
        """The first one, which must be there."""
        return self._parts[0][self._n_dropped]

    def add(self, records: RecordBatch) -> None:
        """Take the next records."""
        if records:
            self._parts.append(records)
            self._n += len(records)
            self.n_bytes += records.size_bytes()

    def first(self, max_records: int) -> RecordBatch:
        """Return the first records, which stay here."""
        found, start = RecordBatch(), self._n_dropped
        for part in self._parts:
            if len(found) >= max_records:
                break
            found.extend(part[start : start + max_records - len(found)])
            start = 0
        return found

    def drop(self, count: int) -> None:
        """Drop the first records, of which there are as many."""
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
    """One task's records, by place.

    Parameters
    ----------
    places
        Those that it is read from, in the order in which records of the same time are taken.

    Attributes
    ----------
    by_place
        What waits.
    blocked_since
        When (monotonic seconds) records waited for another place for the first time, and ever since.

    """

    def __init__(self, places: Iterable[Place]) -> None:
        self.by_place = {place: PlaceQueue() for place in places}
        self.held: set[Place] = set()
        self.blocked_since: float | None = None

    def __len__(self) -> int:
        """Count the records of all places."""
        return sum(map(len, self.by_place.values()))

    @property
    def n_bytes(self) -> int:
        """What the records count for, all together."""
        return sum(records.n_bytes for records in self.by_place.values())

    def first(
        self, max_records: int, finished: Collection[Place] = (), before: RecordBatch | None = None
    ) -> RecordBatch:
        """Cut off the first records, in step, up to where a place that is not finished has no more here.

        They are to be a batch with those `before` them.
        """
        unfinished = [place for place in self.by_place if place not in finished]
        if max_records <= 0 or not all(self.by_place[place] for place in unfinished):
            return RecordBatch()
        given = in_step(records.first(max_records) for records in self.by_place.values())
        last = given.last_places()
        stop = min((last[place] + 1 for place in unfinished), default=len(given))
        given = self._cut(given, min(max_records, stop), before or RecordBatch())
        for place, count in given.counts().items():
            self.by_place[place].drop(count)
        return given

    def first_of_one(self, max_records: int) -> RecordBatch:
        """Cut off the first records of the only place."""
        (records,) = self.by_place.values()
        given = self._cut(records.first(max_records), max_records, RecordBatch())
        records.drop(len(given))
        return given

    def _cut(self, records: RecordBatch, max_records: int, before: RecordBatch) -> RecordBatch:
        """Return as many of these as a batch may have with those before them; of none it has one at least."""
        count = records.n_within(max_records, BATCH_BYTES - before.size_bytes())
        count = count or min(max_records, 0 if before else 1)
        return records if count == len(records) else records[:count]

    def empty_places(self) -> list[Place]:
        """List the places that keep the others waiting, if any waits."""
        empty = [place for place, records in self.by_place.items() if not records]
        return empty if len(empty) < len(self.by_place) else []

    def hold(self, batch_records: int) -> Collection[Place]:
        """Choose the places that are so far ahead that no more of them is wanted before half is taken."""
        most_records = max(_MOST_WAITING, batch_records)
        for place, records in self.by_place.items():
            fullness = max(len(records) / most_records, records.n_bytes / BATCH_BYTES)
            if fullness >= 1:
                self.held.add(place)
            elif fullness < 1 / 2:
                self.held.discard(place)
        return self.held


class RecordQueues:
    """The records of all tasks that were polled and not yet processed.

    Parameters
    ----------
    topics
        What is read, in the order in which records of the same time are taken.

    """

    def __init__(self, topics: Sequence[str]) -> None:
        self._topics = tuple(topics)
        self._tasks: dict[int, TaskQueue] = {}
        """By task, in the order of their turns."""
        self._filled: dict[int, TaskQueue] = {}
        """Those in which records wait: of hundreds, a few in a quiet stream."""
        self._numbers: dict[int, int] = {}
        """The tasks of partitions."""
        self._ends = TopicEnds()
        self._record_bytes = _UNKNOWN_BYTES

    def __len__(self) -> int:
        """Count the records of all tasks."""
        return sum(map(len, self._filled.values()))

    @property
    def n_partitions(self) -> int:
        """The number of partitions that are open."""
        return len(self._numbers)

    @property
    def _n_bytes(self) -> int:
        return sum(waiting.n_bytes for waiting in self._filled.values())

    def is_full(self, max_records: int) -> bool:
        """Return whether a batch of so many records is here, or one of as many bytes as it may have."""
        return len(self) >= max_records or self._n_bytes >= BATCH_BYTES

    def room(self, max_records: int) -> int:
        """Return how many records to poll for, if so many may wait and those to come are like those here.

        Where there is no room, those here may wait for another place's; of one alone a poll has to take one.
        """
        if count := len(self):
            self._record_bytes = self._n_bytes // count
        left = min(max_records - count, (BATCH_BYTES - self._n_bytes) // self._record_bytes)
        if left > 0:
            return min(left, _MOST_POLLED)
        return _MOST_WITHOUT_ROOM if self._merges else 1

    @property
    def _merges(self) -> bool:
        """Whether a task has several places."""
        return len(self._topics) > 1 or len(self._tasks) < len(self._numbers)

    def counts(self) -> Counter[Place]:
        """Count the records by topic and partition."""
        return Counter(
            {
                place: len(records)
                for waiting in self._filled.values()
                for place, records in waiting.by_place.items()
            }
        )

    def first_offset(self, topic: str, partition: int) -> int | None:
        """Return the offset of the first record that waits here; None if none does."""
        number = self._numbers.get(partition)
        records = None if number is None else self._tasks[number].by_place[topic, partition]
        return records.first_record.offset if records else None

    def open(self, task: int, partitions: Iterable[int]) -> None:
        """Take records of the partitions of a task from now on."""
        self.forget(task)
        numbers = sorted(partitions)
        places = [(topic, each) for topic in self._topics for each in numbers]
        self._tasks[task] = TaskQueue(places)
        self._numbers |= dict.fromkeys(numbers, task)
        self._ends.forget(places)

    def widen(self, task: int, partition: int) -> None:
        """Take records of one more partition of an open task; what waits stays."""
        queue = self._tasks[task]
        numbers = sorted({*(each for _, each in queue.by_place), partition})
        queue.by_place = {
            (topic, each): queue.by_place.get((topic, each), PlaceQueue())
            for topic in self._topics
            for each in numbers
        }
        self._numbers[partition] = task

    def add(self, partition: int, records: RecordBatch) -> None:
        """Take what was polled of a partition: each topic's records in their order. Not if it is not open."""
        if (number := self._numbers.get(partition)) is not None:
            waiting = self._filled[number] = self._tasks[number]
            for topic, run in records.runs():
                waiting.by_place[topic, partition].add(run)
                self._ends.delivered((topic, partition), len(run))

    def forget(self, task: int) -> None:
        """Close a task's queue and drop its records: it was revoked, or they will come again."""
        self._tasks.pop(task, None)
        self._filled.pop(task, None)
        self._numbers = {partition: number for partition, number in self._numbers.items() if number != task}

    def held(self, max_records: int) -> frozenset[Place]:
        """Return the places that are ahead of the others of their task by so much that they have to wait."""
        if not self._merges:
            return frozenset()
        return frozenset(place for waiting in self._filled.values() for place in waiting.hold(max_records))

    def next_batches(
        self, max_records: int, ask: Ask, lag: Mapping[Place, int], now: float
    ) -> dict[int, RecordBatch]:
        """Return the next batch of each task that has one now and whose turn it is.

        Parameters
        ----------
        max_records
            Of all batches together. Tasks that got none because of it are the first in the next.
        ask
            Asks the stream how much it holds.
        lag
            How much of it the client has heard of.
        now
            Monotonic seconds.

        """
        if not self._merges:
            batches = self._cut_each(max_records, TaskQueue.first_of_one)
        else:
            batches = self._cut_each(max_records, TaskQueue.first)
            left = max_records - sum(map(len, batches.values()))
            reached = self._reached(batches, left, partial(self._ends.reached, ask=ask, lag=lag, now=now))
            self._extend(batches, left, reached)
            self._note_progress(batches, max_records, now)
        given = {task: batch for task, batch in batches.items() if batch}
        for task in given:
            self._tasks[task] = self._tasks.pop(task)
            if not self._tasks[task]:
                del self._filled[task]
        return given

    def _cut_each(
        self, max_records: int, first: Callable[[TaskQueue, int], RecordBatch]
    ) -> dict[int, RecordBatch]:
        """Cut a batch of each task in its turn, until there are `max_records`; not of those behind."""
        batches = {}
        for task, waiting in self._tasks.items():
            if max_records <= 0:
                break
            if task not in self._filled:
                continue
            batches[task] = first(waiting, max_records)
            max_records -= len(batches[task])
        return batches

    def _extend(self, batches: Mapping[int, RecordBatch], left: int, reached: Collection[Place]) -> None:
        """Add to batches what need not wait for places whose end was reached, until there are `left` more."""
        for task, batch in batches.items():
            finished = [place for place in self._tasks[task].by_place if place in reached]
            if finished:
                more = self._tasks[task].first(left, finished, batch)
                left -= len(more)
                batch.extend(more)

    def _reached(
        self,
        batches: Mapping[int, RecordBatch],
        left: int,
        look: Callable[[Collection[Place]], Collection[Place]],
    ) -> Collection[Place]:
        """Find out which places end here, of those for whose sake `left` records are missing."""
        return look([place for task in batches if left > 0 for place in self._tasks[task].empty_places()])

    def _note_progress(self, batches: Mapping[int, RecordBatch], max_records: int, now: float) -> None:
        """Note since when tasks wait for another place, and not for their turn."""
        is_full = sum(map(len, batches.values())) >= max_records
        for task, waiting in self._tasks.items():
            if batches.get(task) or not waiting:
                waiting.blocked_since = None
            elif waiting.blocked_since is None and not is_full:
                waiting.blocked_since = now

    def rush(self, now: float) -> None:
        """Note that so much comes of some places that others may have to wait for their turn."""
        for waiting in self._tasks.values():
            if waiting.blocked_since is not None:
                waiting.blocked_since = now

    def blocked(self, since: float) -> list[Place]:
        """List the places from which nothing has come since then, and others wait for it."""
        return [
            place
            for waiting in self._tasks.values()
            if waiting.blocked_since is not None and waiting.blocked_since <= since
            for place in waiting.empty_places()
        ]
