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

from service.cli.lab.pictures import import_charts, write_picture
from service.cli.lab.side_by_side import (
    check_order,
    models_option,
    order_option,
    refuse_nothing_learned,
    run_contest,
    standings,
)
from service.cli.options import READING, WAITING, format_option, setting_options, warn_of_ignored_settings
from service.cli.output import echo, echo_line, report_doubts
from service.cli.outputs import OutputPath
from service.cli.progress import terminal
from service.cli.source_options import FilesOptions, labelled_source_options
from service.cli.table import ABSENT
from service.datasets.input_files import InputFiles
from service.lab.contest import Contender, Contest, model_of
from service.partition.counts.doubts import doubts
from service.redaction import one_line
from service.settings.declaration import Decides
from service.settings.fields import names_that_decide
from service.settings.load import Loaded

_CURVE_POINTS: Final = 400
_REFRESHES_PER_SECOND: Final = 4
_HEAD: Final = ("model", "mistakes", "error", "events/s")
_NARROWEST: Final = 10


@click.command()
@labelled_source_options
@models_option()
@order_option
@setting_options(*READING, *WAITING, *names_that_decide(Decides.DECISIONS))
@format_option("Form of the table.")
@click.option(
    "--plot",
    type=OutputPath(),
    metavar="FILE",
    help="Draw the error of each model, along the file, to FILE; .png or .svg.",
)
def command(
    files_of: FilesOptions, loaded: Loaded, models: Sequence[str], order: str, output: str, plot: Path | None
) -> int:
    """Run several models over FILE (- for stdin), side by side, and count the mistakes of each.

    Each model sees the same events in the same order, predicts each before it learns from it, and makes
    the mistakes that `replay` counts for it. While they run, a row appears at 1, 2, 4, 8, … labelled events;
    the table at the end has the fewest mistakes first. To compare parameters: --model arow,r=0.1 --model
    arow,r=10. The exit code is 1 if more than 5 % of the rows were refused, or if one of the --classes is the
    label of none.

    \b
    AUC        share of (positive, negative) pairs that the scores put in the right order
    avg prec   mean of the precision at the score of each positive event
    log loss   mean of -ln of the probability of what happened; of models that have one
    cost       as the settings of [costs] say; where there are some
    seconds    to predict and learn; reading and features are shared, and not counted
    (always …) what two predictors without features would do: the commonest class, and the label that
               came before (left out where labels were corrected)

    `perceptron plot roc` and `plot pr` draw the scores of several models.
    """  # noqa: D301 - \b is click's mark for lines to be left as they are
    settings = loaded.settings
    check_order(order, settings)
    charts = import_charts(plot, "--plot") if plot else None
    warn_of_ignored_settings(loaded, *(model_of(each)[0] for each in models))
    contest = Contest(settings, models)
    with files_of(settings) as files, live_table(files, contest.contenders) as write_line:
        rows = MistakeRows(write_line, contest.contenders)
        run_contest(contest, files, rows.observe)
        rows.finish()
    refuse_nothing_learned(contest, files.name, settings.events)
    ranked = contest.ranked(order)
    if plot and charts:
        curves = {each.name: each.error_curve(_CURVE_POINTS) for each in ranked}
        write_picture(charts, charts.error_curves(curves), plot, "--plot")
    if output == "json":
        echo(json.dumps({"models": [{"model": each.name, **each.summary()} for each in ranked]}))
    else:
        echo(standings([(each.name, each.summary()) for each in ranked]))
    return report_doubts(
        doubts(contest.rejected().total(), contest.n_records, settings.classes, contest.truths())
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
