"""The loop: predict and learn every event in order, and commit.

    poll → process → commit → poll → …

While more records wait, the next batch is polled and processed during the commit.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Final

from service.clock import Backoff
from service.errors import OffsetOutOfRange, StorageFull, TransportUnavailable
from service.loop.context import Context
from service.loop.queues import BatchSize, BatchTime, RecordQueues
from service.loop.tasks import Tasks
from service.loop.topics import EndOfInput, Growth, IntakeOpener
from service.mapping.mapper import warn_of_missing_fields
from service.monitoring.health import Availability, State
from service.monitoring.metrics import ThroughputLog
from service.settings.topics import input_topics
from service.stream.batches import RecordBatch
from service.stream.protocol import TopicPartition

_IDLE_POLL_SECONDS: Final = 0.2
"""The longest wait for records in one step, and so the longest delay until a stop or the end of a commit is
noticed."""

_SHORT_POLL_SECONDS: Final = 0.02
"""Timeout of a poll for another topic's records, which the waiting records must not overtake."""

_LAG_SECONDS: Final = 5.0
"""How old the lag metric may be in a quiet stream: for hundreds of partitions, asking takes milliseconds."""

_MAX_PARTITIONS_PER_LAG_QUERY: Final = 16
"""Partitions of a silent stream to ask about at a time, in turn."""

_BLOCKED_SECONDS: Final = 5.0
"""How long records wait for another topic's records before `/readyz` names that topic: a client may take more
than a second to start reading a topic."""


