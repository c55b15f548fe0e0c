"""Find input and checkpoints that were lost since a partition stopped; stop if there are any.

A topic loses records at its beginning by retention, in the middle by compaction, and all records when it is
deleted. A recreated topic has another id, but its offsets begin at 0 again.

A commit writes progress and offsets in one transaction. So a log that ends before the committed offsets has
lost its end; if the committed offsets lie before the end of the log, another program has set them back.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from service.checkpoints.log import RESET_HINT
from service.errors import CheckpointError, InputLost
from service.settings.load import Settings
from service.settings.topics import partition_counts
from service.stream.protocol import ReadStream, TopicPartition

_log = logging.getLogger(__name__)

_HINT: Final = "`on_data_loss = continue` continues without them"


class Loss(NamedTuple):
    """Lost records of one input topic."""

    partition: TopicPartition
    """Topic and partition of the records; for a whole topic, the first partition."""
    what: str
    """Which records are lost, where, and why, if known."""
    records: int
    """Number of lost records, if known; it includes Kafka's transaction markers, which take offsets."""
    resume: int | None = None
    """Offset at which to resume instead; None keeps the offset."""

    @property
    def topic(self) -> str:
        """The topic."""
        return self.partition[0]


def topic_ids(stream: ReadStream, topics: Sequence[str]) -> dict[str, str]:
    """Return the id of each topic that has one."""
    ids = {topic: stream.topic_id(topic) for topic in topics}
    return {topic: topic_id for topic, topic_id in ids.items() if topic_id}


def unread_losses(
    stream: ReadStream, offsets: Mapping[TopicPartition, int], ids: Mapping[str, str]
) -> list[Loss]:
    """Find the partitions whose next record to be processed is lost.

    Parameters
    ----------
    stream
        The stream of the topics.
    offsets
        Next offset by topic and partition.
    ids
        The known ids of the topics at the time of the offsets.

    """
    present = topic_ids(stream, [*dict.fromkeys(topic for topic, _ in offsets)])
    losses = []
    for (topic, partition), offset in offsets.items():
        first, end = stream.bounds(topic, partition)
        where = f"{topic}[{partition}]"
        if topic in ids and topic in present and ids[topic] != present[topic]:
            what = f"{where}: the topic was deleted and recreated after it was processed up to {offset}"
            losses.append(Loss((topic, partition), what, 0, first))
        elif offset > end:
            what = f"{where}: it was processed up to {offset}, but ends at {end}: it was recreated or cut off"
            losses.append(Loss((topic, partition), what, 0, first))
        elif offset < first:
            what = f"{where}: the records {offset} to {first - 1} were deleted before they were processed"
            losses.append(Loss((topic, partition), what, first - offset, first))
    return losses


def unlearned_losses(
    start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int], missing: Mapping[str, int]
) -> list[Loss]:
    """Describe records that recovery did not find; `missing` has their number by topic."""
    losses = []
    for topic, count in missing.items():
        partitions = [partition for partition in end if partition[0] == topic]
        ranges = ", ".join(f"{start.get(each, 0)} to {end[each] - 1} of {each[1]}" for each in partitions)
        if len(partitions) == 1:
            ranges = f"{start.get(partitions[0], 0)} to {end[partitions[0]] - 1}"
        where = f"{topic}[{','.join(str(partition) for _, partition in partitions)}]"
        what = f"{where}: {count} of the records {ranges}, which restoring the model needs, are missing"
        losses.append(Loss(partitions[0], f"{what}: deleted or compacted away", count))
    return losses


def reject(losses: Sequence[Loss], settings: Settings) -> None:
    """Raise `InputLost` for the first loss, unless `on_data_loss` is `continue`."""
    if losses and settings.on_data_loss == "fail":
        loss = losses[0]
        is_unread = loss.resume is not None
        least = "the longest downtime" if is_unread else "snapshot_interval_seconds, without compaction"
        raise InputLost(loss.what, hint=f"{_HINT}; set the topic's retention above {least}")


def records_held(stream: ReadStream, topic: str, partition: int) -> int:
    """Return how many records an empty log has held, or a lower bound if the number is unknown."""
    first, end = stream.bounds(topic, partition)
    return end if stream.offsets_are_dense else first  # there may be nothing but transaction markers


def reject_emptied(
    settings: Settings, partition: int, committed: Mapping[TopicPartition, int], held: int
) -> None:
    """Reject a log that has lost all its checkpoints.

    Parameters
    ----------
    settings, partition
        The settings, and the partition of the log.
    committed, held
        The group's committed offsets, if any, and the number of records that the log has held. Both were read
        before the log, which another process may have begun since.

    Raises
    ------
    CheckpointError
        The group has committed offsets, or the log has held records.

    """
    where = f"{settings.checkpoints_topic}[{partition}]"
    if any(committed.values()):
        raise _lost(f"{where}: checkpoint missing, but {_committed(settings, committed)}")
    if held > 0:  # the committed offsets may be lost, too
        raise _lost(f"{where}: checkpoint missing, but the topic has held {held} records")


def warn_of_predictions(stream: ReadStream, settings: Settings, partitions: Iterable[int]) -> None:
    """Warn if the predictions topic has held records at the first start of a group.

    It is only a warning: a prediction does not name its group, and a new group may share the topic.
    """
    topic = settings.predictions_topic
    n_partitions = partition_counts(stream, (topic,)).get(topic, 0)
    for partition in partitions:
        if partition < n_partitions and stream.bounds(topic, partition)[1] > 0:
            _log.warning(
                "%s: starting with an untrained model, as the group %r has neither checkpoints nor committed "
                "offsets, but %s[%d] has held predictions. If they are this group's, its checkpoints are "
                "lost; each event is then predicted again. Hint: stop, and restore the checkpoints topic; "
                "give a new group a separate predictions topic",
                *(settings.checkpoints_topic, settings.group, topic, partition),
            )


def reject_cut_off(
    settings: Settings,
    partition: int,
    committed: Mapping[TopicPartition, int],
    known: Mapping[TopicPartition, int],
) -> None:
    """Reject a log that ends before the committed offsets; warn if the offsets were set back.

    Parameters
    ----------
    settings, partition
        The settings, and the partition of the log.
    committed
        The group's committed offsets, if any.
    known
        The offsets at the end of the log. A partition that is missing here is new.

    Raises
    ------
    CheckpointError
        An offset was committed beyond the end of the log.

    """
    where = f"{settings.checkpoints_topic}[{partition}]"
    both = {each: offset for each, offset in committed.items() if each in known}
    if any(offset > known[each] for each, offset in both.items()):
        raise _lost(
            f"{where}: the last checkpoint ends at {_positions(known)}, but {_committed(settings, committed)}"
        )
    if any(offset < known[each] for each, offset in both.items()):
        _log.warning(
            "%s: another program reset the offsets of group %r to %s; continuing at %s as in the checkpoint",
            where,
            settings.group,
            _positions(both),
            _positions(known),
        )


def _lost(what: str) -> CheckpointError:
    return CheckpointError(
        f"{what}: the topic was deleted or emptied, or its records have expired",
        hint=f"restore the topic from a copy; or {RESET_HINT}",
    )


def _committed(settings: Settings, committed: Mapping[TopicPartition, int]) -> str:
    return f"the group {settings.group!r} has committed {_positions(committed)}"


def _positions(offsets: Mapping[TopicPartition, int]) -> str:
    return ", ".join(f"{topic}[{partition}]@{offset}" for (topic, partition), offset in offsets.items())
