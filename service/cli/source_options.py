"""The options for the files that a command reads and writes, and their formats."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from service.cli.options import Decorator, gathered_options
from service.cli.output import report_warning
from service.errors import ServiceError
from service.files.columns import Columns
from service.files.input_files import InputFiles, TopicFile, check_joinable, check_mappable, mapping_of
from service.files.sources import FORMATS, STDIN, Source, format_of, open_source
from service.files.text_files import CSV
from service.mapping.notation import Notation
from service.settings.load import Settings


@dataclass(frozen=True)
class Inputs:
    """The options for the files that a command reads, under the names of their parameters."""

    file: str | None
    input_format: str | None
    label_column: str | None
    delimiter: str
    labels: str | None = None
    timestamp: str | None = None

    def __post_init__(self) -> None:
        """Reject a second use of stdin, and outputs that would overwrite inputs."""
        if self.labels == self.file == STDIN:
            raise click.UsageError("--labels: stdin is already FILE")
        check_outputs(click.get_current_context(), self.file, self.labels)

    def open(self, settings: Settings, *, are_labels: bool = False) -> Source:
        """Open FILE with the settings, or the file of labels, which is FILE without --labels.

        Raises as `open_source`.
        """
        table = settings.labels if are_labels else settings.events
        mapping = mapping_of(table)
        if mapping and self.label_column is not None:
            raise click.UsageError(
                f"--label-column: {table.table()}.* maps the columns: use --{table.table()}-label"
            )
        columns = Columns(
            self.label_column,
            classes=frozenset(settings.classes),
            mapping=mapping,
            delimiter=self.delimiter,
            warn=report_warning,
            time=self.timestamp,
            notation=Notation.of(table),
            are_labels=are_labels,
        )
        file = self.labels if are_labels and self.labels else self.file
        assert file is not None
        source = open_source(
            file,
            None if are_labels and format_of(file) else self.input_format,
            columns,
            max_message_bytes=settings.max_message_bytes,
        )
        with ExitStack() as rejected:
            rejected.enter_context(source)
            self._check(source, columns)
            check_mappable(source, table)
            rejected.pop_all()
        return source

    def open_all(self, settings: Settings) -> InputFiles:
        """Open FILE and, if given, the file of labels, merged by event time."""
        topic, time = settings.events_topic, self.timestamp or settings.events.timestamp
        if self.labels is None:
            return InputFiles(TopicFile(self.open(settings), topic, time))
        times = {topic: time, settings.labels_topic: self.timestamp or settings.labels.timestamp}
        check_joinable(settings)
        if not all(times.values()):
            raise click.UsageError(
                "--labels: files are merged by event time: name its column with --timestamp, "
                "or with --events-timestamp and --labels-timestamp"
            )
        with ExitStack() as rejected:
            events = rejected.enter_context(self.open(settings))
            labels = self.open(settings, are_labels=True)
            rejected.pop_all()
        files = {settings.events_topic: events, settings.labels_topic: labels}
        return InputFiles(*(TopicFile(files[topic], topic, time) for topic, time in times.items()))

    def _check(self, source: Source, columns: Columns) -> None:
        """Reject options without a meaning for the format of a file."""
        form = source.format
        if self.delimiter and not columns.are_labels and form is not CSV:
            raise click.UsageError(f"{source.name}: --delimiter needs a CSV file, got {form}")
        if (columns.are_labels or self.timestamp) and not form.has_fields:
            what = "labels need ids" if columns.are_labels else "--timestamp names one"
            raise click.UsageError(f"{source.name}: rows of a {form} file have no columns, but {what}")


def _delimiter(_: click.Context, __: click.Parameter, text: str | None) -> str:
    """Return the character, which may be given as ``tab``; empty without the option."""
    if text is None:
        return ""
    text = {"\\t": "\t", "tab": "\t"}.get(text, text)
    if len(text) != 1 or text in '\r\n"' or not text.isascii():
        raise click.BadParameter(f"expected one character, got {text!r}")
    return text


_PATH = click.Path(allow_dash=True)
_LABELS = click.option(
    "--labels",
    metavar="FILE",
    type=_PATH,
    help="File of labels, each with the id of its event; merged with FILE by event time.",
)
_TIMESTAMP = click.option(
    "--timestamp",
    metavar="COLUMN|PATH",
    help="Column or path of each record's time: seconds, milliseconds or ISO 8601.  [default: as mapped]",
)
_LABEL_COLUMN = "CSV column of labels, which is not a feature.  [default: label, class, target or y]"
_HOW = (
    click.option(
        "--input-format", type=click.Choice(list(FORMATS)), help="Format of FILE.  [default: by extension]"
    ),
    click.option("--label-column", metavar="NAME", help=_LABEL_COLUMN),
    click.option(
        "--delimiter",
        metavar="CHAR",
        callback=_delimiter,
        help="Separator of the cells of a CSV file; \\t or tab.  [default: by its first line]",
    ),
)


def source_options(*, optional: bool = False, timed: bool = False, labelled: bool = False) -> Decorator:
    """Add the argument FILE, and the options for reading it, to a command.

    The command gets them as the keyword argument `inputs`, an `Inputs`.

    Parameters
    ----------
    optional
        FILE may be left out.
    timed
        There is --timestamp.
    labelled
        There is --labels.

    """
    metavar = "[FILE|-]" if optional else "FILE|-"
    argument = click.argument("file", metavar=metavar, required=not optional, type=_PATH)
    more = [_LABELS] * labelled + [_TIMESTAMP] * timed
    return gathered_options("inputs", Inputs, argument, *more, *_HOW)


class _OutputPath(click.Path):
    """The type of a parameter that names a file to be written."""


OUTPUT_PATH: Final = _OutputPath(path_type=Path, dir_okay=False)


def output_option(*names: str, **described: Any) -> Decorator:  # noqa: ANN401 - as `click.option` takes them
    """Return an option that names a file to be written, which must not be an input of the command."""
    return click.option(*names, type=OUTPUT_PATH, metavar="FILE", **described)


def check_outputs(ctx: click.Context, *inputs: str | Path | None) -> None:
    """Reject outputs of the present command that would overwrite another file of it, or a database.

    An output in a missing folder is rejected as well.

    Raises
    ------
    ServiceError
        A file cannot be written.

    """
    inputs = (*inputs, ctx.params.get("config_file"))
    outputs: set[Path] = set()
    for parameter in ctx.command.params:
        path = ctx.params.get(parameter.name or "")
        if not isinstance(parameter.type, _OutputPath) or path is None:
            continue
        target = path.resolve()
        if not target.parent.is_dir():
            problem = f"cannot be written: folder {target.parent} does not exist"
        elif any(_is_same(path, name) for name in inputs if name):
            problem = "is an input of this command and would be overwritten"
        elif target in outputs:
            problem = "is another output of this command and would be overwritten"
        elif path.is_file() and _is_database(path):
            problem = "is a SQLite database, such as a stream, and would be overwritten"
        else:
            outputs.add(target)
            continue
        raise ServiceError(f"{path}: {problem}", hint="choose another file")


def _is_same(path: Path, name: str | Path) -> bool:
    with suppress(OSError, ValueError):  # a file is missing, or stdin is not a file
        known = os.fstat(sys.stdin.fileno()) if name == STDIN else Path(name).stat()
        return os.path.samestat(path.stat(), known)
    return False


def _is_database(path: Path) -> bool:
    with suppress(OSError), path.open("rb") as file:  # not readable
        return file.read(16) == b"SQLite format 3\0"
    return False
