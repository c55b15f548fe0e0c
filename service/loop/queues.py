"""The records that were polled and wait for their batch, by task, merged by event time over its places.

Events and labels of a partition may come from two topics, and one model may be learned from all partitions. A
client delivers them in no order to each other: in catch-up it would process a day of events before the first
label of that day. So the places of a task are merged by event time, and a record waits until every other
place has shown its next record or is known to have none (as in Kafka Streams, KIP-353). The place that is
ahead is paused meanwhile, so the queues are bounded.

A commit takes milliseconds, however much it commits, so that large batches cost less. But nothing of a batch
is visible before its commit, and all of it is done again if that fails. So processing a batch may take the
interval between two commits: a slow model gets small batches, a fast one large ones where records wait.

The time of the commit does not count: a stream that is slow needs large batches, not small ones.
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
from service.stream.batches import RecordBatch, in_step
from service.stream.protocol import TopicPartition
from service.stream.records import Record

_log = logging.getLogger(__name__)

_FIRST_RECORDS: Final = 16
"""Size before any batch was timed: a model that takes a second for an event may be behind the loop."""

_WAITING_RECORDS: Final = 100
"""Of each partition, as many may wait for its turn."""

_LEAST_SECONDS: Final = 0.02
"""What a batch may take where commits are to follow each other faster: else most of the time were theirs."""

_MOST_SECONDS: Final = 1.0
"""What a batch may take where commits are far apart: while it is processed, the model answers no request, and
`/readyz` says no after `ready_timeout_seconds`."""


class BatchSize:
    """The number of records of a batch, all partitions of the process together.

    Parameters
    ----------
    settings
        Say how far commits are apart, and how many records a batch may have.

    Attributes
    ----------
    records : int
        How many to take.

    """

    def __init__(self, settings: Settings) -> None:
        self._most = settings.max_batch_records or inf
        self._seconds = min(max(settings.commit_interval_seconds, _LEAST_SECONDS), _MOST_SECONDS)
        self.records = self._bounded(_FIRST_RECORDS)

    def _bounded(self, n_records: float) -> int:
        return int(min(max(n_records, 1), self._most))

    def waiting(self, n_partitions: int) -> int:
        """Return how many records may wait: enough for a transaction of each partition, in its turn."""
        return max(self.records, self._bounded(_WAITING_RECORDS) * n_partitions)

    def observe(self, n_records: int, seconds: float) -> None:
        """Note how long processing a batch took; adapt, by a factor of 2 at most.

        A batch that was not full and did not take too long says nothing of a full one.
        """
        if n_records >= self.records or seconds > self._seconds:
            wanted = n_records * self._seconds / seconds if seconds > 0 else inf
            self.records = self._bounded(min(max(wanted, self.records / 2), self.records * 2))


_WEIGHT: Final = 1 / 8
"""Of the last batch in the mean of what batches take."""


class BatchTime:
    """Decides when the waiting records are a batch, full or not; in monotonic seconds.

    A batch is due one wait after the one before, unless more records are known to come: then it may as well
    be full, and is waited for until one wait after the first record. A wait is the commit interval less what
    processing and committing a batch takes (a moving mean, and half the interval at most): so a record's
    answer is visible one interval after the record came, and not later by what the commit took.

    Parameters
    ----------
    interval_seconds
        From a record to its answer, while the service keeps up.

    Attributes
    ----------
    due : float
        The time; infinity while nothing waits.
    expects_no_more : bool
        Whether records that the client has not heard of are not waited for.

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
        """Note that records wait, and whether the client has heard of more."""
        self.due = min(self.due, now + self._wait_seconds)
        if not more_comes:
            self.due = min(
                self.due, now if self.expects_no_more else self._last_batch_at + self._wait_seconds
            )

    def forget(self) -> None:
        """Note that nothing waits any more."""
        self.due = inf

    def batch_taken(self, now: float) -> None:
        """Note that a batch was taken; what is left of the records waits from now on."""
        self.due, self._last_batch_at = inf, now

    def batch_committed(self, now: float) -> None:
        """Note that the batch taken last was committed."""
        self._lead_seconds += _WEIGHT * (now - self._last_batch_at - self._lead_seconds)


_FRESH_SECONDS: Final = 0.1
"""How long an answer is good for: by so much at most a record can be older than its end is known to be."""

_ASK_AGAIN_SECONDS: Final = 1.0
"""How long a stream is left alone that did not answer."""

Ask = Callable[[Collection[TopicPartition]], Mapping[TopicPartition, int]]
"""`Consumer.remaining`."""


@dataclass(slots=True)
class _Answer:
    """What was said of one place."""

    good_until: float
    lag: int
    """How far behind the client believed to be then: it may hear of more before it is delivered."""
    left: int | None
    """Offsets from what was delivered to the end at that time; None without an answer."""


