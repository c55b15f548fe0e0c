"""`perceptron demo`: the service on this machine, killed on the way, with data that comes along."""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Final

import click

from service.cli.commands.serve import StopRequest, stopping
from service.cli.options import Number, setting_options
from service.cli.output import echo
from service.cli.progress import counted_bar
from service.cli.sender import Sender
from service.cli.story.rivals import MistakeTable, about, rivals_of
from service.cli.story.served import Served
from service.cli.story.streams import STREAMS, Demonstrated
from service.cli.summary import summary_text
from service.datasets.stream_simulator import StreamSimulator
from service.errors import INTERRUPTED
from service.lab.evaluation import Evaluation, summarise
from service.loop.recovery import restore
from service.messages.dead_letter import MESSAGE, REASON
from service.messages.labels import Vocabulary
from service.partition.factory import open_stream
from service.settings.load import Loaded, Settings
from service.stream import Transport

_COMMIT_SECONDS: Final = 0.05
"""Short enough for the page to look like a stream."""
_SLOW_RATE: Final = 20.0
"""Events per second once the data set is through: slow enough to read along."""
_POLL_SECONDS: Final = 0.05
_NO_EVENT: Final = b'{"id": "poisoned", "features": {"length": "twelve", '
"""A record that was cut off on its way."""

_INTRODUCTION: Final = """\
online-perceptron demo: {count:,} {about}
flow through the topic `events` of an embedded stream. `perceptron serve` predicts each, and then learns from
it if it was wrong. Two more models predict and learn the same events beside it.
  perceptron the model that is served
  auto       --model auto
  River      {river}
  live page  {address}
  stream     {url}
  metrics    {address}/metrics

mistakes so far"""
_KILLED: Final = "killed (SIGKILL) after {count:,} predictions, amid its work; started again, it goes on"
_PROOF: Final = """
a record that was no event is a dead letter, and the others go on:
  {letter}
nothing was lost or done twice, though the service was killed; `perceptron verify` reads that from the topics:
  {proof}
"""
_PLAYING_ON: Final = """
All {count:,} are processed. They come again now, {rate:g} a second: watch {address}
Ctrl-C ends it."""
_WHERE_NEXT: Final = """
where to look next
  perceptron demo --keep        the same, and the live page stays up (--data sms-like, --data drift)
  perceptron init FILE          look through a file of yours, such as NDJSON, and write settings for it
  perceptron compare FILE       which model makes the fewest mistakes on it
  perceptron serve              the loop, on SQLite or, with --broker kafka://…, on Kafka
  perceptron --help             everything else"""


@click.command()
@setting_options("http")
@click.option(
    "--data", type=click.Choice([*STREAMS]), default="phishing", show_default=True, help="Events to show."
)
@click.option(
    "--rate", type=Number(min=1), default=400.0, show_default=True, help="Events produced per second."
)
@click.option("--keep", is_flag=True, help="Play on slowly, so that the live page stays up, until Ctrl-C.")
def command(data: str, rate: float, loaded: Loaded, *, keep: bool) -> None:
    """Run the whole thing on this machine, with a real data set: no arguments, no server, a few seconds.

    An embedded SQLite stream is made in a temporary folder; a producer sends labelled events to it, one
    record that is no event among them. `perceptron serve` predicts and learns, is killed half way and started
    again, and a live page shows how. It ends by itself with a proof that nothing was lost or done twice, and
    a summary, or with --keep goes on until Ctrl-C.
    """
    with stopping() as request, tempfile.TemporaryDirectory(prefix="perceptron-demo-") as folder:
        stream = STREAMS[data]()
        url = f"sqlite:///{Path(folder) / 'stream.db'}"
        _Demo(stream, _settings(url, stream, loaded.settings), Path(folder), request).run(rate, keep=keep)
    if request.is_interrupt:
        sys.exit(INTERRUPTED)
    echo(_WHERE_NEXT)


def _settings(url: str, stream: Demonstrated, given: Settings) -> Settings:
    """Return the demo's own settings, with those of HTTP access."""
    return Settings(
        broker=url,
        classes=stream.classes,
        commit_interval_seconds=_COMMIT_SECONDS,
        http=given.http or "127.0.0.1:0",
        http_hosts=given.http_hosts,
        http_token=given.http_token,
        http_show_events="yes" if given.http_show_events == "auto" else given.http_show_events,
    )


