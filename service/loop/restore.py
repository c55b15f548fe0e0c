"""Restore the processor of a task as last committed.

Recovery loads the newest valid snapshot and replays the batches committed after it, in their recorded order
and without output. The counts committed with the last batch verify that the state is the same.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from perceptron_core import DamagedError
from perceptron_core.validation import NewerError
from service.checkpoints.config_fingerprint import (
    EARLIER,
    ORIGIN,
    START_MS,
    check_config_fingerprint,
    earlier_settings,
    is_continued_alike,
)
from service.checkpoints.log import RESET_HINT, CheckpointLog, Progress, StoredSchema, read_log
from service.checkpoints.losses import (
    Loss,
    records_held,
    reject,
    reject_cut_off,
    reject_emptied,
    topic_ids,
    unlearned_losses,
    unread_losses,
    warn_of_predictions,
)
from service.checkpoints.snapshot import Snapshot, StoredSnapshot
from service.checkpoints.status import newest_valid, no_valid_snapshot
from service.errors import CheckpointError, NewerRelease
from service.partition.factory import make_processor
from service.partition.forms import check_form
from service.partition.parts.kinds import unknown_parts
from service.partition.processor import Processor
from service.settings.fields import Settings
from service.settings.topics import input_partitions, input_topics, task_partitions
from service.stream.batches import RecordBatch, merge_by_time
from service.stream.protocol import ReadStream, Record, TopicPartition
from service.stream.records import RangeReader

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Restored:
    """Where a task continues."""

    partition: int
    """The number of its checkpoint log."""
    processor: Processor
    sequence: int
    """Number of the last committed batch."""
    offsets: Mapping[TopicPartition, int]
    """Next offset to process, by topic and partition; one without an offset starts at its first record."""
    snapshot_offsets: Sequence[int]
    """For each whole snapshot, oldest first, the first log offset that it needs; empty without a log."""
    snapshot_sequence: int
    """Number of the batch after the newest snapshot."""
    snapshot_seconds: float | None = None
    """When the newest snapshot was committed, in seconds since the Unix epoch; None if there is none."""
    settings_changed: bool = False
    """Whether the newest snapshot has other settings or arithmetic than the next batch."""
    offsets_are_committed: bool = True
    """Whether the group's committed offsets are these; Kafka deletes the offsets of an inactive group."""
    losses: Sequence[Loss] = ()
    """Lost input that the settings allow to skip; a snapshot commits the skip at once."""
    earlier: Sequence[Mapping[str, Any]] = ()
    """`earlier_settings` for the next snapshots."""
    origin: Mapping[str, Any] = field(default_factory=dict)
    """`ORIGIN` for the next snapshots: how the task started, if not untrained at the first record."""
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    """Ids of the input topics that have one."""

    @property
    def fingerprint_extras(self) -> dict[str, Any]:
        """What the next snapshots record besides the settings."""
        extras = {EARLIER: self.earlier, ORIGIN: self.origin}
        return {name: value for name, value in extras.items() if value}


class RestorePoint(NamedTuple):
    """A state kept in memory, after any batch, to restore from instead of a snapshot."""

    snapshot: Snapshot
    """The snapshot's metadata, without the state."""
    processor: Processor
    """Holds the state; restoring changes it."""


def restore(
    stream: ReadStream,
    settings: Settings,
    partition: int,
    committed: Mapping[TopicPartition, int] = MappingProxyType({}),
    log: CheckpointLog | None = None,
    point: RestorePoint | None = None,
) -> Restored:
    """Restore a task's state from the stream alone.

    Parameters
    ----------
    stream, settings, partition
        Which task to restore.
    committed
        The group's committed offsets, which the log must account for; empty where they are unknown.
    log
        The task's checkpoint log; None: read it.
    point
        The state to restore from; `log` starts before it. None: the newest snapshot.

    Raises
    ------
    CheckpointError
        The log is damaged, incomplete, belongs to another group or other settings, or the input is gone.
    TransportError
        The stream cannot be read.

    """
    held = records_held(stream, settings.checkpoints_topic, partition)
    if log is None:
        log = read_log(stream.read(settings.checkpoints_topic, partition), settings.group)
    if log.snapshots:
        return _resume(stream, settings, partition, committed, log, point)
    reject_emptied(settings, partition, committed, held)
    warn_of_predictions(stream, settings, task_partitions(settings, stream, partition))
    return _begin(stream, settings, partition, committed, log)


