"""`perceptron produce`: send the examples of a file or of stdin to the events topic.

Each message is checked first and keyed by its event id. Batches are sent at a given rate, delayed labels when
they are due.
"""

from __future__ import annotations

import itertools
import json
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

import click

from service.cli.options import SERVICE, Integer, Number, broker_url, setting_options, topic_option
from service.cli.output import report, report_warning
from service.cli.progress import progress_bar
from service.cli.source_options import Inputs, source_options
from service.errors import ConfigurationError, InputFileError, ServiceError
from service.files.input_files import NO_TIME_MS, field_of, time_of
from service.files.labelled_examples import refusal_hint
from service.files.rows import CutLine, rejection_of_row
from service.files.sources import Source
from service.files.stream_simulator import StreamSimulator, split_label
from service.formats.topics import KINDS
from service.mapping.decoder import Decoder
from service.messages.labels import Vocabulary
from service.messages.rejection import Rejection, Skipped
from service.partition.factory import make_decoder, open_stream
from service.settings.fields import MAPPING
from service.settings.load import Loaded, Settings
from service.settings.mapping import HEADER, KEY, EventSettings, is_of_record
from service.settings.topics import output_topics
from service.stream.protocol import Output, Record, Transport

_BATCHES_PER_SECOND: Final = 10  # with a rate, so that the flow is even


class Sender:
    """Collects records and writes them in batches, no faster than `rate` records a second.

    With `labels_topic`, the labels of events are sent there, `delay_seconds` after the events.
    """

    def __init__(
        self,
        transport: Transport,
        topic: str,
        batch_records: int,
        rate: float | None = None,
        labels_topic: str = "",
        delay_seconds: float = 0.0,
    ) -> None:
        self._transport = transport
        self._rate = rate
        self._batch_records = (
            min(batch_records, max(1, int(rate / _BATCHES_PER_SECOND))) if rate else batch_records
        )
        self._labels_topic = labels_topic
        self._delay_seconds = delay_seconds
        self._batch: list[Output] = []
        self._labels: list[Output] = []
        """Those of events in the batch."""
        self._late: deque[tuple[float, Output]] = deque()
        """Labels of events that were sent, and when they are due."""
        self._began = time.monotonic()
        self.topic = topic
        self.sent = 0
        """Records written so far, late labels not among them."""
        self._labels_sent = 0
        self._on_their_way = 0

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.monotonic() - self._began

    def summary(self) -> str:
        """Report what was sent; a batch under way at the end may have arrived or not."""
        labels = f" and {self._labels_sent} to {self._labels_topic}" if self._labels_topic else ""
        unsure = f"; {self._on_their_way} more may have arrived or not" if self._on_their_way else ""
        return f"{self.sent} records to {self.topic}{labels} in {self.seconds:.2f} s{unsure}"

    def add(self, key: bytes | None, message: bytes, time_ms: int | None = None) -> None:
        """Add a record, which is written when the batch is full, with its time or that of writing."""
        if self._labels_topic:
            message, label = split_label(message)
            if label is not None:
                self._labels.append(Output(self._labels_topic, key, label))
        self._batch.append(Output(self.topic, key, message, timestamp_ms=time_ms))
        if len(self._batch) >= self._batch_records:
            self.flush()

    def flush(self) -> None:
        """Write what has been collected, as soon as the rate allows it, and the labels that are due."""
        if self._rate:
            time.sleep(max(0.0, self.sent / self._rate - self.seconds))
        if self._batch:
            self._write(self._batch)
            self.sent += len(self._batch)
            self._batch = []
        due = self.seconds + self._delay_seconds
        self._late.extend((due, label) for label in self._labels)
        self._labels = []
        self._write_labels()

    def finish(self) -> None:
        """Write everything, waiting for the labels that are not due yet."""
        self.flush()
        while self._late:
            time.sleep(max(0.0, self._late[0][0] - self.seconds))
            self._write_labels()

    def _write_labels(self) -> None:
        labels, now = [], self.seconds
        while self._late and self._late[0][0] <= now:
            labels.append(self._late.popleft()[1])
        if labels:
            self._write(labels)
            self._labels_sent += len(labels)

    def _write(self, records: list[Output]) -> None:
        self._on_their_way = len(records)
        self._transport.produce(records)
        self._on_their_way = 0


KeyOf = Callable[[bytes], bytes | None]
"""Checks a message and gives the key to send it with."""


