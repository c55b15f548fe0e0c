"""`perceptron check-input`: show how the settings read records.

For each record of a file or a topic it prints the event or label that the service would read, or the reason
for which it would be a dead letter.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import count as counting
from itertools import islice
from typing import Any, Final

import click

from service.cli.options import (
    REGISTRY,
    SERVICE,
    Integer,
    format_option,
    opened_stream,
    setting_options,
    topic_option,
)
from service.cli.output import echo, report
from service.cli.source_options import SourceOptions, optional_labelled_source_options
from service.clock import SYSTEM_CLOCK
from service.errors import InputFileError
from service.files.input_files import InputFiles, TopicFile
from service.files.labelled_examples import nothing_left, refusal_hint
from service.files.rows import rejection_of_row
from service.mapping.unfound import warn_of_unfound
from service.messages.decoder import Decoder, Incoming
from service.messages.labels import Vocabulary
from service.messages.rejection import SKIPPED, Rejection, Skipped
from service.partition.factory import InputReader, for_file, make_decoder
from service.partition.limits import TimeBounds
from service.redaction import one_line
from service.settings.fields import MAPPING
from service.settings.load import Loaded, Settings
from service.stream.protocol import Record, Transport

Placed = tuple[str, Record]
"""A record, and where it is."""

_FEATURES_SHOWN: Final = 20
_CHARS_SHOWN: Final = 200


@click.command()
@optional_labelled_source_options
@topic_option("Check the newest records of this topic.")
@click.option(
    "-n", "count", type=Integer(1), default=20, help="Check at most so many records.  [default: 20]"
)
@format_option("Form of the output; json is one object a line.")
@setting_options(
    *SERVICE, "classes", "max_message_bytes", "max_event_time_ahead_seconds", *MAPPING, *REGISTRY
)
def check_input_command(
    *,
    source_of: SourceOptions | None,
    labels_of: SourceOptions | None,
    timestamp: str | None,
    topic: str | None,
    count: int,
    output: str,
    loaded: Loaded,
) -> None:
    """Show what the settings make of the first records of FILE (- for stdin), or the newest of a topic.

    Of each record: id, features, text and label as the service would read them, or the reason for which it
    would become a dead letter, or that a filter skips it. Records of the labels topic are read as labels, and
    so are the rows of --labels, which may be given with FILE or alone.
    Nothing is written, and no offset is committed. The exit code is 1 if no record can be read.
    """
    is_file = source_of is not None or labels_of is not None
    if is_file == (topic is not None):
        raise click.UsageError("name a FILE (- for stdin) or a --topic")
    if topic is not None:
        check_topic(loaded, topic, count, output)
    if source_of is not None:
        check_file(source_of, loaded.settings, count, output, timestamp=timestamp)
    if labels_of is not None:
        check_file(labels_of, loaded.settings, count, output, timestamp=timestamp, are_labels=True)


def check_file(
    source_of: SourceOptions,
    settings: Settings,
    count: int,
    output: str,
    *,
    shown: int | None = None,
    timestamp: str | None = None,
    are_labels: bool = False,
) -> None:
    """Check the first records of a file; show all or so many. Raises `InputFileError` if none can be read."""
    topic = settings.labels_topic if are_labels else settings.events_topic
    with InputFiles(TopicFile(source_of(settings, are_labels=are_labels), topic, timestamp or "")) as files:
        settings = for_file(settings)
        records = ((files.place(record), record) for record in islice(files, count))
        _check(records, settings, make_decoder(settings), files.name, output, shown)


def check_topic(loaded: Loaded, topic: str, count: int, output: str, *, shown: int | None = None) -> None:
    """Check the newest records of a topic, as `check_file` does."""
    settings = loaded.settings
    with opened_stream(loaded) as transport:
        found, reader = list(newest(transport, topic, count)), InputReader(settings)
        read_as = settings.labels_topic if topic == settings.labels_topic else settings.events_topic
        reader.prepare([record._replace(topic=read_as) for _, record in found])
        _check(found, settings, reader.decoder, topic, output, shown)


def newest(transport: Transport, topic: str, count: int) -> Iterator[Placed]:
    """Yield the newest records of a topic, at most so many, in the order of their timestamps."""
    found: list[Record] = []
    for partition in range(transport.partition_count(topic)):
        found += _last(transport, topic, partition, count)
    found.sort(key=lambda record: (record.timestamp_ms, record.partition, record.offset))
    for record in found[-count:]:
        yield f"{topic}[{record.partition}]@{record.offset}", record


def _last(transport: Transport, topic: str, partition: int, count: int) -> Collection[Record]:
    """Return the last records of a partition, at most so many.

    Offsets without a record lie between them: the ends of transactions, and what was aborted or compacted.
    """
    (first, end), n_offsets = transport.bounds(topic, partition), count
    while True:
        start = max(first, end - n_offsets)
        found = deque(transport.read(topic, partition, start, end), maxlen=count)
        if len(found) == count or start == first:
            return found
        n_offsets *= 4


def _check(
    records: Iterable[Placed],
    settings: Settings,
    decoder: Decoder,
    name: str,
    output: str,
    shown: int | None,
) -> None:
    """Show what each record becomes. Raises `InputFileError` if none can be read."""
    numbers = counting()
    show = _as_json if output == "json" else _as_text(Vocabulary(settings.classes))
    bounds = TimeBounds(settings.max_event_time_ahead_seconds)
    bounds.set_now(int(SYSTEM_CLOCK.time() * 1000))

    def show_one(place: str, found: Incoming | Rejection) -> None:
        if shown is None or next(numbers) < shown:
            echo(show(place, found))

    read, rejected = _each(records, decoder, bounds, show_one)
    warn_of_unfound([decoder.unfound()])
    skipped = rejected.pop(SKIPPED, 0)
    hint = refusal_hint(rejected, settings.events)
    if not read:
        what = f"none of {rejected.total()} records can be read" if rejected else nothing_left(skipped)
        raise InputFileError(f"{name}: {what}", hint=hint)
    report("checked", "green", _counts(read, skipped, rejected), hint=hint)


def _each(
    records: Iterable[Placed], decoder: Decoder, bounds: TimeBounds, show: Callable[..., None]
) -> tuple[int, Counter[str]]:
    """Read the records, and show each; return how many could be read, and why the others could not."""
    read, rejected = 0, Counter[str]()
    for place, record in records:
        try:
            found = decoder.decode(record.value, record)
            time_ms = record.timestamp_ms if found.timestamp_ms is None else found.timestamp_ms
            bounds.check(time_ms, decoder.place_of_time(record))
        except Skipped as skipped:
            rejected[SKIPPED] += 1
            show(place, skipped)
        except Rejection as rejection:
            rejected[rejection.reason] += 1
            show(place, rejection_of_row(record.value, rejection))
        else:
            read += 1
            show(place, found)
    return read, rejected


def _counts(read: int, skipped: int, rejected: Counter[str]) -> str:
    reasons = ", ".join(f"{reason} {count}" for reason, count in rejected.most_common())
    refused = f"; {rejected.total()} would be dead letters ({reasons})" if rejected else ""
    left_out = f"; {skipped} are skipped" if skipped else ""
    return f"{read} of {read + skipped + rejected.total()} records can be read{left_out}{refused}"


def _as_json(place: str, found: Incoming | Rejection) -> str:
    """Write one object: place and kind, then the fields that there are; all of them, at full length."""
    fields: dict[str, Any] = {"place": place}
    if isinstance(found, Rejection):
        fields |= {"kind": _kind(found), "reason": found.reason, "message": found.message}
    else:
        known = {
            "id": found.id,
            "features": None if found.features is None else dict(found.features),
            "text": found.text,
            "label": found.label,
            "weight": found.weight,
            "event_time_ms": found.timestamp_ms,
            "tenant": found.tenant,
        }
        fields["kind"] = _kind(found)
        fields |= {name: value for name, value in known.items() if value is not None}
    return json.dumps(fields, ensure_ascii=False)


def _as_text(vocabulary: Vocabulary) -> Callable[[str, Incoming | Rejection], str]:
    """Return a function that lays a record out in lines; long texts and many features are cut."""

    def show(place: str, found: Incoming | Rejection) -> str:
        head = one_line(f"{place}: {_kind(found)}")
        return "\n".join([head, *(f"  {name:<12} {one_line(value)}" for name, value in _rows(found))])

    def _rows(found: Incoming | Rejection) -> Iterable[tuple[str, str]]:
        if isinstance(found, Rejection):
            yield found.reason, found.message
            return
        yield "id", found.id
        if found.features is not None:
            yield "features", _features(found.features)
        if found.text is not None:
            yield "text", _cut(found.text)
        if found.truth is not None:
            yield "label", vocabulary.name(found.truth)
        if found.weight is not None:
            yield "weight", f"{found.weight:g}"
        if found.timestamp_ms is not None:
            yield "event time", f"{found.timestamp_ms} ms"
        if found.tenant is not None:
            yield "tenant", found.tenant

    return show


def _kind(found: Incoming | Rejection) -> str:
    if isinstance(found, Rejection):
        return SKIPPED if isinstance(found, Skipped) else "dead letter"
    return "label" if found.is_label else "event"


def _features(features: dict[str, Any]) -> str:
    shown = [
        f"{name}={json.dumps(value, ensure_ascii=False)}"
        for name, value in islice(features.items(), _FEATURES_SHOWN)
    ]
    more = len(features) - len(shown)
    return ", ".join([*map(_cut, shown), *([f"and {more} more"] if more else [])]) or "none"


def _cut(text: str) -> str:
    return text if len(text) <= _CHARS_SHOWN else f"{text[:_CHARS_SHOWN]}…"
