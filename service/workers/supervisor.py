"""Run several workers as one service.

    starting ─→ running ─→ left
       ↑ backoff   │ died
       └───────────┘

Each worker is a member of the consumer group like any other process, so nothing else is shared: a worker
that dies loses nothing, and other workers process its partitions while it is started again. An error that
would end a single process ends all of them.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from service.errors import ConfigurationError, ServiceError, StorageFull, TransportUnavailable
from service.loop.backoff import Backoff
from service.monitoring.health import Health, State
from service.partition.counts.totals import Tally
from service.settings.load import Settings
from service.workers.merged_metrics import NOTHING, Exposition, merged, outlasting
from service.workers.process import ANSWER_SECONDS, LEAVE_SECONDS, WorkerProcess
from service.workers.worker import ServeHttp

_log = logging.getLogger(__name__)

_ROUND_SECONDS: Final = 0.1
"""How late a signal, or the time to start a worker again, is noticed at most."""

_SILENT_SECONDS: Final = 10.0
"""Without a report for so long, a worker is frozen or starved: longer than any step of the interpreter."""

_STABLE_SECONDS: Final = 60.0
"""A worker that ran for longer than this starts with a fresh backoff when it dies."""

_PASSING: Final = (TransportUnavailable, StorageFull)
"""Errors at joining that are no reason to end, once a worker has run."""


@dataclass(slots=True)
class _Place:
    """The place of one of the N workers, and the process that fills it now."""

    number: int
    worker: WorkerProcess | None = None
    start_at: float = 0.0
    backoff: Backoff = field(default_factory=Backoff)


class Workers(Collector):
    """Runs N workers until `stop`.

    Parameters
    ----------
    settings, url
        The resolved settings and the stream's URL; each worker gets them as they are.
    registry
        Where the metrics of all are shown.
    health
        The state of all together.
    serve_http
        Lets each worker answer for its models.
    exit_at_end
        Whether to stop when everything that is there has been processed.

    Raises
    ------
    ConfigurationError
        The stream lives in the memory of one process.

    """

    def __init__(
        self,
        settings: Settings,
        url: str,
        *,
        registry: CollectorRegistry,
        health: Health,
        serve_http: ServeHttp,
        exit_at_end: bool = False,
    ) -> None:
        if url.startswith("memory:"):
            raise ConfigurationError(
                f"workers = {settings.workers}: a memory:// stream lives in one process",
                hint="give workers a stream they can share: --broker sqlite:///path/stream.db or kafka://…",
            )
        self._settings = settings
        self._url = url
        self._health = health
        self._serve_http = serve_http
        self._exit_at_end = exit_at_end
        self._changed = threading.Condition()
        self._places = [_Place(number) for number in range(1, settings.workers + 1)]
        self._ended = NOTHING
        """What the workers that are no more have counted."""
        self._tallies: dict[int, Tally] = {}
        self._failure: ServiceError | None = None
        self._has_worked = False
        self._is_stopping = False
        self._has_warned = False
        self._own = CollectorRegistry()
        self._restarts = Counter(
            "perceptron_worker_restarts", "Times a worker had to be started again.", registry=self._own
        )
        alive = Gauge("perceptron_workers", "Workers whose process is alive.", registry=self._own)
        alive.set_function(lambda: len(self._running()))
        ProcessCollector(registry=self._own)
        registry.register(self)

    def stop(self) -> None:
        """Ask all to finish their batch, commit and leave; safe from a signal handler."""
        self._is_stopping = True

    def kill(self) -> None:
        """Kill all that run, from any thread; others repeat what they have not committed."""
        for worker in self._running():
            worker.kill()

    def run(self) -> Mapping[int, Tally]:
        """Keep the workers running until `stop`, the end of the stream, or an error.

        Returns
        -------
        dict
            By partition, the counts at the last commit that a worker reported.

        Raises
        ------
        ServiceError
            What ended a worker, and would have ended a single process; the others have left.

        """
        try:
            while not self._is_stopping or self._running():
                self._start_due()
                with self._changed:
                    self._changed.wait(_ROUND_SECONDS)
                    for place in self._places:
                        self._supervise(place)
                    self._health.become(*self._condition())
        finally:
            self._health.become(State.STOPPED, "the loop has ended")
            self.kill()
        if self._failure is not None:
            raise self._failure
        return self._tallies

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics of all as one, when Prometheus asks."""
        yield from merged(self.expositions()).families

    def expositions(self) -> Sequence[Exposition]:
        """Ask all workers for their metrics, from any thread; a late one is shown with its last metrics."""
        with self._changed:
            for worker in self._running():
                worker.ask_metrics()
            self._changed.wait_for(
                lambda: not any(worker.will_answer for worker in self._running()), ANSWER_SECONDS
            )
            own = Exposition(list(self._own.collect()), {})
            return [own, self._ended, *(worker.metrics for worker in self._running())]

    def addresses(self) -> Mapping[int, str]:
        """Return by partition the URL of the server of the worker that has it; of the silent ones, none."""
        talking = [w.last for w in self._running() if monotonic() - w.heard_at <= _SILENT_SECONDS]
        return {partition: last.address for last in talking for partition in last.partitions}

    @property
    def n_partitions(self) -> int:
        """Partitions of the events topic; 0 before it is known."""
        return max((worker.last.n_partitions for worker in self._running()), default=0)

    def _running(self) -> Sequence[WorkerProcess]:
        return [place.worker for place in self._places if place.worker is not None]

    def _warn_of_too_many(self, n_partitions: int) -> None:
        """Warn once if there are fewer partitions than workers; 0: it is not known yet."""
        if 0 < n_partitions < len(self._places) and not self._has_warned:
            self._has_warned = True
            _log.warning(
                "workers: %d for %d partitions of %s: only so many work, the others stand by; lower workers, "
                "or add partitions",
                *(len(self._places), n_partitions, self._settings.events_topic),
            )

    def _start_due(self) -> None:
        for place in self._places:
            if place.worker is None and place.start_at <= monotonic() and not self._is_stopping:
                try:
                    place.worker = WorkerProcess(
                        place.number,
                        self._settings,
                        self._url,
                        serve_http=self._serve_http,
                        exit_at_end=self._exit_at_end,
                        changed=self._changed,
                    )
                except OSError as error:  # the machine has no room for a process now
                    self._postpone(place, str(error))
                else:
                    _log.info("worker %d is process %d", place.number, place.worker.pid)

    def _supervise(self, place: _Place) -> None:
        worker = place.worker
        if worker is None:
            return
        for partition, tally in worker.last.tallies.items():
            self._tallies[partition] = max(tally, self._tallies.get(partition, tally))
        self._warn_of_too_many(worker.last.n_partitions)
        self._has_worked |= worker.last.state is State.READY
        if worker.has_ended:
            place.worker = None
            self._ended = merged([self._ended, outlasting(worker.metrics)])
            self._replace(place, worker)
        elif self._is_stopping:
            self._request_leave(place.number, worker)

    def _request_leave(self, number: int, worker: WorkerProcess) -> None:
        """Stop a worker; kill one that is frozen, which would keep the service from ending."""
        worker.leave()
        if worker.is_deaf:
            _log.warning(
                "worker %d: has said nothing for %.0f s since it was told to leave; killing it: "
                "its last batch is undecided and will be settled at the next start",
                number,
                LEAVE_SECONDS,
            )
            worker.kill()

    def _replace(self, place: _Place, worker: WorkerProcess) -> None:
        """Decide what the end of a worker means: the end of all, or another start."""
        failure = worker.failure
        if isinstance(failure, _PASSING) and self._has_worked:
            failure = None
        if failure is not None:
            self._failure = self._failure or failure
            self.stop()
        elif worker.last.is_finished:
            self.stop()
        elif not self._is_stopping:
            if monotonic() - worker.started_at > _STABLE_SECONDS:
                place.backoff.reset()
            self._restarts.inc()
            self._postpone(place, worker.how_it_ended)

    def _postpone(self, place: _Place, reason: str) -> None:
        wait_seconds = place.backoff.next_seconds()
        place.start_at = monotonic() + wait_seconds
        _log.warning("worker %d: %s; starting it again in %.1f s", place.number, reason, wait_seconds)

    def _condition(self) -> tuple[State, str]:
        """Return how all are: ready when each is, or how the first is that is not."""
        if self._is_stopping:
            left = ", ".join(f"worker {place.number}" for place in self._places if place.worker is not None)
            return State.UNAVAILABLE, f"stopping: {left or 'no worker'} has yet to leave"
        for place in self._places:
            state, reason = _condition(place.worker, self._settings.ready_timeout_seconds)
            if state is not State.READY:
                return state, f"worker {place.number}: {reason or state.value}"
        return State.READY, ""


def _condition(worker: WorkerProcess | None, ready_timeout_seconds: float) -> tuple[State, str]:
    if worker is None:
        return State.UNAVAILABLE, "waiting to be started again"
    patience_seconds = ready_timeout_seconds if worker.last.state is State.READY else _SILENT_SECONDS
    if monotonic() - worker.heard_at > patience_seconds:
        return State.UNAVAILABLE, f"has said nothing for {patience_seconds:g} s"
    if worker.last.state is State.STOPPED:  # one that ends is not yet the end of all
        return State.UNAVAILABLE, worker.last.reason
    return worker.last.state, worker.last.reason
