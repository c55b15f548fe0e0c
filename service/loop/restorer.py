"""Restore tasks that are assigned together, next to the loop."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Event, Thread
from typing import Final

from service.errors import CheckpointError, ServiceError
from service.loop.bootstrap import Bootstrap, from_start
from service.loop.context import Context
from service.loop.read_ahead import ReadAhead
from service.loop.restore import Restored, restore
from service.loop.standby import Standby
from service.loop.task import TaskWriter
from service.settings.topics import output_topics
from service.stream.protocol import Consumer, RecordLimit, TopicPartition
from service.stream.records import by_place

_log = logging.getLogger(__name__)

_ENDING_SECONDS: Final = 2.0


@dataclass(eq=False, slots=True)
class Opening:
    """A task that is being opened: its writer is made before its state is read."""

    number: int
    writer: TaskWriter
    letter_limit: RecordLimit
    """How large a dead letter may be; while it is restored, its topic may say less."""
    since: float
    """When it was begun, in monotonic seconds."""
    found: Future[Restored] = field(default_factory=Future)
    """Cancelled when the task is not ours any more."""

    def drop(self) -> None:
        """Cancel the opening and close its writer."""
        self.found.cancel()
        self.writer.close()


class Background:
    """Runs what the loop does not wait for, each on a thread of its own."""

    def __init__(self) -> None:
        self._threads: list[Thread] = []
        self._is_over = Event()

    def is_over(self) -> bool:
        """Return whether no one waits for anything any more; what runs looks at it now and then."""
        return self._is_over.is_set()

    def run(self, what: Callable[[], None]) -> None:
        """Let something run."""
        self._threads = [each for each in self._threads if each.is_alive()]
        self._threads.append(Thread(target=what, name="opening", daemon=True))
        self._threads[-1].start()

    def close(self) -> None:
        """Wait for what runs, but not for long."""
        self._is_over.set()
        for thread in self._threads:
            thread.join(_ENDING_SECONDS)


class Restorer:
    """Restores tasks, and keeps the states of those of other members, if the settings say so.

    Parameters
    ----------
    context, consumer
        The stream, the settings, where to report, and the time; this member of the group.

    """

    def __init__(self, context: Context, consumer: Consumer) -> None:
        self._context = context
        self._stream, self._settings = context.stream, context.settings
        self._bootstrap = Bootstrap(context.settings)
        self._background = Background()
        self._standby = Standby(context, self._background.is_over) if context.settings.standby else None
        self._consumer = consumer

    def keep_others(self, numbers: Collection[int]) -> None:
        """Bring the states of these tasks up to what is committed, if that is due."""
        if (standby := self._standby) is None:
            return
        self._context.metrics.n_standby = len(standby)
        if standby.is_due:
            standby.begin()
            self._background.run(partial(standby.advance, numbers))

    def close(self) -> None:
        """Wait for what is being restored, which no one needs any more."""
        self._background.close()

    def restore(self, openings: Sequence[Opening]) -> None:
        """Restore tasks next to the loop; their openings are told what came of it."""
        if openings:
            self._background.run(partial(self._restore_all, openings))

    def _restore_all(self, openings: Sequence[Opening]) -> None:
        """Restore each, and tell what came of it: what was committed by its former owner, or an error."""
        wanted = [each for each in openings if not each.found.cancelled()]
        if not wanted or self._background.is_over():
            return
        try:
            limits = {topic: self._stream.record_limit(topic) for topic in output_topics(self._settings)}
            letter_limit = limits[self._settings.dead_letters_topic]
            numbers = [each.number for each in wanted]
            committed = self._take_over(wanted)
            kept = {} if self._standby is None else self._standby.take(numbers)
            ahead = ReadAhead(self._stream, self._settings, numbers, kept)
        except BaseException as error:  # noqa: BLE001 - raised again by the loop
            for opening in wanted:
                _fail(opening, error)
            return
        for opening in wanted:
            if opening.found.cancelled() or self._background.is_over():
                continue
            try:
                restored = self._restored(ahead, opening, committed)
                restored = self._bootstrap.start(restored)
                restored = from_start(self._stream, self._settings, restored)
            except BaseException as error:  # noqa: BLE001 - raised again by the loop
                _fail(opening, error)
            else:
                opening.letter_limit = min(opening.letter_limit, letter_limit)
                with suppress(InvalidStateError):  # cancelled
                    opening.found.set_result(restored)

    def _take_over(self, openings: Sequence[Opening], *, log: bool = True) -> Mapping[TopicPartition, int]:
        """Wait until no former owner can commit any more; return the group's committed offsets."""
        partitions = [each for opening in openings for each in opening.writer.partitions]
        topic = self._settings.checkpoints_topic if log else ""
        return by_place(self._consumer.take_over(partitions, topic))

    def _restored(
        self, ahead: ReadAhead, opening: Opening, committed: Mapping[TopicPartition, int]
    ) -> Restored:
        """Restore what was committed; from the stream again if what was read ahead is refused.

        A process that was frozen meanwhile may have read what is another's.
        """
        log, base = ahead.take(opening.number)
        mine = {place: at for place, at in committed.items() if place[1] in opening.writer.partitions}
        try:
            return restore(ahead, self._settings, opening.number, mine, log, base)
        except CheckpointError as error:
            known = self._take_over([opening])
            _log.debug("partition %d: restored again: %s", opening.number, error)
        try:
            return restore(self._stream, self._settings, opening.number, known)
        except CheckpointError:
            self._take_over([opening], log=False)  # raises if the task is not ours any more
            raise


def _fail(opening: Opening, error: BaseException) -> None:
    """Set the error of an opening, a copy for each."""
    with suppress(InvalidStateError):  # cancelled
        opening.found.set_exception(error.copied() if isinstance(error, ServiceError) else error)
