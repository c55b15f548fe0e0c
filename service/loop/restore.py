"""Restore the processor of a task as last committed.

Recovery loads the newest sound snapshot, then learns the batches committed after it again, in their recorded
order and without output. The counts committed with the last batch prove that the same state came out.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from perceptron_core import DamagedError
from perceptron_core.errors import NewerError
from service.checkpoints.identity import (
    BEGAN,
    EARLIER,
    START,
    START_MS,
    check_identity,
    earlier_settings,
    names_settings,
)
from service.checkpoints.input_loss import Loss, refuse, topic_ids, unlearned_losses, unread_losses
from service.checkpoints.log import RESET_HINT, CheckpointLog, Progress, StoredSchema, read_log
from service.checkpoints.log_loss import records_held, refuse_cut_off, refuse_emptied, warn_of_predictions
from service.checkpoints.progress_counts import check_arithmetic, check_counts, computes_alike
from service.checkpoints.snapshot import Snapshot
from service.errors import CheckpointError, NewerRelease
from service.messages.event_times import event_time_ms
from service.partition.factory import make_processor
from service.partition.parts.kinds import unknown_parts
from service.partition.processor import Processor
from service.settings.fields import Settings
from service.settings.topics import input_places, input_topics, task_partitions
from service.stream.batches import RecordBatch, in_step
from service.stream.protocol import Place, ReadStream, Record
from service.stream.records import nested

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Restored:
    """Where a task goes on."""

    partition: int
    """The number of its checkpoint log."""
    processor: Processor
    sequence: int
    """Number of the last committed batch."""
    offsets: Mapping[Place, int]
    """Next offset to be processed, by topic and partition; a place without one begins at its first record."""
    snapshot_offsets: Sequence[int]
    """Where the log that each whole snapshot needs begins, oldest first; empty if there is no log yet."""
    snapshot_sequence: int
    """Number of the batch behind the newest snapshot."""
    snapshot_seconds: float | None = None
    """When that was committed, since the Unix epoch; None if there is none."""
    settings_changed: bool = False
    """Whether that snapshot names other settings or arithmetic than the next batch will be learned with."""
    offsets_are_committed: bool = True
    """Whether the group's committed offsets are these; Kafka forgets those of a group that was away long."""
    losses: Sequence[Loss] = ()
    """Input that is gone and that the settings say to go on without: committed with a snapshot at once."""
    earlier: Sequence[Mapping[str, Any]] = ()
    """`earlier_settings`, for the snapshots to come."""
    began: Mapping[str, Any] = field(default_factory=dict)
    """How, if not with an untrained model at the first record: `BEGAN`, for the snapshots to come."""
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    """Of the input topics, as far as they have any."""
    log_end: int | None = None
    """Where the checkpoint log ended; None if that was not asked."""

    @property
    def beside_settings(self) -> dict[str, Any]:
        """What the snapshots to come name beside the settings."""
        found = {EARLIER: self.earlier, BEGAN: self.began}
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
    committed: Mapping[Place, int] = MappingProxyType({}),
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
    partitions = task_partitions(settings, stream, partition)
    if not log.snapshots:
        refuse_emptied(settings, partition, committed, held)
        warn_of_predictions(stream, settings, partitions)
        return _begin(stream, settings, partition, log, committed)
    snapshot = base.snapshot if base else _newest_sound(log, f"{settings.checkpoints_topic}[{partition}]")
    sequence = log.snapshots[-1].sequence if base else snapshot.sequence
    stored = next(each for each in log.snapshots if each.sequence == sequence)
    batches = log.progress_after(snapshot.sequence)
    offsets = batches[-1].offsets if batches else snapshot.offsets
    refuse_cut_off(settings, partition, committed, offsets)
    check_identity(snapshot, settings, n_batches=len(batches))
    if batches:
        check_arithmetic(snapshot, f"{settings.checkpoints_topic}[{partition}]")
    _log_changes(snapshot, settings, partition, offsets)
    processor = base.processor if base else _processor_of(snapshot, settings, partition)
    unread = {place: offsets[place] for place in input_places(settings, partitions) if place in offsets}
    losses = unread_losses(stream, unread, snapshot.topic_ids)
    refuse(losses, settings)
    resumed = {loss.place: loss.resume for loss in losses if loss.resume is not None}
    if batches and base is None:
        _log_relearning(partition, len(batches), snapshot.sequence)
    if batches:
        losses += _Replay(stream, settings, partition, snapshot, losses).run(processor, log)
    return Restored(
        partition,
        processor,
        sequence=log.last_sequence(),
        offsets={**offsets, **resumed},
        snapshot_offsets=[each.needed_offset for each in log.snapshots if each.before is None],
        snapshot_sequence=stored.sequence,
        snapshot_seconds=stored.timestamp_ms / 1000,
        settings_changed=not (names_settings(snapshot.identity, settings) and computes_alike(snapshot)),
        offsets_are_committed=all(committed.get(place) == offset for place, offset in unread.items()),
        losses=losses,
        earlier=earlier_settings(snapshot.identity, settings, offsets, resumed),
        began=snapshot.identity.get(BEGAN, {}),
        topic_ids=topic_ids(stream, input_topics(settings)),
    )


