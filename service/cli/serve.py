"""`perceptron serve`: the loop, with metrics and probes beside it, until it is told to stop."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import click
from prometheus_client import CollectorRegistry

from service.assembly import open_stream
from service.cli.app import INTERRUPTED
from service.cli.options import CONSUMING, LEARNING, broker_url, setting_options
from service.health import Health
from service.logs import log_to_stderr
from service.metrics import Metrics
from service.runner import Runner
from service.settings import Loaded


@click.command()
@setting_options(
    *CONSUMING,
    "checkpoints_topic",
    *LEARNING,
    "partitions",
    "create_topics",
    "label_timeout_seconds",
    "max_pending",
    "max_rejected_ratio",
    "rejected_window",
    "max_batch_records",
    "commit_interval_seconds",
    "session_timeout_seconds",
    "snapshot_interval_seconds",
    "snapshot_interval_records",
    "snapshots_kept",
    "http",
    "log_level",
)
@click.option("--exit-at-end", is_flag=True, help="Process what is there, commit, and exit with 0.")
def command(loaded: Loaded, *, exit_at_end: bool) -> None:
    """Read events, predict, learn on mistakes; for ever, or to the end with --exit-at-end.

    Every event gets one prediction on the predictions topic, every bad message one dead letter; each
    batch is one transaction together with the model's checkpoint and the position in the input: killed at
    any moment, it goes on as if nothing had happened. SIGTERM and Ctrl-C finish the batch, commit and
    leave. Metrics are at /metrics, probes at /livez and /readyz.
    """
    settings = loaded.settings
    log_to_stderr(settings.log_level)
    metrics, health = Metrics(CollectorRegistry()), Health()
    url = broker_url(loaded)
    with http_server(settings.http, metrics, health) as address:
        transport = open_stream(settings, url)
        where = f", {address}" if address else ""
        click.echo(f"serving {url}, model {settings.model}{where}", err=True)
        try:
            runner = Runner(transport, settings, metrics=metrics, health=health)
            with stopping(runner) as stopped_by:
                runner.run(exit_at_end=exit_at_end)
        finally:
            transport.close()
    _report(metrics)
    if stopped_by[-1:] == [signal.SIGINT]:
        sys.exit(INTERRUPTED)


@contextmanager
def http_server(address: str, metrics: Metrics, health: Health) -> Iterator[str]:
    """Serve metrics and probes meanwhile; give the URL, empty if there is no server."""
    if not address:
        yield ""
        return
    from service.web.app import make_app  # noqa: PLC0415  the web framework takes long to import
    from service.web.server import HttpServer  # noqa: PLC0415

    with HttpServer(make_app(metrics.registry, health), address) as server:
        yield server.url


@contextmanager
def stopping(runner: Runner) -> Iterator[list[int]]:
    """Turn SIGTERM and Ctrl-C into an orderly end; a second Ctrl-C interrupts at once."""
    received: list[int] = []

    def stop(number: int, _: FrameType | None) -> None:
        if number == signal.SIGINT and number in received:
            raise KeyboardInterrupt
        received.append(number)
        runner.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _report(metrics: Metrics) -> None:
    """Say what was done, on stderr."""
    counts = [state.counters for state in metrics.last_published.values()]
    events, mistakes = sum(c.predictions for c in counts), sum(c.mistakes for c in counts)
    labelled, rejected = sum(c.labelled for c in counts), sum(c.rejected.total() for c in counts)
    error = f", error {mistakes / labelled:.4f}" if labelled else ""
    click.echo(
        f"stopped: {events} events, {labelled} labelled, {mistakes} mistakes{error}, {rejected} rejected",
        err=True,
    )
