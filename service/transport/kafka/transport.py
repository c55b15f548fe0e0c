"""A Kafka cluster as a stream, through whichever client. In: topics and outputs. Out: records, members."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from time import monotonic, sleep
from types import MappingProxyType
from typing import Generic, Protocol, TypeVar
from uuid import UUID

from service.errors import AccessRefused, ConfigurationError
from service.stream import Assignee, Consumer, Output, Record, RecordLimit
from service.transport.kafka.errors import missing
from service.transport.kafka.limits import (
    KEEP_FOREVER,
    MAX_MESSAGE_BYTES,
    METADATA_SECONDS,
    SETTLE_SECONDS,
    ConsumerOptions,
    TopicLimits,
    check_read_together,
)

_log = logging.getLogger(__name__)


class NamedCluster(Protocol):
    """A cluster as a client reaches it."""

    name: str
    """As messages name it."""


class BulkProducer(Protocol):
    """A client's producer without transactions."""

    def send_outputs(self, outputs: Sequence[Output], deadline: float) -> None:
        """Write `outputs` and see each of them acknowledged before a `time.monotonic` deadline."""

    def drop(self) -> None:
        """Let go at once: nothing more is sent, nothing is waited for."""


ClusterType = TypeVar("ClusterType", bound=NamedCluster)
SenderType = TypeVar("SenderType", bound=BulkProducer)


