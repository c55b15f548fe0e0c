"""The checkpoint log of one partition: records of its progress and its snapshots.

Every transaction appends a small *progress* record with the offsets at which its batch ended. Now and then a
*snapshot* follows it. A restore loads the newest valid snapshot and replays the batches of later progress.

    s0 p1 p2 p3 s3 p4 p5 …      (s: snapshot after that batch, p: progress)

The chunks of a large snapshot lie between the progress of later batches. The snapshot counts once its last
chunk is written; if the process ends before, it never counts.

    … p3 p4 s3 p5 s3 p6 …       (in two chunks)

A large snapshot is followed by *increments*, each with the changes since its predecessor, until they are as
large in sum: a *chain*. The newest increment whose chain is complete counts.

    s0 p1 s1 p2 i2 p3 i3 p4 s4 …   (i: increment; i3 needs i2 and s1)

The header `kind` is the kind of a record; its key is the consumer group. If input records have schemas, the
log holds each schema, too, from the first batch that needs it (`service.formats.schema`); its headers are
`sequence` and `schema`, the key of the schema.

A progress record is JSON: `version` and the fields of `Progress`.

    sequence      number of the batch
    offsets       next offset, by input topic, then by partition
    counts        updates, pending_labels, predictions, labelled, mistakes, rejected, and what further parts
                  count (`Part.counts`)
    consumed      records ever processed, by input topic
    processing_time_ms  the time at which the batch was processed, which bounds event times

A snapshot is MessagePack in a sealed envelope, cut into chunks; the headers are `sequence`, `chunk` and
`chunks`, for an increment also `before`, the batch of the snapshot that it continues from. The fields
(`service.checkpoints.snapshot.Snapshot`):

    sequence      number of the batch that it follows
    offsets       next offset, by input topic, then by partition
    config_fingerprint  the settings that made the state (`service.checkpoints.config_fingerprint`)
    topic_ids     id of each input topic, which differs if the topic was deleted and recreated
    state         `Processor.state`:
      model         the learner's class, parameters, weights and counts, as `Learner.dump` writes them
      join          event time, kept examples, early labels, ids of expired examples (`LabelJoin.state`)
      counters      records, dead letters, labels, predictions, mistakes, the last outcomes, and where
                    predictions have a probability how these came true (`Counters.state`)
      spelling      how outputs write the two classes
      classes       the class names of the vocabulary
      arithmetic    `perceptron_core.elementary.ARITHMETIC` of the release
      schemas       those that the records were written with, where they have any (`Schemas.state`)
      …             of each further part, under its name (`service.partition.parts.kinds`)

An increment has the same fields and, last, the checksum of the snapshot before it. In its state, `model` has
only the changes (`perceptron_core.formats.model_changes`); the rest is complete.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from perceptron_core import DamagedError
from perceptron_core.validation import NewerError
from service.checkpoints.snapshot import LOG_VERSION, Snapshot, StoredSnapshot, to_chunks
from service.errors import CheckpointError, NewerRelease
from service.formats.schema import Schema, from_bytes, to_bytes
from service.stream.protocol import Headers, Output, Record, TopicPartition, flat, nested

_PROGRESS: Final = b"progress"
_SNAPSHOT: Final = b"snapshot"
_INCREMENT: Final = b"increment"
_SCHEMA: Final = b"schema"
KINDS: Final = frozenset({_PROGRESS, _SNAPSHOT, _INCREMENT, _SCHEMA})
"""Kinds of records, in the header `kind`."""
_MAX_DIGITS: Final = 18
_MAX_COUNT: Final = 10**_MAX_DIGITS
"""Limit of offsets and counts; a record from another program may hold any number."""

RESET_HINT: Final = (
    "drop the model: `perceptron checkpoint reset --from committed`; or `checkpoint import` one"
)
_FOREIGN_HINT: Final = f"copy the topic without this record; or {RESET_HINT}"


class Address(NamedTuple):
    """Topic, partition and group of a task's checkpoint records."""

    topic: str
    partition: int
    group: str


class Progress(NamedTuple):
    """One committed batch."""

    sequence: int
    """Number of the batch, counted from 1; 0 is the state before the first."""
    offsets: Mapping[TopicPartition, int]
    """End of the batch: next offset by input topic and partition. The records of the batch were processed in
    the order of `service.stream.batches.merge_by_time`."""
    counts: Mapping[str, int]
    """Counts of the model at the end of the batch: predictions, mistakes, updates, …"""
    consumed: Mapping[str, int]
    """Number of records processed since the beginning, by input topic."""
    processing_time_ms: int
    """The time at which the batch was processed, which bounds event times."""