def _log_changes(
    snapshot: Snapshot, settings: Settings, partition: int, offsets: Mapping[Place, int]
) -> None:
    known = {topic: None for topic, _ in offsets}
    if unread := [topic for topic in input_topics(settings) if topic not in known]:
        what = "partition %d: the model has read nothing of %s, and goes on there; it has read %s"
        _log.warning(what, partition, ", ".join(unread), ", ".join(known))
    if settings.costs.are_given and not snapshot.identity.get("costs.false_positive"):
        _log.info("partition %d: costs are new: what they add up to counts labels from now on", partition)


def _processor_of(snapshot: Snapshot, settings: Settings, partition: int) -> Processor:
    """Make a processor with a snapshot's state."""
    if unknown := unknown_parts(snapshot.state):
        what = f"a snapshot with parts that this release does not know: {', '.join(unknown)!r:.50}"
        raise NewerRelease.wrote(f"{settings.checkpoints_topic}[{partition}]: {what}")
    processor = make_processor(settings)
    processor.start_ms = snapshot.identity.get(BEGAN, {}).get(START_MS, processor.start_ms)
    try:
        processor.restore(snapshot.state)
    except NewerError as error:
        what = "its model cannot be read by this release"
        raise NewerRelease.wrote(f"{settings.checkpoints_topic}[{partition}]: {what}") from error
    except DamagedError as error:
        raise CheckpointError(f"{settings.checkpoints_topic}[{partition}]: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise CheckpointError(
            f"{settings.checkpoints_topic}[{partition}]: its snapshot has another form: {error!r}",
            hint=f"run the release that wrote it; or {RESET_HINT}",
        ) from error
    return processor


def _log_relearning(partition: int, n_batches: int, sequence: int) -> None:
    _log.info(
        "partition %d: learning %d committed batches again: the newest snapshot is of batch %d; "
        "its process did not leave in order, or a commit of it failed",
        *(partition, n_batches, sequence),
    )


def _begin(
    stream: ReadStream,
    settings: Settings,
    partition: int,
    log: CheckpointLog,
    committed: Mapping[Place, int],
) -> Restored:
    """Start from nothing, at the first record there is; what was committed before says if any is gone."""
    if log.progress:
        raise CheckpointError(
            f"{settings.checkpoints_topic}[{partition}]: progress without any snapshot before it",
            hint=RESET_HINT,
        )
    places = input_places(settings, task_partitions(settings, stream, partition))
    unread = {place: committed[place] for place in places if place in committed}
    losses = unread_losses(stream, unread, {})
    refuse(losses, settings)
    offsets = {place: stream.bounds(*place)[0] for place in places}
    ids = topic_ids(stream, input_topics(settings))
    end = stream.bounds(settings.checkpoints_topic, partition)[1]
    processor = make_processor(settings)
    return Restored(partition, processor, 0, offsets, [], 0, losses=losses, topic_ids=ids, log_end=end)


def _newest_sound(log: CheckpointLog, place: str) -> Snapshot:
    are_newer = False
    for stored in reversed(log.snapshots):
        try:
            return stored.read()
        except DamagedError as error:
            are_newer |= isinstance(error, NewerError)
            _log.error(
                "%s@%d: snapshot refused: %s; trying the one before", place, stored.first_offset, error
            )
    if are_newer:
        raise NewerRelease.wrote(
            f"{place}: none of {len(log.snapshots)} snapshots can be read by this release"
        )
    raise CheckpointError(
        f"{place}: none of {len(log.snapshots)} snapshots can be used",
        hint=f"go on with a saved model: `perceptron checkpoint import --no-restore`; or {RESET_HINT}",
    )


