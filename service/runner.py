"""The loop. In: a stream and settings. Out: every event predicted, learned and committed, in order.

    poll → process → commit → poll → …

Partitions come and go between polls; each has its `Task`. A partition whose task failed waits, longer
each time, and is opened again from its last commit:

    assigned ─→ waiting ─→ at work ─→ handed over
                  ↑  failed  │
                  └──────────┘
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import inf
from time import monotonic
from typing import Final

from service.activity import Activity
from service.backoff import Backoff
from service.errors import OwnershipLost, StorageFull, TransactionFailed, TransportError, TransportUnavailable
from service.group_end import GroupEnd
from service.health import Health, State
from service.inbox import Inbox
from service.live import LiveModel, LiveModels
from service.metrics import Metrics
from service.processor import Observer, Processor, Step
from service.recovery import restore
from service.settings import Settings
from service.task import Task
from service.topics import ensure_topics, input_topics
from service.transport.base import Consumer, Record, Transport

_log = logging.getLogger(__name__)

_IDLE_POLL_SECONDS: Final = 0.2
"""How long one poll waits when nothing comes: the delay with which a stop is noticed."""

_SHORT_POLL_SECONDS: Final = 0.02
"""How long one waits for records that others here wait for."""

_PASSING: Final = (TransactionFailed, OwnershipLost, TransportUnavailable, StorageFull)
"""Errors after which the same partition can be tried again; every other one ends the loop."""


class Runner:
    """Runs the loop on one transport until told to stop; the assignee of its consumer.

    Parameters
    ----------
    transport
        The stream.
    settings
        Topics, group, model, batch size.
    metrics, health
        Where the loop tells how it does.
    live
        Where it shows its models, if anybody is to look at them.
    observe
        Told the labelled predictions of each batch, in order, before it is committed.

    """

    def __init__(
        self,
        transport: Transport,
        settings: Settings,
        *,
        metrics: Metrics,
        health: Health,
        live: LiveModels | None = None,
        observe: Observer | None = None,
    ) -> None:
        self._transport = transport
        self._settings = settings
        self._metrics = metrics
        self._health = health
        self._live = live
        self._observe = observe
        self._activity = Activity(metrics, settings.log_interval_seconds)
        self._topics = input_topics(settings)
        self._inbox = Inbox(self._topics)
        self._lag: Mapping[tuple[str, int], int] = {}
        self._tasks: dict[int, Task] = {}
        self._waiting: dict[int, float] = {}
        """Partitions without a task, and when (monotonic seconds) to try."""
        self._failed: set[int] = set()
        """Partitions whose last batch could not be committed: open or not, they do not work yet."""
        self._is_away = False
        """Whether the stream did not answer when it was last asked."""
        self._backoff = Backoff()
        self._backoffs: defaultdict[int, Backoff] = defaultdict(Backoff)
        """By partition: one that has just failed for the first time need not wait for what others did."""
        self._stop = threading.Event()
        self._consumer: Consumer

    def stop(self) -> None:
        """Ask the loop to finish its batch, commit and leave; safe from any thread or signal handler."""
        self._stop.set()

    def run(self, *, exit_at_end: bool = False) -> bool:
        """Process until `stop`, or until the group has processed everything that is there.

        Returns
        -------
        bool
            True at that end, False after `stop`.

        Raises
        ------
        ServiceError
            The loop cannot go on; what was committed stays, the rest will be done after a restart.

        """
        n_partitions = ensure_topics(self._transport, self._settings)
        if self._live:
            self._live.n_partitions = n_partitions
        self._consumer = self._transport.join(self._settings.group, self._topics, self)
        end = GroupEnd(self._transport, self._consumer, self._topics, n_partitions)
        try:
            while not self._stop.is_set():
                batch = self._gather()
                for partition, records in batch.items():
                    self._advance(partition, records)
                self._open_waiting()
                self._activity.observe()
                idle = not batch and not self._inbox and not self._waiting
                if exit_at_end and idle and end.is_reached(self._tasks):
                    return True
            return False
        finally:
            self._health.become(State.STOPPED, "the loop has ended")
            self._consumer.close()

    def _gather(self) -> Mapping[int, Sequence[Record]]:
        """Collect a batch of each partition: what comes within one commit interval of the first record.

        Only raw records wait here, never half-processed state: when a partition is lost meanwhile, its
        records are simply forgotten.
        """
        wait_seconds, due = _IDLE_POLL_SECONDS, inf
        while not self._stop.is_set():
            self._receive(wait_seconds)
            if not self._inbox:
                break
            now, is_full = monotonic(), len(self._inbox) >= self._settings.max_batch_records
            due = min(due, now + self._settings.commit_interval_seconds)
            if is_full or now >= due:
                batch = self._inbox.take(self._settings.max_batch_records, self._lag, now)
                if batch:
                    return batch
            wait_seconds = min(max(due - now, _SHORT_POLL_SECONDS), _IDLE_POLL_SECONDS)
        return {}

    def _receive(self, timeout_seconds: float) -> None:
        """Poll for what a batch lacks, or, if what is here waits for other records, for those."""
        limit = self._settings.max_batch_records
        room = limit - len(self._inbox)
        for partition, records in self._poll(timeout_seconds, room if room > 0 else limit).items():
            self._inbox.add(partition, records)
        waiting = self._inbox.counts()
        self._metrics.lag = {place: count + waiting[place] for place, count in self._lag.items()}

    def _poll(self, timeout_seconds: float, max_records: int) -> Mapping[int, list[Record]]:
        """Poll; while the stream is away or full, wait for it to come back."""
        try:
            polled = self._consumer.poll(timeout_seconds, max_records)
        except (TransportUnavailable, StorageFull) as error:
            wait_seconds = self._backoff.next_seconds()
            self._report_trouble(error, wait_seconds)
            self._stop.wait(wait_seconds)
            return {}
        self._is_away = False
        self._backoff.reset()
        with suppress(TransportUnavailable):  # what was polled must not be lost for a number
            self._lag = self._consumer.lag()
        self._report_health(is_idle=not polled and not self._inbox)
        return polled

    def _advance(self, partition: int, records: Sequence[Record]) -> None:
        """Let a task do a batch; if that fails in passing, close it, to be opened again."""
        try:
            self._tasks[partition].advance(records)
        except _PASSING as error:
            self._put_away(partition)
            self._tasks.pop(partition).close()
            self._failed.add(partition)
            self._postpone(partition, error)
        else:
            self._failed.discard(partition)
            self._backoffs.pop(partition, None)

    def _open_waiting(self) -> None:
        """Open the tasks whose time has come."""
        for partition in [p for p, due in self._waiting.items() if due <= monotonic()]:
            try:
                self._tasks[partition] = self._open(partition)
            except _PASSING as error:
                self._postpone(partition, error)
            else:
                self._waiting.pop(partition, None)

    def _open(self, partition: int) -> Task:
        """Take a partition over: fence its former owner, restore, go on where the last commit was."""
        writer = self._consumer.writer(partition)
        try:
            restored = restore(self._transport, self._settings, partition)
            live = self._live.open(partition, restored.processor) if self._live else None
            task = Task(
                partition,
                restored,
                writer,
                transport=self._transport,
                settings=self._settings,
                metrics=self._metrics,
                live=live,
            )
            restored.processor.observe = self._observer(partition, restored.processor, live)
            self._consumer.start(partition, task.offsets)
            self._inbox.open(partition, self._lag_behind(partition, task.offsets))
        except BaseException:
            self._put_away(partition)
            writer.close()
            raise
        return task

    def _lag_behind(self, partition: int, offsets: Mapping[str, int]) -> Mapping[str, int]:
        """Ask how much there is: a consumer may know only later, and an empty topic must hold nobody up."""
        ends = {topic: self._transport.bounds(topic, partition)[1] for topic in self._topics}
        return {topic: end - offsets.get(topic, 0) for topic, end in ends.items()}

    def _put_away(self, partition: int) -> None:
        """Forget the records that wait for a partition, and show its model no longer."""
        self._inbox.forget(partition)
        if self._live:
            self._live.close(partition)

    def _postpone(self, partition: int, error: TransportError) -> None:
        wait_seconds = self._backoffs[partition].next_seconds()
        self._waiting[partition] = monotonic() + wait_seconds
        self._report_trouble(error, wait_seconds)

    def partitions_assigned(self, partitions: frozenset[int]) -> None:
        """Note partitions to be opened after this poll."""
        self._metrics.rebalances.inc()
        self._waiting |= dict.fromkeys(partitions, monotonic())

    def partitions_revoked(self, partitions: frozenset[int]) -> None:
        """Hand partitions over, each with a fresh snapshot if the stream is there to take it."""
        self._leave(partitions, self._hand_over)

    def partitions_lost(self, partitions: frozenset[int]) -> None:
        """Forget partitions that are no longer ours."""
        self._leave(partitions, Task.close)

    def _leave(self, partitions: frozenset[int], how: Callable[[Task], None]) -> None:
        self._metrics.rebalances.inc()
        for partition in partitions:
            self._waiting.pop(partition, None)
            self._failed.discard(partition)
            self._backoffs.pop(partition, None)
            self._put_away(partition)
            if (task := self._tasks.pop(partition, None)) is not None:
                how(task)

    def _hand_over(self, task: Task) -> None:
        """Hand one over; one failure is enough to know that the stream is away, each would take its time."""
        if self._is_away:
            task.close()
            return
        try:
            task.hand_over()
        except TransportError as error:
            _log.info("no snapshot on hand-over: %s", error)
            self._is_away = isinstance(error, TransportUnavailable)

    def _report_trouble(self, error: TransportError, wait_seconds: float) -> None:
        _log.warning("%s; trying again in %.1f s", error, wait_seconds, extra={"hint": error.hint})
        self._is_away = isinstance(error, TransportUnavailable)
        self._health.become(State.UNAVAILABLE, str(error))

    def _report_health(self, *, is_idle: bool) -> None:
        """Ready once every partition that is ours is at work, and has done what it failed to do before."""
        if is_idle and not self._waiting:
            self._failed.clear()  # its commit had reached the stream after all: there is nothing to do again
        if self._waiting or self._failed:
            return
        if self._tasks:
            self._health.become(State.READY)
        elif self._consumer.has_joined():
            self._health.become(State.READY, "standing by: other members have all the partitions")

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
