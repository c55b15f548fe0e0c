"""The protocol of streams, which SQLite and Kafka implement: read, and commit outputs with offsets.

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
    "by_partition",
    "check_copartitioned",
    "flat",
    "nested",
    "topics_of",
]

KafkaClient = Literal["kafka-python", "confluent"]
"""The client packages for Apache Kafka."""


class Assignee(Protocol):
    """The receiver of a consumer's rebalances; `Consumer.poll` calls it."""

    def partitions_assigned(self, partitions: frozenset[int]) -> None:
        """Take newly assigned partitions. No record of them arrives before `Consumer.start`.

        Called on the thread that polls.
        """

    def partitions_revoked(self, partitions: frozenset[int]) -> None:
        """Hand over revoked partitions; a last commit is possible until this returns.

        May be called on a thread of the client, while the polling thread waits in `poll` or `close`.
        """

    def partitions_lost(self, partitions: frozenset[int]) -> None:
        """Drop lost partitions: nothing can be committed. Threads as for `partitions_revoked`."""


class Writer(Protocol):
    """The only writer of one partition of one group; made by `Consumer.writer`.

    The commits that writers of a member begin share a transaction, if the stream supports that. A failed
    transaction fails for all of them, and commits nothing.
    """

    def commit(
        self, outputs: Sequence[Output], offsets: Mapping[str, int], *, compress: bool = False
    ) -> None:
        """Write `outputs` and the group's next offsets (by topic) in one transaction.

        When it returns, everything is committed. When it raises, the outcome is unknown: the caller must
        start again from what `Transport.read` and `Consumer.take_over` return. With `compress`, records may
        be as large as `RecordLimit.uncompressed_bytes`, if they compress to the limit.

        Raises
        ------
        TransactionFailed
            Rolled back, or the outcome is unknown; a new writer may be made at once.
        OwnershipLost
            Fenced by a newer owner.
        TransportUnavailable, StorageFull, MessageTooLarge, AccessDenied
            See their docstrings.

        """
        self.begin(outputs, offsets, compress=compress)
        self.finish()

    @abstractmethod
    def begin(self, outputs: Sequence[Output], offsets: Mapping[str, int], *, compress: bool = False) -> None:
        """Add outputs and offsets to the next transaction, which `Consumer.send` or `finish` begins.

        Call `finish` before any other method of this writer; until then the outcome is unknown, and `outputs`
        must not change. Raises as `commit`; then nothing was added.
        """

    @abstractmethod
    def finish(self) -> None:
        """Wait for the end of the transaction; return at once if nothing was begun. Raises as `commit`."""

    @abstractmethod
    def close(self) -> None:
        """Wait for the commit that was begun, if any, and release the writer's resources. Idempotent."""


