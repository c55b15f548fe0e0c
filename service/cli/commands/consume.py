"""`perceptron consume`: print the committed records of a topic as NDJSON.

It prints one line a record as soon as it is committed, until Ctrl-C or the end of the topic.
"""

from __future__ import annotations

import base64
import json
import select
import sys
import time
from collections.abc import Iterator
from itertools import islice

import click

from service.cli.completion import complete_topic
from service.cli.options import STREAM, broker_url, setting_options, topic_name
from service.cli.output import open_stdout
from service.errors import ConfigurationError
from service.formats.answers import answer_reader
from service.partition.factory import open_stream
from service.settings.load import Loaded
from service.stream import Record, Transport
from service.visible import visible

_ONE_LINE = str.maketrans("\r\n", "  ")  # JSON has line breaks only between its tokens
_PAUSE_SECONDS = 0.1  # between two polls of a topic without new records


@click.command()
@click.argument("topic", callback=topic_name, shell_complete=complete_topic)
@click.option(
    "--follow/--exit-at-end",
    "follow",
    default=True,
    help="Go on with the records to come, or stop at the end the topic had at the start.  [default: go on]",
)
@click.option("-n", "count", type=click.IntRange(1), metavar="INTEGER", help="Stop after so many records.")
@click.option(
    "--from",
    "begin",
    type=click.Choice(["start", "end"]),
    default="start",
    help="Begin with the first record, or with those to come.  [default: start]",
)
@click.option(
    "--from-offset", type=click.IntRange(0), metavar="INTEGER", help="Begin at this offset of each partition."
)
@click.option(
    "--partition", type=click.IntRange(0), metavar="INTEGER", help="Only this partition.  [default: all]"
)
@setting_options(*STREAM, "predictions_topic", "predictions_format")
def command(
    *,
    topic: str,
    follow: bool,
    count: int | None,
    begin: str,
    from_offset: int | None,
    partition: int | None,
    loaded: Loaded,
) -> None:
    """Print the records of TOPIC, and go on with those to come.

    Each line is an object with partition, offset, key, value and headers. A value that is JSON
    stands as it is, any other as a string. What is not UTF-8 is in base64: value_base64 stands
    for value, key_base64 for key, and a header's value is {"base64": ...}. Of several headers of
    one name the last is shown. Only committed records are shown.
    """
    if begin == "end" and from_offset is not None:
        raise click.UsageError("--from end and --from-offset name two places to begin at")
    stdout, settings = open_stdout().buffer, loaded.settings
    is_answer = topic == settings.predictions_topic
    plain = answer_reader(settings.predictions_format if is_answer else "json")
    transport = open_stream(settings, broker_url(loaded), create=False)
    try:
        positions = dict.fromkeys(_partitions(transport, topic, partition), from_offset or 0)
        if begin == "end":
            positions = {each: transport.bounds(topic, each)[1] for each in positions}
        for record in islice(_records(transport, topic, positions, follow=follow), count):
            shown = record._replace(value=plain(record.value))
            stdout.write(visible(record_line(shown)).encode() + b"\n")
            stdout.flush()
    finally:
        transport.close()


def _partitions(transport: Transport, topic: str, partition: int | None) -> list[int]:
    count = transport.partition_count(topic)
    if partition is None:
        return list(range(count))
    if partition >= count:
        hint = f"Partitions count from 0 to {count - 1}."
        raise ConfigurationError(f"--partition {partition}: {topic} has {count} partition(s)", hint=hint)
    return [partition]


def _records(
    transport: Transport, topic: str, positions: dict[int, int], *, follow: bool
) -> Iterator[Record]:
    """Yield what there is from `positions` on; then, to follow, what comes."""
    while True:
        ends = {partition: transport.bounds(topic, partition)[1] for partition in positions}
        behind = [partition for partition, end in ends.items() if end > positions[partition]]
        for partition in behind:
            yield from transport.read(topic, partition, positions[partition], ends[partition])
            positions[partition] = ends[partition]
        if not follow:
            return
        if not behind:
            _pause()


def _pause() -> None:
    """Wait a moment. Raises BrokenPipeError if nobody reads what is printed: `head` may have ended."""
    if hasattr(select, "poll"):  # not on Windows
        reader = select.poll()
        reader.register(sys.__stdout__.fileno() if sys.__stdout__ else -1, 0)
        if any(event & select.POLLERR for _, event in reader.poll(0)):
            raise BrokenPipeError
    time.sleep(_PAUSE_SECONDS)


def record_line(record: Record) -> str:
    """Write a record as one line of JSON."""
    headers = {name: _header(value) for name, value in record.headers}
    fields = [
        f'"partition":{record.partition}',
        f'"offset":{record.offset}',
        _text_field("key", record.key),
        _value_field(record.value),
        f'"headers":{_dumps(headers)}',
    ]
    return "{" + ",".join(fields) + "}"


def _value_field(value: bytes | None) -> str:
    """Copy JSON as it is, so that no number changes on the way; anything else becomes a string."""
    try:
        text = (value or b"").decode()
        json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return _text_field("value", value)
    return f'"value":{text.translate(_ONE_LINE)}'


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _text_field(name: str, value: bytes | None) -> str:
    try:
        return f'"{name}":{_dumps(None if value is None else value.decode())}'
    except UnicodeDecodeError:
        return f'"{name}_base64":{_dumps(_base64(value or b""))}'


def _header(value: bytes) -> object:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": _base64(value)}


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
