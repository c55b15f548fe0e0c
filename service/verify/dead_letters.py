"""Check dead letters: each rejected record has one, with its bytes, its origin and a possible reason."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from perceptron_core.formats.packed import pack, unpack
from service.messages.dead_letter import DeadLetter, marks_of, split_headers
from service.messages.rejection import SKIPPED, Reason
from service.stream.protocol import Record, TopicPartition
from service.verify.findings import Fault, RecordPosition, Stream

_NOT_SEEN_IN_THE_BYTES: Final = frozenset(
    {Reason.MODEL_ERROR, Reason.OUT_OF_RANGE, Reason.EVENT_TIME_OUT_OF_RANGE, Reason.UNKNOWN_SCHEMA}
)
"""Reasons that depend on the model, the clock or a registry, which cannot be recomputed."""


class WrittenDeadLetter(NamedTuple):
    """A dead letter, whether it was replayed, and whether it was committed during the verification."""

    record: Record
    was_moved: bool
    is_new: bool

    @property
    def position(self) -> RecordPosition:
        """Return the position of the dead letter."""
        return RecordPosition.of(self.record)

    def contradictions(self, record: Record, reason: str | None) -> Iterator[str]:
        """Yield the contradictions to its record; `reason` is why the record's bytes are rejected."""
        source, dead_letter = RecordPosition.of(record), DeadLetter.of(self.record)
        theirs, ours = split_headers(self.record.headers)
        key, value = self.record.key or b"", self.record.value or b""
        whole = record.key or b"", record.value or b"", record.headers
        if dead_letter.is_truncated:
            marks = marks_of(*record[4:])
            whole = whole[0][: len(key)], whole[1][: len(value)], theirs and record.headers
            if ours[-len(marks) :] != marks:
                yield f"its headers contradict {source}"
        if (key, value, theirs) != whole:
            yield f"its bytes differ from {source}"
        if dead_letter.event_time_ms != record.timestamp_ms:
            yield f"its event time {dead_letter.event_time_ms} differs from {source}"
        if dead_letter.reason not in {*_NOT_SEEN_IN_THE_BYTES, reason} - {SKIPPED}:
            because = f"is rejected as {reason}" if reason else "is a valid message"
            yield f"its reason is {dead_letter.reason!r}, but {source} {because}"


class DeadLetters:
    """The dead letters by their source record, in the database.

    Parameters
    ----------
    database
        A temporary database.
    stream
        The verified stream.

    Attributes
    ----------
    are_deleted
        Whether the first dead letters of a partition are deleted.

    """

    def __init__(self, database: sqlite3.Connection, stream: Stream) -> None:
        self._database, self._stream, self._flag = database, stream, stream.flag
        self._topic = stream.settings.dead_letters_topic
        self.are_deleted = bool(stream.deleted(self._topic))
        database.execute("CREATE TABLE dead_letters (topic, part INT, at INT, is_checked INT, fields BLOB)")
        database.execute("CREATE INDEX by_source ON dead_letters (topic, part, at)")

    def read(self, ends: Sequence[tuple[int, int]]) -> None:
        """Read all dead letters; those after the `ends` noted before may be of records that are not read."""
        topic, group = self._topic, f"{self._stream.settings.group}.dead-letters"
        committed = self._stream.transport.committed
        moved = [committed(group, [topic], n).get(topic, 0) for n in range(len(self._stream.bounds(topic)))]
        for record, is_new in self._stream.written(topic, ends):
            dead_letter = WrittenDeadLetter(record, record.offset < moved[record.partition], is_new)
            headers = DeadLetter.of(record)
            source = headers.source_topic, headers.source_partition, headers.source_offset
            if None in source:
                self._flag(Fault.UNEXPECTED, dead_letter.position, "its headers do not name a source record")
            else:
                self._database.execute(
                    "INSERT INTO dead_letters VALUES (?, ?, ?, 0, ?)", (*source, pack(dead_letter))
                )

    def of(self, source: RecordPosition) -> Sequence[WrittenDeadLetter]:
        """Return the dead letters of a record."""
        rows = self._database.execute(
            "SELECT fields FROM dead_letters WHERE topic = ? AND part = ? AND at = ? ORDER BY rowid", source
        )
        return [_dead_letter(fields) for (fields,) in rows]

    def check(self, record: Record, dead_letters: Sequence[WrittenDeadLetter], reason: str | None) -> None:
        """Check the dead letters of a record; `reason` is why its bytes are rejected, if they are.

        There must be one, and at most one more for each time a replay has rejected it again.
        """
        source = RecordPosition.of(record)
        self._database.execute(
            "UPDATE dead_letters SET is_checked = 1 WHERE topic = ? AND part = ? AND at = ?", source
        )
        for dead_letter in dead_letters:
            for message in dead_letter.contradictions(record, reason):
                self._flag(Fault.WRONG, dead_letter.position, message)
        most = 1 + sum(dead_letter.was_moved for dead_letter in dead_letters)
        if dead_letters:
            self._stream.report.dead_letters += 1
        elif not self.are_deleted:
            self._flag(Fault.MISSING, source, f"missing: this record is rejected as {reason}")
        if len(dead_letters) > most:
            message = f"{source} has {len(dead_letters)} dead letters, expected {most}"
            self._flag(Fault.DUPLICATE, dead_letters[-1].position, message)

    def check_others(self, starts: Mapping[TopicPartition, float], ends: Mapping[TopicPartition, int]) -> int:
        """Check the dead letters of records outside the ranges that were read, by partition.

        Return how many may be of later records.
        """
        n_new = 0
        for *source, fields in self._database.execute(
            "SELECT topic, part, at, fields FROM dead_letters WHERE NOT is_checked ORDER BY rowid"
        ):
            dead_letter, partition, offset = _dead_letter(fields), (source[0], source[1]), source[2]
            end = ends.get(partition, 0)
            is_after = dead_letter.is_new and offset >= end
            n_new += is_after
            if not is_after and offset >= starts.get(partition, end):
                message = f"its source {RecordPosition(*source)} was not read by the group"
                self._flag(Fault.UNEXPECTED, dead_letter.position, message)
        return n_new


def _dead_letter(packed: bytes) -> WrittenDeadLetter:
    record, *more = unpack(packed)
    return WrittenDeadLetter(Record(*record), *more)
