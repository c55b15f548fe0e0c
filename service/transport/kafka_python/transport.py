"""A Kafka cluster as a stream. In: topics and outputs. Out: records, and members of groups."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from time import monotonic, sleep
from types import MappingProxyType
from typing import Any, Final

from kafka.admin import OffsetSpec
from kafka.errors import BrokerResponseError, NoError, TopicAlreadyExistsError, for_code
from kafka.structs import TopicPartition

from service.errors import TopicMissing, TransportUnavailable
from service.transport.base import Assignee, Output, Record
from service.transport.kafka import (
    HINTS,
    KEEP_FOREVER,
    REQUEST_TIMEOUT_SECONDS,
    SETTLE_SECONDS,
    TOPIC_TIMEOUT_SECONDS,
    ConsumerOptions,
    check_read_together,
    missing,
)
from service.transport.kafka_python.cluster import Cluster, learn_topics
from service.transport.kafka_python.consumer import KafkaPythonConsumer, as_record
from service.transport.kafka_python.errors import translated
from service.transport.kafka_python.producer import DeadlineProducer, producer_options

_READ_WAIT_SECONDS: Final = 0.1
_READ_BATCH_RECORDS: Final = 5000


class KafkaPythonTransport:
    """A stream in an Apache Kafka cluster (2.5 or newer), through kafka-python.

    Parameters
    ----------
    bootstrap_servers
        `host:port` of one or more brokers.
    client_options
        kafka-python's options for every client: security, mostly.
    session_timeout_seconds
        Without a heartbeat for this long, a member's partitions go to another.
    instance_id
        Name for static membership: a restart within the session timeout causes no rebalance.
    transaction_timeout_seconds
        After this the broker itself ends a transaction that nobody has taken over.
    commit_timeout_seconds
        What a commit or a `produce` may take before it counts as failed.
    max_record_bytes
        The largest record, key and headers included; the broker has its own limit.

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
        max_record_bytes: int = 1_048_576,
    ) -> None:
        self._options = ConsumerOptions(
            session_timeout_seconds=session_timeout_seconds,
            instance_id=instance_id or None,
            transaction_timeout_seconds=transaction_timeout_seconds,
            commit_timeout_seconds=commit_timeout_seconds,
            max_record_bytes=max_record_bytes,
        )
        self._cluster = Cluster(bootstrap_servers, client_options)
        # The producer may be dropped on one thread while another would use it.
        self._lock = threading.RLock()
        self._admin = self._cluster.open_admin()
        self._producer: DeadlineProducer | None = None
        self._known_topics: set[str] = set()

    def ensure_topics(
        self, partitions: Mapping[str, int], *, create: bool = True, keep_forever: bool = False
    ) -> None:
        """Make sure that each topic exists; see `Transport.ensure_topics`."""
        absent = [topic for topic in partitions if self._count(topic) is None]
        if absent and not create:
            raise missing(absent[0], self._cluster.name)
        for topic in absent:
            wanted = {
                topic: {
                    "num_partitions": partitions[topic],
                    "replication_factor": -1,
                    "configs": KEEP_FOREVER if keep_forever else {},
                }
            }
            with translated(f"{self._cluster.name}: topic {topic!r}"):
                try:
                    self._admin.create_topics(wanted)
                except TopicAlreadyExistsError:
                    continue  # another process was faster
        if absent:
            with translated(self._cluster.name):
                self._admin.wait_for_topics(absent, timeout_ms=TOPIC_TIMEOUT_SECONDS * 1000)

    def partition_count(self, topic: str) -> int:
        """Count the partitions of `topic`; see `Transport.partition_count`."""
        count = self._count(topic)
        if count is None:
            raise missing(topic, self._cluster.name)
        return count

    def _count(self, topic: str) -> int | None:
        """Ask the cluster; None if it has no such topic."""
        try:
            with translated(f"{self._cluster.name}: topic {topic!r}"):
                (found,) = self._admin.describe_topics([topic])
                error: type[BrokerResponseError] = for_code(found["error_code"])
                if error is not NoError:
                    raise error(topic)
        except TopicMissing:
            return None
        self._known_topics.add(topic)
        return len(found["partitions"])

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Give the first offset and the one after the last committed record; see `Transport.bounds`."""
        place = TopicPartition(topic, partition)
        self._check_topics({topic})
        with translated(f"{topic}[{partition}]"):
            return self._offset(place, OffsetSpec.EARLIEST), self._committed_end(place)

    def _committed_end(self, place: TopicPartition) -> int:
        """Find the end that a reader of committed records sees.

        A commit returns when the broker has noted it, a little before the partitions have: what was written
        but is not yet visible is given a moment. It may also belong to a transaction that stays open.
        """
        written = self._offset(place, OffsetSpec.LATEST, "read_uncommitted")
        deadline = monotonic() + SETTLE_SECONDS
        while (end := self._offset(place, OffsetSpec.LATEST)) < written and monotonic() < deadline:
            sleep(SETTLE_SECONDS / 100)
        return end

    def _offset(self, place: TopicPartition, which: OffsetSpec, isolation: str = "read_committed") -> int:
        found = self._admin.list_partition_offsets({place: which}, isolation_level=isolation)
        offset: int = found[place].offset
        return offset

    def read(self, topic: str, partition: int, start: int = 0, end: int | None = None) -> Iterator[Record]:
        """Yield committed records; see `Transport.read`."""
        first, present_end = self.bounds(topic, partition)
        stop = present_end if end is None else min(end, present_end)
        return self._read(TopicPartition(topic, partition), max(start, first), stop)

    def _read(self, place: TopicPartition, start: int, stop: int) -> Iterator[Record]:
        if start >= stop:
            return
        client = self._cluster.open_consumer()
        try:
            with translated(f"{place.topic}[{place.partition}]"):
                client.assign([place])
                learn_topics(client, [place.topic])
                client.seek(place, start)
            for found in self._fetch(client, place, stop):
                if found.offset >= stop:
                    return
                yield as_record(found)
        finally:
            client.close(autocommit=False)

    def _fetch(self, client: Any, place: TopicPartition, stop: int) -> Iterator[Any]:  # noqa: ANN401 - no types
        """Poll until the position has passed `stop`: the last offsets may be transaction markers."""
        last_progress, position = monotonic(), -1
        while True:
            with translated(f"{place.topic}[{place.partition}]"):
                batches = client.poll(timeout_ms=_READ_WAIT_SECONDS * 1000, max_records=_READ_BATCH_RECORDS)
                before, position = position, client.position(place, timeout_ms=REQUEST_TIMEOUT_SECONDS * 1000)
            yield from batches.get(place, ())
            if position is not None and position >= stop:
                return
            if position != before:
                last_progress = monotonic()
            elif monotonic() - last_progress > REQUEST_TIMEOUT_SECONDS:
                raise TransportUnavailable(
                    f"{place.topic}[{place.partition}]@{position}: {self._cluster.name} does not answer",
                    hint=HINTS[TransportUnavailable],
                )

    def produce(self, outputs: Sequence[Output]) -> None:
        """Write `outputs`, each acknowledged by the broker when this returns; not atomic."""
        if not outputs:
            return
        self._check_topics({output.topic for output in outputs})
        with self._lock:
            if self._producer is None:
                self._producer = self._cluster.open(
                    DeadlineProducer,
                    **producer_options(self._options.commit_timeout_seconds, self._options.max_record_bytes),
                )
            deadline = monotonic() + self._options.commit_timeout_seconds
            try:
                with translated(self._cluster.name):
                    self._producer.send_outputs(outputs, deadline)
            except BaseException:
                # What it has not sent must not follow later, behind what is sent in its place.
                self._producer.drop()
                self._producer = None
                raise

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """Delete the records before `offset`; see `Transport.delete_before`."""
        with translated(f"{topic}[{partition}]@{offset}"):
            self._admin.delete_records({TopicPartition(topic, partition): offset})

    def join(self, group: str, topics: Sequence[str], assignee: Assignee) -> KafkaPythonConsumer:
        """Become a member of `group`; see `Transport.join`."""
        counts = {topic: self.partition_count(topic) for topic in topics}
        check_read_together(counts)
        return KafkaPythonConsumer(
            self._cluster,
            group,
            topics,
            assignee,
            options=self._options,
            check_topics=self._find_topics,
        )

    def _check_topics(self, topics: set[str]) -> None:
        """Refuse topics that do not exist: kafka-python waits for them to appear, and then says timeout."""
        self._find_topics(topics - self._known_topics)

    def _find_topics(self, topics: set[str]) -> None:
        for topic in topics:
            self.partition_count(topic)

    def close(self) -> None:
        """Release everything. Idempotent."""
        with self._lock:
            if self._producer is not None:
                self._producer.drop()
                self._producer = None
            self._admin.close()
