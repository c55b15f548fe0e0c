"""What a client of Apache Kafka has to offer: a cluster, a reader, a producer, and a member of a group.

An adapter implements `KafkaCluster` and `KafkaMember` (`member`) with what its client publishes. Topics,
reads, appends and transactions are built upon that, in this folder.
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

if TYPE_CHECKING:  # it opens its producers through the cluster
    from service.stream.kafka.member import KafkaMember


@dataclass(frozen=True)
class Release:
    """The installed release of a client.

    Parameters
    ----------
    name, package
        The client's name, and that of its package.
    cluster
        Its `KafkaCluster`, in the module `cluster` of the adapter.
    tested
        The highest release that was tested; the requirements of this package name the lowest.
    other
        What `--kafka-client` calls the other client.
    extra
        What of the client is to be installed, in brackets.

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
        """Make the error for a release that cannot be used."""
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
    """An end of a partition."""

    FIRST = "the first record there is"
    COMMITTED = "after the last record that a reader of committed ones sees"
    WRITTEN = "after the last record"


class TopicDescription(NamedTuple):
    """What a cluster says of a topic."""

    n_partitions: int
    id: UUID
    """0 for brokers before 2.8, which give none."""


class Reader(Protocol):
    """A reader of some partitions of a topic, outside any group."""

    def poll(self, wait_seconds: float = 0.0) -> Sequence[Record]:
        """Return the records that are there; wait for the first one only. Raises `ServiceError`."""

    def position(self, partition: int) -> int | None:
        """Return the next offset of a partition, after any markers; None if it is not known yet."""

    def close(self) -> None:
        """Close the client. Idempotent."""


class Producer(Protocol):
    """A producer; with a transactional id, that of one member of a group."""

    def send_outputs(self, outputs: Sequence[Output], deadline: float) -> None:
        """Write `outputs` and see each of them acknowledged before a `time.monotonic` deadline.

        Raises whatever the client raises.
        """

    def init_transactions(self) -> None:
        """Fence the previous producer of this transactional id, and end its open transaction.

        Raises whatever the client raises.
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
        """Commit `outputs` and the group's next `offsets` as one, before a `time.monotonic` deadline.

        Beside the offsets lies the transactional id.

        Called on a thread of its own; nothing else of this producer is called before it returns, except
        `drop` if that is long after the deadline. Raises `ServiceError` that says `where`; after
        `GenerationChanged` the next transaction may follow, unless `is_worn`.
        """

    @property
    def is_worn(self) -> bool:
        """Whether a request of a transaction that is over may still be under way.

        So it is after a connection broke, and where a transaction has failed and not been aborted.
        """

    def drop(self) -> None:
        """Close at once: nothing more is sent, nothing is waited for. Idempotent."""


class KafkaCluster(ABC):
    """A cluster as one client reaches it.

    Made of the addresses and the client's own options for all that it opens, which are about security mostly.
    But for `translated`, all of it raises nothing but `ServiceError`.

    Attributes
    ----------
    name : str
        As messages name it.
    member : type
        The `KafkaMember` through this client.

    """

    name: str
    member: type[KafkaMember]

    @abstractmethod
    def __init__(self, bootstrap_servers: Sequence[str], client_options: Mapping[str, object]) -> None:
        """Reach the cluster. Raises `TransportUnavailable` if no broker answers, `AccessRefused`."""

    @staticmethod
    @abstractmethod
    def translated(where: str) -> AbstractContextManager[None]:
        """Raise the client's errors as `ServiceError`s that say `where`."""

    @abstractmethod
    def topics(self) -> Collection[str]:
        """List the names of all topics."""

    @abstractmethod
    def create_topics(self, partitions: Mapping[str, int], options: Mapping[str, str]) -> None:
        """Create topics, unless others were faster, and wait until they can be used."""

    @abstractmethod
    def add_partitions(self, topic: str, wanted: int) -> None:
        """Add partitions to a topic that has fewer."""

    @abstractmethod
    def describe(self, topic: str) -> TopicDescription | None:
        """Describe a topic; None if it does not exist."""

    @abstractmethod
    def topic_options(self, topic: str, names: Iterable[str]) -> dict[str, str]:
        """Return options of a topic by name; empty if the broker refuses them."""

    @abstractmethod
    def set_topic_options(self, topic: str, options: Mapping[str, str]) -> None:
        """Change options of a topic."""

    def offset(self, topic: str, partition: int, bound: Bound) -> int:
        """Ask where a partition begins or ends."""
        return self.offsets_at([(topic, partition)], bound)[topic, partition]

    @abstractmethod
    def offsets_at(self, places: Collection[TopicPartition], bound: Bound | int) -> dict[TopicPartition, int]:
        """Ask where partitions begin or end; or for the first record from a time on, -1 if there is none."""

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
        """Return a group's committed next offsets by partition and topic; no entry of a topic if never.

        Of partitions with an undecided transaction that has others, the first one, and perhaps all, are
        missing once the time is over; what comes before it is there.
        """

    @abstractmethod
    def committer(self, group: str, topic: str, partition: int) -> str:
        """Return the transactional id that a group's offset was committed with last; empty if it has none.

        Asks for no stable offset.
        """

    @abstractmethod
    def members(self, group: str) -> dict[str, set[int]]:
        """Return a group's members by their names, each with its partitions of the leading topic if known."""

    def open_partitions(self, topic: str, partitions: Collection[int]) -> list[int]:
        """List those in which something is that a reader of committed records does not see yet."""
        places = [(topic, each) for each in partitions]
        written = self.offsets_at(places, Bound.WRITTEN)
        committed = self.offsets_at(places, Bound.COMMITTED)
        return [place[1] for place in places if committed[place] < written[place]]

    @abstractmethod
    def open_reader(self, topic: str, offsets: Mapping[int, int]) -> Reader:
        """Make a reader of committed records, by partition from these offsets on."""

    @abstractmethod
    def open_producer(
        self, options: ClientOptions, *, transactional_id: str = "", group: str = "", compress: bool = False
    ) -> Producer:
        """Make a producer that compresses all that it writes, or nothing.

        Called on any thread. With a transactional id it writes in transactions, which may commit offsets of
        `group`.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the client for questions. Idempotent."""
