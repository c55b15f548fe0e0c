"""Restore the processor of a task as last committed.

Recovery loads the newest sound snapshot, then learns the batches committed after it again, in their recorded
order and without output. The counts committed with the last batch prove that the same state came out.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from perceptron_core import DamagedError
from perceptron_core.errors import NewerError
from service.batches import RecordBatch, in_step
from service.checkpoints.identity import (
    BEGAN,
    EARLIER,
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
from service.partition.factory import make_processor
from service.partition.parts.kinds import unknown_parts
from service.partition.processor import Processor
from service.settings.fields import Settings
from service.stream import Record, Transport
from service.transport.topics import input_topics

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Restored:
    """Where a task goes on."""

    processor: Processor
    sequence: int
    """Number of the last committed batch."""
    offsets: Mapping[str, int]
    """Next offset to be processed, by input topic."""
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
    transport: Transport,
    settings: Settings,
    partition: int,
    committed: Mapping[str, int] = MappingProxyType({}),
    log: CheckpointLog | None = None,
    base: Base | None = None,
) -> Restored:
    """Restore a partition's state from the stream alone.

    Parameters
    ----------
    transport, settings, partition
        Where the state is.
    committed
        The group's committed offsets, which the log has to account for; empty where they are not known.
    log
        The partition's checkpoint log; None: it is read here.
    base
        What to restore from; `log` begins before it. None: the newest snapshot.

    Raises
    ------
    CheckpointError
        The log is damaged, incomplete, belongs to another group or other settings, or the input is gone.
    TransportError
        The stream cannot be read.

    """
    held = records_held(transport, settings.checkpoints_topic, partition)
    if log is None:
        log = read_log(transport.read(settings.checkpoints_topic, partition), settings.group)
    if not log.snapshots:
        refuse_emptied(settings, partition, committed, held)
        warn_of_predictions(transport, settings, partition)
        return _begin(transport, settings, partition, log, committed)
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
    unread = {topic: offsets[topic] for topic in input_topics(settings) if topic in offsets}
    losses = unread_losses(transport, partition, unread, snapshot.topic_ids)
    refuse(losses, settings)
    resumed = {loss.topic: loss.resume for loss in losses if loss.resume is not None}
    if batches and base is None:
        _log_relearning(partition, len(batches), snapshot.sequence)
    if batches:
        losses += _learn_again(transport, processor, settings, partition, snapshot, log, losses)
    return Restored(
        processor,
        sequence=log.last_sequence(),
        offsets={**offsets, **resumed},
        snapshot_offsets=[each.needed_offset for each in log.snapshots if each.before is None],
        snapshot_sequence=stored.sequence,
        snapshot_seconds=stored.timestamp_ms / 1000,
        settings_changed=not (names_settings(snapshot.identity, settings) and computes_alike(snapshot)),
        offsets_are_committed=all(committed.get(topic) == offset for topic, offset in unread.items()),
        losses=losses,
        earlier=earlier_settings(snapshot.identity, settings, offsets, resumed),
        began=snapshot.identity.get(BEGAN, {}),
        topic_ids=topic_ids(transport, input_topics(settings)),
    )


def _log_changes(snapshot: Snapshot, settings: Settings, partition: int, offsets: Mapping[str, int]) -> None:
    if unread := [topic for topic in input_topics(settings) if topic not in offsets]:
        what = "partition %d: the model has read nothing of %s, and goes on there; it has read %s"
        _log.warning(what, partition, ", ".join(unread), ", ".join(offsets))
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
    transport: Transport,
    settings: Settings,
    partition: int,
    log: CheckpointLog,
    committed: Mapping[str, int],
) -> Restored:
    """Start from nothing, at the first record there is; what was committed before says if any is gone."""
    if log.progress:
        raise CheckpointError(
            f"{settings.checkpoints_topic}[{partition}]: progress without any snapshot before it",
            hint=RESET_HINT,
        )
    topics = input_topics(settings)
    unread = {topic: committed[topic] for topic in topics if topic in committed}
    losses = unread_losses(transport, partition, unread, {})
    refuse(losses, settings)
    offsets = {topic: transport.bounds(topic, partition)[0] for topic in topics}
    ids = topic_ids(transport, topics)
    end = transport.bounds(settings.checkpoints_topic, partition)[1]
    return Restored(make_processor(settings), 0, offsets, [], 0, losses=losses, topic_ids=ids, log_end=end)


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


def _learn_again(
    transport: Transport,
    processor: Processor,
    settings: Settings,
    partition: int,
    snapshot: Snapshot,
    log: CheckpointLog,
    losses: Sequence[Loss],
) -> list[Loss]:
    """Process the committed batches in their order; return what is no longer there of them.

    Within a batch the order is that in which it was processed. Of a topic with losses there may be other
    records now: it is left out.
    """
    batches = log.progress_after(snapshot.sequence)
    later_schemas = deque(each for each in log.schemas if each.sequence > snapshot.sequence)
    last, lost = batches[-1], {loss.topic for loss in losses}
    topics = [topic for topic in input_topics(settings) if topic in last.offsets and topic not in lost]
    readers = {
        topic: _Reader(transport, topic, partition, snapshot.offsets.get(topic, 0), last.offsets[topic])
        for topic in topics
    }
    for batch in batches:
        records = in_step(
            RecordBatch(reader.until(batch.offsets[topic])) for topic, reader in readers.items()
        )
        _add_schemas(processor, later_schemas, batch.sequence, records)
        processor.process_batch(records, batch.now_ms)
    missing = _missing(processor.counters.consumed, last)
    more = unlearned_losses(partition, snapshot.offsets, last.offsets, missing)
    refuse(more, settings)
    if missing:
        processor.counters.go_on_from(last.counts)
    else:
        check_counts(processor, last, partition)
    return more


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
    """Reads one partition of one topic in pieces."""

    def __init__(self, transport: Transport, topic: str, partition: int, start: int, end: int) -> None:
        self._records = transport.read(topic, partition, start, end)
        self._waiting: Record | None = None

    def until(self, end: int) -> Iterator[Record]:
        """Yield the records before `end` that were not yielded yet."""
        record = self._waiting or next(self._records, None)
        while record is not None and record.offset < end:
            yield record
            record = next(self._records, None)
        self._waiting = record
