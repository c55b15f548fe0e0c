"""The operations of a `KafkaTransport` through kafka-python."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from time import monotonic
from typing import Any, Final
from uuid import UUID

from kafka.admin import ConfigResource, ConfigResourceType, OffsetSpec
from kafka.errors import BrokerResponseError, NoError, TopicAlreadyExistsError, for_code
from kafka.structs import TopicPartition

from service.errors import AccessRefused, TopicMissing
from service.stream import Assignee, Follower, Record
from service.transport.kafka.errors import away, hinted
from service.transport.kafka.kafka_python.cluster import Cluster, committed_offsets, learn_topics
from service.transport.kafka.kafka_python.consumer import KafkaPythonConsumer
from service.transport.kafka.kafka_python.errors import translated
from service.transport.kafka.kafka_python.follower import KafkaPythonFollower
from service.transport.kafka.kafka_python.producer import DeadlineProducer, producer_options
from service.transport.kafka.limits import (
    REQUEST_TIMEOUT_SECONDS,
    TOPIC_TIMEOUT_SECONDS,
)
from service.transport.kafka.transport import KafkaTransport

_READ_WAIT_SECONDS: Final = 0.1
_READ_BATCH_RECORDS: Final = 5000


class KafkaPythonTransport(KafkaTransport[Cluster, DeadlineProducer]):
    """A stream in an Apache Kafka cluster, through kafka-python; see `KafkaTransport`."""

    _translated = staticmethod(translated)

    def _reach(self, bootstrap_servers: Sequence[str], client_options: Mapping[str, object]) -> Cluster:
        cluster = Cluster(bootstrap_servers, client_options)
        self._admin = cluster.open_admin()
        return cluster

    def _create(self, partitions: Mapping[str, int], options: Mapping[str, str]) -> None:
        for topic, count in partitions.items():
            wanted = {topic: {"num_partitions": count, "replication_factor": -1, "configs": options}}
            with translated(f"{self._cluster.name}: topic {topic!r}"):
                try:
                    self._admin.create_topics(wanted)
                except TopicAlreadyExistsError:
                    continue  # another process was faster
        with translated(self._cluster.name):
            self._admin.wait_for_topics(list(partitions), timeout_ms=TOPIC_TIMEOUT_SECONDS * 1000)

    def _add_partitions(self, topic: str, wanted: int) -> None:
        with translated(f"{self._cluster.name}: topic {topic!r}"):
            self._admin.create_partitions({topic: wanted})

    def _describe(self, topic: str) -> int | None:
        found = self._ask_about(topic)
        return None if found is None else len(found["partitions"])

    def _id_of(self, topic: str) -> UUID | None:
        found = self._ask_about(topic)
        return None if found is None else UUID(str(found.get("topic_id") or UUID(int=0)))

    def _ask_about(self, topic: str) -> Mapping[str, Any] | None:
        try:
            with translated(f"{self._cluster.name}: topic {topic!r}"):
                (found,) = self._admin.describe_topics([topic])
                error: type[BrokerResponseError] = for_code(found["error_code"])
                if error is not NoError:
                    raise error(topic)
        except TopicMissing:
            return None
        description: Mapping[str, Any] = found
        return description

    def _options_of(self, topic: str, names: Iterable[str]) -> dict[str, str]:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, dict.fromkeys(names))
        with translated(f"{self._cluster.name}: topic {topic!r}"):
            found = self._admin.describe_configs([resource], config_filter="all")["topic"][topic]
        return {name: option["value"] for name, option in found.items()}  # empty where it is not allowed

    def _set_options(self, topic: str, options: Mapping[str, str]) -> None:
        with translated(f"{self._cluster.name}: topic {topic!r}"):
            resource = ConfigResource(ConfigResourceType.TOPIC, topic, dict(options))
            answer = self._admin.alter_configs([resource])["topic"][topic]
        if answer != "OK":
            raise hinted(AccessRefused, f"{self._cluster.name}: topic {topic!r}: {answer}")

    def _first_offset(self, topic: str, partition: int) -> int:
        return self._offset(TopicPartition(topic, partition), OffsetSpec.EARLIEST, "read_committed")

    def _end_offset(self, topic: str, partition: int, *, committed: bool) -> int:
        isolation = "read_committed" if committed else "read_uncommitted"
        return self._offset(TopicPartition(topic, partition), OffsetSpec.LATEST, isolation)

    def _offset(self, place: TopicPartition, which: OffsetSpec, isolation: str) -> int:
        with translated(f"{place.topic}[{place.partition}]"):
            found = self._admin.list_partition_offsets({place: which}, isolation_level=isolation)
            offset: int = found[place].offset
            return offset

    def _read(self, topic: str, partition: int, start: int, stop: int) -> Generator[Record]:
        place = TopicPartition(topic, partition)
        client = self._cluster.open_consumer()
        try:
            with translated(f"{topic}[{partition}]"):
                client.assign([place])
                learn_topics(client, [topic])
                client.seek(place, start)
            for found in self._fetch(client, place, stop):
                if found.offset >= stop:
                    return
                yield found
        finally:
            client.close(autocommit=False)

    def _fetch(self, client: Any, place: TopicPartition, stop: int) -> Iterator[Record]:  # noqa: ANN401 - no types
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
                raise away(f"{place.topic}[{place.partition}]@{position}: {self._cluster.name}")

    def _follow(self, topic: str, offsets: Mapping[int, int]) -> Follower:
        return KafkaPythonFollower(self._cluster, topic, offsets)

    def _committed(self, group: str, topics: Sequence[str], partition: int) -> dict[str, int]:
        client = self._cluster.open_consumer(group_id=group)
        try:
            with translated(self._cluster.name):
                return committed_offsets(client, topics, partition)
        finally:
            client.close(autocommit=False)

    def _open_producer(self) -> DeadlineProducer:
        options = producer_options(self._options.commit_timeout_seconds, self._options.limits.batch_bytes)
        return self._cluster.open(DeadlineProducer, **options)

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """Delete the records before `offset`; see `Transport.delete_before`."""
        with translated(f"{topic}[{partition}]@{offset}"):
            self._admin.delete_records({TopicPartition(topic, partition): offset})

    def _join(
        self,
        group: str,
        topics: Sequence[str],
        assignee: Assignee,
    ) -> KafkaPythonConsumer:
        return KafkaPythonConsumer(
            self._cluster, group, topics, assignee, options=self._options, check_topics=self._find_topics
        )

    def _let_go(self) -> None:
        self._admin.close()