@click.command()
@source_options(timed=True)
@topic_option("Topic to send to.  [default: the events topic]")
@click.option("--key-field", metavar="NAME", help="Field or feature that is the key.  [default: id]")
@click.option("--validate/--no-validate", default=True, help="Stop at the first bad message.  [default: yes]")
@click.option(
    "--skip",
    type=Integer(0),
    default=0,
    help="Leave the first records of FILE out, those that an earlier run has sent.  [default: 0]",
)
@click.option("--rate", type=Number(0, min_open=True), help="Events per second at most.")
@click.option(
    "--loop", is_flag=True, help="Begin again at the end of FILE, indefinitely; ids tell the rounds apart."
)
@click.option(
    "--label-delay",
    type=click.FloatRange(0),
    metavar="SECONDS",
    help="Send the labels to the labels topic, each so long after its event.  [default: in the events]",
)
@click.option(
    "--drift-every",
    type=click.IntRange(1),
    metavar="EVENTS",
    help="Let the classes swap their labels each time so many events were sent.  [default: never]",
)
@setting_options(
    *SERVICE, "partitions", "create_topics", "classes", "max_message_bytes", *MAPPING, "max_batch_records"
)
def produce_command(
    *,
    inputs: Inputs,
    topic: str | None,
    key_field: str | None,
    validate: bool,
    skip: int,
    rate: float | None,
    loop: bool,
    label_delay: float | None,
    drift_every: int | None,
    loaded: Loaded,
) -> None:
    """Send each event of FILE (- for stdin) to a topic as one record.

    A bad message ends it: what came before has been sent, nothing after; --no-validate sends
    whatever there is, without a time where --timestamp finds none. --input-format lists what FILE
    may be, plain or .gz.

    Events and their labels must have the same key, or they may land in different partitions:
    mind that when you use --key-field.

    \b
    A file can be played as a live stream, to try a service on:
      perceptron produce spam.tsv --classes ham,spam --loop --rate 50 --label-delay 5 --drift-every 20000
    Then ids get the round behind them (row-7@1763700000-2). SIGTERM ends it with exit code 0; labels
    that still wait are not sent.
    """  # noqa: D301 - \b is click's mark for lines to be left as they are
    settings = loaded.settings
    labels_topic = "" if label_delay is None else settings.labels_topic
    topic = topic or settings.events_topic
    plays = loop or drift_every is not None or label_delay is not None
    if label_delay is not None and not labels_topic:
        raise click.UsageError("--label-delay needs a labels topic: name one with --labels-topic")
    if inputs.timestamp and plays:
        raise click.UsageError("--timestamp is for records sent once, as they are: no --loop or the like")
    _check_sendable(settings, topic, checks=validate, plays=plays)
    id_place = _id_place(settings, topic, key_field)
    key_of = _key_reader(make_decoder(settings) if validate else None, topic, key_field, id_place)
    simulator = StreamSimulator(Vocabulary(settings.classes), drift_every or 0)
    opened = partial(inputs.open, settings, are_labels=topic == settings.labels_topic)
    with opened() as first:  # a missing file is to make no topic
        if loop and first.size_bytes is None:
            raise click.UsageError(f"--loop needs a file that can be read again, which {first.name} cannot")
        again = (opened() for _ in itertools.count())
        sources = itertools.chain([first], again) if loop else iter([first])
        with closing(open_stream(settings, broker_url(loaded))) as transport, _ending_on_sigterm():
            topics = dict.fromkeys((topic, labels_topic or topic), settings.partitions)
            transport.ensure_topics(topics, create=settings.create_topics)
            sender = Sender(
                transport, topic, settings.written_at_once, rate, labels_topic, label_delay or 0.0
            )
            run = _Run(sender, simulator, key_of, settings.events, skip, inputs.timestamp, validate)
            run.send_all(_rounds(sources, simulator, loop=loop), loop=loop)


@contextmanager
def _ending_on_sigterm() -> Iterator[None]:
    """End in order and with exit code 0 on a signal: a command without an end has no other."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _check_sendable(settings: Settings, topic: str, *, checks: bool, plays: bool) -> None:
    """Refuse topics that the service writes, and a schema of events that is not written or changed here."""
    if topic in output_topics(settings):
        raise click.UsageError(f"the service writes {topic!r}: events and labels belong in a topic it reads")
    if checks and settings.events.format in KINDS:
        raise ConfigurationError(
            f"events.format {settings.events.format}: produce writes JSON, which the service would refuse",
            hint="write the records with a serializer of that format; --no-validate sends lines as they are",
        )
    if settings.events.is_mapped and plays:
        reason = "--loop, --label-delay and --drift-every need events of the service's own schema"
        raise click.UsageError(reason)


def _rounds(sources: Iterator[Source], simulator: StreamSimulator, *, loop: bool) -> Iterator[Source]:
    """Open each round's source, and give its events ids that no earlier round, or run, has given."""
    began = int(time.time())
    for number, source in enumerate(sources, start=1):
        simulator.id_suffix = f"@{began}-{number}" if loop else ""
        with source:
            yield source
        if loop and not source.line:
            raise InputFileError(f"{source.name}: empty", hint="--loop would wait indefinitely.")