class StoredSchema(NamedTuple):
    """A schema in the log."""

    sequence: int
    """The first batch that needs the schema."""
    key: bytes
    schema: Schema


@dataclass(slots=True)
class CheckpointLog:
    """The contents of one partition's log, oldest first."""

    progress: list[Progress] = field(default_factory=list)
    snapshots: list[StoredSnapshot] = field(default_factory=list)
    schemas: list[StoredSchema] = field(default_factory=list)
    offsets: dict[int, int] = field(default_factory=dict)
    """Offset of each batch's progress record, by the batch's number."""
    unfinished: list[StoredSnapshot] = field(default_factory=list)
    """The newest snapshot, if its last chunks are not written yet."""

    def last_sequence(self) -> int:
        """Return the number of the last committed batch."""
        numbers = [each[-1].sequence for each in (self.progress, self.snapshots) if each]
        return max(numbers, default=0)

    def progress_after(self, sequence: int) -> Sequence[Progress]:
        """List the batches after number `sequence`, without a gap.

        Raises
        ------
        CheckpointError
            A batch is missing.

        """
        following = [each for each in self.progress if each.sequence > sequence]
        for expected, record in enumerate(following, start=sequence + 1):
            if record.sequence != expected:
                raise CheckpointError(
                    f"checkpoint: batch {expected} is missing from the log",
                    hint="`perceptron checkpoint show` lists the log",
                )
        return following


def progress_record(progress: Progress, address: Address) -> Output:
    """Write progress as a record."""
    fields = {**progress._asdict(), "offsets": nested(progress.offsets)}
    value = json.dumps({"version": LOG_VERSION, **fields}, separators=(",", ":")).encode()
    return _output(address, value, (("kind", _PROGRESS),))


def snapshot_records(
    snapshot: Snapshot, address: Address, before: tuple[int, bytes] | None = None
) -> Sequence[Output]:
    """Write a snapshot as records.

    With `before`, the batch number and the mark of the snapshot before it, it is written as an increment.
    """
    chunks = to_chunks(snapshot, before[1] if before else b"")
    kind = _kind(_INCREMENT if before else _SNAPSHOT, snapshot.sequence)
    last: Headers = (("chunks", b"%d" % len(chunks)), *([("before", b"%d" % before[0])] if before else ()))
    return [
        _output(address, chunk, (*kind, ("chunk", b"%d" % number), *last))
        for number, chunk in enumerate(chunks)
    ]


def schema_records(schemas: Mapping[bytes, Schema], sequence: int, address: Address) -> Sequence[Output]:
    """Write schemas as records, to be committed with the batch that first needed them."""
    return [
        _output(address, to_bytes(schema), (*_kind(_SCHEMA, sequence), ("schema", key)))
        for key, schema in schemas.items()
    ]


def _output(address: Address, value: bytes, headers: Headers) -> Output:
    return Output(address.topic, address.group.encode(), value, headers, address.partition)


def _kind(kind: bytes, sequence: int) -> Headers:
    return (("kind", kind), ("sequence", b"%d" % sequence))


def read_log(records: Iterable[Record], group: str, before: CheckpointLog | None = None) -> CheckpointLog:
    """Read a partition's checkpoint records, in order; incomplete snapshots are left out.

    Parameters
    ----------
    records
        The records after the records in `before`.
    group
        The group that the records must belong to.
    before
        The log read so far; it is not changed.

    Raises
    ------
    CheckpointError
        A record is not a checkpoint, or belongs to another group.
    NewerRelease
        A record is of a kind, or has a field, that this release does not know.

    """
    log = CheckpointLog()
    if before is not None:
        log.progress, log.schemas, log.offsets = [*before.progress], [*before.schemas], {**before.offsets}
        log.snapshots = before.snapshots + before.unfinished
    for record in records:
        add_record(log, record, group)
    log.unfinished = [snapshot for snapshot in log.snapshots[-1:] if snapshot.is_unfinished]
    log.snapshots = [snapshot for snapshot in log.snapshots if not snapshot.is_unfinished]
    return log


