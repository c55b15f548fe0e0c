"""The protocol of a stream, which SQLite and Kafka meet: read records, commit outputs and offsets as one.

Vocabulary: a *topic* has *partitions*; a *record* sits at an *offset*. Members of a consumer *group* share
the partitions of the group's leading topic; the same partition of every further input topic goes with it
(the topics are co-partitioned). Readers see committed records only.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal, Protocol

from service.errors import ConfigurationError
from service.stream.batches import OutputBatch, RecordBatch
from service.stream.records import NO_LIMIT, NOWHERE, Headers, Output, Record, RecordLimit, TopicPartition

__all__ = [
    "NOWHERE",
    "NO_LIMIT",
    "Assignee",
    "Consumer",
    "Headers",
    "KafkaClient",
    "Output",
    "ReadStream",
    "Record",
    "RecordLimit",
    "TopicPartition",
    "Transport",
    "Writer",
    "check_copartitioned",
    "topics_of",
]

KafkaClient = Literal["kafka-python", "confluent"]
"""The packages that an Apache Kafka cluster can be reached with."""


class Assignee(Protocol):
    """The receiver of a consumer's rebalances; `Consumer.poll` calls it."""

    def partitions_assigned(self, partitions: frozenset[int]) -> None:
        """Take these partitions, which are assigned now. No record of them arrives before `Consumer.start`.

        Called on the thread that polls.
        """

    def partitions_revoked(self, partitions: frozenset[int]) -> None:
        """Hand these partitions over when this returns; until then a last commit is possible.

        May be called on a client's own thread, while the polling thread waits in `poll` or `close`.
        """

    def partitions_lost(self, partitions: frozenset[int]) -> None:
        """Drop these partitions, which were lost: nothing can be committed. Threads as for revoked."""


class Writer(Protocol):
    """The only writer of one partition of one group, which inherits `commit`; made by `Consumer.writer`.

    What the writers of a member begin is committed in one transaction where the stream can do so. One that
    fails fails for all of them, and nothing of it is committed.
    """

    def commit(
        self, outputs: Sequence[Output], offsets: Mapping[str, int], *, compress: bool = False
    ) -> None:
        """Write `outputs` and the group's next offsets (by topic) in one transaction.

        When it returns, all of it is committed; when it raises, the caller must assume nothing
        and start again from what `Transport.read` and `Consumer.committed` then show. With `compress`,
        records may be as large as `RecordLimit.uncompressed_bytes`, if they compress to the limit.

        Raises
        ------
        TransactionFailed
            Rolled back, or not known to be committed; a new writer may be made at once.
        OwnershipLost
            Fenced by a newer owner.
        TransportUnavailable, StorageFull, MessageTooLarge, AccessRefused
            As their names say.

        """
        self.begin(outputs, offsets, compress=compress)
        self.finish()

    @abstractmethod
    def begin(self, outputs: Sequence[Output], offsets: Mapping[str, int], *, compress: bool = False) -> None:
        """Add what `commit` writes to the next transaction, which `Consumer.send` or `finish` begins.

        Nothing is known of it before `finish`, which is to be called before anything else of this writer.
        `outputs` must not change until then. Raises as `commit`, and has added nothing then.
        """

    @abstractmethod
    def finish(self) -> None:
        """Wait for the end of the transaction; at once if nothing was begun. Raises as `commit`."""

    @abstractmethod
    def close(self) -> None:
        """Release the writer's resources; a commit that was begun ends first. Idempotent."""


