"""The embedded stream as the service sees it; see `service.stream.protocol.Transport`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from service.stream.protocol import Assignee, Record, check_read_together
from service.stream.sqlite.consumer import SqliteConsumer
from service.stream.sqlite.database import Database
from service.stream.sqlite.log import Log


class EmbeddedTransport(Log):
    """A stream inside a SQLite database.

    Safe to use from several threads; a consumer and its writers belong to one thread, but for
    `Consumer.lag`. `close` leaves the groups still joined without calling their assignees.

    Parameters
    ----------
    database
        Where the stream is; closed with the transport.

    """

    def __init__(self, database: Database) -> None:
        self._consumers: list[SqliteConsumer] = []
        super().__init__(database)

    def follow(self, topic: str, offsets: Mapping[int, int]) -> SqliteFollower:
        """Return what reads `topic` from these offsets on; see `Transport.follow`."""
        return SqliteFollower(self, topic, offsets)

    def join(
        self,
        group: str,
        topics: Sequence[str],
        assignee: Assignee,
        alone: str = "",  # noqa: ARG002 - a group has one owner here in any case
    ) -> SqliteConsumer:
        """Join `group` as a consumer of `topics`; the first one leads."""
        check_read_together({topic: self.partition_count(topic) for topic in topics})
        consumer = SqliteConsumer(self._database, self, group, topics, assignee)
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

    All of them may produce and read; each group has one owner, see `SqliteConsumer`. Every commit is on the
    disk when it returns. Beside the file lie SQLite's `-wal` and `-shm` and, for each group, an `-owner-…`.

    Parameters
    ----------
    path
        The file, created with its directories; `~` is the home directory.

    Raises
    ------
    TransportError
        The file is not a stream, is damaged, or has another format.
    TransportUnavailable, AccessRefused, StorageFull
        As their names say.

    """

    def __init__(self, path: str | Path) -> None:
        super().__init__(Database(Path(path).expanduser()))


class SqliteFollower:
    """Reads a topic's partitions as they grow; see `service.stream.protocol.Follower`."""

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
