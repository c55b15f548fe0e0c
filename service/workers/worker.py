"""A worker of `serve --workers N`: the loop, in a process of its own at the other end of a pipe.

    parent ─ ASK_METRICS, LEAVE ─→ worker
           ←────── WorkerReport ────────

The worker gets the settings as the parent has resolved them, and answers questions about its models by HTTP.
When the other end of the pipe closes, because the parent was killed, the worker leaves as on a LEAVE
request. Large modules are imported when the process runs, so that the parent needs none of them.
"""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Final

from service.errors import ServiceError
from service.logs import log_to_stderr
from service.loop.departure import Departure
from service.monitoring.health import Health, State
from service.partition.counts.totals import Tally
from service.settings.load import Settings
from service.workers.merged_metrics import NOTHING, Exposition

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from service.loop.runner import Runner
    from service.monitoring.live_models import LiveModels
    from service.monitoring.metrics import Metrics

_log = logging.getLogger(__name__)

REPORT_SECONDS: Final = 0.25
"""How often a worker reports unasked: how late the parent learns that one is ready, or is not."""


_ANY_PORT: Final = "127.0.0.1:0"
"""Of this machine only, whatever the parent listens on."""


class Request(Enum):
    """What the parent sends."""

    ASK_METRICS = auto()
    LEAVE = auto()


ServeHttp = Callable[
    [Settings, "CollectorRegistry", Health, "Metrics", "LiveModels"], AbstractContextManager[str]
]
"""Serves the API and the metrics of a process for as long as the context lasts, and gives the URL."""


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """What a worker sends: how it does."""

    state: State = State.STARTING
    reason: str = ""
    tallies: Mapping[int, Tally] = field(default_factory=dict)
    """By partition, also of those it has handed over: the counts at its last commit there."""
    metrics: Exposition | None = None
    """Only on request, and at the end: reading a large model takes a while."""
    address: str = ""
    """URL of the worker's own server, which knows the models; empty if there is none."""
    partitions: Sequence[int] = ()
    """The partitions whose models this worker holds."""
    n_partitions: int = 0
    """Of the events topic; 0 before it is known."""
    is_finished: bool = False
    """It has ended because everything that was there is processed."""
    error: ServiceError | None = None
    """It has ended because of this."""


def work(
    connection: Connection,
    number: int,
    settings: Settings,
    url: str,
    *,
    serve_http: ServeHttp,
    exit_at_end: bool,
) -> None:
    """Run worker `number` until it gets a LEAVE request: the entry point of its process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends Ctrl-C to all; the parent decides
    log_to_stderr(settings.log_level, settings.log_format, number)
    from prometheus_client import CollectorRegistry  # noqa: PLC0415  see above

    from service.monitoring.live_models import LiveModels  # noqa: PLC0415
    from service.monitoring.metrics import Metrics  # noqa: PLC0415

    metrics, live = Metrics(CollectorRegistry()), LiveModels(settings)
    health = Health(ready_timeout_seconds=settings.ready_timeout_seconds)
    reporter = Reporter(connection, metrics, health, live)
    try:
        with serve_http(for_parent(settings), metrics.registry, health, metrics, live) as reporter.address:
            is_finished = _run(reporter, _settings_of(number, settings), url, exit_at_end=exit_at_end)
    except ServiceError as error:
        reporter.report(with_metrics=True, error=error)
        sys.exit(1)
    reporter.report(with_metrics=True, is_finished=is_finished)


def for_parent(settings: Settings) -> Settings:
    """Return the settings of a worker's HTTP server, which the parent asks by its address."""
    return settings.model_copy(update={"http": settings.http and _ANY_PORT, "http_hosts": ()})


def _settings_of(number: int, settings: Settings) -> Settings:
    """Return the settings with Kafka client and instance ids that are unique to the worker."""
    kafka = settings.kafka
    names = {"client_id": f"{kafka.client_id}-{number}"}
    if kafka.instance_id:
        names["instance_id"] = f"{kafka.instance_id}-{number}"
    return settings.model_copy(update={"kafka": kafka.model_copy(update=names)})


def _run(reporter: Reporter, settings: Settings, url: str, *, exit_at_end: bool) -> bool:
    from service.workers.loop import opened_loop  # noqa: PLC0415

    with opened_loop(settings, url, reporter.metrics, reporter.health, reporter.live) as (runner, departure):
        reporter.attend(runner, departure)
        signal.signal(signal.SIGTERM, lambda *_: runner.stop())
        return runner.run(exit_at_end=exit_at_end)


class Reporter:
    """The worker's end of the pipe, with a thread that answers while the loop works.

    Parameters
    ----------
    connection
        To the parent.
    metrics, health, live
        What to report.

    """

    def __init__(self, connection: Connection, metrics: Metrics, health: Health, live: LiveModels) -> None:
        self.metrics = metrics
        self.health = health
        self.live = live
        self.address = ""
        self._connection = connection
        self._sending = threading.Lock()
        self._shown = NOTHING

    def attend(self, runner: Runner, departure: Departure) -> None:
        """Start the reporting thread; it stops the runner on request or when the parent exits."""
        threading.Thread(target=self._attend, args=(runner, departure), name="reporter", daemon=True).start()

    def _attend(self, runner: Runner, departure: Departure) -> None:
        with suppress(EOFError, OSError):
            while True:
                request = self._connection.recv() if self._connection.poll(REPORT_SECONDS) else None
                if request is Request.LEAVE:
                    runner.stop()
                    departure.expect()
                self.report(with_metrics=request is Request.ASK_METRICS)
        runner.stop()
        departure.expect()

    def report(
        self, *, with_metrics: bool, is_finished: bool = False, error: ServiceError | None = None
    ) -> None:
        """Send a report, unless the parent has exited."""
        published = dict(self.metrics.last_published)
        report = WorkerReport(
            *self.health.condition,
            {partition: each.counters.tally() for partition, each in published.items()},
            self._exposition() if with_metrics else None,
            self.address,
            self.live.partitions(),
            self.live.n_partitions,
            is_finished,
            error,
        )
        with self._sending, suppress(OSError):
            self._connection.send(report)

    def _exposition(self) -> Exposition:
        """Collect what a scrape would show; an error there must not end the thread that listens."""
        since = dict(self.metrics.at_work_since)
        try:
            self._shown = Exposition(list(self.metrics.registry.collect()), since)
        except Exception:  # noqa: BLE001  a scrape that fails is not the end of a server
            _log.exception("the metrics cannot be collected; they are shown as they were")
        return self._shown
