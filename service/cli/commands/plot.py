"""`perceptron plot`: draw a training or a model as PNG or SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import click

from perceptron_core import Hyperplane
from perceptron_core.linear.linear_rule import LinearRule
from service.cli.commands.compare import models_option, refuse_nothing_learned, run_contest
from service.cli.commands.replay import process_in_batches
from service.cli.commands.training import TrainingOptions, load_examples, train, training_options
from service.cli.options import LEARNING, READING, WAITING, Command, setting_options
from service.cli.outputs import OutputPath, import_charts, write_picture
from service.cli.progress import counted_bar, progress_bar
from service.cli.source_options import FilesOptions, SourceOptions, labelled_source_options, source_options
from service.errors import ConfigurationError, InputFileError
from service.files.input_files import InputFiles, TopicFile
from service.files.labelled_examples import Example, refusal_hint
from service.lab.contest import Contest, written_model
from service.lab.score_curve import ScoreCurve
from service.messages.labels import BINARY
from service.models.registry import models_with_log_odds
from service.partition.factory import make_processor
from service.settings.load import Loaded, Settings

_PLANE: Final = 2


def _output_option(kind: str) -> Callable[[Command], Command]:
    return click.option(
        "-o",
        "--output",
        type=OutputPath(),
        default=f"{kind}.png",
        metavar="FILE",
        help=f"Picture to write; .png or .svg.  [default: {kind}.png]",
    )


@click.group("plot")
def plot_command() -> None:
    """Draw what was learned: boundary, learning curve, and how good scores are.

    Needs Matplotlib: pip install 'online-perceptron[plot]'.
    """


@plot_command.command("boundary")
@source_options
@training_options(holdout=0.0)
@setting_options(*LEARNING)
@click.option("--axes", metavar="NAME,NAME", help="The two features, if FILE has more.")
@_output_option("boundary")
def boundary(
    source_of: SourceOptions, options: TrainingOptions, loaded: Loaded, axes: str | None, output: Path
) -> None:
    """Train on two features of FILE; draw the examples, the boundary, the weight vector, the mistakes.

    The mistakes are the examples on the wrong side at the end. With --axes, other features are left out,
    of the training too.
    """
    charts = import_charts(output)
    settings = loaded.settings
    found = load_examples(source_of, settings, "read")
    names = _two_features(found.examples, axes, found.name)
    found.examples = [({n: x[n] for n in names if n in x}, truth) for x, truth in found.examples]
    model = train(settings, found, options).model
    if not isinstance(model, LinearRule):
        raise ConfigurationError(
            f"model: {type(model).__name__} has no boundary that is a line",
            hint="use a linear model of two classes, such as perceptron",
        )
    points = [
        charts.Point(x.get(names[0], 0.0), x.get(names[1], 0.0), bool(y), model.predict_one(x) != y)
        for x, y in found.examples
    ]
    classes = (settings.classes[0], settings.classes[1]) if settings.classes else ("negative", "positive")
    shown = (str(names[0]), str(names[1]))
    plane = Hyperplane.of(model)
    named = Hyperplane({str(name): weight for name, weight in plane.weights.items()}, plane.bias)
    write_picture(charts, charts.boundary(named, points, shown, classes), output)


@plot_command.command("learning-curve")
@source_options
@training_options(holdout=0.2)
@setting_options(*LEARNING)
@_output_option("learning-curve")
def learning_curve(source_of: SourceOptions, options: TrainingOptions, loaded: Loaded, output: Path) -> None:
    """Train on FILE; draw training and held-out error per epoch, and mark the sweet spot."""
    charts = import_charts(output)
    found = load_examples(source_of, loaded.settings, "read")
    write_picture(charts, charts.learning_curve(train(loaded.settings, found, options)), output)


@plot_command.command("roc")
@labelled_source_options
@models_option()
@setting_options(*READING, *WAITING)
@_output_option("roc")
def roc(files_of: FilesOptions, loaded: Loaded, models: Sequence[str], output: Path) -> None:
    """Predict and learn over FILE as `compare` does; draw recall against the false positive rate."""
    charts = import_charts(output)
    curves = _score_curves(files_of, loaded.settings, models)
    write_picture(charts, charts.roc(curves), output)


@plot_command.command("pr")
@labelled_source_options
@models_option()
@setting_options(*READING, *WAITING)
@_output_option("pr")
def precision_recall(files_of: FilesOptions, loaded: Loaded, models: Sequence[str], output: Path) -> None:
    """Predict and learn over FILE as `compare` does; draw precision against recall.

    Of the two it says more than ROC where positive events are rare.
    """
    charts = import_charts(output)
    curves = _score_curves(files_of, loaded.settings, models)
    write_picture(charts, charts.precision_recall(curves), output)


@plot_command.command("thresholds")
@labelled_source_options
@setting_options(*LEARNING, *WAITING)
@_output_option("thresholds")
def thresholds(files_of: FilesOptions, loaded: Loaded, output: Path) -> None:
    """Predict and learn over FILE as `replay` does; draw precision and recall against the threshold.

    `replay --threshold precision=0.95` prints the threshold that reaches a goal.
    """
    charts = import_charts(output)
    settings = loaded.settings
    name = written_model(settings.model, settings.model_params)
    curves = _score_curves(files_of, settings, [name])
    write_picture(charts, charts.thresholds(name, curves[name]), output)


def _score_curves(files_of: FilesOptions, settings: Settings, models: Sequence[str]) -> dict[str, ScoreCurve]:
    """Rank the scores of each model over files."""
    contest = Contest(settings, models)
    with files_of(settings) as files, counted_bar(files.size_bytes, "replay") as (completed, _):
        run_contest(contest, files, lambda: completed(files.bytes_read))
    refuse_nothing_learned(contest, files.name, settings.events)
    found = {each.name: curve for each in contest.contenders if (curve := each.curve())}
    if len(found) < len(contest.contenders):
        raise InputFileError(
            f"{files.name}: scores are drawn of two classes, and there are labels of "
            f"{len(contest.truths())} here"
        )
    return found


@plot_command.command("calibration")
@source_options
@setting_options(*LEARNING)
@_output_option("calibration")
def calibration(source_of: SourceOptions, loaded: Loaded, output: Path) -> None:
    """Predict and learn over FILE as `replay` does; draw how often predictions of each probability are right.

    The model must be one whose predictions have a probability, such as auto or normalized-adagrad.
    """
    charts = import_charts(output)
    settings = loaded.settings
    processor = make_processor(settings)
    if not processor.learner.has_log_odds:
        raise ConfigurationError(
            f"model: the scores of {settings.model} are no log-odds, so its predictions have no probability",
            hint=_calibrated(settings.classes),
        )
    files = InputFiles(TopicFile(source_of(settings), settings.events_topic))
    with files, progress_bar(files, "replay") as (records, _):
        process_in_batches(records, files, lambda *batch: processor.process_batch(*batch).dead_letters)
    found = processor.counters.calibration
    if not found.count:
        hint = refusal_hint(processor.counters.rejected, settings.events)
        raise InputFileError(f"{files.name}: no labelled example in it", hint=hint)
    write_picture(charts, charts.reliability_diagram(found), output)


def _calibrated(classes: Sequence[str]) -> str:
    """Return a hint at the models whose predictions have a probability, for that many classes."""
    if len(classes) > BINARY:
        return f"of {len(classes)} classes, --model auto has one"
    return f"use one that has: --model {', '.join(models_with_log_odds())}"


def _two_features(examples: Iterable[Example], axes: str | None, name: str) -> tuple[Any, Any]:
    """Choose the features that span the plane."""
    known = dict.fromkeys(feature for x, _ in examples for feature in x)
    if axes is None:
        if len(known) != _PLANE:
            raise InputFileError(
                f"{name}: has {len(known):,} features, and a picture two dimensions",
                hint="choose two: --axes NAME,NAME",
            )
        first, second = known
        return first, second
    by_text = {str(feature): feature for feature in known}
    chosen = [by_text.get(text.strip()) for text in axes.split(",")]
    if len(chosen) != _PLANE or None in chosen:
        some = ", ".join(list(by_text)[:8])
        raise click.BadParameter(f"{axes!r} names no two of {some}, …", param_hint="'--axes'")
    return chosen[0], chosen[1]
