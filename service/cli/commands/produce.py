"""`perceptron produce`: send the examples of a file or of stdin to the events topic.

Each message is checked first and keyed by its event id. Batches are sent at a given rate.
"""

from __future__ import annotations

import itertools
import json
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

import click

from service.cli.help import SettingsCommand, number_option
from service.cli.options import SERVICE, broker_url, gathered_options, setting_options, topic_option
from service.cli.output import report
from service.cli.source_options import Inputs, source_options
from service.cli.summary import counted
from service.errors import ConfigurationError, InputFileError, ServiceError
from service.files.input_files import NO_TIME_MS, field_of, named_anew, time_of
from service.files.labelled_examples import rejection_hint
from service.files.rows import CutLine, rejection_of_row
from service.files.sources import Source
from service.formats.topics import KINDS
from service.messages.paths import parse_path
from service.messages.rejection import Rejection, Skipped
from service.partition.factory import make_decoder, open_stream
from service.settings.fields import MAPPING
from service.settings.load import Loaded, Settings
from service.settings.mapping import HEADER, KEY, OFFSET, LabelSettings
from service.settings.topics import input_topics, output_topics
from service.stream.protocol import Output, Record, Transport

_BATCHES_PER_SECOND: Final = 10  # with a rate, so that the flow is even
_NO_CHECK: Final = "--no-validate sends invalid messages too"


class Sender:
    """Collects records and writes them in batches, no faster than `rate` records a second."""

    def __init__(
        self, transport: Transport, topic: str, batch_records: int, rate: float | None = None
    ) -> None:
        self._transport = transport
        self._rate = rate
        self._batch_records = (
            min(batch_records, max(1, int(rate / _BATCHES_PER_SECOND))) if rate else batch_records
        )
        self._batch: list[Output] = []
        self._began = time.monotonic()
        self.topic = topic
        self.sent = 0
        """Number of records written so far."""

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.monotonic() - self._began

    def add(self, key: bytes | None, message: bytes, time_ms: int | None = None) -> None:
        """Add a record to the batch, with its time or, if None, the time of writing."""
        self._batch.append(Output(self.topic, key, message, timestamp_ms=time_ms))
        if len(self._batch) >= self._batch_records:
            self.flush()

    def flush(self) -> None:
        """Write what has been collected, as soon as the rate allows it."""
        if self._rate:
            time.sleep(max(0.0, self.sent / self._rate - self.seconds))
        if self._batch:
            self._transport.produce(self._batch)
            self.sent += len(self._batch)
            self._batch = []


@dataclass(frozen=True)
class _Options:
    """The options of `produce`."""

    topic: str | None
    validate: bool
    skip: int
    rate: float | None
    loop: bool


@click.command(cls=SettingsCommand)
@source_options(timed=True)
@gathered_options(
    "options",
    _Options,
    topic_option("Topic to send to.  [default: the events topic]"),
    click.option(
        "--validate/--no-validate", default=True, help="Stop at the first invalid message.  [default: yes]"
    ),
    number_option(
        "--skip",
        type=click.IntRange(0),
        default=0,
        help="Number of records at the start of FILE to skip, as an earlier run sent them.  [default: 0]",
    ),
    number_option(
        "--rate", type=click.FloatRange(0, min_open=True), help="Largest number of events per second."
    ),
    click.option("--loop", is_flag=True, help="Repeat FILE indefinitely, with new ids in each round."),
)
@setting_options(
    *SERVICE, "partitions", "create_topics", "classes", "max_message_bytes", *MAPPING, "max_batch_records"
)
def produce_command(inputs: Inputs, options: _Options, loaded: Loaded) -> None:
    """Send each event of FILE (- for stdin) to a topic as one record.

    The first invalid message stops the command: earlier messages have been sent, later ones are not. With
    --no-validate every message is sent, without a time if --timestamp finds none, and without a key if no id
    can be read. FILE has one of the formats of --input-format, plain or .gz.

    The key of each record is its id, so that a label lands in the partition of its event.

    \b
    To play a file as a live stream:
      perceptron produce spam.tsv --classes ham,spam --loop --rate 50
    Each id then ends with its round (row-7@1763700000-2). SIGTERM stops the command with exit code 0.
    """  # noqa: D301 - \b is click's mark for lines to be left as they are
    settings = loaded.settings
    topic = options.topic or settings.events_topic
    _check_sendable(inputs, options, settings, topic)
    run = _Run(inputs, options, settings, topic)
    with run.open() as first:  # a missing file is to make no topic
        if options.loop and not first.has_end:
            raise click.UsageError(f"--loop needs a file that can be read twice; {first.name} cannot")
        with closing(open_stream(settings, broker_url(loaded))) as transport, _ending_on_sigterm():
            topics: tuple[str, ...] = (topic,)
            create = settings.create_topics != "none"
            if create and topic in input_topics(settings):
                topics += input_topics(settings)  # the service reads all of them, but creates none
            transport.ensure_topics(dict.fromkeys(topics, settings.partitions), create=create)
            run.send_all(first, Sender(transport, topic, settings.written_at_once, options.rate))


