"""Restore newly assigned tasks together, on threads next to the loop."""

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
from service.stream.protocol import Consumer, RecordLimit, TopicPartition, by_partition

_log = logging.getLogger(__name__)

_ENDING_SECONDS: Final = 2.0


@dataclass(eq=False, slots=True)
class Opening:
    """A task that is being opened: its writer is made before its state is read."""

    number: int
    writer: TaskWriter
    dead_letter_limit: RecordLimit
    """How large a dead letter may be; restoring asks the topic, whose limit may be lower."""
    since: float
    """When the opening started, in monotonic seconds."""
    outcome: Future[Restored] = field(default_factory=Future)
    """The restored task, or the error; cancelled when this process loses the task."""

    def drop(self) -> None:
        """Cancel the opening and close its writer."""
        self.outcome.cancel()
        self.writer.close()


class Background:
    """Runs work that the loop does not wait for, each function on its own thread."""

    def __init__(self) -> None:
        self._threads: list[Thread] = []
        self._is_over = Event()

    def is_over(self) -> bool:
        """Return whether the process is closing; running functions check it now and then."""
        return self._is_over.is_set()

    def run(self, what: Callable[[], None]) -> None:
        """Start a function on a thread."""
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        self._threads.append(Thread(target=what, name="opening", daemon=True))
        self._threads[-1].start()

    def close(self) -> None:
        """Wait for the running functions, but not for long."""
        self._is_over.set()
        for thread in self._threads:
            thread.join(_ENDING_SECONDS)


class Restorer:
    """Restores tasks, and keeps the states of other members' tasks if the setting `standby` is on.

    Parameters
    ----------
    context, consumer
        The shared parts of the loop; this member of the group.

    """

    def __init__(self, context: Context, consumer: Consumer) -> None:
        self._context = context
        self._stream, self._settings = context.stream, context.settings
        self._bootstrap = Bootstrap(context.settings)
        self._background = Background()
        self._standby = Standby(context, self._background.is_over) if context.settings.standby else None
        self._consumer = consumer

    def keep_others(self, numbers: Collection[int]) -> None:
        """Bring the kept states of these tasks up to the last commit, if that is due."""
        if (standby := self._standby) is None:
            return
        self._context.metrics.n_standby = len(standby)
        if standby.is_due:
            standby.begin()
            self._background.run(partial(standby.advance, numbers))

    def close(self) -> None:
        """Wait a little for restores under way; their results are dropped."""
        self._background.close()

    def restore(self, openings: Sequence[Opening]) -> None:
        """Restore tasks on a thread; each opening gets the result or the error."""
        self._background.run(partial(self._restore_all, openings))

    def _restore_all(self, openings: Sequence[Opening]) -> None:
        """Restore each task as its former owner committed it; set the result or the error of its opening."""
        wanted = [each for each in openings if not each.outcome.cancelled()]
        if not wanted or self._background.is_over():
            return
        try:
            limits = {topic: self._stream.record_limit(topic) for topic in output_topics(self._settings)}
            dead_letter_limit = limits[self._settings.dead_letters_topic]
            numbers = [each.number for each in wanted]
            committed = self._take_over(wanted)
            kept = {} if self._standby is None else self._standby.take(numbers)
            ahead = ReadAhead(self._stream, self._settings, numbers, kept)
        except BaseException as error:  # noqa: BLE001 - raised again by the loop
            for opening in wanted:
                _fail(opening, error)
            return
        for opening in wanted:
            if opening.outcome.cancelled() or self._background.is_over():
                continue
            try:
                restored = self._restored(ahead, opening, committed)
                restored = self._bootstrap.start(restored)
                restored = from_start(self._stream, self._settings, restored)
            except BaseException as error:  # noqa: BLE001 - raised again by the loop
                _fail(opening, error)
            else:
                opening.dead_letter_limit = min(opening.dead_letter_limit, dead_letter_limit)
                with suppress(InvalidStateError):  # cancelled
                    opening.outcome.set_result(restored)

    def _take_over(self, openings: Sequence[Opening], *, log: bool = True) -> Mapping[TopicPartition, int]:
        """Wait until former owners can no longer commit; return the group's committed offsets."""
        partitions = [partition for opening in openings for partition in opening.writer.partitions]
        topic = self._settings.checkpoints_topic if log else ""
        return by_partition(self._consumer.take_over(partitions, topic))

    def _restored(
        self, ahead: ReadAhead, opening: Opening, committed: Mapping[TopicPartition, int]
    ) -> Restored:
        """Restore a task from what was read ahead; if that fails, read the stream again.

        A process that was frozen in between may have read another owner's records.
        """
        log, point = ahead.take(opening.number)
        mine = {each: at for each, at in committed.items() if each[1] in opening.writer.partitions}
        try:
            return restore(ahead, self._settings, opening.number, mine, log, point)
        except CheckpointError as error:
            known = self._take_over([opening])
            _log.debug("partition %d: restored again: %s", opening.number, error)
        try:
            return restore(self._stream, self._settings, opening.number, known)
        except CheckpointError:
            self._take_over([opening], log=False)  # raises if another process owns the task now
            raise


def _fail(opening: Opening, error: BaseException) -> None:
    """Set the error of an opening: a copy, as several openings may share it."""
    with suppress(InvalidStateError):  # cancelled
        opening.outcome.set_exception(error.copied() if isinstance(error, ServiceError) else error)
