"""The embedded stream as the service sees it; see `service.stream.Transport`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from service.stream import Assignee, Output, Record, RecordLimit
from service.transport.sqlite.consumer import SqliteConsumer
from service.transport.sqlite.database import BUSY_TIMEOUT_SECONDS, Database
from service.transport.sqlite.follower import SqliteFollower
from service.transport.sqlite.log import Log
from service.transport.topics import check_read_together

SESSION_TIMEOUT_SECONDS = 10.0
"""After so long without a heartbeat a member's partitions go to others (Kafka's old default)."""
MAX_POLL_INTERVAL_SECONDS = 300.0
"""After so long without a poll a member is considered stuck (Kafka's default)."""
MAX_RECORD_BYTES = 16 * 1024 * 1024
"""One record must fit the memory several times over."""


class Limits(TypedDict, total=False):
    """The options of `EmbeddedTransport`, for callers that pass them on."""

    session_timeout_seconds: float
    max_poll_interval_seconds: float
    max_record_bytes: int


class EmbeddedTransport:
    """A stream inside a SQLite database.

    Safe to use from several threads; a consumer and its writers belong to one thread, but for
    `Consumer.lag`. `close` leaves the groups still joined without calling their assignees.

    Parameters
    ----------
    database
        Where the stream is; closed with the transport.
    session_timeout_seconds
        How long a group waits for a member that gives no sign of life. A thread of its own gives
        these signs, so work between two polls may take longer.
    max_poll_interval_seconds
        How long a member may go without polling before it is considered stuck.
    max_record_bytes
        The largest accepted record: key, value and headers together, in bytes.

    """

    def __init__(
        self,
        database: Database,
        *,
        session_timeout_seconds: float = SESSION_TIMEOUT_SECONDS,
        max_poll_interval_seconds: float = MAX_POLL_INTERVAL_SECONDS,
        max_record_bytes: int = MAX_RECORD_BYTES,
    ) -> None:
        self._database = database
        self._session_seconds = session_timeout_seconds
        self._patience_seconds = max_poll_interval_seconds
        self._max_record_bytes = max_record_bytes
        self._log = Log(database, max_record_bytes=max_record_bytes)
        self._consumers: list[SqliteConsumer] = []

    @property
    def offsets_are_dense(self) -> bool:
        """Return True: only records occupy offsets, and those of a failed transaction are used again."""
        return True

    def ensure_topics(
        self,
        partitions: Mapping[str, int],
        *,
        create: bool = True,
        keep_forever: bool = False,  # noqa: ARG002 - here no record expires
    ) -> None:
        """Make sure that each topic exists; one that exists keeps its partitions."""
        self._log.ensure(partitions, create=create)

    def add_partitions(self, partitions: Mapping[str, int]) -> None:
        """Add partitions to each topic that has fewer, and to the groups that share them out."""
        self._log.grow(partitions)

    def partition_count(self, topic: str) -> int:
        """Count the partitions of `topic`. Raises `TopicMissing`."""
        return len(self._log.logs(topic, refresh=True))

    def record_limit(self, topic: str) -> RecordLimit:
        """Return how large a record of `topic` may be: nothing is compressed here."""
        self._log.logs(topic)
        return RecordLimit(self._max_record_bytes, self._max_record_bytes)

    def topic_id(self, topic: str) -> str:
        """Return the number of the topic's first log, which no other topic of the file gets."""
        return str(self._log.log(topic, 0))

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the first available offset and the one after the last committed record."""
        return self._log.bounds(topic, partition)

    def read(self, topic: str, partition: int, start: int = 0, end: int | None = None) -> Iterator[Record]:
        """Yield committed records from `start` to `end` (exclusive; the present end if None)."""
        return self._log.read(topic, partition, start, end)

    def follow(self, topic: str, offsets: Mapping[int, int]) -> SqliteFollower:
        """Return what reads `topic` from these offsets on; see `Transport.follow`."""
        return SqliteFollower(self._log, topic, offsets)

    def committed(self, group: str, topics: Sequence[str], partition: int) -> dict[str, int]:
        """Return a group's committed next offsets by topic, without joining it."""
        return self._log.committed(group, topics, partition)

    def produce(self, outputs: Sequence[Output]) -> None:
        """Write `outputs`, all or none; durable when this returns."""
        if rows := self._log.prepare(outputs):
            with self._database.writing() as connection:
                self._log.append(connection, rows)

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """Delete the records before `offset`; offsets go on growing."""
        self._log.delete_before(topic, partition, offset)

    def join(self, group: str, topics: Sequence[str], assignee: Assignee) -> SqliteConsumer:
        """Join `group` as a consumer of `topics`; the first one leads."""
        check_read_together({topic: self.partition_count(topic) for topic in topics})
        consumer = SqliteConsumer(
            self._database,
            self._log,
            group,
            topics,
            assignee,
            session_seconds=self._session_seconds,
            patience_seconds=self._patience_seconds,
        )
        self._consumers.append(consumer)
        return consumer

    def close(self) -> None:
        """Leave all groups and close the database. Idempotent."""
        for consumer in self._consumers:
            consumer.abandon()
        self._consumers.clear()
        self._database.close()


class SqliteTransport(EmbeddedTransport):
    """A stream in one SQLite file, for the processes of one machine.

    Every commit is on the disk when it returns. Beside the file lie SQLite's `-wal` and `-shm` and,
    for each member of a group, an empty `-member-N`.

    Parameters
    ----------
    path
        The file, created with its directories; `~` is the home directory.
    busy_timeout_seconds
        How long to wait for another process that is writing before `TransportUnavailable`.
    limits
        As for `EmbeddedTransport`.

    Raises
    ------
    TransportError
        The file is not a stream, is damaged, or has another format.
    TransportUnavailable, AccessRefused, StorageFull
        As their names say.

    """

    def __init__(
        self,
        path: str | Path,
        *,
        busy_timeout_seconds: float = BUSY_TIMEOUT_SECONDS,
        **limits: Unpack[Limits],
    ) -> None:
        database = Database(Path(path).expanduser(), busy_timeout_seconds=busy_timeout_seconds)
        super().__init__(database, **limits)
