"""`perceptron compare`: a table of the mistakes of several models, and a picture of their errors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from service.cli.app import report, report_doubts
from service.cli.commands.compare.contenders import Contest
from service.cli.commands.compare.display import MistakeRows, live_table, standings
from service.cli.completion import complete_model
from service.cli.file_batches import FileBatches
from service.cli.options import LEARNING, setting_options, warn_of_ignored_settings
from service.cli.output import echo
from service.cli.outputs import OutputPath
from service.cli.pictures import import_charts, write_picture
from service.cli.source_options import SourceOptions, source_options
from service.datasets.labelled_examples import no_label_hint, refusal_hint
from service.errors import InputFileError
from service.partition.counts.doubts import doubts
from service.settings.load import Loaded
from service.settings.mapping import EventSettings
from service.settings.names import JOIN_SETTINGS
from service.stream import Output, Record

_DEFAULT_MODELS: Final = ("perceptron", "arow", "normalized-adagrad", "auto")
_CHOSEN_HERE: Final = ("model", "model_params")
_SETTINGS: Final = [name for name in LEARNING if name not in _CHOSEN_HERE]
_CURVE_POINTS: Final = 400


@click.command()
@source_options
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
@setting_options(*_SETTINGS, *JOIN_SETTINGS)
@click.option(
    "--format", "output", type=click.Choice(["text", "json"]), default="text", help="Form of the table."
)
@click.option(
    "--plot",
    type=OutputPath(),
    metavar="FILE",
    help="Draw the error of each model, along the file, to FILE; .png or .svg.",
)
def command(
    source_of: SourceOptions, loaded: Loaded, models: Sequence[str], output: str, plot: Path | None
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
    with source_of(settings) as source, live_table(source, contest.contenders) as write_line:
        rows = MistakeRows(write_line, contest.contenders)

        def process(batch: Sequence[Record]) -> Sequence[tuple[int, Output]]:
            letters = contest.process(batch)
            rows.observe()
            return letters

        FileBatches(source, settings.events_topic, process).feed(source)
        rows.finish()
    _refuse_nothing_learned(contest, source.name, settings.events)
    ranked = contest.ranked()
    if plot and charts:
        curves = {each.name: each.error_curve(_CURVE_POINTS) for each in ranked}
        write_picture(charts, charts.error_curves(curves), plot, "--plot")
    if output == "json":
        echo(json.dumps({"models": [{"model": each.name, **each.summary()} for each in ranked]}))
    else:
        echo(standings(ranked))
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
