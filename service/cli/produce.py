"""`perceptron produce`: the examples of a file, sent to a topic.

In: rows of a file or stdin. Out: records on the events topic, checked first, keyed by event id.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from typing import Any

import click

from service.assembly import make_decoder, open_stream
from service.cli.app import report
from service.cli.options import SourceOptions, broker_url, setting_options, source_options
from service.cli.progress import progress_bar
from service.decode import Decoder, Rejection
from service.errors import InputFileError
from service.settings import Loaded
from service.sources import Source
from service.transport.base import Output, Transport

KeyOf = Callable[[bytes], bytes | None]
"""Checks a message and gives the key to send it with."""

_BATCHES_PER_SECOND = 10  # with --rate, so that the flow is even


@click.command()
@source_options
@click.option("--topic", metavar="TEXT", help="Topic to send to.  [default: the events topic]")
@click.option("--key-field", metavar="NAME", help="Field or feature that is the key.  [default: id]")
@click.option("--validate/--no-validate", default=True, help="Stop at the first bad message.  [default: yes]")
@click.option(
    "--rate", type=click.FloatRange(0, min_open=True), metavar="NUMBER", help="Events per second at most."
)
@setting_options(
    "broker",
    "events_topic",
    "partitions",
    "create_topics",
    "classes",
    "max_message_bytes",
    "max_batch_records",
)
def command(
    *,
    source_of: SourceOptions,
    topic: str | None,
    key_field: str | None,
    validate: bool,
    rate: float | None,
    loaded: Loaded,
) -> None:
    """Send each event of FILE (- for stdin) to a topic as one record.

    A bad message ends it: what came before has been sent, nothing after; --no-validate sends
    whatever there is. FILE may be NDJSON, CSV, TSV (label, tab, text) or LIBSVM, plain or .gz.

    Events and their labels must have the same key, or they may land in different partitions:
    mind that when you use --key-field.
    """
    settings = loaded.settings
    topic = topic or settings.events_topic
    key_of = _key_reader(make_decoder(settings) if validate else None, key_field)
    with source_of(classes=settings.classes) as source:
        transport = open_stream(settings, broker_url(loaded))
        try:
            transport.ensure_topics({topic: settings.partitions}, create=settings.create_topics)
            sender = Sender(transport, topic, settings.max_batch_records, rate)
            source.before_wait(sender.flush)
            with progress_bar(source, f"produce to {topic}") as (messages, _):
                _send(sender, source, messages, key_of)
        finally:
            transport.close()


def _send(sender: Sender, source: Source, messages: Iterable[bytes], key_of: KeyOf) -> None:
    """Send all messages, or those before the first bad one."""
    try:
        for message in messages:
            try:
                key = key_of(message)
            except Rejection as rejection:
                hint = "Nothing from there on was sent; --no-validate sends bad messages too."
                raise InputFileError(f"{source.place}: {rejection}", hint=hint) from None
            sender.add(key, message)
        sender.flush()
    except InputFileError:
        sender.flush()
        raise
    finally:
        report("produced", "green", f"{sender.sent} records to {sender.topic} in {sender.seconds:.2f} s")


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
        """Records written so far."""

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.monotonic() - self._began

    def add(self, key: bytes | None, message: bytes) -> None:
        """Take a record; it is written when the batch is full."""
        self._batch.append(Output(self.topic, key, message))
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


def _key_reader(decoder: Decoder | None, key_field: str | None) -> KeyOf:
    """Make the function that checks a message, if there is a decoder, and finds its key."""

    def key_of(message: bytes) -> bytes | None:
        if decoder is not None:
            name: Any = decoder.decode(message).id
        if decoder is None or key_field:
            name = _field(message, key_field or "id")
        return name.encode() if isinstance(name, str) else None if name is None else json.dumps(name).encode()

    return key_of


def _field(message: bytes, name: str) -> object:
    """Find a field of a message, or else of its features; None if there is none, or no JSON object."""
    try:
        fields = json.loads(message)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    features = fields.get("features")
    return fields.get(name, features.get(name) if isinstance(features, dict) else None)
