"""The tasks of one process. In: its partitions, and their batches. Out: batches processed and committed.

Partitions come and go between polls; each has its `Task`. A partition whose task failed waits, longer
each time, and is opened again from its last commit:

    assigned ─→ waiting ─→  open   ─→ handed over
                  ↑  failed  │
                  └──────────┘

One that waits for a Schema Registry keeps its task.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from random import Random
from typing import Final

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
from service.formats.sources import Sources
from service.formats.topics import needs_schemas
from service.loop.availability import Availability
from service.loop.backoff import Backoff
from service.loop.growth import Growth
from service.loop.record_queue import RecordQueues
from service.loop.recovery import restore
from service.loop.task import Task
from service.loop.watched_writer import WatchedWriter
from service.monitoring.live_models import LiveModel, LiveModels
from service.monitoring.metrics import Metrics
from service.monitoring.tracing import BatchTracer
from service.partition.learned_examples import Observer, Step
from service.partition.processor import Processor
from service.settings.load import Settings
from service.stream import Consumer, Record, RecordLimit, Transport
from service.transport.topics import input_topics, output_topics

_log = logging.getLogger(__name__)

PASSING: Final = (TransactionFailed, OwnershipLost, TransportUnavailable, StorageFull)
"""Errors after which the same partition can be tried again; every other one ends the loop."""

_SHORT: Final = RecordLimit(16_384, 16_384)
_SHORT_AFTER: Final = 2
"""A topic's limit may have been lowered: the first time it refuses a record, it is asked again what it takes;
the second time, dead letters are cut to 16 KiB, whatever it says."""


class Tasks:
    """Opens, drives and closes the task of each partition; the assignee of the consumer.

    Parameters
    ----------
    transport, settings, metrics
        The stream, the settings, and where to report.
    inbox
        Where the records of the open partitions wait.
    availability
        Receives every passing error.
    live
        Where models are published for the API and the page; None: nowhere.
    observe
        Called with the labelled predictions of each batch, in order, before it is committed.
    tracer
        Makes a span for each batch.
    clock, random
        Decide when a partition that failed is tried again.

    Attributes
    ----------
    at_work : dict[int, Task]
        The open tasks, by partition.

    """

    def __init__(
        self,
        transport: Transport,
        settings: Settings,
        metrics: Metrics,
        *,
        inbox: RecordQueues,
        availability: Availability,
        live: LiveModels | None,
        observe: Observer | None,
        tracer: BatchTracer,
        clock: Clock,
        random: Random,
    ) -> None:
        self._transport = transport
        self._settings = settings
        self._metrics = metrics
        self._inbox = inbox
        self._availability = availability
        self._live = live
        self._observe = observe
        self._tracer = tracer
        self._clock = clock
        self._topics = input_topics(settings)
        self.at_work: dict[int, Task] = {}
        self._waiting: dict[int, float] = {}
        """Partitions without a task, and when (monotonic seconds) to try."""
        self._held_up: dict[int, Task] = {}
        """Tasks of such partitions: their next batch waits for the Schema Registry."""
        self._sources = Sources(settings, clock) if needs_schemas(settings) else None
        self._failed: dict[int, bool] = {}
        """Partitions whose last batch failed and was not repeated since; whether it may be committed yet."""
        self._backoffs: defaultdict[int, Backoff] = defaultdict(lambda: Backoff(random))
        """By partition: one that has just failed for the first time need not wait for what others did."""
        self._refused: Counter[int] = Counter()
        """By partition: how often its next batch was refused because a record in it is too large."""
        self._consumer: Consumer
        self._growth: Growth

    def join(self, growth: Growth) -> Consumer:
        """Join the group, which assigns the partitions from now on."""
        self._growth = growth
        self._consumer = self._transport.join(self._settings.group, self._topics, self)
        return self._consumer

    @property
    def is_waiting(self) -> bool:
        """Whether an assigned partition has no task."""
        return bool(self._waiting)

    @property
    def is_behind(self) -> bool:
        """Whether an assigned partition has no task, or has yet to repeat a batch that failed."""
        return bool(self._waiting or self._failed)

    def forget_failures(self) -> None:
        """Forget failures, as nothing is left to process: commits that seemed to fail had been written."""
        if not self._waiting:
            self._failed = {each: doubtful for each, doubtful in self._failed.items() if not doubtful}

    def process_and_commit(self, partition: int, records: Sequence[Record]) -> None:
        """Process and commit a batch; on a passing error, close the task and open it again later."""
        try:
            self.at_work[partition].process_and_commit(records)
        except MessageTooLarge as error:
            self._refused[partition] += 1
            if self._refused[partition] > _SHORT_AFTER:
                raise
            self._fail(partition, error)
        except RegistryUnavailable as error:
            self._hold_up(partition, error)
        except PASSING as error:
            self._fail(partition, error)
        else:
            self._failed.pop(partition, None)
            self._refused.pop(partition, None)
            self._backoffs.pop(partition, None)

    def _fail(self, partition: int, error: TransportError) -> None:
        self._put_away(partition)
        self.at_work.pop(partition).close()
        self._failed[partition] = True
        self._postpone(partition, error)

    def _hold_up(self, partition: int, error: RegistryUnavailable) -> None:
        """Let a batch come again later, to the same task: nothing of it was processed."""
        self._inbox.forget(partition)
        self._held_up[partition] = self.at_work.pop(partition)
        self._failed[partition] = False
        self._postpone(partition, error)

    def reopen(self, error: OffsetOutOfRange) -> None:
        """Open a partition again whose position is gone from its topic: recovery finds out what happened."""
        self._put_away(error.partition)
        self._failed.pop(error.partition, None)
        if (task := self.at_work.pop(error.partition, None)) is not None:
            task.close()
            self._postpone(error.partition, error)

    def open_waiting(self) -> None:
        """Open the tasks whose time has come."""
        for partition in [p for p, due in self._waiting.items() if due <= self._clock.monotonic()]:
            try:
                task = self._held_up.get(partition)
                self.at_work[partition] = self._resume(partition, task) if task else self._open(partition)
            except PASSING as error:
                self._postpone(partition, error)
            else:
                self._waiting.pop(partition, None)
                self._held_up.pop(partition, None)

    def _open(self, partition: int) -> Task:
        """Take a partition over: fence its former owner, restore, go on where the last commit was."""
        self._growth.reach(partition)
        letter_limit = self._ask_limits(partition)
        writer = WatchedWriter(self._consumer.writer(partition), self._availability.health)
        try:
            committed = self._consumer.committed(partition)
            restored = restore(self._transport, self._settings, partition, committed)
            live = self._live.open(partition, restored.processor) if self._live else None
            task = Task(
                partition,
                restored,
                writer,
                transport=self._transport,
                settings=self._settings,
                metrics=self._metrics,
                live=live,
                letter_limit=letter_limit,
                sources=self._sources,
                tracer=self._tracer,
                clock=self._clock,
            )
            restored.processor.observe = self._observer(partition, restored.processor, live)
            self._consumer.start(partition, task.offsets)
            self._inbox.open(partition)
        except BaseException:
            self._put_away(partition)
            writer.close()
            raise
        return task

    def _resume(self, partition: int, task: Task) -> Task:
        """Go on with a task that was held up, at the batch that it could not process."""
        self._consumer.start(partition, task.offsets)
        self._inbox.open(partition)
        return task

    def _ask_limits(self, partition: int) -> RecordLimit:
        """Ask what each topic takes, as batches have to fit them all; return what a dead letter may take."""
        limits = {topic: self._transport.record_limit(topic) for topic in output_topics(self._settings)}
        limit = limits[self._settings.dead_letters_topic]
        return min(limit, _SHORT) if self._refused[partition] >= _SHORT_AFTER else limit

    def _put_away(self, partition: int) -> None:
        """Forget the records that wait for a partition, and show its model no longer."""
        self._inbox.forget(partition)
        if self._live:
            self._live.close(partition)

    def _postpone(self, partition: int, error: TransportError) -> None:
        wait_seconds = self._backoffs[partition].next_seconds()
        self._waiting[partition] = self._clock.monotonic() + wait_seconds
        self._availability.failed(error, wait_seconds)

    def partitions_assigned(self, partitions: frozenset[int]) -> None:
        """Note partitions to be opened after this poll."""
        self._metrics.rebalances.inc()
        self._waiting |= dict.fromkeys(partitions, self._clock.monotonic())

    def partitions_revoked(self, partitions: frozenset[int]) -> None:
        """Hand partitions over, each with a fresh snapshot if the stream is there to take it."""
        self._leave(partitions, self._hand_over)

    def partitions_lost(self, partitions: frozenset[int]) -> None:
        """Drop the tasks of partitions that were lost: another member owns them."""
        self._leave(partitions, Task.close)

    def _leave(self, partitions: frozenset[int], how: Callable[[Task], None]) -> None:
        self._metrics.rebalances.inc()
        for partition in partitions:
            self._waiting.pop(partition, None)
            self._failed.pop(partition, None)
            self._refused.pop(partition, None)
            self._backoffs.pop(partition, None)
            self._put_away(partition)
            task = self.at_work.pop(partition, None) or self._held_up.pop(partition, None)
            if task is not None:
                how(task)

    def _hand_over(self, task: Task) -> None:
        """Hand a task over; after one failure, close the others without a snapshot: each would time out."""
        if self._availability.is_away:
            task.close()
            return
        try:
            task.hand_over()
        except TransportError as error:
            _log.info("no snapshot on hand-over: %s", error)
            self._availability.note(error)

    def _observer(self, partition: int, processor: Processor, live: LiveModel | None) -> Observer:
        observers = [self._metrics.watch(partition, processor.learner)]
        observers += [live.observe] if live else []
        observers += [self._observe] if self._observe else []
        if len(observers) == 1:
            return observers[0]

        def tell(steps: Sequence[Step]) -> None:
            for observe in observers:
                observe(steps)

        return tell
