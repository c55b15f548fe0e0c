"""The tasks of one process: opens, runs and closes them as partitions come and go.

Each partition has a task of its own, or, where one model is shared, all of them have task 0. One that failed
waits, longer each time, and is opened again from its last commit:

    assigned ─→ waiting ─→ restored ─→  open   ─→ handed over
                  ↑            │ failed  │
                  └────────────┴─────────┘

One that waits for a Schema Registry stays as it is.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from random import Random
from typing import Final

from service.clock import Backoff
from service.errors import (
    MessageTooLarge,
    OffsetOutOfRange,
    OwnershipLost,
    RegistryUnavailable,
    StorageFull,
    TransactionFailed,
    TransportError,
    TransportUnavailable,
)
from service.formats.sources import Sources
from service.formats.topics import needs_schemas
from service.loop.context import Availability, Context
from service.loop.queues import RecordQueues
from service.loop.restorer import Opening, Restorer
from service.loop.task import HAND_OVER_BYTES, Task, TaskWriter
from service.loop.topics import Growth
from service.monitoring.health import Stall
from service.settings.topics import input_topics
from service.stream.batches import RecordBatch
from service.stream.protocol import NO_LIMIT, Consumer, RecordLimit

_log = logging.getLogger(__name__)

RETRYABLE: Final = (TransactionFailed, OwnershipLost, TransportUnavailable, StorageFull)
"""Errors after which the same task can be tried again; every other one ends the loop."""

_SHORT: Final = RecordLimit(16_384, 16_384)


_SHORT_AFTER: Final = 2
"""A topic's limit may have been lowered: the first time it refuses a record, it is asked again what it takes;
the second time, dead letters are cut to 16 KiB, whatever it says."""


class Failures:
    """Remembers what has failed of each task until a batch of it is committed.

    Parameters
    ----------
    random
        Decides how long to wait.

    """

    def __init__(self, random: Random) -> None:
        self._to_repeat: set[int] = set()
        """Partitions whose last batch failed and was not repeated since."""
        self._backoffs: defaultdict[int, Backoff] = defaultdict(lambda: Backoff(random))
        """By partition: one that has just failed for the first time need not wait for what others did."""
        self._refused: Counter[int] = Counter()
        """By partition: how often its next batch was refused because a record in it is too large."""

    def __bool__(self) -> bool:
        return bool(self._to_repeat)

    def note(self, partition: int) -> None:
        """Note that a batch failed."""
        self._to_repeat.add(partition)

    def note_refused(self, partition: int) -> bool:
        """Note that a record was too large; return whether the batch may be tried again."""
        self._refused[partition] += 1
        return self._refused[partition] <= _SHORT_AFTER

    def cuts_dead_letters(self, partition: int) -> bool:
        """Return whether dead letters are to be cut, as they may be what was refused."""
        return self._refused[partition] >= _SHORT_AFTER

    def next_seconds(self, partition: int) -> float:
        """Return how long to wait before the next attempt: longer each time."""
        return self._backoffs[partition].next_seconds()

    def forget(self, partition: int) -> None:
        """Forget the failures of a partition that has committed, or is not ours any more."""
        self.forget_batch(partition)
        self._refused.pop(partition, None)
        self._backoffs.pop(partition, None)

    def forget_batch(self, partition: int) -> None:
        """Forget the batch that failed: recovery finds out where the partition continues."""
        self._to_repeat.discard(partition)

    def forget_batches(self) -> None:
        """Forget the batches that failed: as nothing is left to process, they were committed nevertheless."""
        self._to_repeat.clear()


class Tasks:
    """Opens, drives and closes the tasks; the assignee of the consumer.

    Parameters
    ----------
    context
        The stream, the settings, where to report, time and chance.
    queues, availability
        Where records of open tasks wait; who is notified of passing errors.

    Attributes
    ----------
    running : dict[int, Task]
        The open tasks, by number.

    """

    def __init__(self, context: Context, queues: RecordQueues, availability: Availability) -> None:
        self._context = context
        self._clock = context.clock
        self._queues = queues
        self._availability = availability
        settings = context.settings
        self._sources = Sources(settings, context.clock) if needs_schemas(settings) else None
        self.running: dict[int, Task] = {}
        self._assigned: dict[int, set[int]] = {}
        """The partitions that are ours, by task."""
        self._waiting: dict[int, float] = {}
        """Tasks that get no records, and when (monotonic seconds) to try: not open, or without a schema."""
        self._openings: dict[int, Opening] = {}
        """Those of them that are being restored, or are about to be."""
        self._failures = Failures(context.random)
        self._sent: set[int] = set()
        """Tasks with a part in the transaction that is under way."""
        self._consumer: Consumer
        self._restorer: Restorer
        self._growth: Growth

    def join(self, growth: Growth) -> Consumer:
        """Join the group, which assigns the partitions from now on."""
        settings = self._context.settings
        self._growth = growth
        alone = settings.checkpoints_topic if settings.share_model else ""
        topics = input_topics(settings)
        self._consumer = self._context.stream.join(settings.group, topics, self, alone)
        self._restorer = Restorer(self._context, self._consumer)
        return self._consumer

    @property
    def partitions(self) -> set[int]:
        """The partitions of the open tasks."""
        return {partition for task in self.running.values() for partition in task.partitions}

    @property
    def is_opening(self) -> bool:
        """Whether a task is being restored next to the loop."""
        return bool(self._openings)

    @property
    def is_waiting(self) -> bool:
        """Whether an assigned partition has no open task."""
        return bool(self._waiting)

    @property
    def is_behind(self) -> bool:
        """Whether an assigned partition has no open task, or a failed batch to repeat."""
        return bool(self._waiting or self._failures)

    def forget_failures(self) -> None:
        """Forget failures if nothing is left to process: commits that seemed to fail had been written."""
        if self._failures and not self._waiting:
            with suppress(TransportUnavailable):
                if self._consumer.at_end():
                    self._failures.forget_batches()

    def expect_no_owner(self) -> None:
        """Let each task be handed over with a snapshot of any size: no one waits for it."""
        for task in self.running.values():
            task.hand_over_bytes = inf

    def close(self) -> None:
        """Wait for what is being restored, which no one needs any more."""
        self._restorer.close()

    # Processing and committing

    def process(self, number: int, records: RecordBatch) -> float:
        """Process a batch, to be committed by `send`; on a passing error, close the task and open it later.

        Returns the seconds of processing, without the commit.
        """
        task = self.running[number]
        self._act(number, lambda task: task.process(records))
        return task.seconds

    def send(self, processed: Collection[int]) -> None:
        """Begin to commit what was processed, and chunks of snapshots, in one transaction after the last."""
        idle = [
            each for each, task in self.running.items() if each not in processed and task.snapshots.has_chunks
        ]
        if not (processed or idle):
            return
        for number in self._sent.difference(processed, idle).intersection(self.running):
            self._act(number, Task.finish_commit)
        for number in idle:
            self._act(number, Task.begin_chunks)
        self._sent = (self.running.keys() - self._waiting.keys()) & {*processed, *idle}
        self._consumer.send()
        for number in self._sent.intersection(processed):
            self._act(number, Task.copy_state)

    def finish_commits(self) -> None:
        """Wait for the commits that are under way; on a passing error, as `process`."""
        for number in [each for each, task in self.running.items() if task.is_committing]:
            self._act(number, Task.finish_commit)
        self._sent.clear()

    def _act(self, number: int, act: Callable[[Task], None]) -> None:
        task = self.running[number]
        try:
            act(task)
        except MessageTooLarge as error:
            if not self._failures.note_refused(number):
                raise
            self._fail(number, error)
        except RegistryUnavailable as error:  # nothing of the batch was processed: it comes again later
            self._queues.forget(number)
            self._failures.note(number)
            self._postpone(number, error)
        except RETRYABLE as error:
            self._fail(number, error)
        else:
            if not task.is_committing:
                self._failures.forget(number)

    def _fail(self, number: int, error: TransportError) -> None:
        self._set_aside(number)
        self.running.pop(number).close()
        self._failures.note(number)
        self._postpone(number, error)

    def reopen(self, error: OffsetOutOfRange) -> None:
        """Open a task again whose position is gone from its topic: recovery finds out what happened."""
        number = self._number_of(error.partition)
        self._set_aside(number)
        self._failures.forget_batch(number)
        if (task := self.running.pop(number, None)) is not None:
            task.close()
            self._postpone(number, error)

    def _set_aside(self, number: int) -> None:
        """Forget the records that wait for a task, and show its model no longer.

        A commit that is under way ends before, so that what it has committed is shown.
        """
        self._queues.forget(number)
        if (task := self.running.get(number)) is not None:
            try:
                task.finish_commit()
            except TransportError as error:
                self._availability.note(error)
        if self._context.live:
            self._context.live.close(number)

    def _postpone(self, number: int, error: TransportError) -> None:
        seconds = self._failures.next_seconds(number)
        self._waiting[number] = self._clock.monotonic() + seconds
        self._availability.failed(error, seconds)

    # Opening

    def open_waiting(self) -> None:
        """Begin to open the tasks whose time has come; let those that were restored continue.

        A task to which partitions were added is handed over to its successor in this process.
        """
        now = self._clock.monotonic()
        for number in [n for n, task in self.running.items() if self._assigned[n] > task.partitions]:
            self._set_aside(number)
            self._hand_over([self.running.pop(number)])
            self._waiting[number] = now
        begun = []
        for number in [each for each, due in self._waiting.items() if due <= now]:
            if number in self.running:
                self._continue_task(number, partial(self.running.__getitem__, number))
            elif number not in self._openings and (opening := self._begun(number)) is not None:
                begun.append(opening)
        self._restorer.restore(begun)
        for number, opening in [*self._openings.items()]:
            if opening.found.done():
                del self._openings[number]
                self._report()
                self._continue_task(number, partial(self._task, opening))
        self._send_restored()
        self._keep_others()

    def _begun(self, number: int) -> Opening | None:
        """Make the writer of a task, before its state is read; None on a passing error: later, then."""
        partitions = sorted(self._assigned[number])
        try:
            self._growth.reach(partitions[-1])
            writers = {each: self._consumer.writer(each) for each in partitions}
        except RETRYABLE as error:
            self._set_aside(number)
            self._postpone(number, error)
            return None
        opening = Opening(
            number,
            TaskWriter(writers, self._context.health),
            _SHORT if self._failures.cuts_dead_letters(number) else NO_LIMIT,
            self._clock.monotonic(),
        )
        self._openings[number] = opening
        self._report()
        return opening

    def _report(self) -> None:
        """Say what is being opened, and since when: no other process would notice if it did not end."""
        first = min(self._openings.values(), key=lambda each: each.since, default=None)
        stall = None
        if first is not None:
            more = f" and {len(self._openings) - 1} more" if len(self._openings) > 1 else ""
            stall = Stall(first.since, f"the opening of partition {first.number}{more}")
        self._context.health.beside = stall

    def _task(self, opening: Opening) -> Task:
        """Make a task of what was restored. Raises `ServiceError` if it could not be."""
        context, live = self._context, None
        try:
            restored = opening.found.result()
            processor = restored.processor
            if context.live:
                live = context.live.open(opening.number, processor, opening.writer.partitions)
            task = Task(context, restored, opening.writer, live, opening.letter_limit, self._sources)
        except BaseException:
            opening.writer.close()
            raise
        processor.observe = context.metrics.watch(opening.number, processor.learner)
        return task

    def _continue_task(self, number: int, task_of: Callable[[], Task]) -> None:
        """Let the records of a task come; on a passing error, open it later."""
        task = None
        try:
            task = task_of()
            for partition in sorted(task.partitions):
                self._consumer.start(partition, task.offsets_of(partition))
            self._queues.open(number, task.partitions)
        except BaseException as error:
            if number not in self.running:
                self._set_aside(number)
                if task is not None:
                    task.close()
            if not isinstance(error, RETRYABLE):
                raise
            self._postpone(number, error)
        else:
            self.running[number] = task
            self._waiting.pop(number, None)

    def _send_restored(self) -> None:
        """Begin to commit, in one transaction, what tasks have to commit before their first batch."""
        begun = {each for each, task in self.running.items() if task.is_committing} - self._sent
        if begun:
            self._sent |= begun
            self._consumer.send()

    def _keep_others(self) -> None:
        """Keep the states of tasks that other members own, if `standby` says so, next to the loop."""
        if not self._openings and self._consumer.has_joined():
            n_tasks = 1 if self._context.settings.share_model else self._growth.n_partitions
            self._restorer.keep_others({*range(n_tasks)} - self._assigned.keys())

    # Partitions come and go

    def _number_of(self, partition: int) -> int:
        """Return the task of a partition."""
        return 0 if self._context.settings.share_model else partition

    def partitions_assigned(self, partitions: frozenset[int]) -> None:
        """Note partitions to be opened after this poll."""
        self._context.metrics.rebalances.inc()
        now = self._clock.monotonic()
        for partition in partitions:
            number = self._number_of(partition)
            self._assigned.setdefault(number, set()).add(partition)
            if number not in self.running:
                self._waiting[number] = now

    def partitions_revoked(self, partitions: frozenset[int]) -> None:
        """Hand partitions over, each with a fresh snapshot if the stream is there to take it."""
        self._hand_over(self._leave(partitions))

    def _hand_over(self, tasks: Sequence[Task]) -> None:
        """Close tasks, each with a fresh snapshot if it can have one.

        Snapshots are committed together, but no more at once than a broker may take. After one failure there
        is none: each would time out.
        """
        n_bytes, begun = 0, []
        for count, task in enumerate(tasks, start=1):
            begun.append(task)
            n_bytes += self._attempt(task.hand_over)
            if n_bytes >= HAND_OVER_BYTES or count == len(tasks):
                self._consumer.send()
                for each in begun:
                    self._attempt(each.finish_commit)
                    each.close()
                n_bytes, begun = 0, []

    def _attempt(self, act: Callable[[], int | None]) -> int:
        try:
            return 0 if self._availability.is_away else act() or 0
        except TransportError as error:
            _log.info("snapshot skipped at hand-over: %s", error)
            self._availability.note(error)
            return 0

    def partitions_lost(self, partitions: frozenset[int]) -> None:
        """Drop the tasks of partitions that were lost: another member owns them."""
        for task in self._leave(partitions):
            task.close()

    def _leave(self, partitions: frozenset[int]) -> Sequence[Task]:
        """Give partitions up; return the tasks of those that were open."""
        self._context.metrics.rebalances.inc()
        tasks = []
        for number in dict.fromkeys(map(self._number_of, partitions)):
            self._waiting.pop(number, None)
            self._assigned.pop(number, None)
            if (opening := self._openings.pop(number, None)) is not None:
                opening.drop()
                self._report()
            self._failures.forget(number)
            self._set_aside(number)
            if (task := self.running.pop(number, None)) is not None:
                tasks.append(task)
        return tasks
