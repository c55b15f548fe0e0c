"""One SQLite connection for all threads of a process, its files and their format; translation of its errors.

A block of statements is a transaction; failures are `TransportError`s. SQLite keeps using files that were
deleted, moved or replaced: it would write to a file that no other process sees and that is lost at the end.
So the files are checked regularly.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import socket
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EMFILE
from pathlib import Path
from typing import Final

from service.errors import AccessDenied, MessageTooLarge, StorageFull, TransportError, TransportUnavailable

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


_BUSY_TIMEOUT_SECONDS: Final = 5.0
"""How long to wait for another process's write before raising `TransportUnavailable`."""
_WAL_LIMIT_BYTES: Final = 64 * 1024 * 1024
"""Largest size of the write-ahead log that remains on disk after large transactions."""
PRIVATE: Final = 0o600
"""Only the owner may read, as streams contain personal data; SQLite gives `-wal` and `-shm` the same mode."""
_SUFFIXES: Final = ("", "-wal", "-shm")
_LOOK_AT_FILES_SECONDS: Final = 1.0
"""How long the loss of a file may stay unnoticed between commits."""

_LOCKED_AT: Final = 1 << 20
"""The byte that Windows locks: other processes could not read a locked range."""

_APPLICATION_ID: Final = 0x50455243
"""The ASCII letters PERC, the id by which `file(1)` and the service recognise the file."""
_FORMAT_VERSION: Final = 1
_TABLES: Final = Path(__file__).with_name("schema.sql")

Identity = tuple[int, int]


def wall_clock_ms() -> int:
    """Return the milliseconds since the Unix epoch."""
    return time.time_ns() // 1_000_000


class Database:
    """A SQLite file (or, without a path, a database in memory) holding a stream.

    Threads share one connection with a lock; SQLite separates processes. Every block is one transaction and
    waits only for the disk.

    Parameters
    ----------
    path
        The file, which is created in an existing directory. None for a database in memory.

    Raises
    ------
    TransportError
        The file is not a stream, is damaged, or has another format.
    TransportUnavailable, AccessDenied, StorageFull
        See their docstrings.

    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.name = str(path) if path else "memory"
        self._lock = threading.RLock()
        self._writes = 0
        self._files: OpenFiles | None = None
        self.owners: dict[str, OwnerLock] = {}
        """The lock of each group, for a stream in memory."""
        if path:
            _make_file(path)
        with translated(self.name):
            self._connection = sqlite3.connect(
                path or ":memory:",
                timeout=_BUSY_TIMEOUT_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    def _prepare(self) -> None:
        new = _is_empty(self._connection)
        if not new:
            # First, as a file of another program must not be changed.
            _check_format(self._connection, self.name)
        if self.path:
            self._write_ahead()
            self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT_BYTES}")
        if new:
            self._create()
        _check_format(self._connection, self.name)  # opens all files of the stream
        if self.path:
            self._files = OpenFiles(self.path)

    def _create(self) -> None:
        with self.writing() as connection:
            if _is_empty(connection):
                _create_tables(connection)
            # Another process, of another release, may have created it first.
            _check_format(connection, self.name)

    def _write_ahead(self) -> None:
        """Switch to write-ahead logging; SQLite itself does not wait while other processes open the file."""
        deadline = time.monotonic() + _BUSY_TIMEOUT_SECONDS
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
        with self._lock, translated(self.name), self._connection:
            self._connection.execute("BEGIN")
            self._check_files()
            yield self._connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Run a block as one transaction: durable when it ends, rolled back when it raises."""
        with self._lock, translated(self.name), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            yield self._connection
            self._check_files(at_once=True)
            self._writes += 1

    def version(self) -> tuple[int, int]:
        """Return a value that changes with every commit of any process; cheap enough for a loop."""
        with self._lock, translated(self.name):
            self._check_files()
            (others,) = self._connection.execute("PRAGMA data_version").fetchone()
            return others, self._writes

    def close(self) -> None:
        """Close the connection. Idempotent."""
        with self._lock, translated(self.name):
            if self._files is None or self._files.may_be_closed():
                self._connection.close()
            else:  # the interpreter must not close it at exit either
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))

    def _check_files(self, *, at_once: bool = False) -> None:
        if self._files is not None:
            self._files.check(at_once=at_once)