class KafkaTransport(ABC, Generic[ClusterType, SenderType]):
    """A stream in an Apache Kafka cluster (2.5 or newer).

    Parameters
    ----------
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
        What a commit or a `produce` may take before it counts as failed.

    Raises
    ------
    TransportUnavailable
        No broker answers.
    AccessRefused, ConfigurationError
        As their names say.

    """

    def __init__(
        self,
        bootstrap_servers: Sequence[str],
        *,
        client_options: Mapping[str, object] = MappingProxyType({}),
        session_timeout_seconds: float = 10.0,
        instance_id: str | None = None,
        transaction_timeout_seconds: float = 60.0,
        commit_timeout_seconds: float = 30.0,
    ) -> None:
        self._options = ConsumerOptions(
            session_timeout_seconds=session_timeout_seconds,
            instance_id=instance_id or None,
            transaction_timeout_seconds=transaction_timeout_seconds,
            commit_timeout_seconds=commit_timeout_seconds,
            limits=TopicLimits(),
        )
        # The producer may be dropped on one thread while another would use it.
        self._lock = threading.RLock()
        self._producer: SenderType | None = None
        self._known_topics: set[str] = set()
        self._cluster = self._reach(bootstrap_servers, client_options)

    @property
    def offsets_are_dense(self) -> bool:
        """Return False: markers of transactions and records of aborted ones take offsets."""
        return False

    def ensure_topics(
        self, partitions: Mapping[str, int], *, create: bool = True, keep_forever: bool = False
    ) -> None:
        """Make sure that each topic exists; see `Transport.ensure_topics`."""
        absent = {topic: wanted for topic, wanted in partitions.items() if self._count(topic) is None}
        if absent and not create:
            raise missing(next(iter(absent)), self._cluster.name)
        if absent:
            self._create(absent, KEEP_FOREVER if keep_forever else {})
        if keep_forever:
            for topic in partitions.keys() - absent.keys():
                self._keep_forever(topic, may_change=create)

    def _keep_forever(self, topic: str, *, may_change: bool) -> None:
        """Make sure that an existing topic loses no record by age, size or compaction."""
        found = self._options_of(topic, KEEP_FOREVER)
        if not found:
            _log.warning(
                "topic %r: its options cannot be read; make sure that it is never emptied: %s",
                *(topic, _written(KEEP_FOREVER)),
            )
        wrong = {name: value for name, value in found.items() if value != KEEP_FOREVER[name]}
        if not wrong:
            return
        wanted = {name: KEEP_FOREVER[name] for name in wrong}
        refusal = ConfigurationError(
            f"topic {topic!r} would lose records that are needed: it has {_written(wrong)}",
            hint=f"set {_written(wanted)} on the topic, or allow it to be changed with `create_topics`",
        )
        if not may_change:
            raise refusal
        try:
            self._set_options(topic, wanted)
        except AccessRefused as error:
            raise refusal from error
        _log.warning(
            "topic %r had %s and would have lost records; set to %s",
            *(topic, _written(wrong), _written(wanted)),
        )

    def add_partitions(self, partitions: Mapping[str, int]) -> None:
        """Add partitions to topics; see `Transport.add_partitions`."""
        for topic, wanted in partitions.items():
            if self.partition_count(topic) >= wanted:
                continue
            try:
                self._add_partitions(topic, wanted)
            except ConfigurationError:
                if not self._has_grown(topic, wanted):
                    raise

    def _has_grown(self, topic: str, wanted: int) -> bool:
        """Return whether another process was faster; the broker asked may hear of it a moment later."""
        deadline = monotonic() + METADATA_SECONDS
        while self.partition_count(topic) < wanted:
            if monotonic() > deadline:
                return False
            sleep(SETTLE_SECONDS / 100)
        return True

    def partition_count(self, topic: str) -> int:
        """Count the partitions of `topic`; see `Transport.partition_count`."""
        count = self._count(topic)
        if count is None:
            raise missing(topic, self._cluster.name)
        return count

    def _count(self, topic: str) -> int | None:
        """Ask the cluster; None if it has no such topic."""
        count = self._describe(topic)
        if count is not None:
            self._known_topics.add(topic)
        return count

    def record_limit(self, topic: str) -> RecordLimit:
        """Return how large a record of `topic` may be; see `Transport.record_limit`."""
        told = self._options_of(topic, [MAX_MESSAGE_BYTES]).get(MAX_MESSAGE_BYTES)
        return self._options.limits.note(topic, int(told) if told else None)

    def topic_id(self, topic: str) -> str:
        """Return the topic's UUID; empty for brokers before 2.8, which give none."""
        found = self._id_of(topic)
        if found is None:
            raise missing(topic, self._cluster.name)
        return found.hex if found.int else ""

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the first offset and the one after the last committed record; see `Transport.bounds`."""
        self._check_topics({topic})
        return self._first_offset(topic, partition), self._committed_end(topic, partition)

    def _committed_end(self, topic: str, partition: int) -> int:
        """Find the end that a reader of committed records sees.

        A commit returns when the broker has noted it, a little before the partitions have: what was written
        but is not yet visible is given a moment. It may also belong to a transaction that stays open.
        """
        written = self._end_offset(topic, partition, committed=False)
        deadline = monotonic() + SETTLE_SECONDS
        while (
            end := self._end_offset(topic, partition, committed=True)
        ) < written and monotonic() < deadline:
            sleep(SETTLE_SECONDS / 100)
        return end

    def read(self, topic: str, partition: int, start: int = 0, end: int | None = None) -> Iterator[Record]:
        """Yield committed records; see `Transport.read`."""
        first, present_end = self.bounds(topic, partition)
        start, stop = max(start, first), present_end if end is None else min(end, present_end)
        return self._read(topic, partition, start, stop) if start < stop else iter(())

    def committed(self, group: str, topics: Sequence[str], partition: int) -> dict[str, int]:
        """Return a group's committed next offsets by topic; see `Transport.committed`."""
        return self._committed(group, topics, partition)

    def produce(self, outputs: Sequence[Output]) -> None:
        """Write `outputs`, each acknowledged by the broker when this returns; not atomic."""
        if not outputs:
            return
        topics = {output.topic for output in outputs}
        self._check_topics(topics)
        with self._lock:
            if self._producer is None:
                for topic in topics:
                    self.record_limit(topic)
                self._producer = self._open_producer()
            deadline = monotonic() + self._options.commit_timeout_seconds
            try:
                self._send(self._producer, outputs, deadline)
            except BaseException:
                # What it has not sent must not follow later, behind what is sent in its place.
                self._drop_producer()
                raise

    def join(self, group: str, topics: Sequence[str], assignee: Assignee) -> Consumer:
        """Become a member of `group`; see `Transport.join`."""
        counts = {topic: self.partition_count(topic) for topic in topics}
        check_read_together(counts)
        return self._join(group, topics, assignee)

    def _check_topics(self, topics: set[str]) -> None:
        """Refuse topics that do not exist: the clients wait for them to appear, and then say timeout."""
        self._find_topics(topics - self._known_topics)

    def _find_topics(self, topics: set[str]) -> None:
        for topic in topics:
            self.partition_count(topic)

    def close(self) -> None:
        """Release everything. Idempotent."""
        with self._lock:
            self._drop_producer()
            self._let_go()

    def _drop_producer(self) -> None:
        if self._producer is not None:
            self._producer.drop()
            self._producer = None

    # What is left to each client; all of it raises nothing but `ServiceError`.

    @abstractmethod
    def _reach(
        self, bootstrap_servers: Sequence[str], client_options: Mapping[str, object]
    ) -> ClusterType: ...

    @abstractmethod
    def _create(self, partitions: Mapping[str, int], options: Mapping[str, str]) -> None:
        """Create topics, unless others were faster, and wait until they can be used."""

    @abstractmethod
    def _add_partitions(self, topic: str, wanted: int) -> None:
        """Add partitions to a topic that has fewer."""

    @abstractmethod
    def _describe(self, topic: str) -> int | None:
        """Count a topic's partitions; None if it does not exist."""

    @abstractmethod
    def _id_of(self, topic: str) -> UUID | None:
        """Return a topic's id, 0 if the broker does not tell; None if the topic does not exist."""

    @abstractmethod
    def _options_of(self, topic: str, names: Iterable[str]) -> dict[str, str]:
        """Return options of a topic by name; empty if the broker does not tell."""

    @abstractmethod
    def _set_options(self, topic: str, options: Mapping[str, str]) -> None:
        """Change options of a topic."""

    @abstractmethod
    def _first_offset(self, topic: str, partition: int) -> int: ...

    @abstractmethod
    def _end_offset(self, topic: str, partition: int, *, committed: bool) -> int: ...

    @abstractmethod
    def _read(self, topic: str, partition: int, start: int, stop: int) -> Iterator[Record]:
        """Read until the position has passed `stop`: the last offsets may be transaction markers."""

    @abstractmethod
    def _committed(self, group: str, topics: Sequence[str], partition: int) -> dict[str, int]: ...

    @abstractmethod
    def _open_producer(self) -> SenderType: ...

    @abstractmethod
    def _send(self, producer: SenderType, outputs: Sequence[Output], deadline: float) -> None: ...

    @abstractmethod
    def _join(self, group: str, topics: Sequence[str], assignee: Assignee) -> Consumer: ...

    @abstractmethod
    def _let_go(self) -> None: ...


def _written(options: Mapping[str, str]) -> str:
    """Return topic options as a command line takes them."""
    return ", ".join(f"{name}={value}" for name, value in options.items())
