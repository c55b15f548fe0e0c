"""The options that say how a file of examples is read."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import click

from service.cli.completion import complete_file
from service.cli.options import Command, Decorator, with_options
from service.cli.output import report_warning
from service.cli.outputs import check_outputs, reporting_unsaved
from service.datasets.columns import COMMAS, Dialect
from service.datasets.files import FORMATS, Source, open_source
from service.datasets.line_formats import NDJSON
from service.errors import ConfigurationError
from service.settings.load import Settings
from service.settings.mapping import EventSettings

SourceOptions = Callable[[Settings], Source]
"""What a command with `source_options` gets: opens the file under the settings."""


def _character(option: str, text: str) -> str:
    if len(text) != 1 or text in "\r\n" or not text.isascii():
        raise click.BadParameter(f"{option} must be one character, not {text!r}")
    return text


def _delimiter(_: click.Context, __: click.Parameter, text: str) -> str:
    return _character("the delimiter", {"\\t": "\t", "tab": "\t"}.get(text, text))


def _quote(_: click.Context, __: click.Parameter, text: str) -> str:
    return _character("the quote", text) if text else ""


def _encoding(_: click.Context, __: click.Parameter, name: str) -> str:
    """Return the name of a text encoding that there is."""
    try:
        b"a".decode(name or "utf-8", errors="ignore")
    except (LookupError, UnicodeError):
        raise click.BadParameter(f"{name!r} is no encoding that Python knows") from None
    return name


_COLUMNS = {
    "label_column": click.option(
        "--label-column", metavar="NAME", help="CSV column of labels.  [default: label, class, target or y]"
    ),
    "id_column": click.option("--id-column", metavar="NAME", help="CSV column of event ids.  [default: id]"),
    "text_column": click.option("--text-column", metavar="NAME", help="CSV column of text.  [default: text]"),
    "id_prefix": click.option(
        "--id-prefix",
        metavar="TEXT",
        default="row-",
        help="Names rows without an id: TEXT1, TEXT2, …  [default: row-]",
    ),
    "encoding": click.option(
        "--encoding",
        metavar="NAME",
        default="",
        callback=_encoding,
        help="Encoding of text, such as cp1252 or utf-16.  [default: utf-8]",
    ),
}
_DIALECT = {
    "delimiter": click.option(
        "--delimiter",
        metavar="CHAR",
        default=",",
        callback=_delimiter,
        help="Between the cells of a CSV file; \\t or tab.  [default: ,]",
    ),
    "quote": click.option(
        "--quote",
        metavar="CHAR",
        default='"',
        callback=_quote,
        help="Quote of a CSV file; '' for none.  [default: \"]",
    ),
    "has_header": click.option(
        "--header/--no-header",
        "has_header",
        default=True,
        help="Whether the first line of a CSV file names its columns; else their numbers do.  [default: yes]",
    ),
}
_SOURCE = (
    click.option(
        "--input-format",
        type=click.Choice(list(FORMATS)),
        help="Format of FILE.  [default: by extension]",
    ),
    *_COLUMNS.values(),
    *_DIALECT.values(),
)


def source_options(command: Command) -> Command:
    """Add the argument FILE, and the options that say how to read it, to a command.

    The command gets the keyword argument `source_of`, which opens FILE under the settings it is given.
    """
    return _with_source(command, click.argument("file", metavar="FILE|-", shell_complete=complete_file))


def optional_source_options(command: Command) -> Command:
    """Add what `source_options` adds, FILE being optional: without it, `source_of` is None."""
    file = click.argument("file", metavar="[FILE|-]", required=False, shell_complete=complete_file)
    return _with_source(command, file)


def _with_source(command: Command, argument: Decorator) -> Command:
    @functools.wraps(command)
    def run(*args: object, file: str | None, input_format: str | None, **given: Any) -> Any:  # noqa: ANN401 - as above
        check_outputs(click.get_current_context(), file, given.get("config_file"))
        columns = {name: given.pop(name) for name in _COLUMNS}
        dialect = Dialect(**{name: given.pop(name) for name in _DIALECT})

        def source_of(settings: Settings) -> Source:
            assert file is not None
            mapping = settings.events if settings.events.maps_fields else None
            if mapping:
                _refuse_columns(columns)
            source = open_source(
                file,
                input_format,
                dialect=dialect,
                mapping=mapping,
                classes=settings.classes,
                max_message_bytes=settings.max_message_bytes,
                warn=report_warning,
                **columns,
            )
            if dialect != COMMAS or columns["encoding"]:
                _refuse_text_options(source)
            _check_mappable(source, settings.events)
            return source

        with reporting_unsaved(click.get_current_context()):
            return command(*args, source_of=None if file is None else source_of, **given)

    return with_options(run, argument, *_SOURCE)


def _refuse_text_options(source: Source) -> None:
    """Refuse to say of a table how its text is written."""
    if not source.format.is_text:
        source.close()
        raise click.UsageError(
            f"{source.name}: --delimiter, --quote, --no-header and --encoding are about text, "
            f"and the file is {source.format}"
        )


def _check_mappable(source: Source, events: EventSettings) -> None:
    """Refuse to map rows that have no fields of their own. Raises `ConfigurationError`."""
    is_text = events.format == "text" and source.format is not NDJSON
    if is_text or (events.maps_fields and not source.format.has_fields):
        source.close()
        raise ConfigurationError(
            f"{source.name}: the rows of a {source.format} file become events of the service's own schema, "
            "and events.* says that events have another one",
            hint="leave the mapping out, or name another format with --input-format ndjson",
        )


def _refuse_columns(columns: Mapping[str, str | None]) -> None:
    """Refuse to name a column in two ways."""
    for field in ("label", "id", "text"):
        if columns[f"{field}_column"] is not None:
            raise click.UsageError(
                f"--{field}-column: columns are mapped by the settings of the table events here; "
                f"--events-{field} names the column"
            )
