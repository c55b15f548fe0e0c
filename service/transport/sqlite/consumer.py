"""One member of a consumer group of the embedded stream."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress

from service.batches import RecordBatch
from service.errors import OffsetOutOfRange, OwnershipLost, TransportError
from service.stream import NOWHERE, Assignee, Place
from service.transport.sqlite.database import Database
from service.transport.sqlite.group import Assignment, Membership
from service.transport.sqlite.liveness import Heartbeat
from service.transport.sqlite.log import Log, log_bounds
from service.transport.sqlite.shares import shares
from service.transport.sqlite.writer import SqliteWriter, Transactions

_NAP_SECONDS = 0.005
"""Between two checks for new records: the longest delay this transport adds to a message."""
_LOOK_SECONDS = 1.0
"""How often to check for dead members, even when nobody writes."""


class SqliteConsumer:
    """One member of a consumer group; see `service.stream.Consumer`."""

    def __init__(
        self,
        database: Database,
        log: Log,
        group: str,
        topics: Sequence[str],
        assignee: Assignee,
        *,
        session_seconds: float,
        patience_seconds: float,
    ) -> None:
        self._database = database
        self._log = log
        self._group = group
        self._topics = tuple(topics)
        self._assignee = assignee
        self._announced: frozenset[int] = frozenset()  # the partitions that the assignee knows of
        self._positions: dict[Place, int] = {}  # of partitions that were started
        self._ends: dict[Place, int] = {}  # as last seen
        self._is_settled = False
        self._seen: tuple[int, int] | None = None
        self._next_check_at = 0.0
        self._turn = 0
        self._closed = False
        self._membership = Membership(database, group, topics[0], len(log.logs(topics[0])), session_seconds)
        self._membership.enter()
        self._transactions = Transactions(database, log, self._membership)
        self._heartbeat = Heartbeat(
            self._membership.renew, interval_seconds=session_seconds / 6, patience_seconds=patience_seconds
        )

    def poll(
        self, timeout_seconds: float, max_records: int, hold: AbstractSet[Place] = NOWHERE
    ) -> dict[int, RecordBatch]:
        """Wait for records, or until partitions came or went; see the protocol."""
        if self._closed:
            raise TransportError(f"{self._membership} has left")
        deadline = time.monotonic() + timeout_seconds
        self._heartbeat.polled()
        while True:
            version = self._database.version()
            changed = self._follow_group(version)
            records = self._fetch(max_records, hold)
            # The assignee may want to start new partitions before the wait goes on.
            if records or changed or not self._wait(version, deadline):
                return records

    def _wait(self, version: tuple[int, int], deadline: float) -> bool:
        """Sleep until there may be something new; False when the time is over."""
        while (now := time.monotonic()) < deadline:
            if now >= self._next_check_at or self._database.version() != version:
                return True
            time.sleep(min(_NAP_SECONDS, deadline - now))
        return False

    def _follow_group(self, version: tuple[int, int]) -> bool:
        """Follow the group if it may have changed; return whether this member's partitions did."""
        now = time.monotonic()
        if version == self._seen and now < self._next_check_at:
            return False
        before = self._announced
        self._membership.renew()
        self._follow(self._rebalance())
        self._seen, self._next_check_at = version, now + _LOOK_SECONDS
        return self._announced != before

    def _rebalance(self) -> Assignment:
        assignment = self._membership.rebalance()
        while assignment is None:
            self._lose(self._announced)
            self._membership.enter()
            assignment = self._membership.rebalance()
        return assignment

    def _follow(self, assignment: Assignment) -> None:
        """Call the assignee for partitions that were lost, must be released and came, in this order."""
        self._lose(self._announced - assignment.owned)
        self._hand_over(assignment.owned - assignment.assigned)
        fresh = (assignment.owned & assignment.assigned) - self._announced
        self._is_settled = assignment.owned == assignment.assigned
        if fresh:
            self._announced |= fresh
            try:
                self._assignee.partitions_assigned(fresh)
            except BaseException:
                self._forget(fresh)  # to be announced again at the next poll
                raise

    def _hand_over(self, partitions: frozenset[int]) -> None:
        if known := partitions & self._announced:
            self._assignee.partitions_revoked(known)
            self._forget(known)
        if partitions:
            self._membership.release(partitions)

    def _lose(self, partitions: frozenset[int]) -> None:
        if partitions:
            self._forget(partitions)
            self._assignee.partitions_lost(partitions)

    def _forget(self, partitions: frozenset[int]) -> None:
        self._announced -= partitions
        self._forget_positions(partitions)

    def _forget_positions(self, partitions: frozenset[int]) -> None:
        self._positions = {place: at for place, at in self._positions.items() if place[1] not in partitions}

    def _fetch(self, max_records: int, hold: AbstractSet[Place]) -> dict[int, RecordBatch]:
        """Read the next records of the started partitions, each place that is not held getting its share."""
        if not self._positions:
            return {}
        records: dict[int, RecordBatch] = {}
        positions = dict(self._positions)
        with self._database.reading() as connection:
            for place, position in positions.items():
                first, self._ends[place] = log_bounds(connection, self._log.log(*place))
                if not first <= position <= self._ends[place]:
                    raise self._out_of_range(*place, position)
            available = {
                place: self._ends[place] - position
                for place, position in positions.items()
                if place not in hold
            }
            grants = shares(max_records, available, self._turn)
            for topic, partition in sorted(grants, key=self._order):
                start = positions[topic, partition]
                end = start + grants[topic, partition]
                page = self._log.page(connection, topic, partition, start, end)
                positions[topic, partition] = page.next_offsets()[topic]
                records.setdefault(partition, RecordBatch()).extend(page)
        # Only now: had anything failed, the records must come again.
        self._positions = positions
        self._turn += 1
        return records

    def _out_of_range(self, topic: str, partition: int, position: int) -> OffsetOutOfRange:
        """Make the error for a position without records, and stop delivering the partition."""
        self._forget_positions(frozenset({partition}))
        return OffsetOutOfRange(
            f"{topic}[{partition}]@{position}: there is no such offset in {self._database.name}",
            partition=partition,
        )

    def _order(self, place: Place) -> tuple[int, int]:
        topic, partition = place
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
        """Return the group's committed next offsets; `writer` has fenced all earlier ones."""
        for partition in partitions:
            self._require(partition)
        return {each: self._log.committed(self._group, self._topics, each) for each in partitions}

    def writer(self, partition: int) -> SqliteWriter:
        """Make the writer of an assigned partition, fencing any earlier one."""
        self._require(partition)
        return self._writer(self._transactions, partition, self._membership.next_epoch(partition))

    def send(self) -> None:
        """Commit what writers have begun; see `Consumer.send`."""
        self._transactions.send()

    def appender(self, partition: int) -> SqliteWriter:
        """Make the writer that appends to the input of an assigned partition, in the present epoch."""
        self._require(partition)
        transactions = Transactions(self._database, self._log, self._membership)
        return self._writer(transactions, partition, self._membership.epoch(partition))

    def _writer(self, transactions: Transactions, partition: int, epoch: int) -> SqliteWriter:
        return SqliteWriter(transactions, self._log, self._group, partition, epoch)

    def _require(self, partition: int) -> None:
        if partition not in self._announced:
            raise OwnershipLost(f"{self._topics[0]}[{partition}] is not assigned to {self._membership}")

    def positions(self, partition: int) -> dict[str, int]:
        """Return the next offset to be delivered, by topic."""
        return {topic: at for (topic, each), at in self._positions.items() if each == partition}

    def lag(self) -> dict[Place, int]:
        """Count the records not yet delivered, as of the last poll, without a read."""
        return {place: max(0, self._ends[place] - at) for place, at in self._positions.copy().items()}

    def remaining(self, places: Collection[Place]) -> dict[Place, int]:
        """Count the offsets up to the present ends; see `Consumer.remaining`."""
        return {
            place: max(0, self._log.bounds(*place)[1] - self._positions[place])
            for place in places
            if place in self._positions
        }

    def has_joined(self) -> bool:
        """Return whether this member owns all that it is assigned; not before the first poll."""
        return self._is_settled

    def at_end(self) -> bool:
        """Return whether everything there is was delivered; False until every assigned partition has come."""
        started = {partition for _, partition in self._positions}
        if not self._is_settled or started != self._announced:
            return False
        return not any(self.remaining(self._positions).values())

    def close(self) -> None:
        """Leave the group: last commits first, then the partitions are free. Idempotent."""
        if self._closed:
            return
        self._closed = True
        try:
            self._part()
        finally:
            self.abandon()

    def _part(self) -> None:
        self._lose(self._announced - self._membership.owned())
        if self._announced:
            self._assignee.partitions_revoked(self._announced)
            self._forget(self._announced)

    def abandon(self) -> None:
        """Leave the group without a call to the assignee: nothing more can be committed. Idempotent."""
        self._closed = True
        self._heartbeat.stop()
        self._is_settled = False
        # If the stream is unreachable, the lease expires by itself.
        with suppress(TransportError):
            self._membership.leave()