class _Replay:
    """Processes committed batches again, in their order.

    Within a batch the order is that in which it was processed. Of a place with losses there may be other
    records now: it is left out.

    Parameters
    ----------
    stream, settings, partition
        Where the batches are.
    snapshot
        The state before the first of them.
    losses
        What is known to be gone.

    """

    def __init__(
        self,
        stream: ReadStream,
        settings: Settings,
        partition: int,
        snapshot: Snapshot,
        losses: Sequence[Loss],
    ) -> None:
        self._stream = stream
        self._settings = settings
        self._partition = partition
        self._snapshot = snapshot
        self._lost = {loss.place for loss in losses}

    def run(self, processor: Processor, log: CheckpointLog) -> list[Loss]:
        """Replay what follows the snapshot; return what is no longer there of it."""
        snapshot = self._snapshot
        batches = log.progress_after(snapshot.sequence)
        later_schemas = deque(each for each in log.schemas if each.sequence > snapshot.sequence)
        last = batches[-1]
        readers = self._readers(last.offsets)
        for batch in batches:
            records = in_step(
                RecordBatch(reader.until(batch.offsets.get(place, 0))) for place, reader in readers.items()
            )
            _add_schemas(processor, later_schemas, batch.sequence, records)
            processor.process_batch(records, batch.now_ms)
        missing = _missing(processor.counters.consumed, last)
        more = unlearned_losses(snapshot.offsets, last.offsets, missing)
        refuse(more, self._settings)
        if missing:
            processor.counters.go_on_from(last.counts)
        else:
            check_counts(processor, last, self._partition)
        return more

    def _readers(self, ends: Mapping[Place, int]) -> dict[Place, _Reader]:
        """Read each place up to its end, in the order in which records of the same time are taken."""
        partitions = task_partitions(self._settings, self._stream, self._partition)
        return {
            place: _Reader(self._stream, place, self._snapshot.offsets.get(place, 0), ends[place])
            for place in input_places(self._settings, partitions)
            if place in ends and place not in self._lost
        }


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


def _missing(found: Mapping[str, int], last: Progress) -> dict[str, int]:
    """Count the records that were processed and are not there to be read again, by topic."""
    missing = {topic: count - found.get(topic, 0) for topic, count in last.consumed.items()}
    return {topic: count for topic, count in missing.items() if count > 0}


class _Reader:
    """Reads one place in pieces."""

    def __init__(self, stream: ReadStream, place: Place, start: int, end: int) -> None:
        self._records = stream.read(*place, start, end)
        self._waiting: Record | None = None

    def until(self, end: int) -> Iterator[Record]:
        """Yield the records before `end` that were not yielded yet."""
        record = self._waiting or next(self._records, None)
        while record is not None and record.offset < end:
            yield record
            record = next(self._records, None)
        self._waiting = record


def from_start(stream: ReadStream, settings: Settings, restored: Restored) -> Restored:
    """Let a task that begins do so at `start_from`; return one that has begun as it is.

    It begins at the first record of that time or later, and skips what is earlier and lies behind.

    Raises `TransportError` where the stream cannot be read.
    """
    if not settings.start_from:
        return restored
    time_ms = event_time_ms(settings.start_from)
    if restored.snapshot_offsets:
        if restored.began.get(START_MS, time_ms if START in restored.began else None) != time_ms:
            began = "at another time" if START in restored.began else "without it"
            what = "start_from has no effect: partition %d had begun %s, and goes on"
            _log.warning(what, restored.partition, began)
        return restored
    offsets = {place: stream.first_at(*place, time_ms) for place in restored.offsets}
    for place, (low, high) in stream.bounds_of(offsets).items():
        level = logging.WARNING if low < offsets[place] == high else logging.INFO
        what = "start_from: %s[%d] begins at offset %d; it has %d to %d"
        _log.log(level, what, *place, offsets[place], low, high - 1)
    restored.processor.start_ms = time_ms
    beginning = {**restored.began, START: nested(offsets), START_MS: time_ms}
    return replace(restored, offsets=offsets, began=beginning)