class _Demo:
    """One run.

    Parameters
    ----------
    stream
        What is shown.
    settings
        Of the service.
    folder
        Where it runs.
    request
        The request to end.

    """

    def __init__(self, stream: Demonstrated, settings: Settings, folder: Path, request: StopRequest) -> None:
        self._stream = stream
        self._settings = settings
        self._request = request
        self._is_over = threading.Event()
        self._was_killed = False
        self._served = Served(settings, folder, self._is_over.is_set)

    def run(self, rate: float, *, keep: bool) -> None:
        """Run it to its end, or to that of the first step after a request to end."""
        self._request.answer_with(self._is_over.set)
        with ExitStack() as stack:
            transport = stack.enter_context(closing(open_stream(self._settings, self._settings.broker)))
            transport.ensure_topics({self._settings.events_topic: 1})
            stack.callback(self._served.stop)
            rivals = rivals_of(self._stream)
            self._served.start()
            echo(
                _INTRODUCTION.format(
                    count=len(self._stream.messages),
                    about=self._stream.about,
                    river=about(rivals),
                    address=self._served.address,
                    url=self._settings.broker,
                ),
                err=True,
            )
            began = perf_counter()
            with self._producing(rate, keep=keep):
                with counted_bar(len(self._stream.messages), "demo") as (move_bar, write_line):
                    table = MistakeTable(self._stream, rivals, write_line)
                    self._watch(transport, table, move_bar, write_line)
                seconds = perf_counter() - began
                if not self._is_over.is_set():
                    self._finish(transport, seconds, keep=keep)

    def _watch(
        self,
        transport: Transport,
        table: MistakeTable,
        move_bar: Callable[[int], None],
        write_line: Callable[[str], None],
    ) -> None:
        """Follow the predictions of all events; kill the service half way."""
        n_events = len(self._stream.messages)
        with closing(transport.follow(self._settings.predictions_topic, {0: 0})) as follower:
            while table.n_events < n_events and not self._is_over.is_set():
                for record in follower.poll()[: n_events - table.n_events]:
                    self._kill_half_way(transport, write_line)
                    table.add(is_mistaken=json.loads(record.value or b"")["mistake"])
                    move_bar(table.n_events)
                self._served.check()
                self._is_over.wait(_POLL_SECONDS)

    def _kill_half_way(self, transport: Transport, write_line: Callable[[str], None]) -> None:
        """Kill the service once, when half of the events are predicted; start it again."""
        topic = self._settings.predictions_topic
        if self._was_killed or transport.bounds(topic, 0)[1] < len(self._stream.messages) // 2:
            return
        self._was_killed = True
        self._served.kill()
        write_line(_KILLED.format(count=transport.bounds(topic, 0)[1]))
        self._served.start()

    def _finish(self, transport: Transport, seconds: float, *, keep: bool) -> None:
        """Prove what was done, and sum it up."""
        if not keep:
            self._served.stop()
        (letter,) = transport.read(self._settings.dead_letters_topic, 0)
        proof, _, _ = self._served.run("verify").partition("\n")
        why = {name: value.decode() for name, value in letter.headers}
        echo(_PROOF.format(letter=f"{why[REASON]}: {why[MESSAGE]}", proof=proof), err=True)
        processor = restore(transport, self._settings, 0).processor
        classes = self._stream.classes
        summary = summarise(processor, Evaluation(classes), seconds)
        echo(summary_text(summary, processor.learner, classes))
        if keep:
            echo(
                _PLAYING_ON.format(
                    count=len(self._stream.messages), rate=_SLOW_RATE, address=self._served.address
                ),
                err=True,
            )
            while not self._is_over.wait(1):
                self._served.check()

    @contextmanager
    def _producing(self, rate: float, *, keep: bool) -> Iterator[None]:
        """Send the events from a thread with a connection of its own, as another program would.

        Should it fail, the demo ends too, and what went wrong is raised here.
        """
        ended = threading.Event()
        with ThreadPoolExecutor(1, thread_name_prefix="producer") as pool:
            sending = pool.submit(self._produce, rate, ended, keep=keep)
            sending.add_done_callback(lambda done: self._is_over.set() if done.exception() else None)
            try:
                yield
            finally:
                ended.set()
            sending.result()

    def _produce(self, rate: float, ended: threading.Event, *, keep: bool) -> None:
        """Send each round at its rate, until all are sent or the demo has ended."""
        with closing(open_stream(self._settings, self._settings.broker)) as transport:
            for messages, its_rate in self._rounds(rate, keep=keep):
                sender = Sender(transport, self._settings.events_topic, len(messages), its_rate)
                for message in messages:
                    if ended.is_set() or self._is_over.is_set():
                        return
                    sender.add(None, message)
                sender.flush()

    def _rounds(self, rate: float, *, keep: bool) -> Iterator[tuple[Sequence[bytes], float]]:
        """Yield the rounds to be sent, each with its rate; ids differ from round to round."""
        messages = self._stream.messages
        third = len(messages) // 3
        yield [*messages[:third], _NO_EVENT, *messages[third:]], rate
        again = StreamSimulator(Vocabulary())
        for number in count(2) if keep else ():
            again.id_suffix = f"-again-{number}"
            yield [again.play(message) for message in messages], min(rate, _SLOW_RATE)
