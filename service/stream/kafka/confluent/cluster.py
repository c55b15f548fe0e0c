"""A cluster through confluent-kafka: topics, offsets, reads, producers and members."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from threading import Lock
from time import monotonic, sleep
from typing import Final
from uuid import UUID
from weakref import WeakSet

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
)
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from service.errors import AccessDenied, TopicMissing, TransportUnavailable
from service.stream.kafka.cluster import Bound, KafkaCluster, Offsets, TopicDescription
from service.stream.kafka.confluent.admin_requests import NO_GROUP, AdminRequests
from service.stream.kafka.confluent.consumer import ConfluentConsumer
from service.stream.kafka.confluent.errors import FOREIGN, meaning_of, translate, translated
from service.stream.kafka.confluent.messages import PARTITION_EOF, as_record, consume
from service.stream.kafka.confluent.producer import BulkProducer, coordinator_answers
from service.stream.kafka.errors import unreachable
from service.stream.kafka.limits import (
    CONNECT_TIMEOUT_SECONDS,
    REQUEST_TIMEOUT_SECONDS,
    SETTLE_SECONDS,
    TOPIC_TIMEOUT_SECONDS,
    ClientOptions,
)
from service.stream.protocol import Record, TopicPartition

_READ_BATCH_RECORDS: Final = 5000
_ASK_AGAIN_SECONDS: Final = 0.01
_BOUNDS: Final = {
    Bound.FIRST: (OffsetSpec.earliest(), IsolationLevel.READ_COMMITTED),
    Bound.COMMITTED: (OffsetSpec.latest(), IsolationLevel.READ_COMMITTED),
    Bound.WRITTEN: (OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED),
}


class ConfluentCluster(AdminRequests, KafkaCluster):
    """A cluster through confluent-kafka; see `KafkaCluster`."""

    translated = staticmethod(translated)
    member = ConfluentConsumer

    def __init__(self, bootstrap_servers: Sequence[str], client_options: Mapping[str, object]) -> None:
        self._producers: WeakSet[BulkProducer] = WeakSet()
        self._producers_lock = Lock()
        self._failed: set[str] = set()
        """The transactional ids whose last commit failed."""
        super().__init__(bootstrap_servers, client_options)

    def topics(self) -> Collection[str]:
        """List the names of all topics."""
        with translated(self.name):
            return [*self.admin.list_topics(timeout=REQUEST_TIMEOUT_SECONDS).topics]

    def create_topics(self, partitions: Mapping[str, int], options: Mapping[str, str]) -> None:
        """Create topics; see `KafkaCluster.create_topics`."""
        for topic, count in partitions.items():
            with translated(f"{self.name}: topic {topic!r}"):
                wanted = NewTopic(topic, count, config=dict(options))
                try:
                    self._change(AdminClient.create_topics, wanted, topic)
                except KafkaException as error:
                    if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:  # another process created it
                        raise
        self._await_topics(partitions)

    def add_partitions(self, topic: str, wanted: int) -> None:
        """Add partitions; see `KafkaCluster.add_partitions`."""
        with translated(f"{self.name}: topic {topic!r}"):
            self._change(AdminClient.create_partitions, NewPartitions(topic, wanted), topic)

    def _change(
        self, change: Callable[..., Mapping[str, Future[None]]], wanted: NewTopic | NewPartitions, topic: str
    ) -> None:
        """Request a change, once: it may happen even without a response."""
        futures = change(self.admin, [wanted], request_timeout=REQUEST_TIMEOUT_SECONDS)
        futures[topic].result(2 * REQUEST_TIMEOUT_SECONDS)

    def _await_topics(self, topics: Collection[str]) -> None:
        """Wait until each broker knows new topics, and the leaders of their partitions.

        Requests go to any broker, and one that does not know a topic yet reports it as missing.
        """
        deadline = monotonic() + TOPIC_TIMEOUT_SECONDS
        for address in self.addresses():
            client = self.client(AdminClient, {"bootstrap.servers": address})
            while not all(_knows(client, topic) for topic in topics):
                if monotonic() > deadline:
                    raise unreachable(f"{self.name}: {address} or a leader of the new topics")
                sleep(SETTLE_SECONDS / 100)

    def describe(self, topic: str) -> TopicDescription | None:
        """Describe a topic; see `KafkaCluster.describe`."""
        where = f"{self.name}: topic {{!r}}"
        try:
            found = self.ask(AdminClient.describe_topics, TopicCollection([topic]), where)[topic]
        except TopicMissing:
            return None
        return TopicDescription(len(found.partitions), UUID(bytes=b64decode(f"{found.topic_id}==")))

    def topic_options(self, topic: str, names: Iterable[str]) -> dict[str, str]:
        """Return options; see `KafkaCluster.topic_options`."""
        resource = ConfigResource(ResourceType.TOPIC, topic)
        try:
            options = self.ask(AdminClient.describe_configs, [resource], "topic {0.name!r}")[resource]
        except AccessDenied:
            return {}
        return {name: str(options[name].value) for name in names if name in options}

    def set_topic_options(self, topic: str, options: Mapping[str, str]) -> None:
        """Change options; see `KafkaCluster.set_topic_options`."""
        changes = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            for name, value in options.items()
        ]
        wanted = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=changes)
        self.ask(AdminClient.incremental_alter_configs, [wanted], "topic {0.name!r}")

    def offsets_at(self, partitions: Collection[TopicPartition], bound: Bound | int) -> Offsets:
        """Return offsets; see `KafkaCluster.offsets_at`."""
        which, isolation = (
            _BOUNDS[bound]
            if isinstance(bound, Bound)
            else (OffsetSpec.for_timestamp(bound), IsolationLevel.READ_COMMITTED)
        )
        return self.offsets([ClientPartition(*partition) for partition in partitions], which, isolation)

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """Delete the records before `offset`."""
        topic_partition = ClientPartition(topic, partition, offset)
        self.ask(AdminClient.delete_records, [topic_partition], "{0.topic}[{0.partition}]@{0.offset}")

    def committed(
        self,
        group: str,
        topics: Sequence[str],
        partitions: Sequence[int],
        within_seconds: float = REQUEST_TIMEOUT_SECONDS,
    ) -> dict[int, Mapping[str, int]]:
        """Return a group's committed next offsets; see `KafkaCluster.committed`."""
        deadline = monotonic() + within_seconds
        while True:
            offsets, unstable = self._group_offsets(group, topics, partitions)
            if not unstable or monotonic() > deadline:
                return {each: offsets[each] for each in partitions if each not in unstable}
            sleep(_ASK_AGAIN_SECONDS)

    def _group_offsets(
        self, group: str, topics: Sequence[str], partitions: Sequence[int]
    ) -> tuple[dict[int, dict[str, int]], set[int]]:
        """Return a group's offsets by partition and topic, and the partitions with unstable offsets."""
        topic_partitions = [ClientPartition(topic, partition) for topic in topics for partition in partitions]
        asked = [ConsumerGroupTopicPartitions(group, topic_partitions)]
        offsets_of = self.ask(
            AdminClient.list_consumer_group_offsets,
            asked,
            f"{self.name}: group {group!r}",
            require_stable=True,
        )
        offsets: dict[int, dict[str, int]] = {partition: {} for partition in partitions}
        unstable = set()
        for topic_partition in offsets_of[group].topic_partitions:
            if topic_partition.error is None:
                if topic_partition.offset >= 0:
                    offsets[topic_partition.partition][topic_partition.topic] = topic_partition.offset
            elif topic_partition.error.code() == KafkaError.UNSTABLE_OFFSET_COMMIT:
                unstable.add(topic_partition.partition)
            else:
                with translated(f"{topic_partition.topic}[{topic_partition.partition}]"):
                    raise KafkaException(topic_partition.error)
        return offsets, unstable

    def committer(self, group: str, topic: str, partition: int) -> str:
        """Return the metadata of a group's offset; see `KafkaCluster.committer`."""
        asked = [ConsumerGroupTopicPartitions(group, [ClientPartition(topic, partition)])]
        offsets_of = self.ask(AdminClient.list_consumer_group_offsets, asked, f"{self.name}: group {group!r}")
        return offsets_of[group].topic_partitions[0].metadata or ""

    def members(self, group: str) -> set[str]:
        """Return the names of a group's members; see `KafkaCluster.members`."""
        groups = self.ask(AdminClient.describe_consumer_groups, [group], f"{self.name}: group {group!r}")
        return {member.member_id for member in groups[group].members}

    def open_reader(self, topic: str, offsets: Mapping[int, int]) -> ConfluentReader:
        """Make a reader; see `KafkaCluster.open_reader`."""
        return ConfluentReader(self.client(Consumer, {"group.id": NO_GROUP}), topic, offsets)

    def open_producer(
        self, options: ClientOptions, *, transactional_id: str = "", group: str = "", compress: bool = False
    ) -> BulkProducer:
        """Make a producer; see `KafkaCluster.open_producer`."""
        producer = BulkProducer(
            self,
            options,
            transactional_id=transactional_id,
            compress=compress,
            failed=self._failed,
            coordinator_answers=partial(coordinator_answers, self, group),
        )
        if transactional_id:
            with self._producers_lock:
                self._producers.add(producer)
        return producer

    def serve(self) -> None:
        """Poll the clients that are not polled for records: otherwise their log lines would pile up."""
        super().serve()
        with self._producers_lock:
            producers = [*self._producers]
        for producer in producers:
            producer.serve()


