"""Reset a task: commit an untrained model at a chosen position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from typing import Any, Final, Literal

from service.checkpoints.config_fingerprint import earlier_settings
from service.checkpoints.log import read_log
from service.checkpoints.status import last_commit, newest_valid
from service.errors import CheckpointError
from service.loop.bootstrap import Bootstrap
from service.loop.context import Context, quiet_context
from service.loop.restore import Restored
from service.loop.task import Task, TaskWriter
from service.partition.factory import make_processor
from service.settings.load import Settings
from service.settings.topics import input_partitions, task_partitions
from service.stream.protocol import Consumer, TopicPartition, Transport, by_partition

Start = Literal["committed", "beginning"]

_FROM_BEGINNING: Final = "`perceptron checkpoint reset --from beginning` predicts everything again"


def start_offsets(
    stream: Transport, settings: Settings, task: int, committed: Mapping[TopicPartition, int], start: Start
) -> Mapping[TopicPartition, int]:
    """Return the offsets at which a task starts after a reset, by topic and partition.

    Raises
    ------
    CheckpointError
        It should start at the committed offsets, but they are unknown or outside the topic.

    """
    partitions = input_partitions(settings, task_partitions(settings, stream, task))
    bounds = {partition: stream.bounds(*partition) for partition in partitions}
    offsets = {partition: first for partition, (first, _) in bounds.items()}
    if start == "beginning":
        return offsets
    known = committed or _newest_checkpoint(stream, settings, task)
    for (topic, partition), (first, end) in bounds.items():
        at = known.get((topic, partition), first)
        if not first <= at <= end:
            raise CheckpointError(
                f"{topic}[{partition}]: the group {settings.group!r} has committed offset {at}, "
                f"but the topic has offsets {first} to {end}",
                hint=_FROM_BEGINNING,
            )
    return offsets | {partition: known[partition] for partition in offsets if partition in known}


def _newest_checkpoint(stream: Transport, settings: Settings, task: int) -> Mapping[TopicPartition, int]:
    """Return the offsets of the newest readable checkpoint: Kafka deletes the offsets of an inactive group.

    Empty if the task has no checkpoint.
    """
    topic = settings.checkpoints_topic
    log = read_log(stream.read(topic, task), settings.group)
    _, snapshot = newest_valid(log)
    if snapshot is None and log.snapshots and not log.progress:
        raise CheckpointError(
            f"{topic}[{task}]: unreadable checkpoint, and no committed offsets of {settings.group!r}",
            hint=_FROM_BEGINNING,
        )
    return last_commit(log, snapshot)[0]


def _earlier(
    stream: Transport, settings: Settings, task: int, offsets: Mapping[TopicPartition, int]
) -> Sequence[Mapping[str, Any]]:
    """Return which settings applied before these offsets, as far as a possibly damaged log shows."""
    with suppress(CheckpointError):
        _, snapshot = newest_valid(read_log(stream.read(settings.checkpoints_topic, task), settings.group))
        if snapshot is not None:
            return earlier_settings(snapshot.config_fingerprint, settings, offsets)
    return ()


def opened_writer(
    consumer: Consumer, context: Context, task: int
) -> tuple[TaskWriter, Mapping[TopicPartition, int]]:
    """Return the writer of a task, for use outside the loop, and the group's committed offsets."""
    settings = context.settings
    partitions = task_partitions(settings, context.stream, task)
    writer = TaskWriter({partition: consumer.writer(partition) for partition in partitions}, context.health)
    return writer, by_partition(consumer.take_over(partitions, settings.checkpoints_topic))


def reset(
    stream: Transport,
    settings: Settings,
    task: int,
    consumer: Consumer,
    start: Start,
    bootstrap: Bootstrap | None = None,
) -> Mapping[TopicPartition, int]:
    """Delete a task's checkpoints and commit a first snapshot; return the offsets at which the task starts.

    If it is killed in between, there are committed offsets without a checkpoint: the service does
    not start, and the same call can be repeated.

    Parameters
    ----------
    stream, settings, task
        The task to reset.
    consumer
        The member of the group that owns its partitions.
    start
        At the group's committed offsets, or at the first available records.
    bootstrap
        Trains the model first; without it the model is untrained.

    """
    topic = settings.checkpoints_topic
    context = quiet_context(stream, settings)
    writer, committed = opened_writer(consumer, context, task)
    with closing(writer):
        offsets = start_offsets(stream, settings, task, committed, start)
        earlier = _earlier(stream, settings, task, offsets) if start == "committed" else ()
        stream.delete_before(topic, task, stream.bounds(topic, task)[1])
        fresh = Restored(task, make_processor(settings), 0, offsets, [], 0, earlier=earlier)
        if bootstrap is not None:
            fresh = bootstrap.start(fresh)
        Task(context, fresh, writer).finish_commit()  # commits a snapshot, as there is none
    return offsets