def create_private(path: Path) -> None:
    """Create an empty file that only its owner may read, unless there is one already."""
    # Never open an existing file: closing it would drop this process's locks on it.
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE))


class OpenFiles:
    """The identities of the stream's file, its write-ahead log and its index, as of their opening.

    Parameters
    ----------
    path
        The stream's file, opened and read once, so that all three exist.

    """

    def __init__(self, path: Path) -> None:
        # SQLite names the other files after the one that a symbolic link leads to.
        self._paths = {each: Path(os.path.realpath(path) + each) if each else path for each in _SUFFIXES}
        self._opened = {suffix: _identity(each) for suffix, each in self._paths.items()}
        self._next_look = 0.0
        self._lost = ""

    def check(self, *, at_once: bool = False) -> None:
        """Check that each file is still the one that was opened: now if `at_once`, else once a second.

        Raises
        ------
        TransportError
            A file is gone or was replaced; also raised by all later calls.

        """
        if not self._lost and (at_once or time.monotonic() >= self._next_look):
            self._next_look = time.monotonic() + _LOOK_AT_FILES_SECONDS
            lost = [str(path) for suffix, path in self._paths.items() if not self._is_in_place(suffix)]
            self._lost = lost[0] if lost else ""
        if self._lost:
            raise TransportError(
                f"{self._lost} was deleted, moved or replaced while the stream was open: writing has stopped",
                hint="stop all processes of the stream, restore the file, and restart",
            )

    def may_be_closed(self) -> bool:
        """Return whether closing the connection is safe.

        Closing writes the write-ahead log into the file. That saves a deleted log. But it damages files that
        other processes have created since: another file or log of the same name, or records that they added
        to the log through another index.
        """
        in_place, log = self._is_in_place, self._paths["-wal"]
        return in_place("") and (in_place("-shm") if in_place("-wal") else not log.exists())

    def _is_in_place(self, suffix: str) -> bool:
        return _identity(self._paths[suffix]) == self._opened[suffix]


def _identity(path: Path) -> Identity | None:
    with suppress(OSError):
        status = path.stat()
        return status.st_dev, status.st_ino
    return None


class OwnerLock:
    """The lock of the one process that consumes for a group, held until release or the end of the process.

    The operating system frees the lock of a killed process. The lock's file names the holder, and is never
    deleted: a file deleted while another process waits for it would be locked twice.

    Parameters
    ----------
    database
        The stream; the consumers of one in memory are in this process.
    group
        The group's name.

    """

    def __init__(self, database: Database, group: str) -> None:
        self._owners, self._group = database.owners, group
        path, name = database.path, hashlib.sha256(group.encode()).hexdigest()[:8]
        self._path = path and Path(f"{os.path.realpath(path)}-owner-{name}")
        self._file: int | None = None
        self.is_held = False

    def acquire(self) -> bool:
        """Try to acquire the lock; return whether it is held now."""
        if self._path is None:
            self.is_held = self._owners.setdefault(self._group, self) is self
        elif not self.is_held:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, PRIVATE)
            self.is_held = _try_lock(self._file)
            if not self.is_held:
                self._close()
            else:
                os.ftruncate(self._file, 0)
                os.write(self._file, f"process {os.getpid()} on {socket.gethostname()}".encode())
        return self.is_held

    def holder(self) -> str:
        """Return the process that holds the lock."""
        if self._path is not None:
            with suppress(OSError):
                return self._path.read_text() or "another process"
        return "another consumer of this process"

    def release(self) -> None:
        """Release the lock. Idempotent."""
        if self.is_held and self._path is None:
            del self._owners[self._group]
        self.is_held = False
        self._close()

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file)


