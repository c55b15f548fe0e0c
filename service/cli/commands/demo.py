"""`perceptron demo`: everything at once on this machine, with data that comes with River."""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Final

import click
from prometheus_client import CollectorRegistry

from service.cli.commands.serve import StopRequest, http_server, stopping
from service.cli.options import Number, setting_options
from service.cli.output import echo
from service.cli.progress import ProgressTable, counted_bar
from service.cli.sender import Sender
from service.cli.summary import summary_text
from service.datasets.stream_simulator import StreamSimulator
from service.errors import INTERRUPTED, ServerError
from service.lab.evaluation import Evaluation, summarise
from service.loop.runner import Runner
from service.messages.labels import Vocabulary
from service.monitoring.committed_state import Published
from service.monitoring.health import Health
from service.monitoring.live_models import LiveModels
from service.monitoring.metrics import Metrics
from service.partition.examples import LearnedExamples
from service.partition.factory import open_stream
from service.settings.load import Loaded, Settings

_CLASSES: Final = ("legitimate", "phishing")
"""What a web page is; the negative one first."""
_COMMIT_SECONDS: Final = 0.05
"""Short enough for the page to look like a stream."""
_SLOW_RATE: Final = 20.0
"""Events per second once the data set is through: slow enough to read along."""
_ANY_PORT: Final = "127.0.0.1:0"

_INTRODUCTION: Final = """\
online-perceptron demo: {count:,} web pages, phishing or not (River's Phishing data set), flow through
the topic `events` of an embedded stream. Each is predicted first, then learned from on a mistake.
  live page  {address}
  stream     {url}
  metrics    {address}/metrics
"""
_PLAYING_ON: Final = """
All {count:,} are processed. They come again now, {rate:g} a second: watch {address}
Ctrl-C ends it."""
_WHERE_NEXT: Final = """
where to look next
  perceptron demo --keep        the same, and the live page stays up
  perceptron replay FILE        the same over a file of yours, such as CSV
  perceptron serve              the loop, on SQLite or, with --broker kafka://…, on Kafka
  perceptron schema event       what a message looks like
  perceptron --help             everything else"""


@click.command()
@setting_options("http")
@click.option(
    "--rate", type=Number(min=1), default=400.0, show_default=True, help="Events produced per second."
)
@click.option("--keep", is_flag=True, help="Play on slowly, so that the live page stays up, until Ctrl-C.")
def command(rate: float, loaded: Loaded, *, keep: bool) -> None:
    """Run the whole thing on this machine, with a real data set: no arguments, no server, a few seconds.

    An embedded SQLite stream is made in a temporary folder; a producer sends 1,250 labelled events to it,
    the loop predicts and learns, and a live page shows how. It ends by itself with a summary, or with --keep
    goes on until Ctrl-C.
    """
    with stopping() as request, tempfile.TemporaryDirectory(prefix="perceptron-demo-") as folder:
        settings = _settings(f"sqlite:///{Path(folder) / 'stream.db'}", loaded.settings)
        _run(settings, request, rate, keep=keep)
    echo(_WHERE_NEXT)


def _settings(url: str, given: Settings) -> Settings:
    """Return the demo's own settings, with those of HTTP access."""
    return Settings(
        broker=url,
        classes=_CLASSES,
        commit_interval_seconds=_COMMIT_SECONDS,
        http=given.http or _ANY_PORT,
        http_hosts=given.http_hosts,
        http_token=given.http_token,
        http_show_events="yes" if given.http_show_events == "auto" else given.http_show_events,
    )