class Runner:
    """Runs the loop on one stream until `stop`. The constructor creates missing topics and joins the group.

    `run` calls `step` repeatedly, then `close`.

    Parameters
    ----------
    context
        The shared parts of the loop.

    Raises
    ------
    ServiceError
        A topic cannot be used, or the stream is unreachable.

    """

    def __init__(self, context: Context) -> None:
        settings = context.settings
        self._context = context
        self._metrics = context.metrics
        self._health = context.health
        self._live = context.live
        self._clock = context.clock
        self._throughput_log = ThroughputLog(context.metrics, context.clock)
        self._availability = Availability(context.health, context.clock)
        self._topics = input_topics(settings)
        self._queues = RecordQueues(self._topics)
        self._lag: Mapping[TopicPartition, int] = {}
        self._ask_lag_at = 0.0
        self._n_asked = 0
        self._size = BatchSize(settings)
        self._time = BatchTime(settings.commit_interval_seconds)
        self._is_blocked = False
        """Whether all waiting records wait for records of another partition."""
        self._backoff = Backoff(context.random)
        self._stop = threading.Event()
        with context.health.waiting_for_stream():
            self._growth = Growth(context)
            self._tasks = Tasks(context, self._queues, self._availability, self._growth)
        self._consumer = self._tasks.consumer
        self._end = EndOfInput(context, self._consumer, self._growth)
        self._opener = IntakeOpener(context, self._consumer, self._queues)
        if self._live:
            self._live.n_partitions = self._growth.n_partitions

    def stop(self) -> None:
        """Request the loop to finish its batch, commit and leave; safe from any thread or signal handler."""
        self._stop.set()

    def run(self, *, exit_at_end: bool = False) -> bool:
        """Process until `stop`; with `exit_at_end`, also until the group has processed all input.

        Returns
        -------
        bool
            True at the end of the input, False after `stop`.

        Raises
        ------
        ServiceError
            The loop cannot continue. Commits stay; a restart continues after the last commit.

        """
        self._time.expects_no_more = exit_at_end
        self._availability.waits_for_space = not exit_at_end
        try:
            while not self._stop.is_set():
                is_idle = self.step()
                if exit_at_end and is_idle and self.is_at_end():
                    self._tasks.expect_no_owner()
                    return True
            return False
        finally:
            self.close()

    def step(self) -> bool:
        """Process and commit a batch of each task that has one; then start to open waiting tasks.

        Returns
        -------
        bool
            Whether no record was available and every assigned partition has an open task.

        """
        batch = self._gather()
        self._process(batch)
        if self._clock.monotonic() >= self._growth.check_at:
            with self._health.waiting_for_stream("the look-up of topics"):
                self._growth.check()
        with self._health.waiting_for_stream("the opening of partitions"):
            self._tasks.open_waiting()
            if self._live:
                self._opener.advance(self._live.intakes.values())
                self._live.n_partitions = self._growth.n_partitions
        self._throughput_log.observe()
        return not batch and not self._queues and not self._tasks.is_waiting

    def _process(self, batch: Mapping[int, RecordBatch]) -> None:
        """Process a batch of each task and commit them together, in a backlog next to the next batch."""
        seconds = 0.0
        for number, records in batch.items():
            with self._health.doing(f"a batch of partition {number}"):
                seconds += self._tasks.process(number, records)
        with self._health.waiting_for_stream():  # the transaction may need a new producer
            self._tasks.send(batch.keys())
        more_waits = bool(self._queues) or any(self._lag.values())
        if not (batch and more_waits):
            with self._health.doing("a commit"):
                self._tasks.finish_commits()
            if batch:
                self._time.batch_committed(self._clock.monotonic())
        self._size.observe(sum(map(len, batch.values())), seconds)

    def is_at_end(self) -> bool:
        """Return whether the group has processed all input; False if the stream does not answer."""
        return self._end.is_reached(self._tasks.partitions)

    def close(self) -> None:
        """Leave the group; other members take over the partitions."""
        self._health.become(State.STOPPED, "the loop has ended")
        warn_of_missing_fields(task.missing_fields() for task in self._tasks.running.values())
        with self._health.waiting_for_stream():
            self._tasks.close()  # uses the member
            self._consumer.close()

    def _gather(self) -> Mapping[int, RecordBatch]:
        """Return a batch of each task, if one is due: the records of about one commit interval.

        Only raw records wait here, never half-processed state: records of a lost partition are dropped.
        """
        wait_seconds, until = self._first_wait_seconds(), self._clock.monotonic() + _IDLE_POLL_SECONDS
        while not self._stop.is_set():
            self._receive(wait_seconds)
            if not self._queues:
                self._time.forget()
                break
            now = self._clock.monotonic()
            self._time.wait(now, more_comes=any(self._lag.values()))
            if now >= self._time.due or self._queues.is_full(self._size.records):
                batch = self._queues.next_batches(self._size.records, self._ask, self._lag, now)
                self._is_blocked = not batch
                if batch:
                    self._time.batch_taken(now)
                return batch
            if now >= until:
                break
            wait_seconds = min(max(self._time.due - now, _SHORT_POLL_SECONDS), _IDLE_POLL_SECONDS)
        return {}

    def _first_wait_seconds(self) -> float:
        """Return how long to wait for records, given the records that are already queued."""
        if not self._queues:
            return _SHORT_POLL_SECONDS if self._tasks.is_opening else _IDLE_POLL_SECONDS
        return _SHORT_POLL_SECONDS if self._is_blocked else 0.0

    def _ask(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Ask the stream for the ends of partitions; if it does not answer, report that and retry later."""
        try:
            with self._health.waiting_for_stream():
                return self._consumer.remaining(partitions)
        except TransportUnavailable as error:
            self._availability.report_silence(error)
            raise

    def _receive(self, timeout_seconds: float) -> None:
        """Poll for records to fill a batch, or for the records that queued records wait for."""
        wanted = self._queues.n_to_poll(self._size.waiting(self._queues.n_partitions))
        polled = self._poll(timeout_seconds, wanted)
        for partition, records in polled.items():
            self._queues.add(partition, records)
        if sum(map(len, polled.values())) >= wanted // 2:  # one topic alone may get more than half
            self._queues.note_full_poll(self._clock.monotonic())
        waiting = self._queues.counts()
        self._metrics.lag = {each: count + waiting[each] for each, count in self._lag.items()}

    def _poll(self, timeout_seconds: float, max_records: int) -> Mapping[int, RecordBatch]:
        """Poll; while the stream is unreachable or full, wait until it is not."""
        try:
            held = self._queues.to_pause(self._size.records)
            with self._health.waiting_for_stream("a poll"):
                polled = self._consumer.poll(timeout_seconds, max_records, held)
                self._probe_if_silent(has_heard=bool(polled))
        except (TransportUnavailable, StorageFull) as error:
            wait_seconds = self._backoff.next_seconds()
            self._availability.report_or_raise(error, wait_seconds)
            self._clock.wait(self._stop, wait_seconds)
            return {}
        except OffsetOutOfRange as error:
            self._tasks.reopen(error)
            return {}
        self._availability.is_unreachable = False
        self._backoff.reset()
        now = self._clock.monotonic()
        if polled or self._queues or any(self._lag.values()) or now >= self._ask_lag_at:
            with suppress(TransportUnavailable):  # a metric must not cost the polled records
                self._lag, self._ask_lag_at = self._consumer.lag(), now + _LAG_SECONDS
        if not polled and not self._queues:
            self._tasks.forget_failures()
        self._report_health()
        return polled

    def _probe_if_silent(self, *, has_heard: bool) -> None:
        """Send a request to a stream that was silent for a while. Raises `TransportUnavailable`."""
        if has_heard:
            self._availability.note_contact()
        elif self._availability.is_silent:
            running = sorted(self._tasks.partitions)
            step = len(running) // _MAX_PARTITIONS_PER_LAG_QUERY + 1
            asked = running[self._n_asked % step :: step]
            self._n_asked += 1
            self._consumer.remaining([(topic, each) for topic in self._topics for each in asked])
            self._availability.note_contact()

    def _report_health(self) -> None:
        """Report ready once every assigned partition has a task and has repeated its failed batch."""
        if self._tasks.is_behind:
            return
        if self._availability.waits_for(self._queues.blocked(self._clock.monotonic() - _BLOCKED_SECONDS)):
            return
        if self._tasks.running:
            self._health.become(State.READY)
        elif self._consumer.has_joined():
            self._health.become(State.READY, "idle: other members own all partitions")
