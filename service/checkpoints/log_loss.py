"""Refuse committed offsets that a partition's checkpoint log does not account for.

A commit writes progress and offsets in one transaction, or neither: a log that ends before the offsets has
lost its end, and offsets that lie before it were set back by another program.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress

from service.checkpoints.log import RESET_HINT
from service.errors import CheckpointError, TopicMissing
from service.settings.load import Settings
from service.stream.protocol import Place, ReadStream

_log = logging.getLogger(__name__)


def records_held(stream: ReadStream, topic: str, partition: int) -> int:
    """Return how many records a log has held that has none left: at least so many, where it is not known."""
    first, end = stream.bounds(topic, partition)
    return end if stream.offsets_are_dense else first  # there may be nothing but transaction markers


def refuse_emptied(settings: Settings, partition: int, committed: Mapping[Place, int], held: int) -> None:
    """Refuse a log without checkpoints that has held some.

    Parameters
    ----------
    settings, partition
        Where the log is.
    committed, held
        The group's committed offsets by place, as far as there are any, and how many records the log has
        held: both as they were before the log was read. Others may have begun it since.

    Raises
    ------
    CheckpointError
        The group has committed offsets, or the log has held records.

    """
    place = f"{settings.checkpoints_topic}[{partition}]"
    if any(committed.values()):
        raise _lost(f"{place}: there is no checkpoint, but {_committed(settings, committed)}")
    if held > 0:  # the offsets that would tell may be gone as well
        raise _lost(f"{place}: there is no checkpoint, but the topic has held {held} records")


def warn_of_predictions(stream: ReadStream, settings: Settings, partitions: Iterable[int]) -> None:
    """Warn if the predictions topic has held records at the first start of a group.

    No more than a warning: a prediction does not name its group, and a new group may share the topic.
    """
    topic = settings.predictions_topic
    n_partitions = 0
    with suppress(TopicMissing):
        n_partitions = stream.partition_count(topic)
    for partition in partitions:
        if partition < n_partitions and stream.bounds(topic, partition)[1] > 0:
            _log.warning(
                "%s: starting with an untrained model, as the group %r has neither checkpoints nor committed "
                "offsets, but %s[%d] has held predictions. If they are this group's, its checkpoints are "
                "lost; each event is then predicted again. Hint: stop, and restore the checkpoints topic; "
                "give a new group a predictions topic of its own",
                *(settings.checkpoints_topic, settings.group, topic, partition),
            )


def refuse_cut_off(
    settings: Settings, partition: int, committed: Mapping[Place, int], known: Mapping[Place, int]
) -> None:
    """Refuse a log that ends before the committed offsets; warn of offsets that were set back.

    Parameters
    ----------
    settings, partition
        Where the log is.
    committed
        The group's committed offsets by place, as far as there are any.
    known
        Where the log ends, by place. One that it does not name is new.

    Raises
    ------
    CheckpointError
        An offset was committed beyond the end of the log.

    """
    place = f"{settings.checkpoints_topic}[{partition}]"
    both = {each: offset for each, offset in committed.items() if each in known}
    if any(offset > known[each] for each, offset in both.items()):
        raise _lost(
            f"{place}: the newest checkpoint ends at {_places(known)}, but {_committed(settings, committed)}"
        )
    if any(offset < known[each] for each, offset in both.items()):
        _log.warning(
            "%s: the offsets of group %r were set back to %s by somebody else; going on after the newest "
            "checkpoint, at %s. Hint: `perceptron checkpoint reset` begins again with an untrained model",
            place,
            settings.group,
            _places(both),
            _places(known),
        )


def _lost(what: str) -> CheckpointError:
    return CheckpointError(
        f"{what}: the topic was deleted or emptied, or its records have expired",
        hint=f"restore the topic from a copy; or {RESET_HINT}",
    )


def _committed(settings: Settings, committed: Mapping[Place, int]) -> str:
    return f"the group {settings.group!r} has committed {_places(committed)}"


def _places(offsets: Mapping[Place, int]) -> str:
    return ", ".join(f"{topic}[{partition}]@{offset}" for (topic, partition), offset in offsets.items())
