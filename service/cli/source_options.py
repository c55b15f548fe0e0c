"""The options that say how a file of examples is read."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Protocol

import click

from service.cli.options import Command, Decorator, with_options
from service.cli.output import report_warning
from service.cli.outputs import check_outputs, reporting_unsaved
from service.files.columns import COMMAS, Columns, Dialect
from service.files.files import FORMATS, STDIN, Source, format_of, open_source
from service.files.input_files import InputFiles, TopicFile, check_joinable, check_mappable, mapping_of
from service.files.line_formats import LOG, PATTERNS, compile_pattern
from service.settings.load import Settings


class SourceOptions(Protocol):
    """What a command with `source_options` gets: opens the file under the settings."""

    def __call__(self, settings: Settings, *, are_labels: bool = False) -> Source:
        """Open the file of events, or of labels."""


FilesOptions = Callable[[Settings], InputFiles]
"""What a command with `labelled_source_options` gets: opens its files under the settings."""


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


def _log_pattern(_: click.Context, __: click.Parameter, pattern: str | None) -> str | None:
    """Return a pattern that can be used."""
    try:
        if pattern is not None:
            compile_pattern(pattern)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return pattern


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
_LOG_PATTERN = click.option(
    "--log-pattern",
    metavar="NAME|REGEX",
    callback=_log_pattern,
    help=f"Lines of a log: {', '.join(PATTERNS)}, or a regular expression whose named groups are columns.  "
    "[default: combined]",
)
_FILE = click.argument("file", metavar="FILE|-", type=click.Path(allow_dash=True))
_OPTIONAL_FILE = click.argument("file", metavar="[FILE|-]", required=False, type=click.Path(allow_dash=True))
_LABELS = click.option(
    "--labels",
    metavar="FILE",
    type=click.Path(allow_dash=True),
    help="A file of labels, each with the id of its event; merged with FILE by event time, as `serve` merges "
    "their topics.",
)
_TIMESTAMP = click.option(
    "--timestamp",
    metavar="COLUMN|PATH",
    help="Where rows have the time that their records get: seconds, milliseconds or ISO 8601.  "
    "[default: none]",
)
_SOURCE = (
    click.option(
        "--input-format",
        type=click.Choice(list(FORMATS)),
        help="Format of FILE.  [default: by extension]",
    ),
    *_COLUMNS.values(),
    *_DIALECT.values(),
    _LOG_PATTERN,
)


def source_options(command: Command) -> Command:
    """Add the argument FILE, and the options that say how to read it, to a command.

    The command gets the keyword argument `source_of`, which opens FILE under the settings it is given.
    """
    return _with_source(command, _FILE)


def optional_source_options(command: Command) -> Command:
    """Add what `source_options` adds, FILE being optional: without it, `source_of` is None."""
    return _with_source(command, _OPTIONAL_FILE)


def timed_source_options(command: Command) -> Command:
    """Add what `source_options` adds, and --timestamp; the command gets it as `timestamp`."""
    return _with_source(command, _FILE, timed=True)


def labelled_source_options(command: Command) -> Command:
    """Add what `source_options` adds, and --labels and --timestamp.

    The command gets `files_of`, which opens FILE and LABELS under the settings, in the place of `source_of`.
    """

    @functools.wraps(command)
    def run(*args: object, source_of: SourceOptions, **given: Any) -> Any:  # noqa: ANN401 - as below
        labels_of, timestamp = given.pop("labels_of"), given.pop("timestamp")
        files_of = functools.partial(_open_files, source_of, labels_of, timestamp or "")
        return command(*args, files_of=files_of, **given)

    return _with_source(run, _FILE, timed=True, labelled=True)


def optional_labelled_source_options(command: Command) -> Command:
    """Add what `optional_source_options` adds, and --labels and --timestamp; `labels_of` opens LABELS."""
    return _with_source(command, _OPTIONAL_FILE, timed=True, labelled=True)


def _with_source(
    command: Command, argument: Decorator, *, timed: bool = False, labelled: bool = False
) -> Command:
    @functools.wraps(command)
    def run(*args: object, file: str | None, input_format: str | None, **given: Any) -> Any:  # noqa: ANN401 - as above
        labels = given.pop("labels", None)
        if labels == file == STDIN:
            raise click.UsageError("--labels: FILE is stdin already")
        check_outputs(click.get_current_context(), file, labels, given.get("config_file"))
        columns = {name: given.pop(name) for name in _COLUMNS}
        dialect = Dialect(**{name: given.pop(name) for name in _DIALECT})
        log_pattern = given.pop("log_pattern")
        described = _Described(input_format, dialect, columns, given.get("timestamp"), log_pattern)
        if labelled:
            given["labels_of"] = described.opener(labels)
        with reporting_unsaved(click.get_current_context()):
            return command(*args, source_of=described.opener(file), **given)

    options = (*((_LABELS,) if labelled else ()), *((_TIMESTAMP,) if timed else ()))
    return with_options(run, argument, *options, *_SOURCE)


@dataclass(frozen=True)
class _Described:
    """What the options say of files."""

    form: str | None
    dialect: Dialect
    columns: Mapping[str, Any]
    timestamp: str | None
    log_pattern: str | None

    def opener(self, file: str | None) -> SourceOptions | None:
        """Return the function that opens a file; None for none."""
        return None if file is None else functools.partial(self.open, file)

    def open(self, file: str, settings: Settings, *, are_labels: bool = False) -> Source:
        """Open a file of events, or of labels. Raises as `open_source`."""
        table = settings.labels if are_labels else settings.events
        mapping = mapping_of(table)
        if mapping:
            _refuse_columns(self.columns, table.table())
        columns = Columns(
            self.columns["label_column"],
            self.columns["id_column"],
            self.columns["text_column"],
            classes=frozenset(settings.classes),
            id_prefix=self.columns["id_prefix"],
            mapping=mapping,
            dialect=self.dialect,
            warn=report_warning,
            time=self.timestamp,
            log_pattern=self.log_pattern or "combined",
            are_labels=are_labels,
        )
        source = open_source(
            file,
            None if are_labels and format_of(file) else self.form,
            columns,
            max_message_bytes=settings.max_message_bytes,
            encoding=self.columns["encoding"],
        )
        if self.dialect != COMMAS or self.columns["encoding"]:
            _refuse_text_options(source)
        check_mappable(source, table)
        if self.log_pattern and not are_labels and source.format is not LOG:
            source.close()
            raise click.UsageError(f"{source.name}: --log-pattern is for a log: --input-format log")
        if (are_labels or self.timestamp) and not source.format.has_fields:
            source.close()
            what = "labels need ids" if are_labels else "there is no --timestamp"
            raise click.UsageError(f"{source.name}: rows of a {source.format} file have no columns: {what}")
        return source


def _open_files(
    source_of: SourceOptions, labels_of: SourceOptions | None, timestamp: str, settings: Settings
) -> InputFiles:
    """Open a file of events, and perhaps one of labels, whose records are merged by their times."""
    if labels_of is None:
        return InputFiles(TopicFile(source_of(settings), settings.events_topic, timestamp))
    tables = {settings.events_topic: settings.events, settings.labels_topic: settings.labels}
    times = {topic: timestamp or table.timestamp for topic, table in tables.items()}
    check_joinable(settings)
    _check_ordered(settings, times)
    with ExitStack() as stack:
        events = stack.enter_context(source_of(settings))
        labels = stack.enter_context(labels_of(settings, are_labels=True))
        stack.pop_all()
    return InputFiles(
        TopicFile(events, settings.events_topic, times[settings.events_topic]),
        TopicFile(labels, settings.labels_topic, times[settings.labels_topic]),
    )


def _check_ordered(settings: Settings, times: Mapping[str, str]) -> None:
    """Refuse two files whose rows cannot be put in order."""
    if not all(times.values()):
        missing = " and ".join(
            f"--{table.table()}-timestamp"
            for table in (settings.events, settings.labels)
            if not table.timestamp
        )
        raise click.UsageError(
            f"--labels: files are merged by event time: --timestamp names its column in both, or {missing}"
        )


def _refuse_text_options(source: Source) -> None:
    """Refuse to say of a table how its text is written."""
    if not source.format.is_text:
        source.close()
        raise click.UsageError(
            f"{source.name}: --delimiter, --quote, --no-header and --encoding are about text, "
            f"and the file is {source.format}"
        )


def _refuse_columns(columns: Mapping[str, str | None], table: str) -> None:
    """Refuse to name a column in two ways."""
    for field in ("label", "id", "text"):
        if columns[f"{field}_column"] is not None:
            raise click.UsageError(
                f"--{field}-column: columns are mapped by the settings of the table {table} here; "
                f"--{table}-{field} names the column"
            )
