"""The format of the stream's file: tables and columns; and the check of other SQLite files."""

from __future__ import annotations

import sqlite3
import struct
from pathlib import Path

from service.errors import TransportError
from service.stream.protocol import Headers

APPLICATION_ID = 0x50455243
"""The ASCII letters PERC, the id by which `file(1)` and the service recognise the file."""
SCHEMA_VERSION = 1

_TABLES = Path(__file__).with_name("schema.sql")

_OFFSET_BITS = 40
_LENGTH = struct.Struct("<I")


def place_of(log_id: int, offset: int) -> int:
    """Return the primary key of a record: records are ordered by log, then by offset.

    The key is the row id instead of two columns: during a search SQLite reads whole rows to compare key
    columns, but only the row id otherwise; a snapshot of some megabytes made every later commit five times
    slower. There may be 2**40 records per partition and 2**23 partitions.
    """
    return log_id << _OFFSET_BITS | offset


def offset_of(place: int) -> int:
    """Return the offset of a key from `place_of`."""
    return place & ((1 << _OFFSET_BITS) - 1)


def is_empty(connection: sqlite3.Connection) -> bool:
    """Return whether the file is new."""
    return not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def check(connection: sqlite3.Connection, name: str) -> None:
    """Check that the file `name` is a stream of the version that this release writes.

    Raises
    ------
    TransportError
        It is another program's database, or a stream of another version.

    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise TransportError(
            f"{name} is a database of another program", hint="set `broker` to a separate file for the stream"
        )
    if version != SCHEMA_VERSION:
        raise TransportError(
            f"{name} has stream format {version}, expected {SCHEMA_VERSION}",
            hint="start the release that wrote it, or set `broker` to another file",
        )


def create(connection: sqlite3.Connection) -> None:
    """Create the tables and set the file's id and version, inside a transaction."""
    for statement in _TABLES.read_text(encoding="utf-8").split(";\n"):
        if statement.strip():
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def whole_numbers(row: tuple[int, ...]) -> tuple[int, ...]:
    """Return a row of columns that hold whole numbers.

    Raises
    ------
    sqlite3.DatabaseError
        A cell has another type, which SQLite allows other programs to write; reported like a damaged page.

    """
    for cell in row:
        if not isinstance(cell, int):
            error = sqlite3.DatabaseError(f"expected a whole number, got {cell!r}")
            error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise error
    return row


def encode_headers(headers: Headers) -> bytes:
    """Encode names and values in order, each prefixed with its length."""
    parts = []
    for name, value in headers:
        for part in (name.encode(), value):
            parts += [_LENGTH.pack(len(part)), part]
    return b"".join(parts)


def decode_headers(encoded: bytes) -> Headers:
    """Decode headers from `encode_headers`. Raises `ValueError` or `struct.error` for other bytes."""
    parts = []
    at = 0
    while at < len(encoded):
        (length,) = _LENGTH.unpack_from(encoded, at)
        at += _LENGTH.size
        parts.append(encoded[at : at + length])
        at += length
    if at != len(encoded):
        raise ValueError("truncated header")
    return tuple((name.decode(), value) for name, value in zip(parts[::2], parts[1::2], strict=True))
