"""The embedded stream as the service sees it; see `service.stream.Transport`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from service.stream import Assignee, Record
from service.transport.sqlite.consumer import SqliteConsumer
from service.transport.sqlite.database import BUSY_TIMEOUT_SECONDS, Database
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


class EmbeddedTransport(Log):
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
        self._session_seconds = session_timeout_seconds
        self._patience_seconds = max_poll_interval_seconds
        self._consumers: list[SqliteConsumer] = []
        super().__init__(database, max_record_bytes=max_record_bytes)

    def follow(self, topic: str, offsets: Mapping[int, int]) -> SqliteFollower:
        """Return what reads `topic` from these offsets on; see `Transport.follow`."""
        return SqliteFollower(self, topic, offsets)

    def join(self, group: str, topics: Sequence[str], assignee: Assignee) -> SqliteConsumer:
        """Join `group` as a consumer of `topics`; the first one leads."""
        check_read_together({topic: self.partition_count(topic) for topic in topics})
        consumer = SqliteConsumer(
            self._database,
            self,
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


class SqliteFollower:
    """Reads a topic's partitions as they grow; see `service.stream.Follower`."""

    def __init__(self, log: Log, topic: str, offsets: Mapping[int, int]) -> None:
        self._log = log
        self._topic = topic
        self._offsets = dict(offsets)

    def poll(self) -> Sequence[Record]:
        """Return the records that have come since; see `Follower.poll`."""
        found: list[Record] = []
        ends = self._log.ends(self._topic)
        for partition, offset in self._offsets.items():
            if offset < (end := ends[partition]):
                found += self._log.read(self._topic, partition, offset, end)
                self._offsets[partition] = end
        return found

    def close(self) -> None:
        """Release nothing: the transport has the database."""