@dataclass
class _Run:
    """One run over a file, or over many rounds of it."""

    sender: Sender
    simulator: StreamSimulator
    key_of: KeyOf
    events: EventSettings
    skip: int
    """Records that are left out; after a round, those that are left to be."""
    timestamp: str | None = None
    """Where a message has its time, which its record gets."""
    validates: bool = True
    """Whether to stop at a message without a time."""
    n_untimed: int = 0

    def send_all(self, sources: Iterator[Source], *, loop: bool) -> None:
        """Send all messages, or those before the first bad one; say how many, and how to go on."""
        skipped = self.skip
        try:
            for source in sources:
                self._send(source)
            self.sender.finish()
        except ServiceError as error:
            if isinstance(error, InputFileError):
                self.sender.finish()
            if self.sender.sent and not loop:
                go_on = f"to go on from there: --skip {skipped + self.sender.sent}"
                error.hint = f"{error.hint}; {go_on}" if error.hint else go_on
            raise
        finally:
            report("produced", "green", self.sender.summary())
            if self.n_untimed:
                why = f"{self.timestamp}: no time in {self.n_untimed} records, which were sent without one"
                report_warning(why, "the service makes them dead letters, unless events.timestamp is set")

    def _send(self, source: Source) -> None:
        """Send the messages of one round."""
        sender, play = self.sender, self.simulator.play
        source.before_wait(sender.flush)
        with progress_bar(source, f"produce to {sender.topic}") as (messages, _):
            for message in map(play, _whole_lines(source, self._behind(messages, source))):
                try:
                    key = self.key_of(message)
                except Rejection as rejection:
                    hint = refusal_hint([rejection.reason], self.events)
                    hint += "; nothing from there on was sent; --no-validate sends bad messages too"
                    complaint = f"{source.place}: {rejection_of_row(message, rejection)}"
                    raise InputFileError(complaint, hint=hint) from None
                sender.add(key, message, self._time(message, source))
        sender.flush()

    def _time(self, message: bytes, source: Source) -> int | None:
        """Return the time that a record gets; None: that of writing. Raises `InputFileError`."""
        if self.timestamp is None:
            return None
        try:
            return time_of(message, self.timestamp)
        except ValueError as error:
            if not self.validates:
                self.n_untimed += 1
                return NO_TIME_MS
            hint = "--timestamp names a column, a field or a path; nothing from there on was sent; "
            hint += "--no-validate sends bad messages too"
            raise InputFileError(f"{source.place}: {error}", hint=hint) from None

    def _behind(self, messages: Iterable[bytes], source: Source) -> Iterator[bytes]:
        """Yield the messages behind those that are skipped. Raises `InputFileError` if there are fewer."""
        for message in messages:
            if not self.skip:
                yield message
                continue
            self.skip -= 1
            self.simulator.play(message)  # drift counts them
        if self.skip:
            raise InputFileError(f"{source.name}: has {self.skip} records fewer than --skip leaves out")


def _whole_lines(source: Source, messages: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the messages as long as they are whole: half a message is worth nothing to anybody."""
    for message in messages:
        if isinstance(message, CutLine):
            raise InputFileError(
                f"{source.place}: the line is longer than {len(message) - 1} bytes",
                hint="nothing from there on was sent; lines are read up to 16 MiB or max_message_bytes",
            )
        yield message


def _key_reader(decoder: Decoder | None, topic: str, key_field: str | None, id_place: str) -> KeyOf:
    """Make the function that checks a message, if there is a decoder, and finds its key."""

    def key_of(message: bytes) -> bytes | None:
        key = _encoded(field_of(message, key_field)) if key_field else None
        if decoder is not None:
            try:
                name: object = decoder.decode(message, Record(topic, 0, 0, 0, key, message)).id
            except Skipped:
                name = field_of(message, id_place)
        elif not key_field:
            name = field_of(message, id_place)
        return key if key_field or is_of_record(id_place) else _encoded(name)

    return key_of


def _encoded(name: object) -> bytes | None:
    """Write a key; of what is no Unicode text, a lone surrogate, in bytes that are no UTF-8."""
    if name is None:
        return None
    return (name if isinstance(name, str) else json.dumps(name)).encode(errors="surrogatepass")


def _id_place(settings: Settings, topic: str, key_field: str | None) -> str:
    """Return where messages have their ids, which their keys are made of."""
    table = settings.labels if topic == settings.labels_topic else settings.events
    if table.id == KEY and not key_field:
        raise click.UsageError(f"{table.table()}.id is @key: name the field of the key with --key-field")
    if table.id.startswith(HEADER):
        raise click.UsageError(f"{table.table()}.id is {table.id}, and records are produced without headers")
    return table.id or "id"
