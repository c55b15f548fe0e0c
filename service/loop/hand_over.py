"""Hand partitions over to their next owners."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

from service.errors import TransportError
from service.loop.availability import Availability
from service.loop.opening.log_ends import LogEnds
from service.loop.task import HAND_OVER_BYTES, Task
from service.stream import Consumer

_log = logging.getLogger(__name__)

_MOST_BYTES: Final = HAND_OVER_BYTES


def hand_over(
    tasks: Sequence[Task], consumer: Consumer, availability: Availability, log_ends: LogEnds
) -> None:
    """Close tasks, each with a fresh snapshot if the stream is there to take it.

    Snapshots are committed together, but no more at once than a broker may take. After one failure there is
    none: each would time out.
    """

    def attempt(act: Callable[[], int | None]) -> int:
        try:
            return 0 if availability.is_away else act() or 0
        except TransportError as error:
            _log.info("no snapshot on hand-over: %s", error)
            availability.note(error)
            return 0

    if not availability.is_away:
        log_ends.ask([task.partition for task in tasks])
    n_bytes, begun = 0, []
    for number, task in enumerate(tasks, start=1):
        begun.append(task)
        n_bytes += attempt(task.hand_over)
        if n_bytes >= _MOST_BYTES or number == len(tasks):
            consumer.send()
            for each in begun:
                attempt(each.finish_commit)
                each.close()
            n_bytes, begun = 0, []