def _resume(
    stream: ReadStream,
    settings: Settings,
    partition: int,
    committed: Mapping[TopicPartition, int],
    log: CheckpointLog,
    point: RestorePoint | None,
) -> Restored:
    """Resume after the last commit."""
    where = f"{settings.checkpoints_topic}[{partition}]"
    stored, snapshot = (log.snapshots[-1], point.snapshot) if point else _newest_valid(log, where)
    batches = log.progress_after(snapshot.sequence)
    offsets = batches[-1].offsets if batches else snapshot.offsets
    reject_cut_off(settings, partition, committed, offsets)
    check_config_fingerprint(snapshot, settings, n_batches=len(batches))
    _warn_of_unread(settings, partition, offsets)
    processor = point.processor if point else processor_of(snapshot, settings, where)
    topic_partitions = input_partitions(settings, task_partitions(settings, stream, partition))
    unread = {each: offsets[each] for each in topic_partitions if each in offsets}
    losses = unread_losses(stream, unread, snapshot.topic_ids)
    reject(losses, settings)
    if batches:
        if point is None:
            what = "partition %d: replaying %d batches after a kill or failed commit; snapshot of batch %d"
            _log.info(what, partition, len(batches), snapshot.sequence)
        lost = {loss.partition for loss in losses}  # a recreated topic may have other records
        ends = {each: end for each, end in unread.items() if each not in lost}
        losses += _replay(stream, ends, log, snapshot, processor, where)
        reject(losses, settings)
    resumed = {loss.partition: loss.resume for loss in losses if loss.resume is not None}
    return Restored(
        partition,
        processor,
        sequence=log.last_sequence(),
        offsets={**offsets, **resumed},
        snapshot_offsets=[each.needed_offset for each in log.snapshots if each.before is None],
        snapshot_sequence=stored.sequence,
        snapshot_seconds=stored.timestamp_ms / 1000,
        settings_changed=not is_continued_alike(snapshot, settings),
        offsets_are_committed=all(committed.get(each) == offset for each, offset in unread.items()),
        losses=losses,
        earlier=earlier_settings(snapshot.config_fingerprint, settings, offsets, resumed),
        origin=snapshot.config_fingerprint.get(ORIGIN, {}),
        topic_ids=topic_ids(stream, input_topics(settings)),
    )


def _warn_of_unread(settings: Settings, partition: int, offsets: Mapping[TopicPartition, int]) -> None:
    known = {topic: None for topic, _ in offsets}
    if unread := [topic for topic in input_topics(settings) if topic not in known]:
        what = "partition %d: the checkpoint has no offset for %s: starting to read it; its offsets are in %s"
        _log.warning(what, partition, ", ".join(unread), ", ".join(known))


def processor_of(snapshot: Snapshot, settings: Settings, where: str) -> Processor:
    """Return a processor with a snapshot's state."""
    if unknown := unknown_parts(snapshot.state):
        what = f"a snapshot with unknown parts: {', '.join(unknown)!r:.50}"
        raise NewerRelease.wrote(f"{where}: {what}")
    processor = make_processor(settings)
    processor.start_ms = snapshot.config_fingerprint.get(ORIGIN, {}).get(START_MS, processor.start_ms)
    try:
        check_form(snapshot.state)
        processor.restore(snapshot.state)
    except NewerError as error:
        raise NewerRelease.wrote(f"{where}: {error}") from error
    except DamagedError as error:
        raise CheckpointError(f"{where}: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise CheckpointError(
            f"{where}: unexpected form of the snapshot: {error!r}",
            hint=f"start the release that wrote it; or {RESET_HINT}",
        ) from error
    return processor


