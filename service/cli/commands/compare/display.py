"""Show the progress of `compare` on stderr, and print its final table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.table import Table

from service.cli.commands.compare.contenders import Contender
from service.cli.output import echo_line
from service.cli.table import ABSENT, table
from service.datasets.files import Source
from service.visible import one_line

_REFRESHES_PER_SECOND = 4
_HEAD = ("model", "mistakes", "error", "events/s")
_NARROWEST = 10


class MistakeRows:
    """Rows at 1, 2, 4, 8, … labelled events: the mistakes of each model so far."""

    def __init__(self, write_line: Callable[[str], None], contenders: Sequence[Contender]) -> None:
        self._write_line = write_line
        self._contenders = contenders
        self._shown = 0
        self._next_row = 1

    def observe(self) -> None:
        """Show a row for each power of two that every model has passed."""
        while self._next_row <= self._labelled():
            self._row(self._next_row)
            self._next_row *= 2

    def finish(self) -> None:
        """Show the final counts, unless the last row shows them."""
        if self._labelled() > self._shown:
            self._row(self._labelled())

    def _labelled(self) -> int:
        return min(contender.labelled for contender in self._contenders)

    def _row(self, labelled: int) -> None:
        names = [one_line(contender.name) for contender in self._contenders]
        widths = [max(len(name), _NARROWEST) for name in names]
        if not self._shown:
            self._write_line(f"{'labelled':>10}  mistakes so far")
            self._write_line("  ".join([f"{'events':>10}", *map(str.rjust, names, widths)]))
        counts = [str(contender.mistakes(labelled)) for contender in self._contenders]
        self._write_line("  ".join([f"{labelled:>10}", *map(str.rjust, counts, widths)]))
        self._shown = labelled


@contextmanager
def live_table(
    source: Source, contenders: Sequence[Contender], stream: TextIO | None = None
) -> Iterator[Callable[[str], None]]:
    """Show how each model stands, below the rows, if `stream` (stderr) is a terminal.

    Yields
    ------
    write_line
        A function that writes a line above the table, or where it would be.

    """
    stream = stream or sys.stderr
    console = Console(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=True)
    if not stream.isatty() or console.is_dumb_terminal:
        yield lambda line: echo_line(line, stream)
        return
    with Live(
        console=console,
        transient=True,
        refresh_per_second=_REFRESHES_PER_SECOND,
        redirect_stdout=False,
        get_renderable=lambda: _picture(source, contenders),
    ):
        yield lambda line: console.print(one_line(line))


def standings(ranked: Sequence[Contender]) -> str:
    """Lay out the final table, the best model first, and what could not be used."""
    head = ("model", "mistakes", "error", "log loss", "updates", "rejected", "events/s")
    rows = [_cells(contender) for contender in ranked]
    lines = [table([head, *rows])]
    by_reasons: dict[str, list[str]] = {}
    for contender in ranked:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(contender.rejected.items()))
        by_reasons.setdefault(reasons, []).append(one_line(contender.name))
    lines += [
        f"rejected by {', '.join(names)}: {reasons}" for reasons, names in by_reasons.items() if reasons
    ]
    return "\n".join(lines)


def _cells(contender: Contender) -> tuple[str, ...]:
    summary = contender.summary()
    return (
        one_line(contender.name),
        f"{contender.mistakes():,}",
        _error(contender),
        f"{summary['log_loss']:.4f}" if "log_loss" in summary else ABSENT,
        f"{summary['updates']:,}",
        f"{contender.rejected.total():,}",
        f"{contender.events_per_second:,.0f}",
    )


def _error(contender: Contender) -> str:
    return f"{contender.mistakes() / contender.labelled:.4f}" if contender.labelled else ABSENT


def _picture(source: Source, contenders: Sequence[Contender]) -> Table:
    """Draw how the models stand now."""
    done = f", {source.bytes_read / source.size_bytes:.0%}" if source.size_bytes else ""
    drawn = Table(title=f"{one_line(source.name)}, {source.line:,} lines{done}")
    for head in _HEAD:
        drawn.add_column(head, justify="left" if head == "model" else "right")
    for each in contenders:
        rate = f"{each.events_per_second:,.0f}"
        drawn.add_row(one_line(each.name), f"{each.mistakes():,}", _error(each), rate)
    return drawn
