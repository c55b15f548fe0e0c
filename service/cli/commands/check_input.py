"""`perceptron check-input` and `init`: show how the settings read records, and propose settings.

For each record of a file or a topic, `check-input` prints the event or label that the service would read, or
the reason why the record would become a dead letter.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from service.cli.help import SettingsCommand, number_option
from service.cli.options import REGISTRY, SERVICE, format_option, opened_stream, setting_options, topic_option
from service.cli.output import echo, echo_result, report, report_warning
from service.cli.source_options import Inputs, output_option, source_options
from service.cli.summary import table
from service.clock import SYSTEM_CLOCK
from service.errors import ConfigurationError, InputFileError, ServiceError
from service.files.input_files import InputFiles, TopicFile
from service.files.labelled_examples import nothing_left, rejection_hint
from service.files.rows import BadRow, rejection_of_row
from service.files.sources import STDIN
from service.formats.sources import Sources
from service.formats.topics import make_schemas, reader_of
from service.lab.proposal import Labels, Records, propose, toml_of
from service.mapping.mapper import warn_of_missing_fields
from service.messages.decoder import Incoming, TimeBounds
from service.messages.labels import TrueLabel, Vocabulary
from service.messages.rejection import SKIPPED, Rejection, Skipped
from service.partition.factory import InputReader, for_file
from service.redaction import one_line
from service.settings.fields import MAPPING, setting_values
from service.settings.load import Loaded, Settings, load_settings
from service.settings.mapping import OFFSET, EventSettings
from service.stream.protocol import Record, Transport


class Sample(NamedTuple):
    """The first records of a file, or the newest of a topic."""

    name: str
    """Name of the file or the topic."""
    records: Sequence[tuple[str, Record]]
    """The records, each with its position."""


_MAX_LABELS: Final = 100_000
_CHARS_SHOWN: Final = 400
_MAX_WIDTH: Final = 50
_FORMAT: Final = ("events.format", "events.id", "events.label")
_OF_LABELS: Final = ("labels.id", "labels.label")
_ANY: Final = EventSettings(id=OFFSET, features=("*",))
"""Mapping that reads each row of a file unchanged."""


@click.command(cls=SettingsCommand)
@source_options(optional=True, labelled=True, timed=True)
@topic_option("Check the newest records of this topic.")
@number_option(
    "-n",
    "count",
    type=click.IntRange(1),
    default=20,
    help="Largest number of records to check.  [default: 20]",
)
@format_option("Output format; json prints one object per line.")
@setting_options(
    *SERVICE, "classes", "max_message_bytes", "max_event_time_ahead_seconds", *MAPPING, *REGISTRY
)
def check_input_command(inputs: Inputs, topic: str | None, count: int, output: str, loaded: Loaded) -> None:
    """Show how the settings read the first records of FILE (- for stdin), or the newest of a topic.

    Each record is shown with its id, features, text and label as the service would read them; or with the
    reason why it would become a dead letter; or as skipped by a filter. Records of the labels topic are read
    as labels, and so are the rows of --labels, which may be given with FILE or alone.
    Nothing is written, and no offset is committed. The exit code is 1 if no record can be read.
    """
    if (inputs.file is not None or inputs.labels is not None) == (topic is not None):
        raise click.UsageError("name a FILE (- for stdin) or a --topic")
    for sample, settings in _inputs(inputs, loaded, topic, count):
        _check(sample, settings, output)


def _inputs(
    inputs: Inputs, loaded: Loaded, topic: str | None, count: int
) -> Iterator[tuple[Sample, Settings]]:
    """Yield the records of each input, and the settings under which they are read."""
    settings = loaded.settings
    if topic is not None:
        yield _of_topic(loaded, topic, count), settings
    if inputs.file is not None:
        yield _of_file(inputs, settings, count), for_file(settings)
    if inputs.labels is not None:
        yield _of_file(inputs, settings, count, are_labels=True), for_file(settings)


def _of_file(inputs: Inputs, settings: Settings, count: int, *, are_labels: bool = False) -> Sample:
    """Return the first records of a file. Raises `InputFileError` if there is none."""
    topic = settings.labels_topic if are_labels else settings.events_topic
    source = inputs.open(settings, are_labels=are_labels)
    with InputFiles(TopicFile(source, topic, inputs.timestamp or "")) as files:
        return Sample(files.name, [(files.location_of(record), record) for record in islice(files, count)])


def _of_topic(loaded: Loaded, topic: str, count: int) -> Sample:
    """Return the newest records of a topic by their timestamps, to be read as events or labels."""
    records: list[Record] = []
    with opened_stream(loaded) as transport:
        for partition in range(transport.partition_count(topic)):
            records += _last(transport, topic, partition, count)
    records.sort(key=lambda record: (record.timestamp_ms, record.partition, record.offset))
    settings = loaded.settings
    read_as = settings.labels_topic if topic == settings.labels_topic else settings.events_topic
    located = [(f"{topic}[{each.partition}]@{each.offset}", each._replace(topic=read_as)) for each in records]
    return Sample(topic, located[-count:])


def _last(transport: Transport, topic: str, partition: int, count: int) -> Collection[Record]:
    """Return up to `count` last records of a partition.

    Some offsets between them have no record: ends of transactions, aborted and compacted records.
    """
    (first, end), n_offsets = transport.bounds(topic, partition), count
    while True:
        start = max(first, end - n_offsets)
        records = deque(transport.read(topic, partition, start, end), maxlen=count)
        if len(records) == count or start == first:
            return records
        n_offsets *= 4


def _check(sample: Sample, settings: Settings, output: str, most: int | None = None) -> None:
    """Show how the first records are read, and count all. Raises `InputFileError` if none can be read."""
    reader = InputReader(settings)
    reader.prepare([record for _, record in sample.records])
    decoder = reader.decoder
    bounds = TimeBounds(settings.max_event_time_ahead_seconds)
    now_ms = int(SYSTEM_CLOCK.time() * 1000)
    read, rejected, name_of = 0, Counter[str](), Vocabulary(settings.classes).name
    for number, (location, record) in enumerate(sample.records):
        became: Incoming | Rejection
        try:
            became = decoder.decode(record.value, record)
            time_ms = record.timestamp_ms if became.timestamp_ms is None else became.timestamp_ms
            bounds.check(time_ms, now_ms, decoder.time_location(record))
            read += 1
        except Rejection as rejection:
            rejected[rejection.reason] += 1
            became = rejection_of_row(record.value, rejection)
        if most is None or number < most:
            as_json = {"position": location, **_fields(became)}
            echo_result(output, as_json, partial(_as_text, location, became, name_of))
    warn_of_missing_fields([decoder.missing_fields()])
    skipped = rejected.pop(SKIPPED, 0)
    hint = rejection_hint(rejected, settings.events)
    if not read:
        what = f"all {rejected.total()} records are rejected" if rejected else nothing_left(skipped)
        raise InputFileError(f"{sample.name}: {what}", hint=hint)
    reasons = ", ".join(f"{reason} {count}" for reason, count in rejected.most_common())
    left = f"; {rejected.total()} become dead letters ({reasons})" if rejected else ""
    left_out = f"; {skipped} are skipped" if skipped else ""
    total = read + skipped + rejected.total()
    report("checked", "green", f"{read} of {total} records can be read{left_out}{left}", hint=hint)


def _as_text(location: str, decoded: Incoming | Rejection, name_of: Callable[[TrueLabel], str]) -> str:
    fields = _fields(decoded)
    if not isinstance(decoded, Rejection) and decoded.truth is not None:
        fields["label"] = name_of(decoded.truth)
    head = one_line(f"{location}: {fields.pop('kind')}")
    return "\n".join([head, *(f"  {name:<12} {one_line(_cut(value))}" for name, value in fields.items())])


def _fields(decoded: Incoming | Rejection) -> dict[str, Any]:
    """Return the kind of a record and all its fields, uncut."""
    if isinstance(decoded, Rejection):
        kind = SKIPPED if isinstance(decoded, Skipped) else "dead letter"
        return {"kind": kind, "reason": decoded.reason, "message": decoded.message}
    known = {
        "id": decoded.id,
        "features": None if decoded.features is None else dict(decoded.features),
        "text": decoded.text,
        "label": decoded.label,
        "weight": decoded.weight,
        "event_time_ms": decoded.timestamp_ms,
        "tenant": decoded.tenant,
    }
    kind = "label" if decoded.is_label else "event"
    return {"kind": kind} | {name: value for name, value in known.items() if value is not None}


def _cut(value: object) -> str:
    """Write a value; long ones are cut."""
    if isinstance(value, Mapping):
        named = (f"{name}={json.dumps(each, ensure_ascii=False)}" for name, each in value.items())
        text = ", ".join(named) or "none"
    else:
        text = str(value)
    return text if len(text) <= _CHARS_SHOWN else f"{text[:_CHARS_SHOWN]}…"


@click.command(cls=SettingsCommand)
@source_options(optional=True, labelled=True)
@topic_option("Read the newest records of this topic.")
@number_option(
    "-n", "count", type=click.IntRange(1), default=500, help="Number of records to read.  [default: 500]"
)
@output_option(
    "--output",
    default="perceptron.toml",
    help="File to write the settings to; an existing file is not overwritten.  [default: perceptron.toml]",
)
@setting_options(*SERVICE, "max_message_bytes", *_FORMAT, *_OF_LABELS, *REGISTRY)
def init_command(inputs: Inputs, topic: str | None, count: int, output: Path, loaded: Loaded) -> None:
    """Propose settings for the first records of FILE, or the newest of a topic, and check them.

    Each field gets a role: id, text, feature, label, event time, or none, with the reason. The settings are
    written with these reasons as comments; the records are then shown as in `check-input`. Review both: a
    field that is known only after the event would reveal the label.

    \b
    For example:
      perceptron init events.csv
    """  # noqa: D301 - \b is click's mark for lines to be left as they are
    _check_possible(inputs, topic, output)
    settings = loaded.settings
    sample = _rows(inputs, settings, count) if topic is None else _of_topic(loaded, topic, count)
    records = _objects(sample, settings)
    if not records.documents:
        none = f"{sample.name}: none of {records.n_records} records is a JSON object"
        raise InputFileError(none, hint=_hint(settings))
    labels = None
    if inputs.labels is not None:  # more of them than events: they may come in another order
        label_rows = _rows(inputs, settings, _MAX_LABELS, are_labels=True)
        labels = Labels(_objects(label_rows, settings), settings.labels)
    proposal = propose(records, settings.events, topic=topic or "", labels=labels)
    if topic is not None and settings.events.format != "json":
        for setting in _FORMAT[:3]:
            if value := setting_values(settings)[setting]:
                proposal.settings[setting] = (value, "as given")
    rows = [(one_line(row.field)[:_MAX_WIDTH], row.role, one_line(row.why)) for row in proposal.rows]
    echo(table([("field", "role", "why"), *rows], left=3))
    for warning in proposal.warnings:
        report_warning(warning)
    origin = f"Proposed by `perceptron init` from {len(records.documents)} records of {sample.name}."
    _write(output, toml_of(proposal, origin))
    report("written", "green", f"{output}", hint=f"check it, then use it: --config {output}")
    values = setting_values(settings)
    checked = load_settings({name: values[name] or None for name in ("broker", *REGISTRY)}, output)
    for each, under in _inputs(inputs, checked, topic, count):
        _check(each, under, "text", most=3)


def _check_possible(inputs: Inputs, topic: str | None, output: Path) -> None:
    """Reject input that cannot be read twice, and an output file that exists."""
    if (inputs.file is None) == (topic is None) or (topic and inputs.labels):
        raise click.UsageError(
            "name a FILE, with --labels FILE if the labels are in another file, or a --topic"
        )
    if STDIN in {inputs.file, inputs.labels}:
        raise click.UsageError("a pipe cannot be read twice, and `init` checks its proposal: name a FILE")
    if output.exists() or output.is_symlink():
        raise ServiceError(f"{output}: exists and is not overwritten", hint="name another file with --output")


def _rows(inputs: Inputs, settings: Settings, count: int, *, are_labels: bool = False) -> Sample:
    """Return the first rows of a file unchanged."""
    as_they_are = settings.model_copy(update={"events": _ANY, "labels": _ANY})
    try:
        sample = _of_file(inputs, as_they_are, count, are_labels=are_labels)
    except ConfigurationError as error:
        name = str(error).partition(":")[0]
        raise InputFileError(
            f"{name}: its rows are native events, so they need no mapping",
            hint="specify only the classes: `perceptron replay FILE --classes NEGATIVE,POSITIVE`; "
            "if the first line names columns: --input-format csv",
        ) from None
    location, first = sample.records[0]
    if isinstance(first.value, BadRow):
        raise InputFileError(f"{location}: {first.value.complaint}")
    return sample


def _objects(sample: Sample, settings: Settings) -> Records:
    """Read the records that are objects."""
    records = [record for _, record in sample.records]
    schemas = make_schemas(settings)
    if schemas is not None:
        schemas.add(Sources(settings).find(schemas, records))
    read, documents = reader_of(settings.events, schemas), list[Mapping[str, Any]]()
    for each in records:
        with suppress(Rejection):
            document = read(each.value or b"")
            if document and isinstance(document, dict):
                documents.append(document)
    return Records(sample.name, documents, len(records), [each.key for each in records])


def _hint(settings: Settings) -> str:
    if settings.events.format == "text":
        return "text has no fields: specify only --events-format text --events-id @key"
    return "specify the format with --input-format or --events-format"


def _write(output: Path, text: str) -> None:
    """Write a new file; an existing file is not changed."""
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise ServiceError(f"{output}: cannot be written: {error.strerror}") from None