class TopicEnds:
    """Remembers how far the ends of places are, and asks again when that is long ago.

    A stream that is queried knows its end, but not what is written afterwards. An answer is therefore good
    for a moment only, but that moment is long compared to a batch: a query for each batch would cost more
    than reading.
    """

    def __init__(self) -> None:
        self._answers: dict[TopicPartition, _Answer] = {}

    def delivered(self, place: TopicPartition, count: int) -> None:
        """Note that `count` records of `place` were delivered: it is so much nearer to its end."""
        answer = self._answers.get(place)
        if answer is not None and answer.left is not None:
            answer.left -= count
            answer.lag = 0  # whatever the client has heard of since is news

    def forget(self, places: Collection[TopicPartition]) -> None:
        """Forget what is known of places, which are to be read from elsewhere."""
        self._answers = {place: each for place, each in self._answers.items() if place not in places}

    def reached(
        self, places: Collection[TopicPartition], ask: Ask, lag: Mapping[TopicPartition, int], now: float
    ) -> frozenset[TopicPartition]:
        """Return those of the places that were delivered up to their ends, as known a moment ago or now.

        Parameters
        ----------
        places
            Of which nothing waits any more.
        ask
            Asks the stream.
        lag
            What the client has heard of, and not delivered.
        now
            Monotonic seconds.

        """
        doubtful = [place for place in places if self._is_doubtful(place, lag.get(place, 0), now)]
        if doubtful:
            self._ask(doubtful, ask, lag, now)
        return frozenset(place for place in places if self._answers[place].left == 0)

    def _is_doubtful(self, place: TopicPartition, lag: int, now: float) -> bool:
        """Return whether to ask: the answer is old, or there is more than it knew of."""
        answer = self._answers.get(place)
        if answer is None or now >= answer.good_until:
            return True
        return answer.left is not None and (answer.left < 0 or lag > answer.lag)

    def _ask(
        self, places: Collection[TopicPartition], ask: Ask, lag: Mapping[TopicPartition, int], now: float
    ) -> None:
        try:
            left: Mapping[TopicPartition, int | None] = ask(places)
            good_until = now + _FRESH_SECONDS
        except TransportUnavailable as error:
            _log.debug("the topics' ends are unknown: %s", error)
            left, good_until = {}, now + _ASK_AGAIN_SECONDS
        self._answers |= {place: _Answer(good_until, lag.get(place, 0), left.get(place)) for place in places}


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

    def __init__(self, places: Iterable[TopicPartition]) -> None:
        self.by_place = {place: PlaceQueue() for place in places}
        self.held: set[TopicPartition] = set()
        self.blocked_since: float | None = None

    def __len__(self) -> int:
        """Count the records of all places."""
        return sum(map(len, self.by_place.values()))

    @property
    def n_bytes(self) -> int:
        """What the records count for, all together."""
        return sum(records.n_bytes for records in self.by_place.values())

    def first(
        self, max_records: int, finished: Collection[TopicPartition] = (), before: RecordBatch | None = None
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

    def _cut(self, records: RecordBatch, max_records: int, before: RecordBatch) -> RecordBatch:
        """Return as many of these as a batch may have with those before them; of none it has one at least."""
        count = records.n_within(max_records, BATCH_BYTES - before.size_bytes())
        count = count or min(max_records, 0 if before else 1)
        return records if count == len(records) else records[:count]

    def empty_places(self) -> list[TopicPartition]:
        """List the places that keep the others waiting, if any waits."""
        empty = [place for place, records in self.by_place.items() if not records]
        return empty if len(empty) < len(self.by_place) else []

    def hold(self, batch_records: int) -> Collection[TopicPartition]:
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
        self._filled: dict[int, TaskQueue] = {}
        """Those in which records wait, in the order of their turns: of hundreds, a few in a quiet stream."""
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

    def counts(self) -> Counter[TopicPartition]:
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

    def held(self, max_records: int) -> frozenset[TopicPartition]:
        """Return the places that are ahead of the others of their task by so much that they have to wait."""
        if not self._merges:
            return frozenset()
        return frozenset(place for waiting in self._filled.values() for place in waiting.hold(max_records))

    def next_batches(
        self, max_records: int, ask: Ask, lag: Mapping[TopicPartition, int], now: float
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
        batches: dict[int, RecordBatch] = {}
        left = max_records
        for task, waiting in self._filled.items():
            if left <= 0:
                break
            batches[task] = waiting.first(left)
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
        """Add to batches what need not wait for places whose end is reached, until there are `left` more."""
        empty = {task: self._filled[task].empty_places() for task in batches}
        reached = self._ends.reached([*chain(*empty.values())], ask, lag, now)
        for task, batch in batches.items():
            if finished := reached.intersection(empty[task]):
                more = self._filled[task].first(left, finished, batch)
                left -= len(more)
                batch.extend(more)

    def rush(self, now: float) -> None:
        """Note that so much comes of some places that others may have to wait for their turn."""
        for waiting in self._filled.values():
            if waiting.blocked_since is not None:
                waiting.blocked_since = now

    def blocked(self, since: float) -> list[TopicPartition]:
        """List the places from which nothing has come since then, and others wait for it."""
        return [
            place
            for waiting in self._filled.values()
            if waiting.blocked_since is not None and waiting.blocked_since <= since
            for place in waiting.empty_places()
        ]
