"""`perceptron init`: propose settings for records that were not written for this service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from service.cli.commands.check_input import check_file, check_topic, newest
from service.cli.options import REGISTRY, SERVICE, Integer, opened_stream, setting_options, topic_option
from service.cli.output import echo, report, report_warning
from service.cli.outputs import OutputPath
from service.cli.source_options import SourceOptions, optional_source_options
from service.errors import ConfigurationError, InputFileError, ServiceError
from service.files.files import STDIN
from service.formats.sources import Sources
from service.formats.topics import Reader, make_schemas, read_json, reader_of
from service.lab.proposal import Row, propose, toml_of
from service.messages.rejection import Rejection
from service.redaction import one_line
from service.settings.fields import setting_values
from service.settings.load import Loaded, Settings, load_settings
from service.settings.mapping import OFFSET, EventSettings
from service.stream.protocol import Headers, Record

_SHOWN: Final = 3
_WIDEST: Final = 50
_FORMAT: Final = ("events.format", "events.schema_file", "events.message", "events.id", "events.label")
_ANY: Final = EventSettings(id=OFFSET, features=("*",))
"""Reads each row of a file as it is."""


@click.command()
@optional_source_options
@topic_option("Look at the newest records of this topic.")
@click.option(
    "-n", "count", type=Integer(1), default=500, help="Look at so many records at most.  [default: 500]"
)
@click.option(
    "--output",
    type=OutputPath(),
    default="perceptron.toml",
    metavar="FILE",
    help="Write the settings there; a file that is there stays as it is.  [default: perceptron.toml]",
)
@setting_options(*SERVICE, "max_message_bytes", *_FORMAT, *REGISTRY)
def init_command(
    *, source_of: SourceOptions | None, topic: str | None, count: int, output: Path, loaded: Loaded
) -> None:
    """Propose settings for the first records of FILE, or the newest of a topic, and check them.

    Each field gets a role: id, text, feature, label, event time, or none, with the reason. The settings are
    written with these reasons as comments; what becomes of the records is shown as `check-input` does. Look
    through both: a field that is known only after the event would tell the label.
    """
    if (source_of is None) == (topic is None):
        raise click.UsageError("name a FILE or a --topic")
    if click.get_current_context().params["file"] == STDIN:
        raise click.UsageError("a pipe can be read but once, and is checked after it: name a FILE")
    _refuse_existing(output)
    settings = loaded.settings
    if source_of is not None:
        found = _of_file(source_of, settings, count)
    else:
        assert topic is not None
        found = _of_topic(loaded, topic, count)
    name, documents, keys = found.name, found.documents, found.keys
    if not documents:
        none = (
            f"none of {found.n_records} records is a JSON object" if found.n_records else "there is no record"
        )
        raise InputFileError(f"{name}: {none}", hint=_hint(settings))
    proposal = propose(documents, name, settings.events, topic=topic or "", keys=keys)
    if topic is not None and settings.events.format != "json":
        for setting in _FORMAT[:3]:
            if value := setting_values(settings)[setting]:
                proposal.settings[setting] = (value, "as given")
    echo(_table(proposal.rows))
    for warning in proposal.warnings:
        report_warning(warning)
    _write(
        output, toml_of(proposal, f"Proposed by perceptron init, from {len(documents)} records of {name}.")
    )
    report("written", "green", f"{output}", hint=f"look through it; --config {output} uses it")
    values = setting_values(settings)
    checked = load_settings({name: values[name] or None for name in ("broker", *REGISTRY)}, output)
    if source_of is not None:
        check_file(source_of, checked.settings, count, "text", shown=_SHOWN)
    else:
        check_topic(checked, topic or "", count, "text", shown=_SHOWN)


class _Found(NamedTuple):
    """The records of a file or a topic that are objects, the keys of all, and how many there are."""

    name: str
    documents: Sequence[Mapping[str, Any]]
    n_records: int
    keys: Sequence[bytes | None] = ()


def _of_file(source_of: SourceOptions, settings: Settings, count: int) -> _Found:
    try:
        source = source_of(settings.model_copy(update={"events": _ANY}))
    except ConfigurationError as error:
        name = str(error).partition(":")[0]
        raise InputFileError(
            f"{name}: its rows are events already: there is nothing to map",
            hint="the classes are all there is to say: `perceptron replay FILE --classes NEGATIVE,POSITIVE`",
        ) from None
    with source:
        messages = [*islice(source, count)]
        documents = [*_documents([(message, ()) for message in messages], read_json)]
        return _Found(source.name, documents, len(messages))


def _of_topic(loaded: Loaded, topic: str, count: int) -> _Found:
    settings = loaded.settings
    with opened_stream(loaded) as transport:
        records: list[Record] = [
            record._replace(topic=settings.events_topic) for _, record in newest(transport, topic, count)
        ]
    schemas = make_schemas(settings)
    if schemas is not None:
        schemas.add(Sources(settings).find(schemas, records))
    read = reader_of(settings.events, schemas)
    documents = [*_documents([(each.value or b"", each.headers) for each in records], read)]
    return _Found(topic, documents, len(records), [each.key for each in records])


def _documents(values: Sequence[tuple[bytes, Headers]], read: Reader) -> Iterator[Mapping[str, Any]]:
    """Yield the values that are objects."""
    for value, headers in values:
        with suppress(Rejection):
            document = read(value, headers)
            if document and isinstance(document, dict):
                yield document


def _hint(settings: Settings) -> str:
    if settings.events.format == "text":
        return "text has no fields: --events-format text --events-id @key is all there is to say"
    return "--input-format or --events-format says how they are written; `perceptron check-input` shows them"


def _refuse_existing(output: Path) -> None:
    if output.exists() or output.is_symlink():
        raise ServiceError(f"{output}: is there, and stays as it is", hint="name another file with --output")


def _write(output: Path, text: str) -> None:
    """Write a file that is not there, or nothing."""
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        _refuse_existing(output)
    except OSError as error:
        raise ServiceError(f"{output}: cannot be written: {error.strerror}") from None


def _table(rows: Sequence[Row]) -> str:
    """Lay the rows out; names that are long are cut."""
    cells = [("field", "role", "why"), *((one_line(row.field)[:_WIDEST], row.role, row.why) for row in rows)]
    widths = [max(len(cell[column]) for cell in cells) for column in range(2)]
    return "\n".join(
        f"{name:<{widths[0]}}  {role:<{widths[1]}}  {one_line(why)}" for name, role, why in cells
    )