def add_record(log: CheckpointLog, record: Record, group: str) -> None:
    """Add the next record to its log. Raises as `read_log`."""
    headers = dict(record.headers)
    kind = headers.get("kind")
    if kind not in KINDS:
        if kind is not None and record.key == group.encode():
            raise NewerRelease.wrote(f"{_position(record)}: unknown record kind {kind!r:.50}")
        raise CheckpointError(
            f"{_position(record)}: expected a checkpoint record: another program has written to the topic",
            hint=f"let nothing else write to the checkpoints topic; {_FOREIGN_HINT}",
        )
    if record.key != group.encode():
        owner = (record.key or b"").decode(errors="replace")
        raise CheckpointError(
            f"{_position(record)}: written by the group {owner!r:.200}, not {group!r}",
            hint="give each group a separate checkpoints topic: --checkpoints-topic",
        )
    if kind == _PROGRESS:
        log.progress.append(_read_progress(record))
        log.offsets[log.progress[-1].sequence] = record.offset
    elif kind == _SCHEMA:
        log.schemas.append(_read_schema(record, headers))
    else:
        _add_chunk(log, record, headers)


def _read_schema(record: Record, headers: Mapping[str, bytes]) -> StoredSchema:
    try:
        return StoredSchema(int(headers["sequence"]), headers["schema"], from_bytes(record.value or b""))
    except NewerError:
        raise NewerRelease.wrote(f"{_position(record)}: unknown schema version") from None
    except (DamagedError, KeyError, ValueError) as error:
        raise _unreadable(record, f"unreadable schema: {error}") from error


def _read_progress(record: Record) -> Progress:
    try:
        fields: dict[str, Any] = json.loads(record.value or b"")
        if newer := what_is_newer(fields):
            raise NewerRelease.wrote(f"{_position(record)}: progress {newer}")
        del fields["version"]
        progress = Progress(**{**fields, "offsets": flat(fields["offsets"])})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _unreadable(record, "unreadable progress record") from error
    if not _is_valid(progress):
        raise _unreadable(record, "unreadable progress record")
    return progress


def what_is_newer(fields: Mapping[str, Any]) -> str:
    """Return which field of a progress record only a newer release has; empty if there is none.

    Raises `ValueError` or another error if the fields are not progress.
    """
    version = fields["version"]
    if type(version) is not int or version < 1:
        raise ValueError(f"expected a version from 1, got {version!r:.20}")
    if version > LOG_VERSION:
        return f"of version {version!r:.20}; this release reads {LOG_VERSION}"
    unknown = ", ".join(sorted(fields.keys() - {"version", *Progress._fields}))
    return f"with unknown fields {unknown!r:.50}" if unknown else ""


def _is_valid(progress: Progress) -> bool:
    """Return whether the fields of progress have the types that the service depends on."""
    by_name = (progress.offsets, progress.counts, progress.consumed)
    return (
        _is_count(progress.sequence)
        and _is_count(progress.processing_time_ms)
        and all(isinstance(counts, Mapping) and all(map(_is_count, counts.values())) for counts in by_name)
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_COUNT


def _unreadable(record: Record, what: str) -> CheckpointError:
    return CheckpointError(f"{_position(record)}: {what}", hint=_FOREIGN_HINT)


def _add_chunk(log: CheckpointLog, record: Record, headers: Mapping[str, bytes]) -> None:
    is_increment = headers.get("kind") == _INCREMENT
    names = ("sequence", "chunk", "chunks", *(("before",) if is_increment else ()))
    numbers = [headers.get(name, b"") for name in names]
    if not all(value.isdigit() and len(value) <= _MAX_DIGITS for value in numbers):
        raise _unreadable(record, "a snapshot chunk needs its numbers in the headers")
    sequence, number, count = map(int, numbers[:3])
    before = int(numbers[3]) if is_increment else None
    if number >= count:
        raise _unreadable(record, f"snapshot chunk {number} is out of range: the snapshot has {count} chunks")
    snapshots = log.snapshots
    if number == 0 or not snapshots or snapshots[-1].sequence != sequence:
        # If the progress of its batch is deleted, the progress of the next batch comes first.
        needed = log.offsets.get(sequence, log.offsets.get(sequence + 1, record.offset))
        previous = next((snapshot for snapshot in reversed(snapshots) if snapshot.sequence == before), None)
        needed = needed if previous is None else previous.needed_offset
        position = (record.offset, needed, record.timestamp_ms)
        snapshots.append(StoredSnapshot(*position, sequence, count, before, previous))
    snapshots[-1].chunks[number] = record.value or b""


def _position(record: Record) -> str:
    return f"{record.topic}[{record.partition}]@{record.offset}"
