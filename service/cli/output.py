"""What commands print. In: text of any origin. Out: stdout or stderr, with no control characters."""

from __future__ import annotations

import sys
from typing import TextIO

import click

from service.visible import one_line, visible


def echo(text: str, *, err: bool = False) -> None:
    """Print text, of one or several lines, or JSON."""
    click.echo(visible(text), err=err)


def echo_line(line: str, stream: TextIO | None = None) -> None:
    """Print one line of progress to `stream`, or to stderr."""
    print(one_line(line), file=stream or sys.stderr, flush=True)
