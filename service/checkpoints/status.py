"""The lag and counts of a partition, from its checkpoint log and the ends of its input.

It only reads, so it may run while the service does; it reports the last commit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from perceptron_core.validation import DamagedError, NewerError
from service.checkpoints.config_fingerprint import named_settings
from service.checkpoints.log import RESET_HINT, CheckpointLog, read_log
from service.checkpoints.losses import unread_losses
from service.checkpoints.snapshot import Snapshot, StoredSnapshot
from service.errors import CheckpointError, NewerRelease, TopicMissing
from service.messages.labels import Vocabulary
from service.partition.parts.decisions import Decisions
from service.partition.parts.kinds import counts_of
from service.settings.topics import count_of_output, partition_counts
from service.stream.protocol import TopicPartition, Transport

_COUNTED_RECORDS: Final = 1000


class PartitionStatus(NamedTuple):
    """A partition at its last commit; nearly empty before the first commit."""

    partition: int
    lag: Mapping[str, int]
    """Records not yet processed, by input topic."""
    counts: Mapping[str, int | None]
    """Counts as in `Processor.counts`; None if the log does not have a count."""
    snapshot: StoredSnapshot | None
    """The newest valid snapshot."""
    batches_to_learn: int
    """Number of committed batches that a restart would replay."""
    cells: Mapping[tuple[str, str], int] = MappingProxyType({})
    """Labelled predictions by the names (truth, predicted), as of the snapshot."""
    settings: Mapping[str, Any] = MappingProxyType({})
    """The settings that the model depends on, as of the snapshot; empty without one."""
    undecided: Mapping[str, str] = MappingProxyType({})
    """Why decisions have no threshold, by name, as of the snapshot."""
    exhausted: Sequence[str] = ()
    """Names of the decisions whose `max_rate` is spent, as of the snapshot."""
    error: CheckpointError | None = None
    """Why `serve` cannot restore the model, if no snapshot is valid."""


def read_logs(transport: Transport, topic: str, group: str) -> dict[int, CheckpointLog]:
    """Read the checkpoint log of every partition.

    Raises
    ------
    TopicMissing
        The topic does not exist.
    CheckpointError
        The topic has no checkpoints of the group, or a record that is not a checkpoint of the group.

    """
    count = count_of_output(transport, topic, "--broker and --checkpoints-topic name another place")
    logs = {partition: read_log(transport.read(topic, partition), group) for partition in range(count)}
    if not any(log.snapshots or log.progress for log in logs.values()):
        raise CheckpointError(
            f"{topic}: the group {group!r} has no checkpoint here",
            hint="check --group, --checkpoints-topic and --broker; `serve` writes checkpoints",
        )
    return logs


def partition_statuses(
    transport: Transport, checkpoints_topic: str, group: str, topics: Sequence[str]
) -> Sequence[PartitionStatus]:
    """Return the status of each partition; before the first commit, how many records wait.

    Parameters
    ----------
    transport, checkpoints_topic, group
        The checkpoints.
    topics
        The topics that the group reads, the leading topic first.

    Raises
    ------
    TopicMissing
        Neither the checkpoints topic nor the leading topic exists.
    CheckpointError
        A record is not a checkpoint of the group, or records are missing.

    """
    counts = Counter(partition_counts(transport, (checkpoints_topic, *topics)))  # 0 where there is no topic
    count = max(counts[checkpoints_topic], counts[topics[0]])
    if not count:
        raise TopicMissing(
            f"neither topic {topics[0]!r} nor topic {checkpoints_topic!r} exists",
            hint="`perceptron serve` creates them; check --broker, --events-topic and --checkpoints-topic",
        )
    there = [topic for topic in topics if counts[topic]]
    statuses = []
    for partition in range(count):
        is_there = partition < counts[checkpoints_topic]
        log = read_log(transport.read(checkpoints_topic, partition) if is_there else (), group)
        if log.snapshots or log.progress:
            statuses.append(partition_status(transport, (checkpoints_topic, partition), log))
            if statuses[-1].settings.get("share_model"):  # this log covers all partitions
                break
        else:
            lag = {topic: _lag(transport, topic, partition) for topic in there if partition < counts[topic]}
            statuses.append(PartitionStatus(partition, lag, {}, None, 0))
    return statuses


def partition_status(transport: Transport, partition: TopicPartition, log: CheckpointLog) -> PartitionStatus:
    """Return the status of a partition from its log; `partition` is a partition of the checkpoints topic.

    Raises
    ------
    CheckpointError
        Batches are missing from the log.
    TransportError
        The end of the input cannot be read.

    """
    unreadable: list[tuple[StoredSnapshot, DamagedError]] = []
    stored, snapshot = newest_valid(log, unreadable)
    offsets, counts = last_commit(log, snapshot)
    if snapshot is not None:
        offsets = _unread(transport, offsets, snapshot)
    lag: Counter[str] = Counter()
    for (topic, each), offset in offsets.items():
        lag[topic] += _lag(transport, topic, each, offset)
    known = PartitionStatus(partition[1], lag, counts, stored, 0)
    if snapshot is None:
        where = "{}[{}]".format(*partition)
        return known._replace(error=no_valid_snapshot(where, unreadable) if unreadable else None)
    decisions = Decisions.of_state(snapshot.state)
    return known._replace(
        batches_to_learn=len(log.progress_after(snapshot.sequence)),
        cells=_cells(snapshot.state),
        settings=named_settings(snapshot.config_fingerprint),
        undecided={rule.name: why for rule in decisions.rules if (why := decisions.why_undecided(rule))},
        exhausted=[rule.name for rule in decisions.rules if rule.is_exhausted()],
    )


def _unread(
    transport: Transport, offsets: Mapping[TopicPartition, int], snapshot: Snapshot
) -> Mapping[TopicPartition, int]:
    """Return the next offsets of the topics and partitions that are still read.

    The log keeps offsets of former topics, and of partitions that a recreated topic lacks. A change of the
    topics is committed with a snapshot at once, so the newest snapshot names the topics that are read, and
    their ids.
    """
    named = [str(snapshot.config_fingerprint.get(name)) for name in ("events_topic", "labels_topic")]
    read: dict[TopicPartition, int] = {}
    for topic in named:
        known = {each: at for each, at in offsets.items() if each[0] == topic}
        count = transport.partition_count(topic) if known else 0
        read |= {each: at for each, at in known.items() if each[1] < count}
    losses = unread_losses(transport, read, snapshot.topic_ids)
    return read | {loss.partition: loss.resume for loss in losses if loss.resume is not None}


def _cells(state: Mapping[str, Any]) -> Mapping[tuple[str, str], int]:
    name_of = Vocabulary(state["classes"]).name
    cells = state["counters"].get("confusion", {}).get("cells", ())
    return {(name_of(truth), name_of(predicted)): count for truth, predicted, count in cells}


def _lag(transport: Transport, topic: str, partition: int, offset: int | None = None) -> int:
    """Count the records from `offset` on, or all records.

    Kafka ends each transaction with a marker that takes an offset and is not a record. A large lag is
    measured in offsets; a small lag is counted exactly, so that 0 is 0.
    """
    first, end = transport.bounds(topic, partition)
    if offset is None:
        offset = first
    if not 0 < end - offset <= _COUNTED_RECORDS:
        return max(0, end - offset)
    return sum(1 for _ in transport.read(topic, partition, offset, end))


def newest_valid(
    log: CheckpointLog, unreadable: list[tuple[StoredSnapshot, DamagedError]] | None = None
) -> tuple[StoredSnapshot, Snapshot] | tuple[None, None]:
    """Return the newest readable snapshot, stored and read; collect unreadable snapshots in `unreadable`."""
    for stored in reversed(log.snapshots):
        try:
            return stored, stored.read()
        except DamagedError as error:
            if unreadable is not None:
                unreadable.append((stored, error))
    return None, None


def no_valid_snapshot(
    where: str, unreadable: Sequence[tuple[StoredSnapshot, DamagedError]]
) -> CheckpointError:
    """Return the error for the log `where`, of which all snapshots are unreadable."""
    n_snapshots = len(unreadable)
    if any(isinstance(error, NewerError) for _, error in unreadable):
        return NewerRelease.wrote(f"{where}: this release cannot read any of {n_snapshots} snapshots")
    return CheckpointError(f"{where}: all {n_snapshots} snapshots are unusable", hint=RESET_HINT)


def last_commit(
    log: CheckpointLog, newest: Snapshot | None
) -> tuple[Mapping[TopicPartition, int], Mapping[str, int | None]]:
    """Return the offsets and counts at the last commit; `newest` is the newest readable snapshot."""
    last = log.progress[-1] if log.progress else None
    if newest is not None and (last is None or newest.sequence > last.sequence):
        return newest.offsets, counts_of(newest.state)
    return ({}, {}) if last is None else (last.offsets, last.counts)
