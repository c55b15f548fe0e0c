"""The interface of an Apache Kafka client: a cluster, a reader, a producer, and a member of a group.

An adapter implements `KafkaCluster` and `KafkaMember` (`member`) with the public API of its client. Topics,
reads, appends and transactions in this folder build on that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol
from uuid import UUID

from service.errors import ConfigurationError
from service.stream.kafka.limits import REQUEST_TIMEOUT_SECONDS, ClientOptions
from service.stream.protocol import KafkaClient, Output, Record, TopicPartition

Offsets = dict[TopicPartition, int]
"""Offsets by topic and partition."""

if TYPE_CHECKING:  # transactions import this module
    from service.stream.kafka.member import KafkaMember


@dataclass(frozen=True)
class Release:
    """The installed release of a client.

    Parameters
    ----------
    name, package
        The name of the client, and of its package.
    cluster
        The class that implements `KafkaCluster`, in the module `cluster` of the adapter.
    tested
        The highest tested release; this package's requirements have the lowest.
    other
        The value of `--kafka-client` for the other client.
    extra
        The extra of the client package to install, in brackets.

    """

    name: str
    package: str
    cluster: str
    tested: str
    other: str
    extra: str = ""

    def __str__(self) -> str:
        return f"{self.name} {version(self.name)}"

    def unsupported(self, reason: str) -> ConfigurationError:
        """Return the error for an unsupported release."""
        return ConfigurationError(
            f"{self} cannot be used: {reason}",
            hint=f"pip install '{self.name}{self.extra}=={self.tested}', or use --kafka-client {self.other}",
        )


RELEASES: Final[Mapping[KafkaClient, Release]] = {
    "kafka-python": Release(
        *("kafka-python", "kafka", "KafkaPythonCluster", "3.0.12"), other="confluent", extra="[crc32c]"
    ),
    "confluent": Release(
        *("confluent-kafka", "confluent_kafka", "ConfluentCluster", "2.16.1"), other="kafka-python"
    ),
}


class Bound(Enum):
    """One of the two ends of a partition."""

    FIRST = "the first record there is"
    COMMITTED = "after the last record that a reader of committed ones sees"
    WRITTEN = "after the last record"


class TopicDescription(NamedTuple):
    """A topic, as the cluster describes it."""

    n_partitions: int
    id: UUID
    """The topic's id; 0 for brokers before 2.8, which have none."""


class Reader(Protocol):
    """Reads some partitions of a topic, outside any group."""

    def poll(self, wait_seconds: float = 0.0) -> Sequence[Record]:
        """Return the available records; wait only for the first one. Raises `ServiceError`."""

    def position(self, partition: int) -> int | None:
        """Return the next offset of a partition, after any transaction markers; None if it is unknown."""

    def close(self) -> None:
        """Close the client. Idempotent."""


class Producer(Protocol):
    """A producer; with a transactional id, the transactional producer of a member."""

    def send_outputs(self, outputs: Sequence[Output], deadline: float) -> None:
        """Write `outputs` and wait until all are acknowledged, up to a `time.monotonic` deadline.

        Raises the client's own errors.
        """

    def init_transactions(self) -> None:
        """Fence the previous producer of this transactional id, and end its open transaction.

        Raises the client's own errors.
        """

    def transact(
        self,
        outputs: Sequence[Output],
        offsets: Mapping[TopicPartition, int],
        group_metadata: Any,  # noqa: ANN401 - each client has its own
        *,
        deadline: float,
        where: str,
    ) -> None:
        """Commit `outputs` and the group's next `offsets` at once, before a `time.monotonic` deadline.

        The metadata of the offsets is the transactional id.

        Called on a separate thread; no other method of this producer is called before it returns, except
        `drop` long after the deadline. Raises `ServiceError` with `where` in the message; after
        `GenerationChanged` the next transaction may follow, unless `needs_replacement`.
        """

    @property
    def needs_replacement(self) -> bool:
        """Whether a request of an ended transaction may still be under way.

        That is so after a connection broke, and after a transaction that failed and was not aborted.
        """

    def drop(self) -> None:
        """Close at once, without sending or waiting. Idempotent."""


