"""Print results to stdout and reports to stderr, with control characters removed."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable
from typing import TextIO

import click

from service.errors import FAILURE, ServiceError
from service.logs import logs_json
from service.redaction import escaped, one_line

_log = logging.getLogger(__name__)


def open_stdout() -> TextIO:
    """Return stdout. Raises `ServiceError` if it was closed at the start of the program."""
    if sys.stdout is None:
        raise ServiceError("stdout is closed", hint="discard the output with > /dev/null")
    return sys.stdout


def echo(text: str, *, err: bool = False) -> None:
    """Print text, of one or several lines, or JSON. Raises `ServiceError` if stdout is closed."""
    if not err:
        open_stdout()
    click.echo(escaped(text), err=err)


def echo_result(output: str, result: object, text: Callable[[], str]) -> None:
    """Print a result as JSON, if `output` is json, or else as text."""
    echo(json.dumps(result, ensure_ascii=False) if output == "json" else text())


def echo_line(line: str) -> None:
    """Print one line of progress to stderr."""
    click.echo(one_line(line), err=True)


def report(label: str, colour: str, *lines: str, hint: str = "") -> None:
    """Write ``label:`` with the lines, and the hint if there is one, to stderr.

    Labels are in colour on a terminal unless NO_COLOR is set.
    """
    wanted = False if os.environ.get("NO_COLOR") else None
    message = "\n".join(map(one_line, lines))
    click.echo(f"{click.style(f'{label}:', fg=colour, bold=True)} {message}", err=True, color=wanted)
    if hint:
        report("hint", "cyan", hint)


def report_error(*lines: str, hint: str = "") -> None:
    """Write ``error: …`` and the hint to stderr, or to a JSON log."""
    _report_or_log(logging.ERROR, "red", *lines, hint=hint)


def report_warning(message: str, hint: str = "") -> None:
    """Write ``warning: …`` and the hint to stderr, or to a JSON log."""
    _report_or_log(logging.WARNING, "yellow", message, hint=hint)


def _report_or_log(level: int, colour: str, *lines: str, hint: str) -> None:
    if logs_json():
        _log.log(level, "%s", "\n".join(lines), extra={"hint": hint} if hint else {})
    else:
        report(logging.getLevelName(level).lower(), colour, *lines, hint=hint)


def report_data_warnings(data_warnings: str) -> int:
    """Report data warnings, if there are any, that results may mislead; return the exit code."""
    if data_warnings:
        report_warning(f"these results may mislead: {data_warnings}")
    return FAILURE if data_warnings else 0


def report_progress(message: str) -> None:
    """Write what a service does to stderr, or to a JSON log."""
    if logs_json():
        _log.info("%s", message)
    else:
        echo_line(message)


class Rejections:
    """Reports rejected records on stderr: the first three, and whether there are more."""

    _SHOWN = 3

    def __init__(self) -> None:
        self._count = 0

    def report(self, complaint: str) -> None:
        """Report a record: its position and the error."""
        self._count += 1
        if self._count <= self._SHOWN:
            report("rejected", "yellow", complaint)
        elif self._count == self._SHOWN + 1:
            report("rejected", "yellow", "further records; the summary counts them by reason")
