"""Write figures to files, and report a missing Matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from service.cli.output import report
from service.errors import ServiceError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def import_charts(output: Path, option: str = "--output") -> Any:  # noqa: ANN401 - a module
    """Import the drawing, or say what is missing: before any work is done."""
    try:
        from service.lab import charts  # noqa: PLC0415 - Matplotlib is an extra
    except ModuleNotFoundError as error:
        raise ServiceError(
            f"plot: {error.name} is not installed", hint="pip install 'online-perceptron[plot]'"
        ) from None
    if output.suffix.lower() not in charts.FORMATS:
        raise click.BadParameter(
            f"{output} ends in none of {', '.join(charts.FORMATS)}", param_hint=f"'{option}'"
        )
    return charts


def write_picture(charts: Any, figure: Figure, output: Path, option: str = "--output") -> None:  # noqa: ANN401 - a module
    """Write a figure, or say why it cannot be."""
    try:
        charts.save(figure, output)
    except OSError as error:
        raise ServiceError(
            f"{output}: cannot be written: {error.strerror}", hint=f"{option} names another file"
        ) from None
    report("saved", "green", f"the picture to {output}")