class KafkaCluster(ABC):
    """A cluster, reached through one client.

    It is made from the addresses and the client's options for everything that it opens: mostly security. All
    methods except `translated` raise only `ServiceError`.

    Attributes
    ----------
    name : str
        The name of the cluster in messages.
    member : type
        The client's `KafkaMember`.

    """

    name: str
    member: type[KafkaMember]

    @abstractmethod
    def __init__(self, bootstrap_servers: Sequence[str], client_options: Mapping[str, object]) -> None:
        """Reach the cluster. Raises `TransportUnavailable` if no broker answers, `AccessDenied`."""

    @staticmethod
    @abstractmethod
    def translated(where: str) -> AbstractContextManager[None]:
        """Translate the client's errors into `ServiceError`s, with `where` in the message."""

    @abstractmethod
    def topics(self) -> Collection[str]:
        """List the names of all topics."""

    @abstractmethod
    def create_topics(self, partitions: Mapping[str, int], options: Mapping[str, str]) -> None:
        """Create topics, unless another process did, and wait until they can be used."""

    @abstractmethod
    def add_partitions(self, topic: str, wanted: int) -> None:
        """Add partitions to a topic that has fewer."""

    @abstractmethod
    def describe(self, topic: str) -> TopicDescription | None:
        """Describe a topic; None if it does not exist."""

    @abstractmethod
    def topic_options(self, topic: str, names: Iterable[str]) -> dict[str, str]:
        """Return options of a topic by name; empty if the broker rejects them."""

    @abstractmethod
    def set_topic_options(self, topic: str, options: Mapping[str, str]) -> None:
        """Change options of a topic."""

    def offset(self, topic: str, partition: int, bound: Bound) -> int:
        """Return the first or the end offset of a partition."""
        return self.offsets_at([(topic, partition)], bound)[topic, partition]

    @abstractmethod
    def offsets_at(self, partitions: Collection[TopicPartition], bound: Bound | int) -> Offsets:
        """Return first or end offsets, or offsets of the first record at or after a time (-1: no record)."""

    @abstractmethod
    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """Delete the records before `offset`."""

    @abstractmethod
    def committed(
        self,
        group: str,
        topics: Sequence[str],
        partitions: Sequence[int],
        within_seconds: float = REQUEST_TIMEOUT_SECONDS,
    ) -> dict[int, Mapping[str, int]]:
        """Return a group's committed next offsets by partition and topic; no entry if none were committed.

        If a transaction with offsets of some partitions is undecided when the time is over, the first of
        these partitions, and perhaps all, are missing; partitions before it are present.
        """

    @abstractmethod
    def committer(self, group: str, topic: str, partition: int) -> str:
        """Return the transactional id of a group's last offset commit; empty if it has none.

        Does not wait for a stable offset.
        """

    @abstractmethod
    def members(self, group: str) -> set[str]:
        """Return the names of a group's members."""

    def open_partitions(self, topic: str, partitions: Collection[int]) -> list[int]:
        """List the partitions with an open transaction: records that committed readers do not see yet."""
        topic_partitions = [(topic, partition) for partition in partitions]
        written = self.offsets_at(topic_partitions, Bound.WRITTEN)
        committed = self.offsets_at(topic_partitions, Bound.COMMITTED)
        return [each[1] for each in topic_partitions if committed[each] < written[each]]

    @abstractmethod
    def open_reader(self, topic: str, offsets: Mapping[int, int]) -> Reader:
        """Make a reader of committed records, from an offset of each partition on."""

    @abstractmethod
    def open_producer(
        self, options: ClientOptions, *, transactional_id: str = "", group: str = "", compress: bool = False
    ) -> Producer:
        """Make a producer, with compression or without.

        Called on any thread. With a transactional id it writes in transactions, which may commit offsets of
        `group`.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the client for administrative requests. Idempotent."""
