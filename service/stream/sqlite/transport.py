"""The embedded stream; see `service.stream.protocol.Transport`."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from service.stream.protocol import Assignee, check_copartitioned
from service.stream.sqlite.consumer import SqliteConsumer
from service.stream.sqlite.database import Database
from service.stream.sqlite.log import Log


class EmbeddedTransport(Log):
    """A stream inside a SQLite database.

    Safe to use from several threads; a consumer and its writers belong to one thread, except `Consumer.lag`.
    `close` leaves the joined groups without notifying their assignees.

    Parameters
    ----------
    database
        The database of the stream; closed with the transport.

    """

    def __init__(self, database: Database) -> None:
        self._consumers: list[SqliteConsumer] = []
        super().__init__(database)

    def join(
        self,
        group: str,
        topics: Sequence[str],
        assignee: Assignee,
        owner_topic: str = "",  # noqa: ARG002 - a group has one owner here in any case
    ) -> SqliteConsumer:
        """Join `group` as a consumer of `topics`; the first one leads."""
        check_copartitioned({topic: self.partition_count(topic) for topic in topics})
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

    All processes may produce and read; each group has one owner, see `SqliteConsumer`. Every commit is on
    disk when it returns. Next to the file are SQLite's `-wal` and `-shm` and, for each group, an `-owner-…`
    file.

    Parameters
    ----------
    path
        The file, created with its directories; `~` is the home directory.

    Raises
    ------
    TransportError
        The file is not a stream, is damaged, or has another format.
    TransportUnavailable, AccessDenied, StorageFull
        See their docstrings.

    """

    def __init__(self, path: str | Path) -> None:
        super().__init__(Database(Path(path).expanduser()))


class MemoryTransport(EmbeddedTransport):
    """A stream in the memory of this process.

    Parameters
    ----------
    name
        Transports of the same name share one stream, which lives as long as the process, so that it can be
        closed and opened again like a file. Without a name, the stream ends with the transport.

    """

    def __init__(self, name: str = "") -> None:
        super().__init__(_SharedDatabase.named(name) if name else Database(None))


class _SharedDatabase(Database):
    """A database shared by several transports of this process, so that none of them may close it."""

    _databases: ClassVar[dict[str, _SharedDatabase]] = {}
    _naming: ClassVar[threading.Lock] = threading.Lock()

    @classmethod
    def named(cls, name: str) -> _SharedDatabase:
        """Return the database called `name`; make it at its first use."""
        with cls._naming:
            if name not in cls._databases:
                cls._databases[name] = cls(None)
                cls._databases[name].name = f"memory://{name}"
            return cls._databases[name]

    def close(self) -> None:
        """Do nothing: other transports may use it."""
