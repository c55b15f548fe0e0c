"""A Kafka cluster as a stream, through whichever client."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from time import monotonic, sleep
from types import MappingProxyType
from typing import Final
from weakref import WeakSet

from service.stream import Assignee, Consumer, Follower, Output, Place, Record, topics_of
from service.transport.kafka.cluster import Bound, KafkaCluster, Producer
from service.transport.kafka.errors import away
from service.transport.kafka.limits import (
    REQUEST_TIMEOUT_SECONDS,
    SETTLE_SECONDS,
    ClientOptions,
    TopicLimits,
)
from service.transport.kafka.member import KafkaMember
from service.transport.kafka.topics import KafkaTopics
from service.transport.topics import check_read_together

_READ_WAIT_SECONDS: Final = 0.1


class KafkaTransport(KafkaTopics):
    """A stream in an Apache Kafka cluster (2.5 or newer).

    Parameters
    ----------
    reach
        Makes the cluster of the next two: the class of an adapter.
    bootstrap_servers
        `host:port` of one or more brokers.
    client_options
        The client's own options for all that it opens: security, mostly.
    session_timeout_seconds
        Without a heartbeat for this long, a member's partitions go to another.
    instance_id
        Name for static membership: a restart within the session timeout causes no rebalance.
    transaction_timeout_seconds
        After this the broker itself ends a transaction that nobody has taken over.
    commit_timeout_seconds
        How long a commit or a `produce` may take before it counts as failed.

    Raises
    ------
    TransportUnavailable
        No broker answers.
    AccessRefused, ConfigurationError
        As their names say.

    """

    def __init__(
        self,
        reach: Callable[[Sequence[str], Mapping[str, object]], KafkaCluster],
        bootstrap_servers: Sequence[str],
        *,
        client_options: Mapping[str, object] = MappingProxyType({}),
        session_timeout_seconds: float = 10.0,
        instance_id: str | None = None,
        transaction_timeout_seconds: float = 60.0,
        commit_timeout_seconds: float = 30.0,
    ) -> None:
        self._options = ClientOptions(
            session_timeout_seconds=session_timeout_seconds,
            instance_id=instance_id or None,
            transaction_timeout_seconds=transaction_timeout_seconds,
            commit_timeout_seconds=commit_timeout_seconds,
            limits=TopicLimits(),
        )
        # The producer may be dropped on one thread while another would use it.
        self._lock = threading.RLock()
        self._producer: Producer | None = None
        self._reads: WeakSet[Generator[Record]] = WeakSet()
        """Those that may not have ended."""
        self._members: WeakSet[KafkaMember] = WeakSet()
        super().__init__(reach(bootstrap_servers, client_options), self._options.limits)

    @property
    def offsets_are_dense(self) -> bool:
        """Return False: markers of transactions and records of aborted ones occupy offsets."""
        return False

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the first offset and the one after the last committed record; see `Transport.bounds`."""
        return self.bounds_of([(topic, partition)])[topic, partition]

    def bounds_of(self, places: Collection[Place]) -> dict[Place, tuple[int, int]]:
        """Return the bounds of several partitions; see `Transport.bounds_of`."""
        self._check_topics({topic for topic, _ in places})
        first = self._cluster.offsets_at(places, Bound.FIRST)
        ends = self._committed_ends(places)
        return {each: (first[each], ends[each]) for each in places}

    def first_at(self, topic: str, partition: int, time_ms: int) -> int:
        """Return where the records from a time on begin; see `Transport.first_at`."""
        end = self.bounds(topic, partition)[1]
        found = self._cluster.offsets_at([(topic, partition)], time_ms)[topic, partition]
        return end if found < 0 else found

    def _committed_ends(self, places: Collection[Place]) -> dict[Place, int]:
        """Find the ends that a reader of committed records sees.

        A commit returns when the broker has noted it, a little before the partitions have: what was written
        but is not yet visible is given a moment. It may also belong to a transaction that stays open.
        """
        written = self._cluster.offsets_at(places, Bound.WRITTEN)
        deadline = monotonic() + SETTLE_SECONDS
        while True:
            ends = self._cluster.offsets_at(places, Bound.COMMITTED)
            if all(ends[each] >= written[each] for each in places) or monotonic() >= deadline:
                return ends
            sleep(SETTLE_SECONDS / 100)

    def read(self, topic: str, partition: int, start: int = 0, end: int | None = None) -> Iterator[Record]:
        """Yield committed records; see `Transport.read`. The transport's `close` ends it."""
        first, present_end = self.bounds(topic, partition)
        start, stop = max(start, first), present_end if end is None else min(end, present_end)
        return self.read_together(topic, {partition: (start, stop)})

    def read_together(self, topic: str, ranges: Mapping[int, tuple[int, int]]) -> Iterator[Record]:
        """Yield the records of several partitions, by one reader; see `Transport.read_together`."""
        wanted = {partition: bounds for partition, bounds in ranges.items() if bounds[0] < bounds[1]}
        records = self._read(topic, wanted)
        self._reads.add(records)
        return records

    def _read(self, topic: str, ranges: Mapping[int, tuple[int, int]]) -> Generator[Record]:
        """Read until each position has passed its end: the last offsets may be transaction markers."""
        if not ranges:
            return
        starts = {partition: start for partition, (start, _) in ranges.items()}
        with closing(self._cluster.open_reader(topic, starts)) as reader:
            ends = {partition: end for partition, (_, end) in ranges.items()}
            positions: dict[int, int | None] = {}
            last_progress = monotonic()
            while ends:
                for record in reader.poll(_READ_WAIT_SECONDS):
                    if record.offset < ends.get(record.partition, 0):
                        yield record
                        last_progress = monotonic()
                before, positions = positions, {each: reader.position(each) for each in ends}
                ends = {each: end for each, end in ends.items() if (positions[each] or 0) < end}
                if positions != before:
                    last_progress = monotonic()
                elif monotonic() - last_progress > REQUEST_TIMEOUT_SECONDS:
                    partition = next(iter(ends))
                    raise away(f"{topic}[{partition}]@{positions[partition]}: {self._cluster.name}")

    def follow(self, topic: str, offsets: Mapping[int, int]) -> Follower:
        """Return what reads `topic` from these offsets on; see `Transport.follow`."""
        self._check_topics({topic})
        return self._cluster.open_reader(topic, offsets)

    def committed(self, group: str, topics: Sequence[str], partition: int) -> dict[str, int]:
        """Return a group's committed next offsets by topic; see `Transport.committed`."""
        found = self._cluster.committed(group, topics, [partition])
        if partition not in found:
            raise away(f"{self._cluster.name}: the offsets of the group {group!r}")
        return dict(found[partition])

    def produce(self, outputs: Sequence[Output]) -> None:
        """Write `outputs`, each acknowledged by the broker when this returns; not atomic."""
        if not outputs:
            return
        topics = topics_of(outputs)
        self._check_topics(topics)
        with self._lock:
            if self._producer is None:
                for topic in topics:
                    self.record_limit(topic)
                self._producer = self._cluster.open_producer(self._options)
            deadline = monotonic() + self._options.commit_timeout_seconds
            try:
                with self._cluster.translated(self._cluster.name):
                    self._producer.send_outputs(outputs, deadline)
            except BaseException:
                # What it has not sent must not follow later, behind what is sent in its place.
                self._drop_producer()
                raise

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """Delete the records before `offset`; see `Transport.delete_before`."""
        self._cluster.delete_before(topic, partition, offset)

    def join(self, group: str, topics: Sequence[str], assignee: Assignee) -> Consumer:
        """Join `group`; see `Transport.join`."""
        check_read_together({topic: self.partition_count(topic) for topic in topics})
        member = self._cluster.member(
            self._cluster, group, topics, assignee, self._options, self._find_topics
        )
        self._members.add(member)
        return member

    def close(self) -> None:
        """Release everything, also what unfinished reads have open. Idempotent."""
        # Left to the end of the process, the client of a read may wait for a thread that is gone.
        for records in tuple(self._reads):
            with suppress(ValueError):  # it is read on another thread, and ends there
                records.close()
        for member in tuple(self._members):
            member.abandon()
        with self._lock:
            self._drop_producer()
            self._cluster.close()

    def _drop_producer(self) -> None:
        if self._producer is not None:
            self._producer.drop()
            self._producer = None
