"""`perceptron compare`: a table of the mistakes of several models, and a picture of their errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TextIO

import click
from rich.live import Live
from rich.table import Table

from service.cli.completion import complete_model
from service.cli.lab.file_batches import process_in_batches
from service.cli.lab.pictures import import_charts, write_picture
from service.cli.options import READING, format_option, setting_options, warn_of_ignored_settings
from service.cli.output import echo, echo_line, report, report_doubts
from service.cli.outputs import OutputPath
from service.cli.progress import terminal
from service.cli.source_options import FilesOptions, labelled_source_options
from service.cli.table import ABSENT, table
from service.datasets.input_files import InputFiles
from service.datasets.labelled_examples import no_label_hint, refusal_hint
from service.errors import InputFileError
from service.lab.contest import Contender, Contest
from service.partition.counts.doubts import doubts
from service.settings.load import Loaded
from service.settings.mapping import EventSettings
from service.settings.names import JOIN_SETTINGS
from service.stream import Output, Record
from service.visible import one_line

_DEFAULT_MODELS: Final = ("perceptron", "arow", "normalized-adagrad", "auto")
_CURVE_POINTS: Final = 400
_REFRESHES_PER_SECOND: Final = 4
_HEAD: Final = ("model", "mistakes", "error", "events/s")
_NARROWEST: Final = 10


@click.command()
@labelled_source_options
@click.option(
    "--model",
    "models",
    multiple=True,
    default=_DEFAULT_MODELS,
    metavar="TEXT",
    shell_complete=complete_model,
    help="A built-in model, or package.module:factory or path/to/file.py:factory, with its default "
    f"parameters; give it once for each model.  [default: {', '.join(_DEFAULT_MODELS)}]",
)
@setting_options(*READING, *JOIN_SETTINGS, "max_event_time_ahead_seconds")
@format_option("Form of the table.")
@click.option(
    "--plot",
    type=OutputPath(),
    metavar="FILE",
    help="Draw the error of each model, along the file, to FILE; .png or .svg.",
)
def command(
    files_of: FilesOptions, loaded: Loaded, models: Sequence[str], output: str, plot: Path | None
) -> int:
    """Run several models over FILE (- for stdin), side by side, and count the mistakes of each.

    Each model sees the same events in the same order, predicts each before it learns from it, and makes
    the mistakes that `replay` counts for it. While they run, a row appears at 1, 2, 4, 8, … labelled events;
    the table at the end has the fewest mistakes first. To compare parameters, name functions of your own that
    make the models: --model my_models.py:careful --model my_models.py:bold. The exit code is 1 if more than
    5 % of the rows were refused, or if one of the --classes is the label of none.
    """
    settings = loaded.settings
    charts = import_charts(plot, "--plot") if plot else None
    warn_of_ignored_settings(loaded, *models)
    contest = Contest(settings, list(dict.fromkeys(models)))
    with files_of(settings) as files, live_table(files, contest.contenders) as write_line:
        rows = MistakeRows(write_line, contest.contenders)

        def process(batch: Sequence[Record], now_ms: int | None) -> Sequence[tuple[int, Output]]:
            letters = contest.process(batch, now_ms)
            rows.observe()
            return letters

        process_in_batches(files, files, process)
        rows.finish()
    _refuse_nothing_learned(contest, files.name, settings.events)
    ranked = contest.ranked()
    if plot and charts:
        curves = {each.name: each.error_curve(_CURVE_POINTS) for each in ranked}
        write_picture(charts, charts.error_curves(curves), plot, "--plot")
    if output == "json":
        echo(json.dumps({"models": [{"model": each.name, **each.summary()} for each in ranked]}))
    else:
        echo(_standings(ranked))
    return report_doubts(
        doubts(contest.rejected().total(), contest.n_records, settings.classes, contest.truths())
    )


def _refuse_nothing_learned(contest: Contest, name: str, events: EventSettings) -> None:
    """Refuse a file of which no model could use a labelled event; give a hint if some could not be used."""
    rejected = contest.rejected()
    hint = refusal_hint(rejected, events)
    if any(contender.labelled for contender in contest.contenders):
        if hint:
            report("hint", "cyan", hint)
        return
    raise InputFileError(
        f"{name}: no labelled event in it, so there are no mistakes to count; "
        f"{rejected.total():,} messages could not be used",
        hint=hint or f"{no_label_hint(events)}; a label may also follow its event",
    )


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
    source: InputFiles, contenders: Sequence[Contender], stream: TextIO | None = None
) -> Iterator[Callable[[str], None]]:
    """Show how each model stands, below the rows, if `stream` (stderr) is a terminal.

    Yields
    ------
    write_line
        A function that writes a line above the table, or where it would be.

    """
    console = terminal(stream)
    if console is None:
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


def _standings(ranked: Sequence[Contender]) -> str:
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


def _picture(source: InputFiles, contenders: Sequence[Contender]) -> Table:
    """Draw how the models stand now."""
    done = f", {source.bytes_read / source.size_bytes:.0%}" if source.size_bytes else ""
    drawn = Table(title=f"{one_line(source.name)}, {source.line:,} lines{done}")
    for head in _HEAD:
        drawn.add_column(head, justify="left" if head == "model" else "right")
    for each in contenders:
        rate = f"{each.events_per_second:,.0f}"
        drawn.add_row(one_line(each.name), f"{each.mistakes():,}", _error(each), rate)
    return drawn