def _run(settings: Settings, request: StopRequest, rate: float, *, keep: bool) -> None:
    url, events = settings.broker, _events()
    metrics, health, live = Metrics(CollectorRegistry()), Health(), LiveModels(settings)
    with ExitStack() as stack:
        address = stack.enter_context(_server(settings, metrics, health, live))
        echo(_INTRODUCTION.format(count=len(events), url=url, address=address), err=True)
        transport = open_stream(settings, url)
        stack.callback(transport.close)
        move_bar, write_line = stack.enter_context(counted_bar(len(events), "demo"))

        def all_processed() -> None:
            if not keep:
                runner.stop()
                return
            last_words = _PLAYING_ON.format(count=len(events), rate=_SLOW_RATE, address=address)
            for line in last_words.splitlines():
                write_line(line)

        progress = _Progress(len(events), move_bar, write_line, all_processed)
        runner = Runner(
            transport, settings, metrics=metrics, health=health, live=live, observe=progress.observe
        )
        pace = _pace(events, rate, keep=keep)
        request.answer_with(runner.stop)
        with _producing(settings, url, pace, runner):
            began = perf_counter()
            runner.run()
            seconds = perf_counter() - began
        progress.table.finish()
    if (keep or not request.is_interrupt) and 0 in metrics.last_published:  # else it ended before it began
        _sum_up(metrics.last_published[0], progress.evaluation, seconds)
    if request.is_interrupt:
        sys.exit(INTERRUPTED)


class _Progress:
    """Shows how far the demo is: a table, a bar, and a call when all events of the data set are learned."""

    def __init__(
        self,
        n_events: int,
        move_bar: Callable[[int], None],
        write_line: Callable[[str], None],
        all_processed: Callable[[], None],
    ) -> None:
        self.table = ProgressTable(write_line, _CLASSES)
        self.evaluation = Evaluation(_CLASSES)
        self._n_events = n_events
        self._move_bar = move_bar
        self._all_processed = all_processed

    def observe(self, learned: LearnedExamples) -> None:
        """Record labelled predictions."""
        before = self.evaluation.labelled
        self.table.observe(learned)
        self.evaluation.observe(learned)
        self._move_bar(self.evaluation.labelled)
        if before < self._n_events <= self.evaluation.labelled:
            self._all_processed()


def _sum_up(done: Published, evaluation: Evaluation, seconds: float) -> None:
    summary = summarise(done.counters, done.learner, evaluation, seconds)
    echo("\n" + summary_text(summary, done.learner, _CLASSES))


def _events() -> list[bytes]:
    """Write River's data set as the messages that `perceptron produce` would send."""
    from river import datasets  # noqa: PLC0415  imports pandas and scikit-learn

    return [
        json.dumps({"id": f"page-{number}", "features": x, "label": _CLASSES[y]}).encode()
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


def _pace(events: Sequence[bytes], rate: float, *, keep: bool) -> Iterator[tuple[Sequence[bytes], float]]:
    """Yield the rounds to be sent, each with its rate; ids differ from round to round."""
    yield events, rate
    again = StreamSimulator(Vocabulary())
    for number in count(2) if keep else ():
        again.id_suffix = f"-{number}"
        yield [again.play(event) for event in events], min(rate, _SLOW_RATE)


@contextmanager
def _producing(
    settings: Settings, url: str, rounds: Iterable[tuple[Sequence[bytes], float]], runner: Runner
) -> Iterator[None]:
    """Send the events from a thread with a connection of its own, as another program would.

    Should it fail, the loop ends too, and what went wrong is raised here.
    """
    ended = threading.Event()
    with ThreadPoolExecutor(1, thread_name_prefix="producer") as pool:
        sending = pool.submit(_produce, settings, url, rounds, ended)
        sending.add_done_callback(lambda done: runner.stop() if done.exception() else None)
        try:
            yield
        finally:
            ended.set()
        sending.result()


def _produce(
    settings: Settings, url: str, rounds: Iterable[tuple[Sequence[bytes], float]], ended: threading.Event
) -> None:
    """Send each round at its rate, until all are sent or the service has ended."""
    with closing(open_stream(settings, url)) as transport:
        transport.ensure_topics({settings.events_topic: 1})
        for events, rate in rounds:
            sender = Sender(transport, settings.events_topic, len(events), rate)
            for event in events:
                if ended.is_set():
                    return
                sender.add(None, event)
            sender.flush()
