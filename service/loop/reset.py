"""Reset a partition: commit an untrained model at a chosen position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from typing import Any, Final, Literal

from prometheus_client import CollectorRegistry

from service.checkpoints.identity import earlier_settings
from service.checkpoints.log import read_log
from service.checkpoints.status import newest_sound
from service.errors import CheckpointError
from service.loop.opening.bootstrap import Bootstrap
from service.loop.recovery import Restored
from service.loop.task import Task
from service.monitoring.metrics import Metrics
from service.partition.factory import make_processor
from service.partition.processor import Processor
from service.settings.load import Settings
from service.stream import Consumer, Transport
from service.transport.topics import input_topics

Start = Literal["committed", "beginning"]

_FROM_BEGINNING: Final = "`perceptron checkpoint reset --from beginning` predicts everything again"


def start_offsets(
    transport: Transport, settings: Settings, partition: int, committed: Mapping[str, int], start: Start
) -> Mapping[str, int]:
    """Find where a partition that begins again goes on, by input topic.

    Raises
    ------
    CheckpointError
        It is to go on at the committed offsets, which are not known or lie outside the topic.

    """
    bounds = {topic: transport.bounds(topic, partition) for topic in input_topics(settings)}
    offsets = {topic: first for topic, (first, _) in bounds.items()}
    if start == "beginning":
        return offsets
    known = committed or _newest_checkpoint(transport, settings, partition)
    for topic, (first, end) in bounds.items():
        if not first <= known.get(topic, first) <= end:
            raise CheckpointError(
                f"{topic}[{partition}]: the group {settings.group!r} has committed offset {known[topic]}, "
                f"but the topic holds the offsets {first} to {end}",
                hint=_FROM_BEGINNING,
            )
    return offsets | {topic: known[topic] for topic in offsets if topic in known}


def _newest_checkpoint(transport: Transport, settings: Settings, partition: int) -> Mapping[str, int]:
    """Return where the newest readable checkpoint ends: Kafka deletes the offsets of an inactive group.

    Empty for a partition that has no checkpoint.
    """
    topic = settings.checkpoints_topic
    log = read_log(transport.read(topic, partition), settings.group)
    _, snapshot = newest_sound(log)
    if log.progress and (snapshot is None or log.progress[-1].sequence >= snapshot.sequence):
        return log.progress[-1].offsets
    if snapshot is None and log.snapshots:
        raise CheckpointError(
            f"{topic}[{partition}]: no checkpoint can be read, and the group {settings.group!r} has no "
            "committed offsets",
            hint=_FROM_BEGINNING,
        )
    return snapshot.offsets if snapshot else {}


def _earlier(
    transport: Transport, settings: Settings, partition: int, offsets: Mapping[str, int]
) -> Sequence[Mapping[str, Any]]:
    """Return which settings held before these offsets, as far as a log tells that may be beyond repair."""
    with suppress(CheckpointError):
        _, snapshot = newest_sound(
            read_log(transport.read(settings.checkpoints_topic, partition), settings.group)
        )
        if snapshot is not None:
            return earlier_settings(snapshot.identity, settings, offsets)
    return ()


def reset(
    transport: Transport,
    settings: Settings,
    partition: int,
    consumer: Consumer,
    start: Start,
    processor: Processor | None = None,
    bootstrap: Bootstrap | None = None,
) -> Mapping[str, int]:
    """Delete a partition's checkpoints and commit a first snapshot; return the offsets it goes on at.

    Killed on the way, it leaves no checkpoints but committed offsets: the service refuses to start, and
    the same call can be repeated.

    Parameters
    ----------
    transport, settings, partition
        What to begin again.
    consumer
        A member of the group that owns the partition.
    start
        At the group's committed offsets, or at the first records there are.
    processor
        The state to begin with; an untrained model if None.
    bootstrap
        What to begin with instead, if anything.

    """
    topic = settings.checkpoints_topic
    with closing(consumer.writer(partition)) as writer:
        committed = consumer.take_over([partition], topic)[partition]
        offsets = start_offsets(transport, settings, partition, committed, start)
        earlier = _earlier(transport, settings, partition, offsets) if start == "committed" else ()
        transport.delete_before(topic, partition, transport.bounds(topic, partition)[1])
        begun = Restored(processor or make_processor(settings), 0, offsets, [], 0, earlier=earlier)
        if bootstrap is not None:
            begun = bootstrap.start(transport, partition, begun)
        task = Task(  # begins to commit a snapshot, as there is none
            partition,
            begun,
            writer,
            transport=transport,
            settings=settings,
            metrics=Metrics(CollectorRegistry()),
        )
        task.finish_commit()
    return offsets
