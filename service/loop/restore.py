"""Restore the processor of a task as last committed.

Recovery loads the newest valid snapshot, then learns the batches committed after it again, in their recorded
order and without output. The counts committed with the last batch prove that the same state came out.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, NamedTuple

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
    refuse,
    refuse_cut_off,
    refuse_emptied,
    topic_ids,
    unlearned_losses,
    unread_losses,
    warn_of_predictions,
)
from service.checkpoints.snapshot import Snapshot, StoredSnapshot
from service.checkpoints.status import newest_valid
from service.errors import CheckpointError, NewerRelease
from service.partition.factory import make_processor
from service.partition.forms import check_form
from service.partition.parts.kinds import unknown_parts
from service.partition.processor import Processor
from service.settings.fields import Settings
from service.settings.topics import input_places, input_topics, task_partitions
from service.stream.batches import RecordBatch, in_step
from service.stream.protocol import ReadStream, Record, TopicPartition
from service.stream.records import Pieces

_log = logging.getLogger(__name__)

_RELEARNING: Final = (
    "partition %d: replaying %d committed batches after a kill or failed commit; snapshot of batch %d"
)


@dataclass(frozen=True, slots=True)
class Restored:
    """Where a task continues."""

    partition: int
    """The number of its checkpoint log."""
    processor: Processor
    sequence: int
    """Number of the last committed batch."""
    offsets: Mapping[TopicPartition, int]
    """Next offset to be processed, by topic and partition; a place without one begins at its first record."""
    snapshot_offsets: Sequence[int]
    """Where the log that each whole snapshot needs begins, oldest first; empty if there is no log yet."""
    snapshot_sequence: int
    """Number of the batch after the newest snapshot."""
    snapshot_seconds: float | None = None
    """When that was committed, since the Unix epoch; None if there is none."""
    settings_changed: bool = False
    """Whether that snapshot names other settings or arithmetic than the next batch will be learned with."""
    offsets_are_committed: bool = True
    """Whether the group's committed offsets are these; Kafka forgets those of a group that was away long."""
    losses: Sequence[Loss] = ()
    """Input that is gone and that the settings say to continue without: committed with a snapshot at once."""
    earlier: Sequence[Mapping[str, Any]] = ()
    """`earlier_settings`, for the snapshots to come."""
    began: Mapping[str, Any] = field(default_factory=dict)
    """How, if not with an untrained model at the first record: `ORIGIN`, for the snapshots to come."""
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    """Of the input topics, as far as they have any."""

    @property
    def fingerprint_extras(self) -> dict[str, Any]:
        """What the snapshots to come name besides the settings."""
        found = {EARLIER: self.earlier, ORIGIN: self.began}
        return {name: value for name, value in found.items() if value}


class Base(NamedTuple):
    """A state that was restored before, after any batch, to be restored from instead of a snapshot."""

    snapshot: Snapshot
    """What a snapshot of it would hold, but for the state itself."""
    processor: Processor
    """Has the state; it is changed."""


