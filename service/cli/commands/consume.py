"""`perceptron consume`: print the committed records of a topic as NDJSON.

It prints one line a record as soon as it is committed, until Ctrl-C or the end of the topic.
"""

from __future__ import annotations

import json
import select
import sys
import time
from collections.abc import Iterator, Mapping
from itertools import islice

import click

from service.cli.options import STREAM, Integer, check_partition, opened_stream, setting_options, topic_name
from service.cli.output import open_stdout
from service.cli.summary import bytes_field
from service.formats.answers import answer_reader
from service.redaction import visible
from service.settings.load import Loaded
from service.stream.protocol import Record, Transport

_ONE_LINE = str.maketrans("\r\n", "  ")  # JSON has line breaks only between its tokens
_PAUSE_SECONDS = 0.1  # between two polls of a topic without new records


@click.command()
@click.argument("topic", callback=topic_name)
@click.option(
    "--follow/--exit-at-end",
    "follow",
    default=True,
    help="Go on with the records to come, or stop at the end the topic had at the start.  [default: go on]",
)
@click.option("-n", "count", type=Integer(1), help="Stop after so many records.")
@click.option(
    "--from",
    "begin",
    type=click.Choice(["start", "end"]),
    default="start",
    help="Begin with the first record, or with those to come.  [default: start]",
)
@click.option("--from-offset", type=Integer(0), help="Begin at this offset of each partition.")
@click.option("--partition", type=Integer(0), help="Only this partition.  [default: all]")
@setting_options(*STREAM, "predictions_topic", "predictions_format")
def consume_command(
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
    with opened_stream(loaded) as transport:
        n_partitions = transport.partition_count(topic)
        if partition is not None:
            check_partition(partition, n_partitions)
        chosen = range(n_partitions) if partition is None else [partition]
        positions = dict.fromkeys(chosen, from_offset or 0)
        if begin == "end":
            positions = {each: transport.bounds(topic, each)[1] for each in positions}
        for record in islice(_records(transport, topic, positions, follow=follow), count):
            shown = record._replace(value=plain(record.value))
            stdout.write(visible(record_line(shown)).encode() + b"\n")
            stdout.flush()


def _records(
    transport: Transport, topic: str, positions: dict[int, int], *, follow: bool
) -> Iterator[Record]:
    """Yield the records from `positions` on; with `follow`, also those to come."""
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
    place_and_key = {
        "partition": record.partition,
        "offset": record.offset,
        **bytes_field("key", record.key),
    }
    fields = (_fields(place_and_key), _value_field(record.value), _fields({"headers": headers}))
    return "{" + ",".join(fields) + "}"


def _value_field(value: bytes | None) -> str:
    """Copy JSON as it is, so that no number changes on the way; anything else becomes a string."""
    try:
        text = (value or b"").decode()
        json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return _fields(bytes_field("value", value))
    return f'"value":{text.translate(_ONE_LINE)}'


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _header(value: bytes) -> object:
    [(name, text)] = bytes_field("", value).items()
    return {"base64": text} if name else text


def _fields(fields: Mapping[str, object]) -> str:
    """Write fields as they stand in an object, without its braces."""
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))[1:-1]