@contextmanager
def _ending_on_sigterm() -> Iterator[None]:
    """End cleanly with exit code 0 on SIGTERM, the only end of an endless command."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _check_sendable(inputs: Inputs, options: _Options, settings: Settings, topic: str) -> None:
    """Reject topics that the service writes, and options that need a change of unchangeable records."""
    if topic in output_topics(settings):
        raise click.UsageError(f"{topic!r} is an output topic: choose the events or labels topic")
    if options.validate and settings.events.format in KINDS:
        raise ConfigurationError(
            f"events.format {settings.events.format}: `produce` writes JSON, which the service would reject",
            hint="write the records with a serializer of that format; --no-validate sends lines unchanged",
        )
    if inputs.timestamp and options.loop:
        raise click.UsageError("--timestamp cannot be combined with --loop")


class _Run:
    """A run over a file, once or in many rounds."""

    def __init__(self, inputs: Inputs, options: _Options, settings: Settings, topic: str) -> None:
        self._options = options
        table = settings.labels if topic == settings.labels_topic else settings.events
        self._timestamp = inputs.timestamp or ("" if options.loop else table.timestamp)
        self._requires_time = inputs.timestamp is not None
        self._events = settings.events
        self.open = partial(inputs.open, settings, are_labels=topic == settings.labels_topic)
        self._topic = topic
        self._id_location = _id_location(table)
        self._decoder = make_decoder(settings) if options.validate else None
        self._id_keys = _keys_of_id(self._id_location) if options.loop else ()

    def send_all(self, first: Source, sender: Sender) -> None:
        """Send all messages, or all before the first bad one; report the number, and how to continue."""
        started, is_loop = int(time.time()), self._options.loop
        try:
            n_sent = self._send(first, sender, f"@{started}-1", self._options.skip)
            if is_loop and not n_sent:
                raise InputFileError(f"{first.name}: empty", hint="--loop needs at least one record")
            for number in itertools.count(2) if is_loop else ():
                with self.open() as source:
                    self._send(source, sender, f"@{started}-{number}")
            sender.flush()
        except ServiceError as error:
            if isinstance(error, InputFileError):
                sender.flush()
            if sender.sent and not is_loop:
                go_on = f"to continue from there: --skip {self._options.skip + sender.sent}"
                error.hint = f"{error.hint}; {go_on}" if error.hint else go_on
            raise
        finally:
            sent = counted(sender.sent, "records")
            report("produced", "green", f"{sent} to {sender.topic} in {sender.seconds:.2f} s")

    def _send(self, source: Source, sender: Sender, suffix: str, skip: int = 0) -> int:
        """Send the messages of one round after the skipped ones; return their number."""
        number = 0
        source.before_wait(sender.flush)
        for number, message in enumerate(source, start=1):
            if isinstance(message, CutLine):  # half a message is useless
                raise InputFileError(
                    f"{source.location}: the line is longer than {len(message) - 1} bytes",
                    hint="raise max_message_bytes",
                )
            if number <= skip:
                continue
            if self._id_keys:
                message = named_anew(message, self._id_keys, suffix)  # noqa: PLW2901 - is sent instead
            sender.add(self._key(message, source), message, self._time(message, source))
        if number < skip:
            raise InputFileError(f"{source.name}: --skip exceeds the number of records by {skip - number}")
        sender.flush()
        return number

    def _key(self, message: bytes, source: Source) -> bytes | None:
        """Check a message and return its key. Raises `InputFileError` if the message is invalid."""
        name: object = None
        try:
            if self._decoder is not None:
                name = self._decoder.decode(message, Record(self._topic, 0, 0, 0, None, message)).id
        except Skipped:
            pass
        except Rejection as rejection:
            hint = f"{rejection_hint([rejection.reason], self._events)}; {_NO_CHECK}"
            complaint = f"{source.location}: {rejection_of_row(message, rejection)}"
            raise InputFileError(complaint, hint=hint) from None
        if self._id_location == OFFSET:
            return None
        name = field_of(message, self._id_location) if name is None else name
        return None if name is None else (name if isinstance(name, str) else json.dumps(name)).encode()

    def _time(self, message: bytes, source: Source) -> int | None:
        """Return the time of a record, None for the time of writing. Raises `InputFileError`."""
        if not self._timestamp:
            return None
        try:
            return time_of(message, self._timestamp, source.columns.notation)
        except ValueError as error:
            if not (self._requires_time and self._options.validate):
                return NO_TIME_MS if self._requires_time else None  # `_key` checks the times of a mapping
            hint = f"name a column, a field or a path with --timestamp; {_NO_CHECK}"
            raise InputFileError(f"{source.location}: {error}", hint=hint) from None


def _keys_of_id(location: str) -> Sequence[str]:
    """Return the path of the event's id in a message; empty if the id is the offset."""
    if location == OFFSET:
        return ()
    if (keys := parse_path(location).keys) is None:
        why = "--loop writes new ids in each round, so the id must be at a path"
        raise click.UsageError(f"{why}; {location} is an expression")
    return keys


def _id_location(table: LabelSettings) -> str:
    """Return the path of the ids in messages, from which keys are made."""
    if table.id.startswith((KEY, HEADER)):
        raise click.UsageError(
            f"{table.table()}.id is {table.id}, but a key needs a field: name it with --{table.table()}-id"
        )
    return table.id or "id"