def restore(
    stream: ReadStream,
    settings: Settings,
    partition: int,
    committed: Mapping[TopicPartition, int] = MappingProxyType({}),
    log: CheckpointLog | None = None,
    base: Base | None = None,
) -> Restored:
    """Restore a task's state from the stream alone.

    Parameters
    ----------
    stream, settings, partition
        Where the state is.
    committed
        The group's committed offsets, which the log has to account for; empty where they are not known.
    log
        The task's checkpoint log; None: it is read here.
    base
        What to restore from; `log` begins before it. None: the newest snapshot.

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
        return _resume(stream, settings, partition, committed, log, base)
    refuse_emptied(settings, partition, committed, held)
    warn_of_predictions(stream, settings, task_partitions(settings, stream, partition))
    return _begin(stream, settings, partition, committed, log)


def _resume(
    stream: ReadStream,
    settings: Settings,
    partition: int,
    committed: Mapping[TopicPartition, int],
    log: CheckpointLog,
    base: Base | None,
) -> Restored:
    """Resume after the last commit."""
    place = f"{settings.checkpoints_topic}[{partition}]"
    stored, snapshot = (log.snapshots[-1], base.snapshot) if base else _newest_valid(log, place)
    batches = log.progress_after(snapshot.sequence)
    offsets = batches[-1].offsets if batches else snapshot.offsets
    refuse_cut_off(settings, partition, committed, offsets)
    check_config_fingerprint(snapshot, settings, n_batches=len(batches))
    _warn_of_unread(settings, partition, offsets)
    processor = base.processor if base else processor_of(snapshot, settings, place)
    places = input_places(settings, task_partitions(settings, stream, partition))
    unread = {each: offsets[each] for each in places if each in offsets}
    losses = unread_losses(stream, unread, snapshot.topic_ids)
    refuse(losses, settings)
    if batches:
        if base is None:
            _log.info(_RELEARNING, partition, len(batches), snapshot.sequence)
        lost = {loss.place for loss in losses}  # there may be other records now
        ends = {each: end for each, end in unread.items() if each not in lost}
        losses += _replay(stream, ends, log, snapshot, processor, place)
        refuse(losses, settings)
    resumed = {loss.place: loss.resume for loss in losses if loss.resume is not None}
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
        began=snapshot.config_fingerprint.get(ORIGIN, {}),
        topic_ids=topic_ids(stream, input_topics(settings)),
    )


def _warn_of_unread(settings: Settings, partition: int, offsets: Mapping[TopicPartition, int]) -> None:
    known = {topic: None for topic, _ in offsets}
    if unread := [topic for topic in input_topics(settings) if topic not in known]:
        what = "partition %d: the checkpoint has no offset for %s: starting to read it; its offsets are in %s"
        _log.warning(what, partition, ", ".join(unread), ", ".join(known))


def processor_of(snapshot: Snapshot, settings: Settings, place: str) -> Processor:
    """Make a processor with a snapshot's state."""
    if unknown := unknown_parts(snapshot.state):
        what = f"a snapshot with unknown parts: {', '.join(unknown)!r:.50}"
        raise NewerRelease.wrote(f"{place}: {what}")
    processor = make_processor(settings)
    processor.start_ms = snapshot.config_fingerprint.get(ORIGIN, {}).get(START_MS, processor.start_ms)
    try:
        check_form(snapshot.state)
        processor.restore(snapshot.state)
    except NewerError as error:
        raise NewerRelease.wrote(f"{place}: {error}") from error
    except DamagedError as error:
        raise CheckpointError(f"{place}: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise CheckpointError(
            f"{place}: unexpected form of the snapshot: {error!r}",
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
    """Start from nothing, at the first record there is; what was committed before says if any is gone."""
    if log.progress:
        raise CheckpointError(
            f"{settings.checkpoints_topic}[{partition}]: missing snapshot before the progress records",
            hint=RESET_HINT,
        )
    places = input_places(settings, task_partitions(settings, stream, partition))
    unread = {place: committed[place] for place in places if place in committed}
    losses = unread_losses(stream, unread, {})
    refuse(losses, settings)
    offsets = {place: stream.bounds(*place)[0] for place in places}
    ids = topic_ids(stream, input_topics(settings))
    processor = make_processor(settings)
    return Restored(partition, processor, 0, offsets, [], 0, losses=losses, topic_ids=ids)


def _newest_valid(log: CheckpointLog, place: str) -> tuple[StoredSnapshot, Snapshot]:
    refused: list[tuple[StoredSnapshot, DamagedError]] = []
    stored, snapshot = newest_valid(log, refused)
    for each, error in refused:
        _log.error(
            "%s@%d: snapshot rejected: %s; trying the preceding snapshot", place, each.first_offset, error
        )
    if stored is not None and snapshot is not None:
        return stored, snapshot
    if any(isinstance(error, NewerError) for _, error in refused):
        raise NewerRelease.wrote(f"{place}: this release cannot read any of {len(log.snapshots)} snapshots")
    raise CheckpointError(f"{place}: all {len(log.snapshots)} snapshots are unusable", hint=RESET_HINT)


def _replay(
    stream: ReadStream,
    ends: Mapping[TopicPartition, int],
    log: CheckpointLog,
    snapshot: Snapshot,
    processor: Processor,
    where: str,
) -> list[Loss]:
    """Process the batches after a snapshot again, in their order; return what is no longer there of them.

    Within a batch the order is that in which it was processed, places of the same time in that of `ends`.
    """
    readers = {
        each: Pieces(stream.read(*each, snapshot.offsets.get(each, 0), end)) for each, end in ends.items()
    }
    batches = log.progress_after(snapshot.sequence)
    later_schemas = deque(each for each in log.schemas if each.sequence > snapshot.sequence)
    for batch in batches:
        records = in_step(
            RecordBatch(reader.until(batch.offsets.get(place, 0))) for place, reader in readers.items()
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
    """Check that the counts are those committed."""
    counts, committed = processor.counts(), dict(last.counts)
    if unknown := ", ".join(sorted(committed.keys() - counts.keys())):
        what = f"progress with unknown counts {unknown!r:.50}"
        raise NewerRelease.wrote(f"{where}: {what}")
    found = {name: counts[name] for name in committed}  # a release before may lack a part
    if found != committed:
        raise CheckpointError(
            f"{where}: replay diverged: expected {committed} as committed, got {found}",
            hint="make a custom model deterministic: seed its random numbers",
        )


def _add_schemas(
    processor: Processor, later: deque[StoredSchema], sequence: int, records: Sequence[Record]
) -> None:
    """Add the schemas that were committed up to this batch; they leave `later`."""
    if processor.schemas is None:
        return
    while later and later[0].sequence <= sequence:
        found = later.popleft()
        processor.schemas.add({found.key: found.schema})
    processor.schemas.missing(records)
