"""The tasks of one process: opens, runs and closes them as partitions come and go.

A partition whose task failed waits, longer each time, and is opened again from its last commit:

    assigned ─→ waiting ─→  open   ─→ handed over
                  ↑  failed  │
                  └──────────┘

One that waits for a Schema Registry keeps its task.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from functools import partial
from math import inf
from random import Random
from typing import Final

from service.batches import RecordBatch
from service.clock import Clock
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
from service.loop.availability import Availability
from service.loop.failures import Failures
from service.loop.growth import Growth
from service.loop.hand_over import hand_over
from service.loop.opening.task_opener import Beside, TaskOpener
from service.loop.queues.record_queue import RecordQueues
from service.loop.task import Task
from service.monitoring.live_models import LiveModels
from service.monitoring.metrics import Metrics
from service.partition.examples import Observer
from service.settings.load import Settings
from service.stream import Consumer, Transport
from service.transport.topics import input_topics

_log = logging.getLogger(__name__)

PASSING: Final = (TransactionFailed, OwnershipLost, TransportUnavailable, StorageFull)
"""Errors after which the same partition can be tried again; every other one ends the loop."""


class Tasks:
    """Opens, drives and closes the task of each partition; the assignee of the consumer.

    Parameters
    ----------
    transport, settings, metrics, live, observe, clock, random, beside
        As for `Runner`.
    queues, availability
        Where records of open partitions wait; who is told of passing errors.

    Attributes
    ----------
    running : dict[int, Task]
        The open tasks, by partition.

    """

    def __init__(
        self,
        transport: Transport,
        settings: Settings,
        metrics: Metrics,
        *,
        queues: RecordQueues,
        availability: Availability,
        live: LiveModels | None,
        observe: Observer | None,
        clock: Clock,
        random: Random,
        beside: Beside | None = None,
    ) -> None:
        self._transport = transport
        self._settings = settings
        self._metrics = metrics
        self._queues = queues
        self._availability = availability
        self._live = live
        self._clock = clock
        self._opener = TaskOpener(
            transport,
            settings,
            metrics,
            health=availability.health,
            live=live,
            observe=observe,
            clock=clock,
            beside=beside,
        )
        self._topics = input_topics(settings)
        self.running: dict[int, Task] = {}
        self._waiting: dict[int, float] = {}
        """Partitions without a task, and when (monotonic seconds) to try."""
        self._suspended: dict[int, Task] = {}
        """Tasks of such partitions: their next batch waits for the Schema Registry."""
        self._failures = Failures(random)
        self._sent: set[int] = set()
        """Partitions with a part in the transaction that is under way."""
        self._consumer: Consumer

    def join(self, growth: Growth) -> Consumer:
        """Join the group, which assigns the partitions from now on."""
        self._growth = growth
        self._consumer = self._transport.join(self._settings.group, self._topics, self)
        self._opener.join(self._consumer, growth)
        return self._consumer

    @property
    def is_opening(self) -> bool:
        """Whether a partition is being opened beside the loop."""
        return self._opener.is_busy

    @property
    def is_waiting(self) -> bool:
        """Whether an assigned partition has no task."""
        return bool(self._waiting)

    @property
    def is_behind(self) -> bool:
        """Whether an assigned partition has no task, or a failed batch to repeat."""
        return bool(self._waiting or self._failures)

    def forget_failures(self) -> None:
        """Forget failures, as nothing is left to process: commits that seemed to fail had been written."""
        if not self._waiting:
            self._failures.forget_doubtful()

    def close(self) -> None:
        """Wait for what is being opened, which nobody needs any more."""
        self._opener.close()

    def process(self, partition: int, records: RecordBatch) -> float:
        """Process a batch, to be committed by `send`; on a passing error, close the task and open it later.

        Returns the seconds of processing, without the commit.
        """
        task = self.running[partition]
        self._act(partition, lambda task: task.process(records))
        return task.seconds

    def send(self, processed: Collection[int]) -> None:
        """Begin to commit what was processed, and chunks of snapshots, in one transaction after the last."""
        idle = [each for each, task in self.running.items() if each not in processed and task.has_chunks]
        if not (processed or idle):
            return
        for partition in self._sent.difference(processed, idle).intersection(self.running):
            self._act(partition, Task.finish_commit)
        for partition in idle:
            self._act(partition, Task.begin_chunks)
        self._sent = {each for each in (*processed, *idle) if each in self.running}
        self._consumer.send()
        for partition in self._sent.intersection(processed):
            self._act(partition, Task.copy_state)

    def finish_commits(self) -> None:
        """Wait for the commits that are under way; on a passing error, as `process`."""
        for partition in [each for each, task in self.running.items() if task.is_committing]:
            self._act(partition, Task.finish_commit)
        self._sent.clear()

    def expect_no_owner(self) -> None:
        """Let each partition be handed over with a snapshot of any size: nobody waits for it."""
        for task in self.running.values():
            task.hand_over_bytes = inf

    def _act(self, partition: int, act: Callable[[Task], None]) -> None:
        task = self.running[partition]
        try:
            act(task)
        except MessageTooLarge as error:
            if not self._failures.note_refused(partition):
                raise
            self._fail(partition, error)
        except RegistryUnavailable as error:
            self._suspend(partition, error)
        except PASSING as error:
            self._fail(partition, error)
        else:
            if not task.is_committing:
                self._failures.forget(partition)

    def _fail(self, partition: int, error: TransportError) -> None:
        self._set_aside(partition)
        self.running.pop(partition).close()
        self._failures.note(partition, is_doubtful=True)
        self._postpone(partition, error)

    def _suspend(self, partition: int, error: RegistryUnavailable) -> None:
        """Let a batch come again later, to the same task: nothing of it was processed."""
        self._queues.forget(partition)
        self._suspended[partition] = self.running.pop(partition)
        self._failures.note(partition, is_doubtful=False)
        self._postpone(partition, error)

    def reopen(self, error: OffsetOutOfRange) -> None:
        """Open a partition again whose position is gone from its topic: recovery finds out what happened."""
        self._set_aside(error.partition)
        self._failures.forget_batch(error.partition)
        if (task := self.running.pop(error.partition, None)) is not None:
            task.close()
            self._postpone(error.partition, error)

    def open_waiting(self) -> None:
        """Begin to open the partitions whose time has come; let those that were restored go on."""
        now = self._clock.monotonic()
        for partition in [each for each, due in self._waiting.items() if due <= now]:
            if partition in self._suspended:
                self._go_on(partition, partial(self._suspended.__getitem__, partition))
            elif not self._opener.is_opening(partition):
                self._begin(partition)
        self._opener.restore()
        for partition, task_of in self._opener.restored():
            self._go_on(partition, task_of)
        self._send_restored()
        self._opener.keep_others()

    def _begin(self, partition: int) -> None:
        try:
            self._opener.begin(partition, cuts_letters=self._failures.cuts_letters(partition))
        except PASSING as error:
            self._set_aside(partition)
            self._postpone(partition, error)

    def _go_on(self, partition: int, task_of: Callable[[], Task]) -> None:
        """Let the records of a partition come; on a passing error, open it later."""
        task = None
        try:
            task = task_of()
            self._consumer.start(partition, task.offsets)
            self._queues.open(partition)
        except BaseException as error:
            if partition not in self._suspended:
                self._set_aside(partition)
                if task is not None:
                    task.close()
            if not isinstance(error, PASSING):
                raise
            self._postpone(partition, error)
        else:
            self.running[partition] = task
            self._waiting.pop(partition, None)
            self._suspended.pop(partition, None)

    def _send_restored(self) -> None:
        """Begin to commit, in one transaction, what partitions have to commit before their first batch."""
        begun = {each for each, task in self.running.items() if task.is_committing} - self._sent
        if begun:
            self._sent |= begun
            self._consumer.send()

    def _set_aside(self, partition: int) -> None:
        """Forget the records that wait for a partition, and show its model no longer.

        A commit that is under way ends before, so that what it has committed is shown.
        """
        self._queues.forget(partition)
        if (task := self.running.get(partition)) is not None:
            try:
                task.finish_commit()
            except TransportError as error:
                self._availability.note(error)
        if self._live:
            self._live.close(partition)

    def _postpone(self, partition: int, error: TransportError) -> None:
        seconds = self._failures.next_seconds(partition)
        self._waiting[partition] = self._clock.monotonic() + seconds
        self._availability.failed(error, seconds)

    def partitions_assigned(self, partitions: frozenset[int]) -> None:
        """Note partitions to be opened after this poll."""
        self._metrics.rebalances.inc()
        self._waiting |= dict.fromkeys(partitions, self._clock.monotonic())

    def partitions_revoked(self, partitions: frozenset[int]) -> None:
        """Hand partitions over, each with a fresh snapshot if the stream is there to take it."""
        hand_over(self._leave(partitions), self._consumer, self._availability, self._opener.log_ends)

    def partitions_lost(self, partitions: frozenset[int]) -> None:
        """Drop the tasks of partitions that were lost: another member owns them."""
        for task in self._leave(partitions):
            task.close()

    def _leave(self, partitions: frozenset[int]) -> Sequence[Task]:
        """Give partitions up; return the tasks of those that were open."""
        self._metrics.rebalances.inc()
        tasks = []
        for partition in partitions:
            self._waiting.pop(partition, None)
            self._opener.drop(partition)
            self._failures.forget(partition)
            self._set_aside(partition)
            task = self.running.pop(partition, None) or self._suspended.pop(partition, None)
            if task is not None:
                tasks.append(task)
        return tasks
