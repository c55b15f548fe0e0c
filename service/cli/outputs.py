"""Files that a command writes: checked before the work begins; and pictures."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from service.cli.output import report
from service.errors import ServiceError
from service.files.files import STDIN

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class OutputPath(click.Path):
    """The type of an option that names a file to be written."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False)


@contextmanager
def reporting_unsaved(ctx: click.Context) -> Iterator[None]:
    """Report which outputs of the command are not written if it is interrupted."""
    before = [(path, _version(path)) for _, path in _outputs(ctx)]
    try:
        yield
    except KeyboardInterrupt:
        for path, version in before:
            if _version(path) == version:
                report("interrupted", "yellow", f"nothing was saved to {path}")
        raise


def _version(path: Path) -> tuple[int, int] | None:
    """Return what changes when a file is written; None while there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def _outputs(ctx: click.Context) -> Iterator[tuple[click.Parameter, Path]]:
    for parameter in ctx.command.params:
        path = ctx.params.get(parameter.name or "")
        if isinstance(parameter.type, OutputPath) and isinstance(path, Path):
            yield parameter, path


def check_outputs(ctx: click.Context, *inputs: str | Path | None) -> None:
    """Refuse outputs of the command that is run which name one of its inputs, or a folder that is not there.

    Raises
    ------
    ServiceError
        A file cannot be written.

    """
    for parameter, path in _outputs(ctx):
        _refuse_no_folder(path)
        _refuse_inputs(path, parameter.opts[-1], [each for each in inputs if each])


def _refuse_no_folder(path: Path) -> None:
    folder = path.resolve().parent
    if not folder.is_dir():
        raise ServiceError(
            f"{path}: cannot be written: there is no folder {folder}", hint="make the folder, or name another"
        )


def _refuse_inputs(path: Path, option: str, inputs: Iterable[str | Path]) -> None:
    for name in inputs:
        with suppress(OSError, ValueError):  # one of them is not there, or stdin is no file
            known = os.fstat(sys.stdin.fileno()) if name == STDIN else Path(name).stat()
            if os.path.samestat(path.stat(), known):
                raise ServiceError(
                    f"{path}: is read by this command, and would be overwritten",
                    hint=f"{option} names another file",
                )


def import_charts(output: Path) -> Any:  # noqa: ANN401 - a module
    """Import the drawing, or say what is missing: before any work is done."""
    try:
        from service.lab import charts  # noqa: PLC0415 - Matplotlib is an extra
    except ModuleNotFoundError as error:
        raise ServiceError(
            f"plot: {error.name} is not installed", hint="pip install 'online-perceptron[plot]'"
        ) from None
    if output.suffix.lower() not in charts.FORMATS:
        raise click.BadParameter(
            f"{output} ends in none of {', '.join(charts.FORMATS)}", param_hint="'--output'"
        )
    return charts


def write_picture(charts: Any, figure: Figure, output: Path) -> None:  # noqa: ANN401 - a module
    """Write a figure, or say why it cannot be."""
    try:
        charts.save(figure, output)
    except OSError as error:
        raise ServiceError(
            f"{output}: cannot be written: {error.strerror}", hint="--output names another file"
        ) from None
    report("saved", "green", f"the picture to {output}")