class Consumer(Protocol):
    """One member of a consumer group."""

    def poll(
        self, timeout_seconds: float, max_records: int, hold: AbstractSet[TopicPartition] = NOWHERE
    ) -> dict[int, RecordBatch]:
        """Wait up to `timeout_seconds` for records; at most `max_records`, by partition.

        A partition's records are ordered by topic (as given to `Transport.join`), then offset.
        Records of the partitions in `hold` are not delivered; a later poll returns them.
        Calls the assignee when partitions come or go.

        Raises
        ------
        TransportUnavailable
            The stream is unreachable; call again later.
        OffsetOutOfRange
            A partition's position is no longer in the topic. No record of that partition is delivered before
            `start`; records of other partitions come with the next call.
        TopicMissing, AccessDenied
            See their docstrings.

        """

    def start(self, partition: int, offsets: Mapping[str, int]) -> None:
        """Deliver records of `partition` from these offsets (by topic) on; also used to rewind.

        A topic without an entry starts at its first record.
        """

    def writer(self, partition: int) -> Writer:
        """Make the writer of an assigned partition; it replaces an earlier writer of this member.

        Raises
        ------
        OwnershipLost
            The partition is not assigned to this member.
        TransportUnavailable, AccessDenied
            See their docstrings.

        """

    def take_over(self, partitions: Collection[int], log: str = "") -> dict[int, Mapping[str, int]]:
        """Wait until no earlier writer of these partitions, in any process, can commit.

        May be called on any thread, after `writer`.

        Parameters
        ----------
        partitions
            The numbers of the partitions.
        log
            A topic whose partitions of the same numbers only these writers write to. Afterwards,
            `Transport.read` returns everything that earlier writers committed there.

        Returns
        -------
        dict[int, Mapping[str, int]]
            The group's committed next offsets by topic, for each partition; no entry if none were committed.

        Raises
        ------
        OwnershipLost
            A partition is not assigned to this member.
        TransportUnavailable
            The stream is unreachable, or a transaction of an earlier writer has not ended.
        AccessDenied
            See its docstring.

        """

    def send(self) -> None:
        """Wait for the last transaction, then begin one with everything that writers have begun since.

        Returns before the transaction ends, if the stream supports that. `Writer.finish` raises its error.
        """

    def appender(self, partition: int) -> Writer:
        """Make the writer that appends to the input of an assigned partition; fence earlier owners' writers.

        It is independent of `writer`, takes no offsets, and may be used on another thread than the consumer.
        Once it exists, everything that earlier appenders committed lies within `Transport.bounds`, and they
        cannot write any more. An earlier appender of this member must be closed first.

        Raises
        ------
        OwnershipLost, TransportUnavailable, AccessDenied
            As for `writer`.

        """

    def positions(self, partition: int) -> dict[str, int]:
        """Return the next offset to deliver, by topic. Only for started partitions."""

    def lag(self) -> dict[TopicPartition, int]:
        """Count the undelivered records by (topic, partition), for started partitions.

        Uses what the client knows already; makes no request that can take long.
        """

    def remaining(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Ask the stream how many offsets lie from the last delivered record to the end of each partition.

        The end follows the last committed record at the time of the call, before any open transaction. 0
        means that every record before it was delivered. A larger number may include offsets without a record,
        which the consumer has yet to pass.

        Parameters
        ----------
        partitions
            Of started partitions; others are ignored.

        Raises
        ------
        TransportUnavailable
            The stream has not answered within a second or two.

        """

    def has_joined(self) -> bool:
        """Return whether the group has assigned this member all its partitions, possibly none.

        False before that, and while other members have yet to hand over partitions to this one.
        """

    def at_end(self) -> bool:
        """Return whether every assigned partition was delivered up to its present end.

        Asks the stream. False while a partition is assigned but not started, and before `has_joined`.
        """

    def close(self) -> None:
        """Call `partitions_revoked` for the assigned partitions, then leave the group. Idempotent."""


class ReadStream(Protocol):
    """The read-only part of a stream, which recovery uses."""

    @property
    def offsets_are_dense(self) -> bool:
        """Return whether every offset between the bounds of a partition has a record.

        False if transaction markers and aborted records take offsets, too.
        """

    def partition_count(self, topic: str) -> int:
        """Count the partitions of `topic`. Raises `TopicMissing`."""

    def topic_id(self, topic: str) -> str:
        """Return the id of a topic, which a recreated topic changes; "" if unknown. Raises `TopicMissing`."""

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the first available offset, and the offset after the last committed record."""

    def read(self, topic: str, partition: int, start: int = 0, end: int | None = None) -> Iterator[Record]:
        """Yield committed records from `start` to `end` (exclusive; the present end if None)."""


class Transport(ReadStream, Protocol):
    """A stream: topics, partitions, records, groups."""

    def bounds_of(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
        """Return the `bounds` of several topic partitions."""

    def first_at(self, topic: str, partition: int, time_ms: int) -> int:
        """Return the offset of the first record at or after a time; the end if there is none."""

    def read_partitions(self, topic: str, ranges: Mapping[int, tuple[int, int]]) -> Iterator[Record]:
        """Yield the committed records of several partitions, each from its start to its end (exclusive).

        Records of one partition are in order. No end may lie after the end in `bounds_of`.
        """

    def ensure_topics(
        self, partitions: Mapping[str, int], *, create: bool = True, keep_forever: bool = False
    ) -> None:
        """Create each missing topic with the given number of partitions.

        An existing topic keeps its partitions. With `keep_forever`, a topic loses records only by
        `delete_before`, never by age, size or compaction; an existing topic is changed accordingly.

        Raises
        ------
        TopicMissing
            A topic is missing and `create` is False (the message names it).
        ConfigurationError
            A topic should be kept forever but is not, and must not be changed.
        TransportUnavailable, AccessDenied
            See their docstrings.

        """

    def add_partitions(self, partitions: Mapping[str, int]) -> None:
        """Add partitions to each topic that has fewer than the given number.

        Raises
        ------
        TopicMissing, TransportUnavailable, AccessDenied
            See their docstrings.

        """

    def topics(self) -> Collection[str]:
        """List the names of the topics, without internal ones."""

    def record_limit(self, topic: str) -> RecordLimit:
        """Ask the stream how large a record of `topic` may be. Raises `TopicMissing`."""

    def committed(self, group: str, topics: Sequence[str], partition: int) -> dict[str, int]:
        """Return a group's committed next offsets by topic, without joining it; no entry if none."""

    def produce(self, outputs: Sequence[Output]) -> None:
        """Write `outputs` outside any group, durably; atomic per call if the stream supports that."""

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """Delete the records before `offset`; reading then starts there."""

    def join(self, group: str, topics: Sequence[str], assignee: Assignee, owner_topic: str = "") -> Consumer:
        """Join `group` as a consumer of `topics`; the first one leads.

        With `owner_topic`, a topic of one partition, one member at a time owns all partitions: the member to
        which the group assigns that partition. Its writers' commits always share a transaction.

        Raises
        ------
        TopicMissing
            One of the topics does not exist.
        ConfigurationError
            A topic has another number of partitions than the leading one.

        """

    def close(self) -> None:
        """Release everything. Idempotent."""


def nested(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[int, int]]:
    """Return offsets by topic, then by partition, the form in which they are stored."""
    by_topic: dict[str, dict[int, int]] = {}
    for (topic, partition), offset in offsets.items():
        by_topic.setdefault(topic, {})[partition] = offset
    return by_topic


def flat(offsets: Mapping[str, Mapping[int | str, int]]) -> dict[TopicPartition, int]:
    """Return offsets by topic and partition from the form of `nested`; JSON turns its keys into strings."""
    return {(topic, int(each)): offset for topic, own in offsets.items() for each, offset in own.items()}


def by_partition(offsets: Mapping[int, Mapping[str, int]]) -> dict[TopicPartition, int]:
    """Return offsets by topic and partition from offsets by partition, then by topic."""
    return {(topic, each): offset for each, own in offsets.items() for topic, offset in own.items()}


def topics_of(outputs: Iterable[Output]) -> set[str]:
    """Return the topics of outputs; an `OutputBatch` has them ready."""
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
