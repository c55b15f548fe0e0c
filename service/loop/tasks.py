"""The tasks of one process: opens, runs and closes them as partitions come and go.

Each partition has a task; with a shared model, all partitions have task 0. A task that failed waits, longer
each time, and is opened again from its last commit:

    assigned ─→ waiting ─→ restored ─→  open   ─→ handed over
                  ↑            │ failed  │
                  └────────────┴─────────┘

A task that waits for a Schema Registry stays open.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
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
from service.loop.context import Context
from service.loop.queues import RecordQueues
from service.loop.restorer import Opening, Restorer
from service.loop.task import HAND_OVER_BYTES, Task, TaskWriter
from service.loop.topics import Growth
from service.monitoring.health import Availability, Stall
from service.settings.topics import input_topics, n_tasks, owner_topic
from service.stream.batches import RecordBatch
from service.stream.protocol import NO_LIMIT, RecordLimit

_log = logging.getLogger(__name__)

RETRYABLE: Final = (TransactionFailed, OwnershipLost, TransportUnavailable, StorageFull)
"""Errors after which a task can be retried; every other error ends the loop."""

_SHORT: Final = RecordLimit(16_384, 16_384)
"""Limit of dead letters after `_SHORT_AFTER` rejected records, whatever the topic's limit: 16 KiB."""

_SHORT_AFTER: Final = 2
"""Rejected records of a task after which dead letters are cut. A topic's size limit may have been lowered: at
the first rejected record, it is read again."""


class Failures:
    """Remembers the failures of each task until it commits a batch.

    Parameters
    ----------
    random
        Draws the waits.

    Attributes
    ----------
    to_repeat : set[int]
        Partitions whose failed batch has not been repeated.

    """

    def __init__(self, random: Random) -> None:
        self.to_repeat: set[int] = set()
        self._backoffs: defaultdict[int, Backoff] = defaultdict(lambda: Backoff(random))
        """Waits by partition, so that a first failure does not wait for the failures of others."""
        self._rejected: Counter[int] = Counter()
        """How often the next batch of a partition was rejected because of a record that is too large."""

    def note_rejected(self, partition: int) -> bool:
        """Note that a record was too large; return whether the batch may be retried."""
        self._rejected[partition] += 1
        return self._rejected[partition] <= _SHORT_AFTER

    def cuts_dead_letters(self, partition: int) -> bool:
        """Return whether to cut dead letters, as one of them may be the rejected record."""
        return self._rejected[partition] >= _SHORT_AFTER

    def next_seconds(self, partition: int) -> float:
        """Return how long to wait before the next attempt: longer each time."""
        return self._backoffs[partition].next_seconds()

    def forget(self, partition: int) -> None:
        """Forget the failures of a partition that has committed or was lost."""
        self.to_repeat.discard(partition)
        self._rejected.pop(partition, None)
        self._backoffs.pop(partition, None)


