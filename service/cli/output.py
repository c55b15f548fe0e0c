"""Print to stdout or stderr, with control characters removed."""

from __future__ import annotations

import sys
from typing import TextIO

import click

from service.errors import ServiceError
from service.visible import one_line, visible


def open_stdout() -> TextIO:
    """Return stdout. Raises `ServiceError` if it was closed when the program began."""
    if sys.stdout is None:
        raise ServiceError("stdout is closed", hint="> /dev/null discards what is printed")
    return sys.stdout


def echo(text: str, *, err: bool = False) -> None:
    """Print text, of one or several lines, or JSON. Raises `ServiceError` if stdout is closed."""
    if not err:
        open_stdout()
    click.echo(visible(text), err=err)


def echo_line(line: str, stream: TextIO | None = None) -> None:
    """Print one line of progress to `stream`, or to stderr."""
    print(one_line(line), file=stream or sys.stderr, flush=True)
