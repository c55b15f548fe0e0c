"""A Kafka cluster as a stream. In: topics and outputs. Out: records, and members of groups."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from time import monotonic, sleep
from types import MappingProxyType
from typing import Final

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import NewTopic, OffsetSpec, TopicDescription

from service.errors import TopicMissing, TransportUnavailable
from service.transport.base import Assignee, Output, Record
from service.transport.confluent.cluster import Cluster
from service.transport.confluent.consumer import ConfluentConsumer
from service.transport.confluent.errors import meaning_of, translate, translated
from service.transport.confluent.messages import PARTITION_EOF, as_record, take
from service.transport.confluent.producer import BulkProducer
from service.transport.kafka import (
    KEEP_FOREVER,
    REQUEST_TIMEOUT_SECONDS,
    SETTLE_SECONDS,
    TOPIC_TIMEOUT_SECONDS,
    ConsumerOptions,
    away,
    check_read_together,
    missing,
)

_READ_WAIT_SECONDS: Final = 0.1
_READ_BATCH_RECORDS: Final = 5000
# librdkafka wants a group's name even of a consumer that never joins one.
_NO_GROUP: Final = "online-perceptron-reader"


class ConfluentTransport:
    """A stream in an Apache Kafka cluster (2.5 or newer), through confluent-kafka.

    Parameters
    ----------
    bootstrap_servers
        `host:port` of one or more brokers.
    client_options
        librdkafka's options for every client: security, mostly.
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
        self._producer: BulkProducer | None = None
        self._known_topics: set[str] = set()

    def ensure_topics(
        self, partitions: Mapping[str, int], *, create: bool = True, keep_forever: bool = False
    ) -> None:
        """Make sure that each topic exists; see `Transport.ensure_topics`."""
        absent = [topic for topic in partitions if self._count(topic) is None]
        if absent and not create:
            raise missing(absent[0], self._cluster.name)
        config = dict(KEEP_FOREVER) if keep_forever else {}
        for topic in absent:
            self._create(NewTopic(topic, partitions[topic], config=config))
        deadline = monotonic() + TOPIC_TIMEOUT_SECONDS
        while not all(self._has_leaders(topic) for topic in absent):
            if monotonic() > deadline:
                raise away(f"{self._cluster.name}: a leader of the new topics")
            sleep(SETTLE_SECONDS / 100)

    def _create(self, topic: NewTopic) -> None:
        with translated(f"{self._cluster.name}: topic {topic.topic!r}"):
            asked = self._cluster.admin.create_topics([topic], request_timeout=REQUEST_TIMEOUT_SECONDS)
            try:
                asked[topic.topic].result(2 * REQUEST_TIMEOUT_SECONDS)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:  # another process was faster
                    raise

    def _has_leaders(self, topic: str) -> bool:
        found = self._describe(topic)
        return found is not None and all(partition.leader is not None for partition in found.partitions)

    def partition_count(self, topic: str) -> int:
        """Count the partitions of `topic`; see `Transport.partition_count`."""
        count = self._count(topic)
        if count is None:
            raise missing(topic, self._cluster.name)
        return count

    def _count(self, topic: str) -> int | None:
        """Ask the cluster; None if it has no such topic."""
        found = self._describe(topic)
        if found is None:
            return None
        self._known_topics.add(topic)
        return len(found.partitions)

    def _describe(self, topic: str) -> TopicDescription | None:
        with translated(f"{self._cluster.name}: topic {topic!r}"):
            asked = self._cluster.admin.describe_topics(
                TopicCollection([topic]), request_timeout=REQUEST_TIMEOUT_SECONDS
            )
        try:
            return self._cluster.answer(asked[topic], f"{self._cluster.name}: topic {topic!r}")
        except TopicMissing:
            return None

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Give the first offset and the one after the last committed record; see `Transport.bounds`."""
        self._check_topics({topic})
        place = TopicPartition(topic, partition)
        return self._offset(place, OffsetSpec.earliest()), self._committed_end(place)

    def _committed_end(self, place: TopicPartition) -> int:
        """Find the end that a reader of committed records sees.

        A commit returns when the broker has noted it, a little before the partitions have: what was written
        but is not yet visible is given a moment. It may also belong to a transaction that stays open.
        """
        latest = OffsetSpec.latest()
        written = self._offset(place, latest, IsolationLevel.READ_UNCOMMITTED)
        deadline = monotonic() + SETTLE_SECONDS
        while (end := self._offset(place, latest)) < written and monotonic() < deadline:
            sleep(SETTLE_SECONDS / 100)
        return end

    def _offset(
        self,
        place: TopicPartition,
        which: OffsetSpec,
        isolation: IsolationLevel = IsolationLevel.READ_COMMITTED,
    ) -> int:
        return self._cluster.offsets([place], which, isolation)[place.topic, place.partition]

    def read(self, topic: str, partition: int, start: int = 0, end: int | None = None) -> Iterator[Record]:
        """Yield committed records; see `Transport.read`."""
        first, present_end = self.bounds(topic, partition)
        stop = present_end if end is None else min(end, present_end)
        return self._read(TopicPartition(topic, partition, max(start, first)), stop)

    def _read(self, place: TopicPartition, stop: int) -> Iterator[Record]:
        """Read until the position has passed `stop`: the last offsets may be transaction markers."""
        if place.offset >= stop:
            return
        client = self._cluster.open_consumer(_NO_GROUP, {})
        try:
            for message in self._fetch(client, place):
                offset = message.offset()
                if message.error() is None and offset < stop:
                    yield as_record(message)
                    offset += 1
                if offset >= stop:
                    return
        finally:
            client.close()

    def _fetch(self, client: Consumer, place: TopicPartition) -> Iterator[Message]:
        """Give messages, and the partition's end as often as it is reached."""
        where = f"{place.topic}[{place.partition}]"
        with translated(where):
            client.assign([place])
        last_progress = monotonic()
        while True:
            with translated(where):
                messages = take(client, _READ_BATCH_RECORDS, _READ_WAIT_SECONDS)
            for message in messages:
                last_progress = monotonic()
                error = message.error()
                if error is None or error.code() == PARTITION_EOF:
                    yield message
                elif meaning_of(error) is not TransportUnavailable and message.topic():
                    raise translate(error, where)
            if monotonic() - last_progress > REQUEST_TIMEOUT_SECONDS:
                raise away(f"{where}: {self._cluster.name}")

    def produce(self, outputs: Sequence[Output]) -> None:
        """Write `outputs`, each acknowledged by the broker when this returns; not atomic."""
        if not outputs:
            return
        self._check_topics({output.topic for output in outputs})
        with self._lock:
            if self._producer is None:
                self._producer = BulkProducer(
                    self._cluster,
                    timeout_seconds=self._options.commit_timeout_seconds,
                    max_record_bytes=self._options.max_record_bytes,
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
        place = TopicPartition(topic, partition, offset)
        asked = self._cluster.admin.delete_records([place], request_timeout=REQUEST_TIMEOUT_SECONDS)
        self._cluster.answer(asked[place], f"{topic}[{partition}]@{offset}")

    def join(self, group: str, topics: Sequence[str], assignee: Assignee) -> ConfluentConsumer:
        """Become a member of `group`; see `Transport.join`."""
        counts = {topic: self.partition_count(topic) for topic in topics}
        check_read_together(counts)
        return ConfluentConsumer(
            self._cluster,
            group,
            topics,
            assignee,
            options=self._options,
            partitions=counts[topics[0]],
            check_topics=self._find_topics,
        )

    def _check_topics(self, topics: set[str]) -> None:
        """Refuse topics that do not exist: librdkafka waits for them to appear, and then says timeout."""
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
            self._cluster.close()
