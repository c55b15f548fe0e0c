"""The records: each topic has an append-only log for each partition.

A function with a `connection` runs inside the caller's transaction.
"""

from __future__ import annotations

import sqlite3
import struct
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

from service.errors import ConfigurationError, MessageTooLarge, TopicMissing, TransportError
from service.stream.batches import RecordBatch
from service.stream.partitioner import partition_for_key
from service.stream.protocol import Headers, Output, Record, RecordLimit, TopicPartition, topics_of
from service.stream.sqlite.database import Database, wall_clock_ms

_PAGE_RECORDS = 1000
_PAGE_BYTES = 4 * 1024 * 1024
"""Largest page of a read, plus one record: pages of large records must fit in memory."""
_BYTES = (bytes, type(None))
"""The types of a key or value; SQLite allows other programs to write other types."""
_MAX_RECORD_BYTES = 16 * 1024 * 1024
"""Largest record: key, value and headers together; several copies must fit in memory."""
_CHECK_INTERVAL_SECONDS = 2.0
"""How long partitions added by other processes may stay unnoticed."""
_OFFSET_BITS = 40
_LENGTH = struct.Struct("<I")


class Row(NamedTuple):
    """An output as it will be stored, without the offset."""

    log_id: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: bytes | None


class Log:
    """All topics of one database.

    Parameters
    ----------
    database
        The database.

    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._max_record_bytes = _MAX_RECORD_BYTES
        self._logs: dict[str, list[int]] = {}
        """The known logs of each topic's partitions; other processes may have added some."""
        self._next_check_at: defaultdict[str, float] = defaultdict(float)
        """When (monotonic seconds) to check whether a written topic has more partitions."""

    @property
    def offsets_are_dense(self) -> bool:
        """Return True: only records take offsets, and offsets of a failed transaction are reused."""
        return True

    def ensure_topics(
        self,
        partitions: Mapping[str, int],
        *,
        create: bool = True,
        keep_forever: bool = False,  # noqa: ARG002 - here no record expires
    ) -> None:
        """Create missing topics; an existing topic keeps its partitions."""
        wrong = [topic for topic, number in partitions.items() if number < 1 or not topic]
        if wrong:
            raise ConfigurationError(f"a topic needs a name and at least one partition: {wrong[0]!r}")
        missing = [topic for topic in partitions if not (self._logs.get(topic) or self._load(topic))]
        if missing and not create:
            raise self._missing(missing[0])
        if missing:
            with self._database.writing() as connection:
                for topic in missing:
                    if not _count(connection, topic):  # another process may have created it
                        _add(connection, topic, range(partitions[topic]))

    def add_partitions(self, partitions: Mapping[str, int]) -> None:
        """Add partitions to each topic that has fewer."""
        for topic, wanted in partitions.items():
            self.logs(topic)
            with self._database.writing() as connection:
                _add(connection, topic, range(_count(connection, topic), wanted))
            self._load(topic)

    def topics(self) -> list[str]:
        """List the names of the topics."""
        with self._database.reading() as connection:
            return [topic for (topic,) in connection.execute("SELECT DISTINCT topic FROM logs")]

    def partition_count(self, topic: str) -> int:
        """Count the partitions of `topic`. Raises `TopicMissing`."""
        return len(self.logs(topic, refresh=True))

    def record_limit(self, topic: str) -> RecordLimit:
        """Return how large a record of `topic` may be; records are not compressed."""
        self.logs(topic)
        return RecordLimit(self._max_record_bytes, self._max_record_bytes)

    def topic_id(self, topic: str) -> str:
        """Return the number of the topic's first log, which no other topic of the file will have."""
        return str(self.log(topic, 0))

    def logs(self, topic: str, *, refresh: bool = False) -> list[int]:
        """Return the log of each partition of `topic`, read again with `refresh`. Raises `TopicMissing`."""
        known = None if refresh else self._logs.get(topic)
        if logs := known or self._load(topic):
            return logs
        raise self._missing(topic)

    def log(self, topic: str, partition: int) -> int:
        """Return the log of one partition. Raises `TopicMissing`."""
        logs = self.logs(topic)
        if partition >= len(logs):
            logs = self.logs(topic, refresh=True)
        if 0 <= partition < len(logs):
            return logs[partition]
        raise TopicMissing(
            f"{topic}[{partition}] does not exist in {self._database.name}: it has {len(logs)} partitions"
        )

    def _load(self, topic: str) -> list[int]:
        with self._database.reading() as connection:
            query = "SELECT id FROM logs WHERE topic = ? ORDER BY partition"
            logs = [log for (log,) in connection.execute(query, (topic,))]
        if logs:
            self._logs[topic] = logs
        return logs

    def _missing(self, topic: str) -> TopicMissing:
        return TopicMissing(
            f"topic {topic!r} does not exist in {self._database.name}",
            hint="create the topic, or correct the setting that names it",
        )

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the first available offset and the next offset to write."""
        log = self.log(topic, partition)
        with self._database.reading() as connection:
            return log_bounds(connection, log)

    def bounds_of(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
        """Return the `bounds` of several topic partitions."""
        return {each: self.bounds(*each) for each in partitions}

    def first_at(self, topic: str, partition: int, time_ms: int) -> int:
        """Return the offset of the first record at or after a time; see `Transport.first_at`."""
        log = self.log(topic, partition)
        with self._database.reading() as connection:
            _, end = log_bounds(connection, log)
            row = connection.execute(
                "SELECT row_id FROM records WHERE row_id >= ? AND row_id < ? AND timestamp_ms >= ?"
                " ORDER BY row_id LIMIT 1",
                (row_id_of(log, 0), row_id_of(log, end), time_ms),
            ).fetchone()
        return end if row is None else offset_of(row[0])

    def read_partitions(self, topic: str, ranges: Mapping[int, tuple[int, int]]) -> Iterator[Record]:
        """Yield the records of several partitions, one after the other; see `Transport.read_partitions`."""
        for partition, (start, end) in ranges.items():
            yield from self.read(topic, partition, start, end)

    def produce(self, outputs: Sequence[Output]) -> None:
        """Write `outputs` durably, all or none."""
        if rows := self.prepare(outputs):
            with self._database.writing() as connection:
                self.append(connection, rows)

    def prepare(self, outputs: Sequence[Output]) -> list[Row]:
        """Choose partitions and check sizes, before a transaction begins."""
        now, logs = wall_clock_ms(), {}
        for topic in topics_of(outputs):
            if is_due := time.monotonic() >= self._next_check_at[topic]:
                self._next_check_at[topic] = time.monotonic() + _CHECK_INTERVAL_SECONDS
            logs[topic] = self.logs(topic, refresh=is_due)
        return [self._row(output, logs[output.topic], now) for output in outputs]

    def _row(self, output: Output, logs: Sequence[int], now: int) -> Row:
        topic, key, value, headers, partition, timestamp_ms = output
        if partition is None:
            partition = partition_for_key(key, len(logs)) if len(logs) > 1 else 0
        encoded = encode_headers(headers) if headers else None
        size = len(key or b"") + len(value or b"") + len(encoded or b"")
        if size > self._max_record_bytes:
            raise MessageTooLarge(
                f"{topic}[{partition}]: expected records up to {self._max_record_bytes} bytes, got {size}",
                hint="send smaller messages",
            )
        log_id = logs[partition] if 0 <= partition < len(logs) else self.log(topic, partition)
        return Row(log_id, now if timestamp_ms is None else timestamp_ms, key, value, encoded)

    @staticmethod
    def append(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
        """Append rows to their logs, in the given order."""
        offsets = {log: count(log_bounds(connection, log)[1]) for log in {row.log_id for row in rows}}
        connection.executemany(
            "INSERT INTO records (row_id, timestamp_ms, key, value, headers) VALUES (?, ?, ?, ?, ?)",
            ((row_id_of(row[0], next(offsets[row[0]])), *row[1:]) for row in rows),
        )
        connection.executemany(
            "UPDATE logs SET next_offset = ? WHERE id = ?",
            [(next(offset), log) for log, offset in offsets.items()],
        )

    def page(
        self, connection: sqlite3.Connection, topic: str, partition: int, start: int, end: int
    ) -> RecordBatch:
        """Return the records from `start` to `end` (exclusive), at most one page."""
        records = RecordBatch()
        size = 0
        log = self.log(topic, partition)
        cursor = connection.execute(
            "SELECT row_id, timestamp_ms, key, value, headers FROM records"
            " WHERE row_id >= ? AND row_id < ? ORDER BY row_id",
            (row_id_of(log, start), row_id_of(log, end)),
        )
        for row_id, timestamp_ms, key, value, headers in cursor:
            try:
                pairs = decode_headers(headers) if headers else ()
            except (ValueError, TypeError, struct.error) as error:
                raise self._damaged(topic, partition, row_id, "headers") from error
            if type(timestamp_ms) is not int:
                raise self._damaged(topic, partition, row_id, "timestamp_ms", "the milliseconds since 1970")
            if type(key) not in _BYTES or type(value) not in _BYTES:
                column = "value" if type(key) in _BYTES else "key"
                raise self._damaged(topic, partition, row_id, column, f"CAST({column} AS BLOB)")
            records.append(Record(topic, partition, offset_of(row_id), timestamp_ms, key, value, pairs))
            size += len(value or b"") + len(key or b"")
            if size >= _PAGE_BYTES:
                break
        cursor.close()  # an unfinished cursor would hold its snapshot of the file
        return records

    def _damaged(
        self, topic: str, partition: int, row_id: int, column: str, to: str = "NULL"
    ) -> TransportError:
        return TransportError(
            f"{topic}[{partition}]@{offset_of(row_id)}: damaged {column} in {self._database.name}",
            hint=f"restore the file from a copy; or stop the service and set `{column}` of the record with "
            f"row_id = {row_id} to {to} in the table `records`",
        )

    def read(self, topic: str, partition: int, start: int = 0, end: int | None = None) -> Iterator[Record]:
        """Yield committed records from `start` to `end` (exclusive; the present end if None)."""
        first, last = self.bounds(topic, partition)
        start, end = max(start, first), last if end is None else min(end, last)
        while start < end:
            with self._database.reading() as connection:
                page = self.page(connection, topic, partition, start, min(end, start + _PAGE_RECORDS))
                first, _ = log_bounds(connection, self.log(topic, partition))
            yield from page
            # If records are deleted during the read, it continues at the new start.
            start = page[-1].offset + 1 if page else max(first, start + 1)

    def committed(self, group: str, topics: Sequence[str], partition: int) -> dict[str, int]:
        """Return a group's committed next offsets of a partition, by topic."""
        logs = {self.log(topic, partition): topic for topic in topics}
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT log_id, next_offset FROM committed WHERE group_name = ?", (group,)
            )
            return {logs[log]: offset for log, offset in map(whole_numbers, rows) if log in logs}

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """Delete the records before `offset`, at most all."""
        log = self.log(topic, partition)
        with self._database.writing() as connection:
            first, end = log_bounds(connection, log)
            begin = min(max(first, offset), end)
            ends = (row_id_of(log, 0), row_id_of(log, begin))
            connection.execute("DELETE FROM records WHERE row_id >= ? AND row_id < ?", ends)
            connection.execute("UPDATE logs SET first_offset = ? WHERE id = ?", (begin, log))


