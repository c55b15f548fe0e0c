"""A cluster through kafka-python: its clients, topics, offsets and reads."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, TypeVar
from uuid import UUID

from kafka import KafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, OffsetSpec
from kafka.errors import (
    BrokerResponseError,
    KafkaError,
    KafkaTimeoutError,
    NoError,
    TopicAlreadyExistsError,
    for_code,
)
from kafka.structs import TopicPartition as ClientPartition

from service.errors import AccessDenied, TopicMissing, TransportUnavailable
from service.stream.kafka.cluster import Bound, KafkaCluster, Offsets, TopicDescription
from service.stream.kafka.errors import with_hint
from service.stream.kafka.kafka_python.consumer import KafkaPythonConsumer, RecordConsumer
from service.stream.kafka.kafka_python.errors import noted_failures, reason_of, translated
from service.stream.kafka.kafka_python.private import count_ended_connections, keep_unsent_requests
from service.stream.kafka.kafka_python.producer import DeadlineProducer, producer_options
from service.stream.kafka.limits import (
    CONNECT_TIMEOUT_SECONDS,
    METADATA_SECONDS,
    REQUEST_TIMEOUT_SECONDS,
    TOPIC_TIMEOUT_SECONDS,
    ClientOptions,
    transaction_request_seconds,
)
from service.stream.protocol import Record, TopicPartition

_OPTIONS: Final[dict[str, object]] = {
    "request_timeout_ms": int(REQUEST_TIMEOUT_SECONDS * 1000),
    "metadata_max_age_ms": int(METADATA_SECONDS * 1000),
    # With the default of 30 s, a service would wait long after its broker is back.
    "reconnect_backoff_max_ms": 1000,
}
_FIRST_CONNECT_SECONDS: Final = (1.0, 2.0)
"""Time limits of the first attempts to connect."""
# A frozen broker accepts connections, and does not answer.
_CONNECTION_OPTIONS: Final = dict.fromkeys(
    ("socket_connection_setup_timeout_ms", "socket_connection_setup_timeout_max_ms"),
    int(CONNECT_TIMEOUT_SECONDS * 1000),
)
_CONSUMER_OPTIONS: Final[dict[str, object]] = {
    "allow_auto_create_topics": False,
    "auto_offset_reset": "earliest",
    "enable_auto_commit": False,
    "isolation_level": "read_committed",
    # The client's own metrics are unused, and cost time for each record.
    "metrics_enabled": False,
}
_READ_BATCH_RECORDS: Final = 5000
_BOUNDS: Final = {
    Bound.FIRST: (OffsetSpec.EARLIEST, "read_committed"),
    Bound.COMMITTED: (OffsetSpec.LATEST, "read_committed"),
    Bound.WRITTEN: (OffsetSpec.LATEST, "read_uncommitted"),
}
Client = TypeVar("Client")


class KafkaPythonCluster(KafkaCluster):
    """A cluster through kafka-python; see `KafkaCluster`."""

    translated = staticmethod(translated)
    member = KafkaPythonConsumer

    def __init__(self, bootstrap_servers: Sequence[str], client_options: Mapping[str, object]) -> None:
        self.name = f"kafka://{','.join(bootstrap_servers)}"
        self._options = {**_OPTIONS, "bootstrap_servers": list(bootstrap_servers), **client_options}
        self._admin: Any = self._open(KafkaAdminClient)

    def _open(self, make: Callable[..., Client], **options: object) -> Client:
        """Return a client that is connected to the cluster.

        kafka-python begins with a random address, and waits for it until its time limit: so the first limits
        are short, and a frozen broker does not stop each client.

        Raises
        ------
        TransportUnavailable
            No broker answers.
        AccessDenied, ConfigurationError
            See their docstrings.

        """
        try:
            with noted_failures() as failures:
                for seconds in _FIRST_CONNECT_SECONDS:
                    with contextlib.suppress(KafkaTimeoutError):
                        return self._connect(make, seconds, options)
                return self._connect(make, CONNECT_TIMEOUT_SECONDS, options)
        except (KafkaError, OSError, RuntimeError, ValueError) as error:
            logs_in = str(self._options.get("security_protocol")).startswith("SASL")
            raise reason_of(error, failures, self.name, logs_in=logs_in) from error

    def _connect(self, make: Callable[..., Client], seconds: float, options: Mapping[str, object]) -> Client:
        """Return a client; if it cannot connect within this time, close what its constructor left open."""
        clients: list[Any] = []

        def connect(**settings: object) -> Any:  # noqa: ANN401 - kafka-python has no types
            clients.append(KafkaProducer.DEFAULT_CONFIG["kafka_client"](**settings, **_CONNECTION_OPTIONS))
            return clients[-1]

        given = {**self._options, "bootstrap_timeout_ms": int(seconds * 1000), **options}
        try:
            client: Client = make(kafka_client=connect, **given)
        except (KafkaError, OSError, RuntimeError, ValueError):
            for each in clients:
                with contextlib.suppress(Exception):
                    each.close()
            raise
        if isinstance(client, DeadlineProducer):
            keep_unsent_requests(clients[-1])
            client.n_ended = count_ended_connections(clients[-1])
        return client

    def open_consumer(self, **options: object) -> RecordConsumer:
        """Make a consumer that sees committed records only."""
        return self._open(RecordConsumer, **{**_CONSUMER_OPTIONS, **options})

    def topics(self) -> Collection[str]:
        """List the names of all topics."""
        with translated(self.name):
            names: list[str] = self._admin.list_topics()
        return names

    def create_topics(self, partitions: Mapping[str, int], options: Mapping[str, str]) -> None:
        """Create topics; see `KafkaCluster.create_topics`."""
        for topic, count in partitions.items():
            wanted = {topic: {"num_partitions": count, "replication_factor": -1, "configs": options}}
            with self._about(topic), contextlib.suppress(TopicAlreadyExistsError):  # another created it
                self._admin.create_topics(wanted)
        with translated(self.name):
            self._admin.wait_for_topics(list(partitions), timeout_ms=TOPIC_TIMEOUT_SECONDS * 1000)

    def add_partitions(self, topic: str, wanted: int) -> None:
        """Add partitions; see `KafkaCluster.add_partitions`."""
        with self._about(topic):
            self._admin.create_partitions({topic: wanted})

    def describe(self, topic: str) -> TopicDescription | None:
        """Describe a topic; see `KafkaCluster.describe`."""
        try:
            with self._about(topic):
                (found,) = self._admin.describe_topics([topic])
                error: type[BrokerResponseError] = for_code(found["error_code"])
                if error is not NoError:
                    raise error(topic)
        except TopicMissing:
            return None
        return TopicDescription(len(found["partitions"]), UUID(str(found.get("topic_id") or UUID(int=0))))

    def topic_options(self, topic: str, names: Iterable[str]) -> dict[str, str]:
        """Return options; see `KafkaCluster.topic_options`. Without the permission, there are none."""
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, dict.fromkeys(names))
        with self._about(topic):
            options = self._admin.describe_configs([resource], config_filter="all")["topic"][topic]
        return {name: option["value"] for name, option in options.items()}

    def set_topic_options(self, topic: str, options: Mapping[str, str]) -> None:
        """Change options; see `KafkaCluster.set_topic_options`."""
        with self._about(topic):
            resource = ConfigResource(ConfigResourceType.TOPIC, topic, dict(options))
            result = self._admin.alter_configs([resource])["topic"][topic]
        if result != "OK":
            raise with_hint(AccessDenied, f"{self.name}: topic {topic!r}: {result}")

    def _about(self, topic: str) -> contextlib.AbstractContextManager[None]:
        return translated(f"{self.name}: topic {topic!r}")

    def offsets_at(self, partitions: Collection[TopicPartition], bound: Bound | int) -> Offsets:
        """Return offsets; see `KafkaCluster.offsets_at`."""
        which, isolation = _BOUNDS[bound] if isinstance(bound, Bound) else (bound, "read_committed")
        wanted = {ClientPartition(*each): which for each in partitions}
        with translated(", ".join("{}[{}]".format(*each) for each in partitions)):
            offsets = self._admin.list_partition_offsets(wanted, isolation_level=isolation)
        return {(partition.topic, partition.partition): each.offset for partition, each in offsets.items()}

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """Delete the records before `offset`."""
        with translated(f"{topic}[{partition}]@{offset}"):
            self._admin.delete_records({ClientPartition(topic, partition): offset})

    def committed(
        self,
        group: str,
        topics: Sequence[str],
        partitions: Sequence[int],
        within_seconds: float = REQUEST_TIMEOUT_SECONDS,
    ) -> dict[int, Mapping[str, int]]:
        """Return a group's committed next offsets; see `KafkaCluster.committed`."""
        with self._asking(group) as client:
            return client.committed_by_topic(topics, partitions, within_seconds)

    def committer(self, group: str, topic: str, partition: int) -> str:
        """Return the metadata of a group's offset; see `KafkaCluster.committer`."""
        with self._asking(group, isolation_level="read_uncommitted") as client:
            topic_partition, timeout_ms = ClientPartition(topic, partition), REQUEST_TIMEOUT_SECONDS * 1000
            commit = client.committed(topic_partition, metadata=True, timeout_ms=timeout_ms)
            return commit.metadata if commit else ""

    def members(self, group: str) -> set[str]:
        """Return the names of a group's members; see `KafkaCluster.members`.

        A client asks the coordinator that it has found first, even where another one has taken over.
        """
        where = f"{self.name}: group {group!r}"
        with contextlib.closing(self._open(KafkaAdminClient)) as client, translated(where):
            found = client.describe_groups([group])[group]
        if found["error"] and found["group_state"] != "Dead":
            raise with_hint(TransportUnavailable, f"{where}: {found['error']}")
        return {each["member_id"] for each in found["members"]}

    @contextlib.contextmanager
    def _asking(self, group: str, **options: object) -> Iterator[RecordConsumer]:
        """Open a client that reads a group's offsets without joining the group."""
        client = self.open_consumer(group_id=group, **options)
        try:
            with translated(self.name):
                yield client
        finally:
            client.close(autocommit=False)

    def open_reader(self, topic: str, offsets: Mapping[int, int]) -> KafkaPythonReader:
        """Make a reader; see `KafkaCluster.open_reader`."""
        return KafkaPythonReader(self.open_consumer(), topic, offsets)

    def open_producer(
        self, options: ClientOptions, *, transactional_id: str = "", group: str = "", compress: bool = False
    ) -> DeadlineProducer:
        """Make a producer; see `KafkaCluster.open_producer`."""
        del group  # the offsets' metadata names it
        response_seconds = transaction_request_seconds(options.commit_timeout_seconds)
        transactions = {
            "transactional_id": transactional_id,
            "transaction_timeout_ms": int(options.transaction_timeout_seconds * 1000),
            "request_timeout_ms": int(response_seconds * 1000),
        }
        return self._open(
            DeadlineProducer,
            # A client that has found no coordinator by then is replaced: it may ask one that is gone.
            max_block_ms=int(CONNECT_TIMEOUT_SECONDS * 1000),
            **(transactions if transactional_id else {}),
            **producer_options(options.commit_timeout_seconds, options.limits.batch_bytes, compress=compress),
        )

    def close(self) -> None:
        """Close the client for administrative requests."""
        self._admin.close()


class KafkaPythonReader:
    """Reads partitions of a topic as they grow; see `Reader`."""

    def __init__(self, client: RecordConsumer, topic: str, offsets: Mapping[int, int]) -> None:
        self._client, self._topic = client, topic
        try:
            with translated(topic):
                client.assign([ClientPartition(topic, each) for each in offsets])
                client.learn_topics([topic])
                for partition, offset in offsets.items():
                    client.seek(ClientPartition(topic, partition), offset)
        except BaseException:
            self.close()
            raise

    def poll(self, wait_seconds: float = 0.0) -> Sequence[Record]:
        """Return the available records; see `Reader.poll`."""
        with translated(self._topic):
            batches = self._client.fetched(_READ_BATCH_RECORDS, wait_seconds)
        return list(chain.from_iterable(batches.values()))

    def position(self, partition: int) -> int | None:
        """Return the next offset; see `Reader.position`."""
        requested = ClientPartition(self._topic, partition)
        with translated(f"{self._topic}[{partition}]"):
            offset: int | None = self._client.position(requested, timeout_ms=REQUEST_TIMEOUT_SECONDS * 1000)
        return offset

    def close(self) -> None:
        """Close the client. Idempotent."""
        self._client.close(autocommit=False)