def _begin(
    stream: ReadStream,
    settings: Settings,
    partition: int,
    committed: Mapping[TopicPartition, int],
    log: CheckpointLog,
) -> Restored:
    """Start untrained at the first available record; committed offsets reveal whether input is lost."""
    if log.progress:
        raise CheckpointError(
            f"{settings.checkpoints_topic}[{partition}]: missing snapshot before the progress records",
            hint=RESET_HINT,
        )
    topic_partitions = input_partitions(settings, task_partitions(settings, stream, partition))
    unread = {each: committed[each] for each in topic_partitions if each in committed}
    losses = unread_losses(stream, unread, {})
    reject(losses, settings)
    offsets = {each: stream.bounds(*each)[0] for each in topic_partitions}
    ids = topic_ids(stream, input_topics(settings))
    processor = make_processor(settings)
    return Restored(partition, processor, 0, offsets, [], 0, losses=losses, topic_ids=ids)


def _newest_valid(log: CheckpointLog, where: str) -> tuple[StoredSnapshot, Snapshot]:
    rejected: list[tuple[StoredSnapshot, DamagedError]] = []
    stored, snapshot = newest_valid(log, rejected)
    for each, error in rejected:
        what = "%s@%d: snapshot rejected: %s; trying the preceding snapshot"
        _log.error(what, where, each.first_offset, error)
    if stored is not None and snapshot is not None:
        return stored, snapshot
    raise no_valid_snapshot(where, rejected)


def _replay(
    stream: ReadStream,
    ends: Mapping[TopicPartition, int],
    log: CheckpointLog,
    snapshot: Snapshot,
    processor: Processor,
    where: str,
) -> list[Loss]:
    """Replay the batches after a snapshot in order; return the input that is lost.

    Within a batch, records keep the order in which they were processed: by time, at equal times in the order
    of `ends`.
    """
    readers = {
        each: RangeReader(stream.read(*each, snapshot.offsets.get(each, 0), end))
        for each, end in ends.items()
    }
    batches = log.progress_after(snapshot.sequence)
    later_schemas = deque(schema for schema in log.schemas if schema.sequence > snapshot.sequence)
    for batch in batches:
        records = merge_by_time(
            RecordBatch(reader.until(batch.offsets.get(each, 0))) for each, reader in readers.items()
        )
        _add_schemas(processor, later_schemas, batch.sequence, records)
        processor.process_batch(records, batch.processing_time_ms)
    last = batches[-1]
    lacking = {topic: n - processor.counters.consumed.get(topic, 0) for topic, n in last.consumed.items()}
    missing = {topic: count for topic, count in lacking.items() if count > 0}
    if missing:
        processor.counters.continue_from(last.counts)
    else:
        _check_counts(processor, last, where)
    return unlearned_losses(snapshot.offsets, last.offsets, missing)


def _check_counts(processor: Processor, last: Progress, where: str) -> None:
    """Check that the counts equal the committed counts. Raises `CheckpointError` if they differ."""
    counts, committed = processor.counts(), dict(last.counts)
    if unknown := ", ".join(sorted(committed.keys() - counts.keys())):
        what = f"progress with unknown counts {unknown!r:.50}"
        raise NewerRelease.wrote(f"{where}: {what}")
    replayed = {name: counts[name] for name in committed}  # an earlier release may lack a part
    if replayed != committed:
        raise CheckpointError(
            f"{where}: replay diverged: expected {committed} as committed, got {replayed}",
            hint="make a custom model deterministic: seed its random numbers",
        )


def _add_schemas(
    processor: Processor, later: deque[StoredSchema], sequence: int, records: Sequence[Record]
) -> None:
    """Move the schemas that were committed up to this batch from `later` to the processor."""
    if processor.schemas is None:
        return
    while later and later[0].sequence <= sequence:
        read = later.popleft()
        processor.schemas.add({read.key: read.schema})
    processor.schemas.mark_used(records)
