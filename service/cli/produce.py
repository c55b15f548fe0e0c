"""`perceptron produce`: the examples of a file, sent to a topic.

In: rows of a file or stdin. Out: records on the events topic, checked first, keyed by event id.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator

import click

from service.batches import batched_in_time
from service.cli.app import report
from service.cli.options import SourceOptions, broker_url, setting_options, source_options
from service.cli.progress import progress_bar
from service.decode import Decoder, Rejection
from service.errors import InputFileError
from service.settings import Loaded
from service.sources import Source
from service.transport import open_transport
from service.transport.base import Output, Transport
from service.vocabulary import Vocabulary

KeyOf = Callable[[bytes], bytes | None]
"""Checks a message and gives the key to send it with."""

_LONGEST_WAIT_SECONDS = 0.1  # what stdin brings slowly is sent no later than this


@click.command()
@source_options
@click.option("--topic", metavar="TEXT", help="Topic to send to, instead of the events topic.")
@click.option("--key-field", metavar="NAME", help="Field or feature that is the key, instead of the event's id.")
@click.option("--validate/--no-validate", default=True, help="Refuse the first message that is none, and stop there.")
@click.option(
    "--rate", type=click.FloatRange(min=0, min_open=True), metavar="NUMBER", help="Events per second at most."
)
@setting_options("broker", "events_topic", "classes", "max_message_bytes", "max_batch_records", "create_topics", "partitions")
def command(
    source_of: SourceOptions,
    topic: str | None,
    key_field: str | None,
    validate: bool,  # noqa: FBT001 - click passes options by name
    rate: float | None,
    loaded: Loaded,
) -> None:
    """Send the events of FILE (- for stdin) to a topic, one record each.

    With --validate, a bad row stops the sending: what came before it has been sent, nothing after.
    A label needs the key of its event to reach the same partition; the event's id is the safe choice.
    """
    settings = loaded.settings
    topic = topic or settings.events_topic
    key_of = _key_reader(Decoder(Vocabulary(settings.classes), settings.max_message_bytes), key_field, validate=validate)
    batch_size = min(settings.max_batch_records, max(1, int(rate * _LONGEST_WAIT_SECONDS))) if rate else settings.max_batch_records
    with source_of(settings.classes) as source:
        transport = open_transport(broker_url(loaded), settings.kafka)
        try:
            transport.ensure_topics({topic: settings.partitions}, create=settings.create_topics)
            with progress_bar(source, f"produce to {topic}") as (messages, _):
                outputs = _outputs(source, messages, topic, key_of)
                _send(transport, batched_in_time(outputs, batch_size, _LONGEST_WAIT_SECONDS), rate)
        finally:
            transport.close()