class ConfluentReader:
    """Reads partitions of a topic as they grow; see `Reader`.

    Like the reader of kafka-python, it reports neither a partition without a leader nor an unavailable
    cluster.
    """

    def __init__(self, client: Consumer, topic: str, offsets: Mapping[int, int]) -> None:
        self._client, self._topic, self._positions = client, topic, dict(offsets)
        try:
            with translated(topic):
                client.assign([ClientPartition(topic, each, at) for each, at in offsets.items()])
        except BaseException:
            self.close()
            raise

    def poll(self, wait_seconds: float = 0.0) -> Sequence[Record]:
        """Return the available records; see `Reader.poll`."""
        records = []
        with translated(self._topic):
            messages = consume(self._client, _READ_BATCH_RECORDS, wait_seconds)
        for message in messages:
            error = message.error()
            if error is None:
                records.append(as_record(message))
                self._positions[message.partition()] = message.offset() + 1
            elif error.code() == PARTITION_EOF:
                self._positions[message.partition()] = message.offset()
            elif meaning_of(error) is not TransportUnavailable:
                raise translate(error, self._topic)
        return records

    def position(self, partition: int) -> int:
        """Return the next offset; see `Reader.position`."""
        return self._positions[partition]

    def close(self) -> None:
        """Close the client. Idempotent."""
        self._client.close()


def _knows(client: AdminClient, topic: str) -> bool:
    """Return whether the one broker that a client is connected to knows a topic; True without a response.

    A broker that does not answer learns of the topic before the cluster counts it as alive again.
    """
    try:
        metadata = client.list_topics(topic, timeout=CONNECT_TIMEOUT_SECONDS).topics[topic]
    except FOREIGN:
        return True
    return metadata.error is None and all(partition.leader >= 0 for partition in metadata.partitions.values())