class Consumer(Protocol):
    """One member of a consumer group."""

    def poll(
        self, timeout_seconds: float, max_records: int, hold: AbstractSet[TopicPartition] = NOWHERE
    ) -> dict[int, RecordBatch]:
        """Wait up to `timeout_seconds` for records; at most `max_records`, by partition.

        A partition's records are ordered by topic (as given to `Transport.join`), then offset.
        Of the places in `hold` none are delivered: they stay where they are until a later poll.
        Calls the assignee when partitions come or go.

        Raises
        ------
        TransportUnavailable
            The stream is unreachable; call again later.
        OffsetOutOfRange
            A partition's position is not in the topic any more. Nothing more of that partition is
            delivered before `start`; records of the others come with the next call.
        TopicMissing, AccessRefused
            As their names say.

        """

    def start(self, partition: int, offsets: Mapping[str, int]) -> None:
        """Deliver records of `partition` from these offsets (by topic) on; also used to rewind.

        A topic without an entry starts at its first record.
        """

    def writer(self, partition: int) -> Writer:
        """Make the writer of an assigned partition, in the place of any earlier one of this member.

        Raises
        ------
        OwnershipLost
            The partition is not assigned to this member.
        TransportUnavailable, AccessRefused
            As their names say.

        """

    def take_over(self, partitions: Collection[int], log: str = "") -> dict[int, Mapping[str, int]]:
        """Wait until no earlier writer of these partitions can commit anything more, in whatever process.

        May be called on any thread, after `writer`.

        Parameters
        ----------
        partitions
            Their numbers.
        log
            A topic to whose same partitions only these writers write. What earlier ones had committed is
            visible there to `Transport.read` afterwards.

        Returns
        -------
        dict[int, Mapping[str, int]]
            By partition, the group's committed next offsets by topic; no entry if never.

        Raises
        ------
        OwnershipLost
            A partition is not assigned to this member.
        TransportUnavailable
            The stream is unreachable, or a transaction of an earlier writer has not ended.
        AccessRefused
            As its name says.

        """

    def send(self) -> None:
        """Begin the transaction of all that writers have begun since the last one, which ends first.

        Returns before it has ended where the stream can do so. `Writer.finish` raises what has failed.
        """

    def appender(self, partition: int) -> Writer:
        """Make the writer that appends to the input of an assigned partition; fence those of earlier owners.

        It is independent of `writer`, takes no offsets, and may be used on another thread than the consumer.
        What an earlier one had committed is before `Transport.bounds` when the new one exists, and nothing
        more of it ever will be written. An earlier one of this member must be closed.

        Raises
        ------
        OwnershipLost, TransportUnavailable, AccessRefused
            As for `writer`.

        """

    def positions(self, partition: int) -> dict[str, int]:
        """Return the next offset to be delivered, by topic. Only for partitions that were started."""

    def lag(self) -> dict[TopicPartition, int]:
        """Count the records not yet delivered, by (topic, partition), for started partitions.

        Counts from what the client already knows; makes no request that can wait long.
        """

    def remaining(self, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Ask the stream how many offsets lie between what was delivered and the end of each place.

        The end is that of the committed records at the time of the call, before the first open
        transaction. 0 says that every record before it was delivered; more may also be offsets without
        a record, which the consumer has yet to pass.

        Parameters
        ----------
        places
            Of partitions that were started; of others nothing is returned.

        Raises
        ------
        TransportUnavailable
            The stream has not answered within a second or two.

        """

    def has_joined(self) -> bool:
        """Return whether the group has assigned this member all its partitions, which may be none.

        False before that, and while other members have yet to hand partitions over to this one.
        """

    def at_end(self) -> bool:
        """Return whether every assigned partition was delivered up to the end the stream has now.

        Asks the stream. False while a partition is assigned but not started, and before `has_joined`.
        """

    def close(self) -> None:
        """Leave the group: calls `partitions_revoked` for what is held, then lets go. Idempotent."""


class ReadStream(Protocol):
    """What recovery asks of a stream: it reads, and changes nothing."""

    @property
    def offsets_are_dense(self) -> bool:
        """Return whether a record lies at each offset between the bounds of a partition.

        False where markers of transactions and records of aborted ones take offsets as well.
        """

    def partition_count(self, topic: str) -> int:
        """Count the partitions of `topic`. Raises `TopicMissing`."""

    def topic_id(self, topic: str) -> str:
        """Return what tells a topic from a later one of its name; "" if unknown. Raises `TopicMissing`."""

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the first available offset and the one after the last committed record."""

    def read(self, topic: str, partition: int, start: int = 0, end: int | None = None) -> Iterator[Record]:
        """Yield committed records from `start` to `end` (exclusive; the present end if None)."""


class Transport(ReadStream, Protocol):
    """A stream: topics, partitions, records, groups."""

    def bounds_of(self, places: Collection[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
        """Return `bounds` of several partitions, of several topics."""

    def first_at(self, topic: str, partition: int, time_ms: int) -> int:
        """Return the offset of the first record whose time is this or later; the end where there is none."""

    def read_partitions(self, topic: str, ranges: Mapping[int, tuple[int, int]]) -> Iterator[Record]:
        """Yield the committed records of several partitions, each from its start to its end (exclusive).

        Those of one partition are in order. No end lies behind the one that `bounds_of` returns.
        """

    def ensure_topics(
        self, partitions: Mapping[str, int], *, create: bool = True, keep_forever: bool = False
    ) -> None:
        """Make sure that each topic exists, creating it with that many partitions if it does not.

        A topic that exists keeps the partitions it has. With `keep_forever`, a topic loses records by
        `delete_before` only, never by age, size or compaction: one that exists is changed accordingly.

        Raises
        ------
        TopicMissing
            A topic is not there and `create` is False (the message names it).
        ConfigurationError
            A topic that is to be kept forever is not, and may not be changed.
        TransportUnavailable, AccessRefused
            As their names say.

        """

    def add_partitions(self, partitions: Mapping[str, int]) -> None:
        """Add partitions to each topic until it has that many; leave one that has as many or more.

        Raises
        ------
        TopicMissing, TransportUnavailable, AccessRefused
            As their names say.

        """

    def topics(self) -> Collection[str]:
        """List the names of the topics, but for the stream's own."""

    def record_limit(self, topic: str) -> RecordLimit:
        """Return how large a record of `topic` may be, as the stream says now. Raises `TopicMissing`."""

    def committed(self, group: str, topics: Sequence[str], partition: int) -> dict[str, int]:
        """Return a group's committed next offsets by topic, without joining it; no entry if never."""

    def produce(self, outputs: Sequence[Output]) -> None:
        """Write `outputs`, durable when this returns; outside any group, atomic per call if it can be."""

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """Delete the records before `offset`; readers then start there."""

    def join(self, group: str, topics: Sequence[str], assignee: Assignee, alone: str = "") -> Consumer:
        """Join `group` as a consumer of `topics`; the first one leads.

        With `alone`, a topic of one partition, one member at a time has all partitions: the one to which the
        group gives that partition. What its writers begin is committed together, or not at all.

        Raises
        ------
        TopicMissing
            One of the topics does not exist.
        ConfigurationError
            A further topic has not the same number of partitions as the leading one.

        """

    def close(self) -> None:
        """Release everything. Idempotent."""


def topics_of(outputs: Iterable[Output]) -> set[str]:
    """Return the topics of outputs; an `OutputBatch` has them at hand."""
    return set(outputs.topics) if isinstance(outputs, OutputBatch) else {output.topic for output in outputs}


def check_copartitioned(partitions: Mapping[str, int]) -> None:
    """Raise `ConfigurationError` unless topics, the leading one first, have the same number of partitions."""
    leading, expected = next(iter(partitions.items()))
    for topic, count in partitions.items():
        if count != expected:
            raise ConfigurationError(
                f"topic {topic!r} has {count} partitions, {leading!r} has {expected}:"
                " they need the same number, as they are read together",
                hint=f"recreate {topic!r} with {expected} partitions",
            )
