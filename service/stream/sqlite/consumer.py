"""The consumer of a group of the embedded stream, and its writers, in the one process that owns the group."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from service.errors import OffsetOutOfRange, OwnershipLost, ServiceError, TransportError, raise_first
from service.stream.batches import RecordBatch
from service.stream.protocol import NOWHERE, Assignee, Output, TopicPartition, Writer
from service.stream.sqlite.database import Database, OwnerLock
from service.stream.sqlite.log import Log, Row, log_bounds

_NAP_SECONDS: Final = 0.005
"""Time between two checks for new records, and so the largest delay that this transport adds."""
_CHECK_INTERVAL_SECONDS: Final = 0.5
"""How often to check for added partitions, and whether another owner has left."""
_log = logging.getLogger(__name__)


class SqliteConsumer:
    """The owner of all partitions, or a candidate that waits; see `service.stream.protocol.Consumer`.

    A group has one owner at a time, which holds its `OwnerLock`. Other consumers of the group are assigned
    nothing until the owner closes or its process ends.
    """

    def __init__(
        self, database: Database, log: Log, group: str, topics: Sequence[str], assignee: Assignee
    ) -> None:
        self._database = database
        self._log = log
        self._group = group
        self._topics = tuple(topics)
        self._assignee = assignee
        self._lock = OwnerLock(database, group)
        self._announced: frozenset[int] = frozenset()
        """The partitions that the assignee was notified of."""
        self._positions: dict[TopicPartition, int] = {}
        """The next offset to deliver, for started partitions."""
        self._ends: dict[TopicPartition, int] = {}
        """The ends as of the last poll."""
        self._writers: dict[int, SqliteWriter] = {}
        """The newest writer of each partition."""
        self._has_joined = False
        self._next_check_at = 0.0
        self._turn = 0
        self._closed = False
        self._transactions = Transactions(database, log)

    def __str__(self) -> str:
        return f"the group {self._group!r} in {self._database.name}"

    def poll(
        self, timeout_seconds: float, max_records: int, hold: AbstractSet[TopicPartition] = NOWHERE
    ) -> dict[int, RecordBatch]:
        """Wait for records or new partitions; see the protocol."""
        if self._closed:
            raise TransportError(f"this consumer has left {self}")
        deadline = time.monotonic() + timeout_seconds
        while True:
            version = self._database.version()
            changed = self._update_ownership()
            records = self._fetch(max_records, hold)
            # The assignee may start new partitions before the wait continues.
            if records or changed or not self._wait(version, deadline):
                return records

    def _wait(self, version: tuple[int, int], deadline: float) -> bool:
        """Sleep until there may be new records; return False when the time is over."""
        while (now := time.monotonic()) < deadline:
            if now >= self._next_check_at or self._database.version() != version:
                return True
            time.sleep(min(_NAP_SECONDS, deadline - now))
        return False

    def _update_ownership(self) -> bool:
        """Become the owner if there is none, and announce new partitions; return whether there were any."""
        if time.monotonic() < self._next_check_at:
            return False
        self._next_check_at = time.monotonic() + _CHECK_INTERVAL_SECONDS
        if not self._lock.acquire():
            if not self._has_joined:
                _log.warning("%s is in use by %s: waiting until it ends", self, self._lock.holder())
            self._has_joined = True
            return False
        fresh = frozenset(range(self._log.partition_count(self._topics[0]))) - self._announced
        self._has_joined = True
        if fresh:
            self._announced |= fresh
            try:
                self._assignee.partitions_assigned(fresh)
            except BaseException:
                self._forget(fresh)  # the next poll announces them again
                self._next_check_at = 0.0
                raise
        return bool(fresh)

    def _forget(self, partitions: frozenset[int]) -> None:
        self._announced -= partitions
        self._forget_positions(partitions)

    def _forget_positions(self, partitions: frozenset[int]) -> None:
        self._positions = {each: at for each, at in self._positions.items() if each[1] not in partitions}

    def _fetch(self, max_records: int, hold: AbstractSet[TopicPartition]) -> dict[int, RecordBatch]:
        """Read the next records of the started partitions, a share of each partition that is not held."""
        if not self._positions:
            return {}
        records: dict[int, RecordBatch] = {}
        positions = dict(self._positions)
        with self._database.reading() as connection:
            for topic_partition, position in positions.items():
                first, self._ends[topic_partition] = log_bounds(connection, self._log.log(*topic_partition))
                if not first <= position <= self._ends[topic_partition]:
                    raise self._out_of_range(*topic_partition, position)
            available = {
                each: self._ends[each] - position for each, position in positions.items() if each not in hold
            }
            grants = shares(max_records, available, self._turn)
            for topic, partition in sorted(grants, key=self._order):
                start = positions[topic, partition]
                end = start + grants[topic, partition]
                page = self._log.page(connection, topic, partition, start, end)
                positions[topic, partition] = page.next_offsets()[topic, partition]
                records.setdefault(partition, RecordBatch()).extend(page)
        # Only now: after a failure, the records must be delivered again.
        self._positions = positions
        self._turn += 1
        return records

    def _out_of_range(self, topic: str, partition: int, position: int) -> OffsetOutOfRange:
        """Return the error for a position out of range, and stop delivering the partition."""
        self._forget_positions(frozenset({partition}))
        return OffsetOutOfRange(
            f"{topic}[{partition}]@{position}: this offset does not exist in {self._database.name}",
            partition=partition,
        )

    def _order(self, topic_partition: TopicPartition) -> tuple[int, int]:
        topic, partition = topic_partition
        return partition, self._topics.index(topic)

    def start(self, partition: int, offsets: Mapping[str, int]) -> None:
        """Deliver records of `partition` from these offsets on.

        Raises
        ------
        OwnershipLost
            The partition is not assigned to this member.

        """
        self._require(partition)
        for topic in self._topics:
            first, self._ends[topic, partition] = self._log.bounds(topic, partition)
            self._positions[topic, partition] = offsets.get(topic, first)

    def take_over(self, partitions: Collection[int], log: str = "") -> dict[int, Mapping[str, int]]:  # noqa: ARG002 - all that is written is decided
        """Return the group's committed next offsets; `writer` has fenced all earlier writers."""
        for partition in partitions:
            self._require(partition)
        return {each: self._log.committed(self._group, self._topics, each) for each in partitions}

    def writer(self, partition: int) -> SqliteWriter:
        """Make the writer of an assigned partition, fencing any earlier one."""
        self._require(partition)
        writer = SqliteWriter(self._transactions, self._log, self._group, partition, self._check_newest)
        self._writers[partition] = writer
        return writer

    def send(self) -> None:
        """Commit the outputs and offsets of the writers; see `Consumer.send`."""
        self._transactions.send()

    def appender(self, partition: int) -> SqliteWriter:
        """Make the writer that appends to the input of an assigned partition."""
        self._require(partition)
        transactions = Transactions(self._database, self._log)
        return SqliteWriter(transactions, self._log, self._group, partition, self._check_owner)

    def _check_newest(self, writer: SqliteWriter, partition: int) -> None:
        """Raise `OwnershipLost` unless this is the owner, and the writer has no successor."""
        self._check_owner(writer, partition)
        if self._writers[partition] is not writer:
            raise OwnershipLost(f"{self._topics[0]}[{partition}] has a newer writer of {self}")

    def _check_owner(self, _: SqliteWriter, partition: int) -> None:
        if not self._lock.is_held:
            raise OwnershipLost(f"{self._topics[0]}[{partition}] no longer belongs to this writer of {self}")

    def _require(self, partition: int) -> None:
        if partition not in self._announced:
            raise OwnershipLost(f"{self._topics[0]}[{partition}] is not assigned to this consumer of {self}")

    def positions(self, partition: int) -> dict[str, int]:
        """Return the next offset to deliver, by topic."""
        return {topic: at for (topic, each), at in self._positions.items() if each == partition}

    def lag(self) -> dict[TopicPartition, int]:
        """Count the undelivered records as of the last poll, without a read."""
        return {each: max(0, self._ends[each] - at) for each, at in self._positions.copy().items()}

    def remaining(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Count the offsets up to the present ends; see `Consumer.remaining`."""
        return {
            partition: max(0, self._log.bounds(*partition)[1] - self._positions[partition])
            for partition in partitions
            if partition in self._positions
        }

    def has_joined(self) -> bool:
        """Return whether the owner is known: this consumer or another one."""
        return self._has_joined

    def at_end(self) -> bool:
        """Return whether all records were delivered; False until every assigned partition was started."""
        started = {partition for _, partition in self._positions}
        if not self._has_joined or started != self._announced:
            return False
        return not any(self.remaining(self._positions).values())

    def close(self) -> None:
        """Notify the assignee, which may commit, then release the ownership. Idempotent."""
        if self._closed:
            return
        self._closed = True
        try:
            if self._announced:
                self._assignee.partitions_revoked(self._announced)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Leave without notifying the assignee: nothing more can be committed. Idempotent."""
        self._closed, self._has_joined = True, False
        self._forget(self._announced)
        self._lock.release()


@dataclass(eq=False, slots=True)
class TransactionPart:
    """One writer's part of a transaction, and its result."""

    check: Callable[[], None]
    """Raises `OwnershipLost` if the writer may no longer write."""
    rows: Sequence[Row]
    committed: Sequence[tuple[str, int, int]]
    errors: list[ServiceError] = field(default_factory=list)


class Transactions:
    """Commits the parts of several writers in one durable transaction; see `Consumer.send`.

    The part of a writer that may no longer write is left out. Any other error fails all parts.
    """

    def __init__(self, database: Database, log: Log) -> None:
        self._database = database
        self._log = log
        self._added: list[TransactionPart] = []

    def add(self, part: TransactionPart) -> None:
        """Add a part to the next transaction."""
        self._added.append(part)

    def send(self) -> None:
        """Commit the added parts, on the calling thread."""
        parts, self._added = self._added, []
        if not parts:
            return
        try:
            with self._database.writing() as connection:
                for part in parts:
                    try:
                        part.check()
                    except OwnershipLost as error:
                        part.errors.append(error)
                        continue
                    self._log.append(connection, part.rows)
                    connection.executemany("REPLACE INTO committed VALUES (?, ?, ?)", part.committed)
        except ServiceError as error:
            for part in parts:
                part.errors.append(error)

    def finish(self, part: TransactionPart) -> None:
        """Commit a part unless `send` did. Raises `ServiceError`."""
        if part in self._added:
            self.send()
        raise_first(part.errors)


class SqliteWriter(Writer):
    """Writes for one partition; see `service.stream.protocol.Writer`.

    Parameters
    ----------
    transactions, log, group, partition
        The destination.
    check
        Raises `OwnershipLost` if the writer may no longer write.

    """

    def __init__(
        self,
        transactions: Transactions,
        log: Log,
        group: str,
        partition: int,
        check: Callable[[SqliteWriter, int], None],
    ) -> None:
        self._transactions = transactions
        self._log = log
        self._group = group
        self._partition = partition
        self._check = check
        self._part: TransactionPart | None = None

    def begin(
        self,
        outputs: Sequence[Output],
        offsets: Mapping[str, int],
        *,
        compress: bool = False,  # noqa: ARG002 - nothing is compressed here
    ) -> None:
        """Add `outputs` and the group's next offsets to the next transaction."""
        assert self._part is None, "the preceding commit did not finish"
        rows = self._log.prepare(outputs)
        committed = [
            (self._group, self._log.log(topic, self._partition), offset) for topic, offset in offsets.items()
        ]
        self._part = TransactionPart(partial(self._check, self, self._partition), rows, committed)
        self._transactions.add(self._part)

    def finish(self) -> None:
        """Wait for the commit; raise its error."""
        if self._part is not None:
            part, self._part = self._part, None
            self._transactions.finish(part)

    def close(self) -> None:
        """Wait for the commit that was begun. The writer's successor fences it."""
        with suppress(ServiceError):
            self.finish()


def shares(budget: int, available: Mapping[TopicPartition, int], turn: int) -> dict[TopicPartition, int]:
    """Divide `budget` records among sources, so that none waits for another's backlog.

    Small sources get all they have, large ones equal parts of the rest. If there are more sources than
    records, they take turns. Partitions without a share are left out.

    Examples
    --------
    >>> shares(10, {("events", 0): 100, ("events", 1): 2, ("events", 2): 0}, 0)
    {('events', 1): 2, ('events', 0): 8}

    """
    sources = [source for source in available if available[source] > 0]
    first = turn % max(1, len(sources))
    sources = (sources[first:] + sources[:first])[:budget]
    granted = {}
    for left, source in zip(
        range(len(sources), 0, -1), sorted(sources, key=available.__getitem__), strict=True
    ):
        granted[source] = min(available[source], budget // left)
        budget -= granted[source]
    return granted