def _count(connection: sqlite3.Connection, topic: str) -> int:
    query = "SELECT count(*) FROM logs WHERE topic = ?"
    (count,) = connection.execute(query, (topic,)).fetchone()
    assert isinstance(count, int)
    return count


def _add(connection: sqlite3.Connection, topic: str, partitions: Iterable[int]) -> None:
    connection.executemany(
        "INSERT INTO logs (topic, partition) VALUES (?, ?)", [(topic, partition) for partition in partitions]
    )


def log_bounds(connection: sqlite3.Connection, log: int) -> tuple[int, int]:
    """Return a log's first available offset and the next offset to write."""
    query = "SELECT first_offset, next_offset FROM logs WHERE id = ?"
    first, end = whole_numbers(connection.execute(query, (log,)).fetchone())
    return first, end


def row_id_of(log_id: int, offset: int) -> int:
    """Return the primary key of a record: records are ordered by log, then by offset.

    The key is the row id instead of two columns: during a search SQLite reads whole rows to compare key
    columns, but only the row id otherwise; a snapshot of some megabytes made every later commit five times
    slower. There may be 2**40 records per partition and 2**23 partitions.
    """
    return log_id << _OFFSET_BITS | offset


def offset_of(row_id: int) -> int:
    """Return the offset of a key from `row_id_of`."""
    return row_id & ((1 << _OFFSET_BITS) - 1)


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
