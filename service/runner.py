"""The loop. In: a stream and settings. Out: every event predicted, learned and committed, in order.

    poll → process → commit → poll → …

Partitions come and go between polls; each has its `Task`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Final

from service.assembly import input_topics, make_processor
from service.health import Health, State
from service.metrics import Metrics
from service.processor import Step
from service.settings import Settings
from service.task import Task
from service.transport.base import Consumer, Record, Transport

_IDLE_POLL_SECONDS: Final = 0.2
"""How long one poll waits when nothing comes: the delay with which a stop is noticed."""


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
    observe
        Told each labelled prediction, in order, before its batch is committed.

    """

    def __init__(
        self,
        transport: Transport,
        settings: Settings,
        *,
        metrics: Metrics,
        health: Health,
        observe: Callable[[Step], None] | None = None,
    ) -> None:
        self._transport = transport
        self._settings = settings
        self._metrics = metrics
        self._health = health
        self._observers = (metrics.observe,) if observe is None else (metrics.observe, observe)
        self._topics = input_topics(settings)
        self._tasks: dict[int, Task] = {}
        self._stop = threading.Event()
        self._consumer: Consumer

    def stop(self) -> None:
        """Ask the loop to finish its batch, commit and leave; safe from any thread or signal handler."""
        self._stop.set()

    def run(self, *, exit_at_end: bool = False) -> None:
        """Process until `stop`, or until everything that is there has been processed.

        Raises
        ------
        ServiceError
            The loop cannot go on; what was committed stays, the rest will be done after a restart.

        """
        self._ensure_topics()
        self._consumer = self._transport.join(self._settings.group, self._topics, self)
        try:
            while not self._stop.is_set():
                batch = self._gather()
                for partition, records in batch.items():
                    self._tasks[partition].advance(records)
                self._metrics.lag = self._consumer.lag()
                if exit_at_end and not batch and self._consumer.at_end():
                    return
        finally:
            self._health.become(State.STOPPED, "the loop has ended")
            self._consumer.close()

    def _ensure_topics(self) -> None:
        """Create what is missing; outputs get as many partitions as the events have."""
        settings = self._settings
        leading, *others = self._topics
        self._transport.ensure_topics({leading: settings.partitions}, create=settings.create_topics)
        partitions = self._transport.partition_count(leading)
        outputs = (settings.predictions_topic, settings.dead_letters_topic)
        self._transport.ensure_topics(
            dict.fromkeys((*others, *outputs), partitions), create=settings.create_topics
        )

    def _gather(self) -> Mapping[int, Sequence[Record]]:
        """Collect a batch: what comes within one commit interval of its first record, within its limit.

        Only raw records wait here, never half-processed state: when a partition is lost meanwhile, its
        records are simply forgotten.
        """
        batch: dict[int, list[Record]] = {}
        room = self._settings.max_batch_records
        wait_seconds, deadline = _IDLE_POLL_SECONDS, float("inf")
        while room > 0 and not self._stop.is_set():
            polled = self._consumer.poll(wait_seconds, room)
            for partition, records in polled.items():
                batch.setdefault(partition, []).extend(records)
                room -= len(records)
            if batch and deadline == float("inf"):
                deadline = monotonic() + self._settings.commit_interval_seconds
            wait_seconds = min(deadline - monotonic(), _IDLE_POLL_SECONDS)
            if not batch or wait_seconds <= 0:
                break
        return {p: self._in_order(records) for p, records in batch.items() if p in self._tasks}

    def _in_order(self, records: list[Record]) -> Sequence[Record]:
        """Put a batch in the fixed order: topic by topic, each by offset."""
        return sorted(records, key=lambda record: (self._topics.index(record.topic), record.offset))

    def partitions_assigned(self, partitions: frozenset[int]) -> None:
        """Take over partitions: fence their former owner and go on at its last commit."""
        self._metrics.rebalances.inc()
        for partition in partitions:
            writer = self._consumer.writer(partition)
            processor = make_processor(self._settings, self._tell)
            self._tasks[partition] = Task(partition, processor, writer, self._metrics)
            self._consumer.start(partition, self._consumer.committed(partition))
        self._health.become(State.READY)

    def partitions_revoked(self, partitions: frozenset[int]) -> None:
        """Hand partitions over: everything processed is committed already."""
        self._metrics.rebalances.inc()
        for partition in partitions & self._tasks.keys():
            self._tasks.pop(partition).close()

    def partitions_lost(self, partitions: frozenset[int]) -> None:
        """Forget partitions that another process has taken over."""
        self.partitions_revoked(partitions)

    def _tell(self, step: Step) -> None:
        for observer in self._observers:
            observer(step)
