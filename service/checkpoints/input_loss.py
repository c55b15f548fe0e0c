"""Find input that was deleted since a partition stopped.

A topic loses records at its beginning by retention, in between by compaction, and all of them when it is
deleted. Created again, it has another id, but its offsets begin at 0 as before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from service.errors import InputLost
from service.settings.load import Settings
from service.stream.protocol import Place, ReadStream

_HINT: Final = "`on_data_loss` = continue goes on without them"


class Loss(NamedTuple):
    """Records of one input topic that are gone."""

    place: Place
    """Their topic and partition; of a topic as a whole the first partition."""
    what: str
    """What is gone, where, and why as far as is known."""
    records: int
    """How many, as far as is known; Kafka's transaction markers take offsets and count as well."""
    resume: int | None = None
    """Offset to go on at instead; None if that is as it was."""

    @property
    def topic(self) -> str:
        """The topic."""
        return self.place[0]


def topic_ids(stream: ReadStream, topics: Sequence[str]) -> dict[str, str]:
    """Return the id of each topic that has one."""
    found = {topic: stream.topic_id(topic) for topic in topics}
    return {topic: topic_id for topic, topic_id in found.items() if topic_id}


def unread_losses(stream: ReadStream, offsets: Mapping[Place, int], ids: Mapping[str, str]) -> list[Loss]:
    """Find the places in which the next record to be processed is gone.

    Parameters
    ----------
    stream
        Where they are.
    offsets
        Where processing stopped: the next offset by place.
    ids
        The ids of the topics that the offsets are of, as far as they are known.

    """
    present = topic_ids(stream, [*dict.fromkeys(topic for topic, _ in offsets)])
    losses = []
    for (topic, partition), offset in offsets.items():
        first, end = stream.bounds(topic, partition)
        place = f"{topic}[{partition}]"
        if topic in ids and topic in present and ids[topic] != present[topic]:
            what = f"{place}: the topic was deleted and created again since it was processed up to {offset}"
            losses.append(Loss((topic, partition), what, 0, first))
        elif offset > end:
            what = (
                f"{place}: it was processed up to {offset}, but ends at {end}: the topic was created "
                "again, or its broker has lost the end of it"
            )
            losses.append(Loss((topic, partition), what, 0, first))
        elif offset < first:
            what = f"{place}: the records {offset} to {first - 1} were deleted before they were processed"
            losses.append(Loss((topic, partition), what, first - offset, first))
    return losses


def unlearned_losses(
    start: Mapping[Place, int], end: Mapping[Place, int], missing: Mapping[str, int]
) -> list[Loss]:
    """Describe records between two offsets that recovery did not find: how many are `missing`, by topic."""
    losses = []
    for topic, count in missing.items():
        places = [place for place in end if place[0] == topic]
        ranges = ", ".join(f"{start.get(place, 0)} to {end[place] - 1} of {place[1]}" for place in places)
        if len(places) == 1:
            ranges = f"{start.get(places[0], 0)} to {end[places[0]] - 1}"
        where = f"{topic}[{','.join(str(partition) for _, partition in places)}]"
        what = f"{where}: {count} of the records {ranges}, which are needed to restore the model, are gone"
        losses.append(Loss(places[0], f"{what}: deleted or compacted away", count))
    return losses


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
