"""Lines of the tables, to stdout; progress, to stderr."""

from __future__ import annotations

import sys
from collections.abc import Sequence

_NAME, _COLUMN, _GAP = 16, 14, 2
_widths: list[int] = []


def rule(title: str, columns: Sequence[str], widths: Sequence[int] = ()) -> None:
    """Begin a table: its title, and the heads of the columns beside the name."""
    _widths[:] = widths or [_COLUMN] * len(columns)
    print(f"\n{title}\n")
    row("", *columns)
    print("-" * (_NAME + sum(_widths) + _GAP * len(_widths)), flush=True)


def row(name: str, *cells: str) -> None:
    """Print a line of the table that was begun."""
    aligned = (f"{cell:>{width}}" for cell, width in zip(cells, _widths, strict=True))
    print((" " * _GAP).join((f"{name:<{_NAME}}", *aligned)).rstrip(), flush=True)


def note(text: str) -> None:
    """Print what a reader of the table has to know."""
    print(f"  {text}", flush=True)


def progress(text: str) -> None:
    """Say what is done now; the line is overwritten by the next where stderr is a terminal."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text} …", end="", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)


def progress_done() -> None:
    """Clear the progress line."""
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
