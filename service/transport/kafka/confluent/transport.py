"""The operations of a `KafkaTransport` through confluent-kafka."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from time import monotonic
from typing import Final
from uuid import UUID

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
    TopicDescription,
)

from service.errors import AccessRefused, TopicMissing, TransportUnavailable
from service.stream import Assignee, Follower, Record
from service.transport.kafka.confluent.cluster import NO_GROUP, Cluster, committed_offsets
from service.transport.kafka.confluent.consumer import ConfluentConsumer
from service.transport.kafka.confluent.errors import meaning_of, translate, translated
from service.transport.kafka.confluent.follower import ConfluentFollower
from service.transport.kafka.confluent.messages import PARTITION_EOF, as_record, consume
from service.transport.kafka.confluent.new_topics import await_topics
from service.transport.kafka.confluent.producer import BulkProducer
from service.transport.kafka.errors import away
from service.transport.kafka.limits import REQUEST_TIMEOUT_SECONDS
from service.transport.kafka.transport import KafkaTransport

_READ_WAIT_SECONDS: Final = 0.1
_READ_BATCH_RECORDS: Final = 5000


class ConfluentTransport(KafkaTransport[Cluster, BulkProducer]):
    """A stream in an Apache Kafka cluster, through confluent-kafka; see `KafkaTransport`."""

    _translated = staticmethod(translated)

    def _reach(self, bootstrap_servers: Sequence[str], client_options: Mapping[str, object]) -> Cluster:
        return Cluster(bootstrap_servers, client_options)

    def _create(self, partitions: Mapping[str, int], options: Mapping[str, str]) -> None:
        for topic, count in partitions.items():
            self._create_one(NewTopic(topic, count, config=dict(options)))
        await_topics(self._cluster, partitions)

    def _create_one(self, topic: NewTopic) -> None:
        with translated(f"{self._cluster.name}: topic {topic.topic!r}"):
            futures = self._cluster.admin.create_topics([topic], request_timeout=REQUEST_TIMEOUT_SECONDS)
            try:
                futures[topic.topic].result(2 * REQUEST_TIMEOUT_SECONDS)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:  # another process was faster
                    raise

    def _add_partitions(self, topic: str, wanted: int) -> None:
        with translated(f"{self._cluster.name}: topic {topic!r}"):
            futures = self._cluster.admin.create_partitions(
                [NewPartitions(topic, wanted)], request_timeout=REQUEST_TIMEOUT_SECONDS
            )
            futures[topic].result(2 * REQUEST_TIMEOUT_SECONDS)

    def _describe(self, topic: str) -> int | None:
        found = self._ask_about(topic)
        return None if found is None else len(found.partitions)

    def _id_of(self, topic: str) -> UUID | None:
        found = self._ask_about(topic)
        return None if found is None else UUID(bytes=b64decode(f"{found.topic_id}=="))

    def _ask_about(self, topic: str) -> TopicDescription | None:
        where = f"{self._cluster.name}: topic {{!r}}"
        try:
            return self._cluster.ask(AdminClient.describe_topics, TopicCollection([topic]), where)[topic]
        except TopicMissing:
            return None

    def _options_of(self, topic: str, names: Iterable[str]) -> dict[str, str]:
        resource = ConfigResource(ResourceType.TOPIC, topic)
        try:
            found = self._cluster.ask(AdminClient.describe_configs, [resource], "topic {0.name!r}")[resource]
        except AccessRefused:
            return {}
        return {name: str(found[name].value) for name in names if name in found}

    def _set_options(self, topic: str, options: Mapping[str, str]) -> None:
        changes = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            for name, value in options.items()
        ]
        wanted = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=changes)
        self._cluster.ask(AdminClient.incremental_alter_configs, [wanted], "topic {0.name!r}")

    def _first_offset(self, topic: str, partition: int) -> int:
        return self._cluster.offsets([TopicPartition(topic, partition)], OffsetSpec.earliest())[
            topic, partition
        ]

    def _end_offset(self, topic: str, partition: int, *, committed: bool) -> int:
        isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        place = TopicPartition(topic, partition)
        return self._cluster.offsets([place], OffsetSpec.latest(), isolation)[topic, partition]

    def _read(self, topic: str, partition: int, start: int, stop: int) -> Generator[Record]:
        client = self._cluster.open_consumer(NO_GROUP, {})
        try:
            for message in self._fetch(client, TopicPartition(topic, partition, start)):
                offset = message.offset()
                if message.error() is None and offset < stop:
                    yield as_record(message)
                    offset += 1
                if offset >= stop:
                    return
        finally:
            client.close()

    def _fetch(self, client: Consumer, place: TopicPartition) -> Iterator[Message]:
        """Yield messages, and the partition's end as often as it is reached."""
        where = f"{place.topic}[{place.partition}]"
        with translated(where):
            client.assign([place])
        last_progress = monotonic()
        while True:
            with translated(where):
                messages = consume(client, _READ_BATCH_RECORDS, _READ_WAIT_SECONDS)
            for message in messages:
                last_progress = monotonic()
                error = message.error()
                if error is None or error.code() == PARTITION_EOF:
                    yield message
                elif meaning_of(error) is not TransportUnavailable and message.topic():
                    raise translate(error, where)
            if monotonic() - last_progress > REQUEST_TIMEOUT_SECONDS:
                raise away(f"{where}: {self._cluster.name}")

    def _follow(self, topic: str, offsets: Mapping[int, int]) -> Follower:
        return ConfluentFollower(self._cluster, topic, offsets)

    def _committed(self, group: str, topics: Sequence[str], partition: int) -> dict[str, int]:
        client = self._cluster.open_consumer(group, {})
        try:
            with translated(self._cluster.name):
                return committed_offsets(client, topics, partition)
        finally:
            client.close()

    def _open_producer(self) -> BulkProducer:
        return BulkProducer(
            self._cluster,
            timeout_seconds=self._options.commit_timeout_seconds,
            batch_bytes=self._options.limits.batch_bytes,
        )

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """Delete the records before `offset`; see `Transport.delete_before`."""
        place = TopicPartition(topic, partition, offset)
        self._cluster.ask(AdminClient.delete_records, [place], "{0.topic}[{0.partition}]@{0.offset}")

    def _join(self, group: str, topics: Sequence[str], assignee: Assignee) -> ConfluentConsumer:
        return ConfluentConsumer(
            self._cluster,
            group,
            topics,
            assignee,
            options=self._options,
            count_partitions=lambda: self.partition_count(topics[0]),
            check_topics=self._find_topics,
        )

    def _let_go(self) -> None:
        self._cluster.close()
