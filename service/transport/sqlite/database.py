"""One SQLite connection for all threads of a process, and the boundary its errors do not pass.

A block of statements is a transaction, all or nothing; a refusal is a `TransportError`.
"""

from __future__ import annotations

import ctypes
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from service.errors import AccessRefused, MessageTooLarge, StorageFull, TransportError, TransportUnavailable
from service.transport.sqlite import schema
from service.transport.sqlite.files import OpenFiles, create_private

_log = logging.getLogger(__name__)

BUSY_TIMEOUT_SECONDS = 5.0
"""How long to wait while another process writes before saying `TransportUnavailable`."""
_WAL_LIMIT_BYTES = 64 * 1024 * 1024
"""What a burst of large transactions may leave of the write-ahead log on the disk."""


def wall_clock_ms() -> int:
    """Return the milliseconds since the Unix epoch."""
    return time.time_ns() // 1_000_000


class Database:
    """A SQLite file (or, without a path, a database in memory) holding a stream.

    One connection behind one lock: threads take turns, processes are kept apart by SQLite. Every
    block is one transaction and none waits for anything but the disk.

    Parameters
    ----------
    path
        The file; it and its directories are created. None for a database in memory.
    busy_timeout_seconds
        How long to wait for another process that is writing.

    Raises
    ------
    TransportError
        The file is no stream, is damaged, or has another format.
    TransportUnavailable, AccessRefused, StorageFull
        As their names say.

    """

    def __init__(self, path: Path | None, *, busy_timeout_seconds: float = BUSY_TIMEOUT_SECONDS) -> None:
        self.path = path
        self.name = str(path) if path else "memory"
        self._lock = threading.RLock()
        self._writes = 0
        self._files: OpenFiles | None = None
        if path:
            _make_file(path)
        with translated(self.name):
            self._connection = sqlite3.connect(
                path or ":memory:",
                timeout=busy_timeout_seconds,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                self._prepare(busy_timeout_seconds)
            except BaseException:
                self._connection.close()
                raise

    def _prepare(self, busy_timeout_seconds: float) -> None:
        new = schema.is_empty(self._connection)
        if not new:
            # Before all else: a file of another program must not be touched.
            schema.check(self._connection, self.name)
        if self.path:
            self._write_ahead(busy_timeout_seconds)
            self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT_BYTES}")
        if new:
            self._create()
        schema.check(self._connection, self.name)  # opens all files of the stream
        if self.path:
            self._files = OpenFiles(self.path)

    def _create(self) -> None:
        with self.writing() as connection:
            if schema.is_empty(connection):
                schema.create(connection)
            # Another process may have been quicker, with a program of another version.
            schema.check(connection, self.name)

    def _write_ahead(self, busy_timeout_seconds: float) -> None:
        """Switch to write-ahead logging; SQLite does not wait by itself while others open the file."""
        deadline = time.monotonic() + busy_timeout_seconds
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if _primary_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                return

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Run a block on one consistent view of the stream."""
        with self._lock, translated(self.name), self._transaction("BEGIN"):
            self._check_files()
            yield self._connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Run a block as one transaction: durable when it ends, without a trace when it raises."""
        with self._lock, translated(self.name), self._transaction("BEGIN IMMEDIATE"):
            yield self._connection
            self._check_files(at_once=True)
            self._writes += 1

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        self._connection.execute(begin)
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            # SQLite has rolled back by itself after some errors, a full disk among them.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def version(self) -> tuple[int, int]:
        """Return a value that changes whenever anybody commits; cheap enough to ask in a loop."""
        with self._lock, translated(self.name):
            self._check_files()
            (others,) = self._connection.execute("PRAGMA data_version").fetchone()
            return others, self._writes

    def close(self) -> None:
        """Close the connection. Idempotent."""
        with self._lock, translated(self.name):
            if self._files is None or self._files.may_be_closed():
                self._connection.close()
            else:  # nor may the interpreter close it at exit
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))

    def _check_files(self, *, at_once: bool = False) -> None:
        if self._files is not None:
            self._files.check(at_once=at_once)


def _make_file(path: Path) -> None:
    """Create the file and its directories, unless they are there."""
    what = f"the directory of {path}"
    try:
        if not path.parent.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            _log.warning("created the directory %s", path.parent)
        what = str(path)
        if path.is_dir():
            raise TransportError(f"{path} is a directory, not a stream", hint=_OTHER_FILE)
        if not all(_is_writable(place) for place in (path.parent, path) if place.exists()):
            # Said here because SQLite would only say that it cannot open the file.
            raise AccessRefused(f"{path} and its directory must be writable, and are not", hint=_OTHER_FILE)
        create_private(path)
    except OSError as error:
        raise TransportUnavailable(f"cannot create {what}: {error.strerror}", hint=_OTHER_FILE) from error


def _is_writable(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


_OTHER_FILE = "name a file in a directory you may write to in the setting `broker`"
_REPAIR = "restore it from a copy, or name another file in the setting `broker`"
_TRANSLATIONS: dict[int, tuple[type[TransportError], str, str]] = {
    sqlite3.SQLITE_FULL: (
        StorageFull,
        "no room left for {name}",
        "free some space on its file system, or move the stream: setting `broker`",
    ),
    sqlite3.SQLITE_BUSY: (
        TransportUnavailable,
        "{name} is locked by another process",
        "a process that writes to it may be stopped or very busy; find it with `fuser`",
    ),
    sqlite3.SQLITE_LOCKED: (TransportUnavailable, "{name} is locked", ""),
    sqlite3.SQLITE_CANTOPEN: (TransportUnavailable, "cannot open {name}", _OTHER_FILE),
    sqlite3.SQLITE_IOERR: (TransportUnavailable, "cannot read or write {name}", "look at the disk"),
    sqlite3.SQLITE_READONLY: (AccessRefused, "{name} is not writable", _OTHER_FILE),
    sqlite3.SQLITE_PERM: (AccessRefused, "{name} is not accessible", _OTHER_FILE),
    sqlite3.SQLITE_NOTADB: (TransportError, "{name} is not a stream: no SQLite database", _OTHER_FILE),
    sqlite3.SQLITE_CORRUPT: (TransportError, "{name} is damaged", _REPAIR),
    sqlite3.SQLITE_TOOBIG: (MessageTooLarge, "a record is larger than SQLite takes in {name}", ""),
}


@contextmanager
def translated(name: str) -> Iterator[None]:
    """Translate SQLite's exceptions; `name` is the file they are about."""
    try:
        yield
    except sqlite3.Error as error:
        kind, message, hint = _TRANSLATIONS.get(
            _primary_code(error), (TransportError, "SQLite refused an operation on {name}", "")
        )
        raise kind(f"{message.format(name=name)} ({error})", hint=hint) from error


def _primary_code(error: sqlite3.Error) -> int:
    """Return SQLite's result code without its details; -1 where the driver itself complains."""
    code: int = getattr(error, "sqlite_errorcode", -1)
    return code & 0xFF if code >= 0 else code
