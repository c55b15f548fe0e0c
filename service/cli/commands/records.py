"""`perceptron consume` and `dead-letters`: print the records of a topic, and send rejected ones back."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any

import click
from pydantic_core import from_json

from service.cli.help import SettingsCommand, number_option
from service.cli.options import SERVICE, STREAM, format_option, opened_stream, setting_options, topic_name
from service.cli.output import echo, echo_result, open_stdout, report
from service.cli.summary import bytes_field, counted, time_text
from service.dead_letters.replay import Redelivery
from service.errors import FAILURE, ServiceError
from service.messages.dead_letter import DeadLetter
from service.redaction import escaped, one_line
from service.settings.fields import MAPPING
from service.settings.load import Loaded
from service.settings.topics import count_of_output
from service.stream.protocol import Record, Transport

_ONE_LINE = str.maketrans("\r\n", "  ")  # JSON has line breaks only between its tokens
_PAUSE_SECONDS = 0.1  # between two polls of a topic without new records


@click.command(cls=SettingsCommand)
@click.argument("topic", callback=topic_name)
@click.option("--exit-at-end", is_flag=True, help="Stop at the topic's current end.")
@number_option("-n", "count", type=click.IntRange(1), help="Largest number of records to print.")
@click.option(
    "--from",
    "begin",
    default="start",
    metavar="start|end|OFFSET",
    callback=lambda _, __, value: _beginning(value),
    help="Start at the first record, at the end, or at an offset.  [default: start]",
)
@setting_options(*STREAM, "topic_prefix")
def consume_command(*, topic: str, exit_at_end: bool, count: int | None, begin: str, loaded: Loaded) -> None:
    """Print the records of TOPIC, then new records as they arrive.

    Each line is an object with partition, offset, key, value and headers. A JSON value is printed as
    it is, any other value as a string. Bytes that are not UTF-8 are printed in base64: value_base64
    replaces value, key_base64 replaces key, and a header's value is {"base64": ...}. If several headers
    have the same name, the last is shown. Only committed records are shown.
    """
    stdout = open_stdout().buffer
    with opened_stream(loaded) as transport:
        chosen = range(transport.partition_count(topic))
        if begin == "end":
            positions = {each: transport.bounds(topic, each)[1] for each in chosen}
        else:
            positions = dict.fromkeys(chosen, int(begin))
        for record in islice(_records(transport, topic, positions, follow=not exit_at_end), count):
            stdout.write(escaped(record_line(record)).encode() + b"\n")
            stdout.flush()


def _beginning(value: str) -> str:
    """Return where to begin: an offset, or end."""
    value = "0" if value == "start" else value
    if value != "end" and not value.isdecimal():
        raise click.BadParameter(f"expected start, end or an offset, got {value!r}")
    return value


def _records(
    transport: Transport, topic: str, positions: dict[int, int], *, follow: bool
) -> Iterator[Record]:
    """Yield the records from `positions` on; with `follow`, also new records."""
    while True:
        ends = {partition: transport.bounds(topic, partition)[1] for partition in positions}
        unread = [partition for partition, end in ends.items() if end > positions[partition]]
        for partition in unread:
            yield from transport.read(topic, partition, positions[partition], ends[partition])
            positions[partition] = ends[partition]
        if not follow:
            return
        if not unread:
            time.sleep(_PAUSE_SECONDS)


def record_line(record: Record) -> str:
    """Write a record as one line of JSON."""
    headers = {name: _header(value) for name, value in record.headers}
    place_and_key = {"partition": record.partition, "offset": record.offset, **bytes_field("key", record.key)}
    fields = (_fields(place_and_key), _value_field(record.value), _fields({"headers": headers}))
    return "{" + ",".join(fields) + "}"


def _value_field(value: bytes | None) -> str:
    """Copy JSON unchanged, so that no number changes; other values become a string."""
    try:
        from_json(value or b"", allow_inf_nan=False)
    except ValueError:
        return _fields(bytes_field("value", value))
    return f'"value":{(value or b"").decode().translate(_ONE_LINE)}'


def _header(value: bytes) -> object:
    [(name, text)] = bytes_field("", value).items()
    return {"base64": text} if name else text


def _fields(fields: Mapping[str, object]) -> str:
    """Write fields as in an object, without its braces."""
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))[1:-1]


@click.group()
def dead_letters_command() -> None:
    """List rejected messages, or replay them.

    A message that cannot be used becomes a dead letter: the same bytes on the dead-letters topic, with
    the reason and its origin as headers. It is outstanding until `dead-letters replay` has sent it back.
    """


@dead_letters_command.command("list", cls=SettingsCommand, short_help="List the outstanding dead letters.")
@format_option("Output format; json prints one object per line.")
@setting_options(*SERVICE)
def list_(output: str, loaded: Loaded) -> None:
    """List the outstanding dead letters, the newest last, and count them by reason.

    Each line has the dead letter's partition and offset, its event time, the reason, its origin, and the
    error. JSON has the message too: as value, or in base64 as value_base64 if it is not UTF-8.
    """
    reasons: Counter[str] = Counter()
    with _stream(loaded) as transport:
        for dead_letter in Redelivery(transport, loaded.settings).outstanding():
            reasons[dead_letter.reason] += 1
            echo_result(output, _as_json(dead_letter), partial(_as_line, dead_letter))
    report("outstanding", "green", f"{counted(reasons.total(), 'dead letters')}{_by_reason(reasons)}")


@dead_letters_command.command(cls=SettingsCommand, short_help="Send back dead letters that are valid now.")
@setting_options(
    *SERVICE,
    "classes",
    "max_message_bytes",
    "max_event_time_ahead_seconds",
    "max_batch_records",
    "session_timeout_seconds",
    *MAPPING,
)
def replay(loaded: Loaded) -> int:
    """Send outstanding dead letters that the present settings accept back to their origin, once.

    A replayed message keeps its key, headers, event time and partition; the header replayed.from names
    its dead letter. Dead letters that are still rejected stay outstanding; if one lies before a replayed
    one, it is appended to the dead letters again. Each step is one transaction: if the command is stopped
    at any moment, nothing is lost and nothing is sent twice. The service may be running.

    A truncated dead letter is never replayed: it stays outstanding, and the exit code is 1. It
    is also 1 if all are rejected again.
    """
    replayed, truncated, rejected = 0, 0, Counter[str]()
    with _stream(loaded) as transport:
        for decision in Redelivery(transport, loaded.settings).replay():
            if decision.is_replayed:
                replayed += 1
            else:
                rejected[decision.dead_letter.reason] += 1
                truncated += decision.dead_letter.is_truncated
            topic, why = decision.output.topic, decision.why
            became = f"replayed to {topic}" if decision.is_replayed else f"rejected: {why}"
            echo(one_line(f"{decision.dead_letter.location}  {became}"))
    report("done", "green", f"{replayed} replayed, {rejected.total()} still rejected{_by_reason(rejected)}")
    if truncated:
        raise ServiceError(
            f"truncated to fit the topic: {truncated} of the dead letters still rejected",
            hint="produce the whole record again from its source topic, which `dead-letters list` shows",
        )
    return FAILURE if rejected and not replayed else 0


@contextmanager
def _stream(loaded: Loaded) -> Iterator[Transport]:
    """Open the stream; there must be dead letters in it."""
    with opened_stream(loaded) as transport:
        hint = "check --broker and --dead-letters-topic"
        count_of_output(transport, loaded.settings.dead_letters_topic, hint)
        yield transport


def _as_line(dead_letter: DeadLetter) -> str:
    source = dead_letter.source_topic or "not a dead letter of this service"
    if None not in (dead_letter.source_partition, dead_letter.source_offset):
        source = f"{source}[{dead_letter.source_partition}]@{dead_letter.source_offset}"
    size = len(dead_letter.record.value or b"")
    return "  ".join(
        [dead_letter.location, time_text(dead_letter.event_time_ms)]
        + [one_line(part) for part in (f"{dead_letter.reason or 'unknown':<14}", source, dead_letter.message)]
        + [f"(truncated: {size} of {dead_letter.full_size} bytes)"] * dead_letter.is_truncated
    )


def _as_json(dead_letter: DeadLetter) -> dict[str, Any]:
    record = dead_letter.record
    return {
        "partition": record.partition,
        "offset": record.offset,
        "time": time_text(dead_letter.event_time_ms),
        "reason": dead_letter.reason,
        "message": dead_letter.message,
        "source": {
            "topic": dead_letter.source_topic,
            "partition": dead_letter.source_partition,
            "offset": dead_letter.source_offset,
        },
        **({"truncated": True, "size": dead_letter.full_size} if dead_letter.is_truncated else {}),
        **bytes_field("key", record.key),
        **bytes_field("value", record.value),
    }


def _by_reason(reasons: Counter[str]) -> str:
    parts: Iterable[str] = (f"{reason or 'unknown'} {count}" for reason, count in reasons.most_common())
    return f" ({', '.join(parts)})" if reasons else ""
