"""The embedded stream in memory: for tests, and for a `replay` that keeps nothing."""

from __future__ import annotations

import threading
from typing import ClassVar

from service.stream.sqlite.database import Database
from service.stream.sqlite.transport import EmbeddedTransport


class MemoryTransport(EmbeddedTransport):
    """A stream in the memory of this process.

    Parameters
    ----------
    name
        Transports of the same name share one stream, which lives as long as the process, so that
        it can be closed and opened again like a file. Without a name the stream is the
        transport's own and ends with it.

    """

    def __init__(self, name: str = "") -> None:
        super().__init__(_SharedDatabase.named(name) if name else Database(None))


class _SharedDatabase(Database):
    """A database that several transports of this process use, so that none of them may close it."""

    _databases: ClassVar[dict[str, _SharedDatabase]] = {}
    _naming: ClassVar[threading.Lock] = threading.Lock()

    @classmethod
    def named(cls, name: str) -> _SharedDatabase:
        """Return the database called `name`, made on its first use."""
        with cls._naming:
            if name not in cls._databases:
                cls._databases[name] = cls(None)
                cls._databases[name].name = f"memory://{name}"
            return cls._databases[name]

    def close(self) -> None:
        """Do nothing: others may be using it."""