def _try_lock(file: int) -> bool:
    """Try to lock an open file for this process; child processes do not inherit the lock."""
    try:
        if sys.platform == "win32":
            os.lseek(file, _LOCKED_AT, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
            os.lseek(file, 0, os.SEEK_SET)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _make_file(path: Path) -> None:
    """Create the file, unless it exists, in an existing directory."""
    try:
        if not path.parent.is_dir():
            raise TransportError(f"{path}: the directory {path.parent} does not exist", hint=_OTHER_FILE)
        if path.is_dir():
            raise TransportError(f"{path} is a directory, not a stream", hint=_OTHER_FILE)
        if path.exists() and path.stat().st_nlink > 1:
            # Under each name SQLite would keep another write-ahead log: commits would be lost.
            raise TransportError(f"{path} has other names (hard links)", hint=_ONE_NAME)
        # In the next two cases, SQLite would only report that it cannot open the file.
        if not all(_is_writable(place) for place in (path.parent, path) if place.exists()):
            raise AccessDenied(f"{path} and its directory must be writable", hint=_OTHER_FILE)
        null = Path(os.devnull)
        with null.open(), null.open(), null.open(), null.open():  # SQLite opens three files and the directory
            create_private(path)
    except OSError as error:
        hint = "raise the limit of open files: `ulimit -n`" if error.errno == EMFILE else _OTHER_FILE
        raise TransportUnavailable(f"cannot open {path}: {error.strerror}", hint=hint) from error


def _is_writable(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


_OTHER_FILE = "set `broker` to a file in an existing, writable directory"
_ONE_NAME = "remove the other names, or copy the file and set `broker` to the copy"
_REPAIR = "restore it from a copy, or set `broker` to another file"
_TRANSLATIONS: dict[int, tuple[type[TransportError], str, str]] = {
    sqlite3.SQLITE_FULL: (StorageFull, "no space left for {name}", "free space on its file system"),
    sqlite3.SQLITE_BUSY: (
        TransportUnavailable,
        "{name} is locked by another process",
        "find it with `fuser`",
    ),
    sqlite3.SQLITE_LOCKED: (TransportUnavailable, "{name} is locked", ""),
    sqlite3.SQLITE_CANTOPEN: (TransportUnavailable, "cannot open {name}", _OTHER_FILE),
    sqlite3.SQLITE_IOERR_WRITE: (
        StorageFull,
        "cannot write {name}",
        "check the disk, its quota and `ulimit -f`",
    ),
    sqlite3.SQLITE_IOERR: (TransportUnavailable, "cannot read or write {name}", "check the disk"),
    sqlite3.SQLITE_READONLY: (AccessDenied, "{name} is not writable", _OTHER_FILE),
    sqlite3.SQLITE_PERM: (AccessDenied, "{name} is not accessible", _OTHER_FILE),
    sqlite3.SQLITE_NOTADB: (TransportError, "{name} is not a SQLite database", _OTHER_FILE),
    sqlite3.SQLITE_CORRUPT: (TransportError, "{name} is damaged", _REPAIR),
    sqlite3.SQLITE_TOOBIG: (MessageTooLarge, "a record in {name} is larger than SQLite allows", ""),
}


@contextmanager
def translated(name: str) -> Iterator[None]:
    """Translate SQLite's exceptions; `name` is the file they are about."""
    try:
        yield
    except sqlite3.Error as error:
        other = TransportError, "SQLite rejected an operation on {name}", ""
        primary = _TRANSLATIONS.get(_primary_code(error), other)
        kind, message, hint = _TRANSLATIONS.get(getattr(error, "sqlite_errorcode", 0xFF), primary)
        raise kind(f"{message.format(name=name)} ({error})", hint=hint) from error


def _primary_code(error: sqlite3.Error) -> int:
    """Return SQLite's primary result code; 255, which SQLite does not use, for an error of the driver."""
    return int(getattr(error, "sqlite_errorcode", 0xFF)) & 0xFF


def _is_empty(connection: sqlite3.Connection) -> bool:
    """Return whether the file is new."""
    return not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def _check_format(connection: sqlite3.Connection, name: str) -> None:
    """Check that the file `name` is a stream of the version that this release writes.

    Raises
    ------
    TransportError
        It is another program's database, or a stream of another version.

    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION_ID:
        raise TransportError(
            f"{name} is a database of another program", hint="set `broker` to a separate file for the stream"
        )
    if version != _FORMAT_VERSION:
        raise TransportError(
            f"{name} has stream format {version}, expected {_FORMAT_VERSION}",
            hint="start the release that wrote it, or set `broker` to another file",
        )


def _create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables and set the file's id and version, inside a transaction."""
    for statement in _TABLES.read_text(encoding="utf-8").split(";\n"):
        if statement.strip():
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {_FORMAT_VERSION}")
