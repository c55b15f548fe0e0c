"""Find input that was deleted since a partition stopped.

A topic loses records at its beginning by retention, in between by compaction, and all of them when it is
deleted. Created again, it has another id, but its offsets begin at 0 as before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from service.errors import InputLost
from service.settings.load import Settings
from service.stream import Transport

_HINT: Final = "`on_data_loss` = continue goes on without them"


class Loss(NamedTuple):
    """Records of one input topic that are gone."""

    topic: str
    what: str
    """What is gone, where, and why as far as is known."""
    records: int
    """How many, as far as is known; Kafka's transaction markers take offsets and count as well."""
    resume: int | None = None
    """Offset to go on at instead; None if that is as it was."""


def topic_ids(transport: Transport, topics: Sequence[str]) -> dict[str, str]:
    """Return the id of each topic that has one."""
    found = {topic: transport.topic_id(topic) for topic in topics}
    return {topic: topic_id for topic, topic_id in found.items() if topic_id}


def unread_losses(
    transport: Transport, partition: int, offsets: Mapping[str, int], ids: Mapping[str, str]
) -> list[Loss]:
    """Find the topics in which the next record to be processed is gone.

    Parameters
    ----------
    transport
        The stream.
    partition, offsets
        Where processing stopped: the next offset by topic.
    ids
        The ids of the topics that the offsets are of, as far as they are known.

    """
    present = topic_ids(transport, tuple(offsets))
    losses = []
    for topic, offset in offsets.items():
        first, end = transport.bounds(topic, partition)
        place = f"{topic}[{partition}]"
        if topic in ids and topic in present and ids[topic] != present[topic]:
            what = f"{place}: the topic was deleted and created again since it was processed up to {offset}"
            losses.append(Loss(topic, what, 0, first))
        elif offset > end:
            what = (
                f"{place}: it was processed up to {offset}, but ends at {end}: the topic was created "
                "again, or its broker has lost the end of it"
            )
            losses.append(Loss(topic, what, 0, first))
        elif offset < first:
            what = f"{place}: the records {offset} to {first - 1} were deleted before they were processed"
            losses.append(Loss(topic, what, first - offset, first))
    return losses


def unlearned_losses(
    partition: int, start: Mapping[str, int], end: Mapping[str, int], missing: Mapping[str, int]
) -> list[Loss]:
    """Describe records between two offsets that recovery did not find: how many are `missing`, by topic."""
    return [
        Loss(
            topic,
            f"{topic}[{partition}]: {count} of the records {start.get(topic, 0)} to {end[topic] - 1}, which "
            "are needed to restore the model, are gone: deleted or compacted away",
            count,
        )
        for topic, count in missing.items()
    ]


def refuse(losses: Sequence[Loss], settings: Settings) -> None:
    """Raise `InputLost` for the first loss, unless the settings say to go on."""
    if losses and settings.on_data_loss == "fail":
        loss = losses[0]
        keep = (
            "keep input for longer than the service may be away"
            if loss.resume is not None
            else "keep input for longer than snapshot_interval_seconds, and do not compact it"
        )
        raise InputLost(loss.what, hint=f"{_HINT}; {keep}")