class Tasks:
    """Joins the group, whose partitions the consumer assigns to it; opens, runs and closes their tasks.

    Parameters
    ----------
    context
        The shared parts of the loop.
    queues
        The queued records of open tasks.
    availability
        Is notified of retryable errors.
    growth
        Adds missing partitions before a task is opened.

    Attributes
    ----------
    running : dict[int, Task]
        The open tasks, by number.
    consumer : Consumer
        The member of the group.

    """

    def __init__(
        self, context: Context, queues: RecordQueues, availability: Availability, growth: Growth
    ) -> None:
        self._context = context
        self._clock = context.clock
        self._queues = queues
        self._availability = availability
        settings = context.settings
        self._sources = Sources(settings, context.clock) if needs_schemas(settings) else None
        self.running: dict[int, Task] = {}
        self._assigned: dict[int, set[int]] = {}
        """The partitions assigned to this process, by task."""
        self._waiting: dict[int, float] = {}
        """When (monotonic seconds) to retry the tasks that get no records: not open, or without a schema."""
        self._openings: dict[int, Opening] = {}
        """The waiting tasks that are being restored, or are about to be."""
        self._failures = Failures(context.random)
        self._sent: set[int] = set()
        """Tasks that take part in the transaction under way."""
        self._growth = growth
        self.consumer = context.stream.join(
            settings.group, input_topics(settings), self, owner_topic(settings)
        )
        self._restorer = Restorer(context, self.consumer)

    @property
    def partitions(self) -> set[int]:
        """The partitions of the open tasks."""
        return {partition for task in self.running.values() for partition in task.partitions}

    @property
    def is_opening(self) -> bool:
        """Whether a task is being restored."""
        return bool(self._openings)

    @property
    def is_waiting(self) -> bool:
        """Whether an assigned partition has no open task."""
        return bool(self._waiting)

    @property
    def is_behind(self) -> bool:
        """Whether an assigned partition has no open task, or a failed batch to repeat."""
        return bool(self._waiting or self._failures.to_repeat)

    def forget_failures(self) -> None:
        """Forget failures if no input is left: commits that seemed to fail were written."""
        if self._failures.to_repeat and not self._waiting:
            with suppress(TransportUnavailable):
                if self.consumer.at_end():
                    self._failures.to_repeat.clear()

    def expect_no_owner(self) -> None:
        """Allow a snapshot of any size at hand-over, as no other process waits for the tasks."""
        for task in self.running.values():
            task.hand_over_bytes = inf

    def close(self) -> None:
        """Wait a little for restores under way."""
        self._restorer.close()

    # Processing and committing

    def process(self, number: int, records: RecordBatch) -> float:
        """Process a batch, which `send` commits; return the seconds that took.

        After a retryable error, the task is closed and opened later.
        """
        task = self.running[number]
        self._run_on_task(number, lambda task: task.process(records))
        return task.seconds

    def send(self, processed: Collection[int]) -> None:
        """Begin to commit the processed batches, and chunks of snapshots, in the next transaction."""
        idle = [
            each for each, task in self.running.items() if each not in processed and task.snapshots.has_chunks
        ]
        if not (processed or idle):
            return
        for number in self._sent.difference(processed, idle).intersection(self.running):
            self._run_on_task(number, Task.finish_commit)
        for number in idle:
            self._run_on_task(number, Task.begin_chunks)
        self._sent = (self.running.keys() - self._waiting.keys()) & {*processed, *idle}
        self.consumer.send()
        for number in self._sent.intersection(processed):
            self._run_on_task(number, Task.copy_state)

    def finish_commits(self) -> None:
        """Wait for the commits under way; after a retryable error, as `process`."""
        for number in [each for each, task in self.running.items() if task.is_committing]:
            self._run_on_task(number, Task.finish_commit)
        self._sent.clear()

    def _run_on_task(self, number: int, act: Callable[[Task], None]) -> None:
        task = self.running[number]
        try:
            act(task)
        except MessageTooLarge as error:
            if not self._failures.note_rejected(number):
                raise
            self._fail(number, error)
        except RegistryUnavailable as error:  # the batch was not processed: it will be polled again
            self._queues.forget(number)
            self._failures.to_repeat.add(number)
            self._postpone(number, error)
        except RETRYABLE as error:
            self._fail(number, error)
        else:
            if not task.is_committing:
                self._failures.forget(number)

    def _fail(self, number: int, error: TransportError) -> None:
        self._set_aside(number)
        self.running.pop(number).close()
        self._failures.to_repeat.add(number)
        self._postpone(number, error)

    def reopen(self, error: OffsetOutOfRange) -> None:
        """Reopen a task whose position is gone from its topic: recovery determines the loss."""
        number = self._number_of(error.partition)
        self._set_aside(number)
        self._failures.to_repeat.discard(number)
        if (task := self.running.pop(number, None)) is not None:
            task.close()
            self._postpone(number, error)

    def _set_aside(self, number: int) -> None:
        """Drop the queued records of a task, and withdraw its model from the API and the page.

        A commit under way ends first, so that its state is published.
        """
        self._queues.forget(number)
        if (task := self.running.get(number)) is not None:
            try:
                task.finish_commit()
            except TransportError as error:
                self._availability.note_error(error)
        if self._context.live:
            self._context.live.close(number)

    def _postpone(self, number: int, error: TransportError) -> None:
        seconds = self._failures.next_seconds(number)
        self._waiting[number] = self._clock.monotonic() + seconds
        self._availability.report_or_raise(error, seconds)

    # Opening

    def open_waiting(self) -> None:
        """Begin to open the tasks that are due; start those that were restored.

        A task that gained partitions is handed over to its successor in this process.
        """
        now = self._clock.monotonic()
        for number in [n for n, task in self.running.items() if self._assigned[n] > task.partitions]:
            self._set_aside(number)
            self._hand_over([self.running.pop(number)])
            self._waiting[number] = now
        openings = []
        for number in [each for each, due in self._waiting.items() if due <= now]:
            if number in self.running:
                self._continue_task(number)
            elif number not in self._openings and (opening := self._open_writer(number)) is not None:
                openings.append(opening)
        if openings:
            self._restorer.restore(openings)
        for number, opening in [*self._openings.items()]:
            if opening.outcome.done():
                del self._openings[number]
                self._report()
                self._continue_task(number, opening)
        self._send_restored()
        self._keep_others()

    def _open_writer(self, number: int) -> Opening | None:
        """Open the writer of a task, before its state is read; None after a retryable error: retry later."""
        partitions = sorted(self._assigned[number])
        try:
            self._growth.ensure_partition(partitions[-1])
            writers = {partition: self.consumer.writer(partition) for partition in partitions}
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
        """Report the tasks being opened, and since when: otherwise a hang would stay unnoticed."""
        first = min(self._openings.values(), key=lambda each: each.since, default=None)
        stall = None
        if first is not None:
            more = f" and {len(self._openings) - 1} more" if len(self._openings) > 1 else ""
            stall = Stall(first.since, f"the opening of partition {first.number}{more}")
        self._context.health.in_parallel = stall

    def _task(self, opening: Opening) -> Task:
        """Return the task of a finished opening. Raises `ServiceError` if it could not be restored."""
        context, live = self._context, None
        try:
            restored = opening.outcome.result()
            processor = restored.processor
            if context.live:
                live = context.live.open(opening.number, processor, opening.writer.partitions)
            task = Task(context, restored, opening.writer, live, opening.dead_letter_limit, self._sources)
        except BaseException:
            opening.writer.close()
            raise
        processor.observe = context.metrics.watch(opening.number, processor.learner)
        return task

    def _continue_task(self, number: int, opening: Opening | None = None) -> None:
        """Accept records of an open task, or start the task of a finished opening; or retry later."""
        task = None
        try:
            task = self.running[number] if opening is None else self._task(opening)
            for partition in sorted(task.partitions):
                self.consumer.start(partition, task.offsets_of(partition))
            self._queues.open(number, task.partitions)
        except BaseException as error:
            if opening is not None:
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
        """Begin one transaction with the commits that tasks need before their first batch."""
        unsent = {each for each, task in self.running.items() if task.is_committing} - self._sent
        if unsent:
            self._sent |= unsent
            self.consumer.send()

    def _keep_others(self) -> None:
        """Advance the kept states of other members' tasks on a thread, if `standby` is on."""
        if self._context.settings.standby and not self._openings and self.consumer.has_joined():
            count = n_tasks(self._context.settings, self._growth.n_partitions)
            self._restorer.keep_others({*range(count)} - self._assigned.keys())

    # Partitions come and go

    def _number_of(self, partition: int) -> int:
        """Return the number of a partition's task."""
        return 0 if self._context.settings.share_model else partition

    def partitions_assigned(self, partitions: frozenset[int]) -> None:
        """Note newly assigned partitions, which are opened after this poll."""
        self._context.metrics.rebalances.inc()
        now = self._clock.monotonic()
        for partition in partitions:
            number = self._number_of(partition)
            self._assigned.setdefault(number, set()).add(partition)
            if number not in self.running:
                self._waiting[number] = now

    def partitions_revoked(self, partitions: frozenset[int]) -> None:
        """Hand over revoked partitions, each with a new snapshot if the stream accepts it."""
        self._hand_over(self._leave(partitions))

    def _hand_over(self, tasks: Sequence[Task]) -> None:
        """Close tasks, each with a new snapshot if possible.

        Snapshots are committed together, up to the size that a broker takes. After one failure no more are
        made, as each would time out.
        """
        n_bytes, closing = 0, []
        for count, task in enumerate(tasks, start=1):
            closing.append(task)
            n_bytes += self._attempt(task.hand_over)
            if n_bytes >= HAND_OVER_BYTES or count == len(tasks):
                self.consumer.send()
                for each in closing:
                    self._attempt(each.finish_commit)
                    each.close()
                n_bytes, closing = 0, []

    def _attempt(self, act: Callable[[], int | None]) -> int:
        try:
            return 0 if self._availability.is_unreachable else act() or 0
        except TransportError as error:
            _log.info("snapshot skipped at hand-over: %s", error)
            self._availability.note_error(error)
            return 0

    def partitions_lost(self, partitions: frozenset[int]) -> None:
        """Drop the tasks of lost partitions, which another member owns."""
        for task in self._leave(partitions):
            task.close()

    def _leave(self, partitions: frozenset[int]) -> Sequence[Task]:
        """Release partitions; return their open tasks."""
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
