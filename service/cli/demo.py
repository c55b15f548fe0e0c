"""`perceptron demo`: everything at once on this machine, with data that comes with River."""

from __future__ import annotations

import json
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import perf_counter, sleep
from typing import Final

import click
from prometheus_client import CollectorRegistry

from service.assembly import open_stream
from service.cli.app import INTERRUPTED
from service.cli.progress import ProgressTable, counted_bar
from service.cli.serve import http_server, stopping
from service.cli.summary import summary_text
from service.errors import ServerError
from service.evaluation import Evaluation, summarise
from service.health import Health
from service.live import LiveModels
from service.metrics import Metrics
from service.processor import Step
from service.runner import Runner
from service.settings import Settings
from service.transport.base import Output

_TICK_SECONDS: Final = 0.05
"""How often the producer sends: often enough to look like a stream."""
_ANY_PORT: Final = "127.0.0.1:0"

_INTRODUCTION: Final = """\
online-perceptron demo: {count:,} web pages, phishing or not (River's Phishing data set), flow through
the topic `events` of an embedded stream. Each is predicted first, then learned from on a mistake.
  stream   {url}
  metrics  {address}/metrics
"""
_WHERE_NEXT: Final = """
where to look next
  perceptron replay FILE        the same over a file of yours (NDJSON, CSV, TSV or LIBSVM)
  perceptron serve              the loop for ever, on SQLite or, with --broker kafka://…, on Kafka
  perceptron schema event       what a message looks like
  perceptron --help             everything else"""


@click.command()
@click.option(
    "--rate",
    type=click.FloatRange(min=1),
    default=400.0,
    show_default=True,
    metavar="NUMBER",
    help="Events produced per second.",
)
def command(rate: float) -> None:
    """Run the whole thing on this machine, with a real data set: no arguments, no server, a few seconds.

    An embedded SQLite stream is made in a temporary folder; a producer sends 1,250 labelled events to it,
    the loop predicts and learns, metrics are served meanwhile. It ends by itself with a summary.
    """
    with tempfile.TemporaryDirectory(prefix="perceptron-demo-") as folder:
        _run(f"sqlite:///{Path(folder) / 'stream.db'}", rate)
    click.echo(_WHERE_NEXT)


def _run(url: str, rate: float) -> None:
    events = _events()
    settings = Settings(commit_interval_seconds=_TICK_SECONDS)
    metrics, health, evaluation = Metrics(CollectorRegistry()), Health(), Evaluation()
    live = LiveModels(settings)
    with ExitStack() as stack:
        address = stack.enter_context(_server(settings, metrics, health, live))
        click.echo(_INTRODUCTION.format(count=len(events), url=url, address=address), err=True)
        transport = open_stream(settings, url)
        stack.callback(transport.close)
        move_bar, write_line = stack.enter_context(counted_bar(len(events), "demo"))
        table = ProgressTable(write_line)

        def observe(steps: Sequence[Step]) -> None:
            table.observe(steps)
            evaluation.observe(steps)
            move_bar(evaluation.labelled)
            if evaluation.labelled == len(events):
                runner.stop()

        runner = Runner(transport, settings, metrics=metrics, health=health, live=live, observe=observe)
        with stopping(runner) as stopped_by, _producing(settings, url, events, rate, runner):
            began = perf_counter()
            runner.run()
            seconds = perf_counter() - began
        table.finish()
    if stopped_by[-1:] == [signal.SIGINT]:
        sys.exit(INTERRUPTED)
    if 0 not in metrics.last_published:  # ended before it began
        return
    done = metrics.last_published[0]
    summary = summarise(done.counters, done.learner, evaluation, seconds)
    click.echo("\n" + summary_text(summary, done.learner))


def _events() -> list[bytes]:
    """Write River's data set as the messages a producer of ours would send."""
    from river import datasets  # noqa: PLC0415  brings pandas and scikit-learn along

    return [
        json.dumps({"id": f"page-{number}", "features": x, "label": y}).encode()
        for number, (x, y) in enumerate(datasets.Phishing(), start=1)
    ]


@contextmanager
def _server(settings: Settings, metrics: Metrics, health: Health, live: LiveModels) -> Iterator[str]:
    """Serve page and metrics where `serve` does, or on any port if that one is taken."""
    with ExitStack() as stack:
        try:
            address = stack.enter_context(http_server(settings, metrics.registry, health, metrics, live))
        except ServerError:
            elsewhere = settings.model_copy(update={"http": _ANY_PORT})
            address = stack.enter_context(http_server(elsewhere, metrics.registry, health, metrics, live))
        yield address


@contextmanager
def _producing(
    settings: Settings, url: str, events: list[bytes], rate: float, runner: Runner
) -> Iterator[None]:
    """Send the events from a thread with a connection of its own, as another program would.

    Should it fail, the loop ends too, and what went wrong is raised here.
    """
    ended = threading.Event()
    with ThreadPoolExecutor(1, thread_name_prefix="producer") as pool:
        sending = pool.submit(_produce, settings, url, events, rate, ended)
        sending.add_done_callback(lambda done: runner.stop() if done.exception() else None)
        try:
            yield
        finally:
            ended.set()
        sending.result()


def _produce(settings: Settings, url: str, events: list[bytes], rate: float, ended: threading.Event) -> None:
    """Send `rate` events per second until all are sent, or nobody is there any more."""
    transport = open_stream(settings, url)
    try:
        transport.ensure_topics({settings.events_topic: 1})
        began = perf_counter()
        sent = 0
        while sent < len(events) and not ended.is_set():
            due = int((perf_counter() - began) * rate) + 1
            topic = settings.events_topic
            transport.produce([Output(topic, None, value, partition=0) for value in events[sent:due]])
            sent = due
            sleep(_TICK_SECONDS)
    finally:
        transport.close()
