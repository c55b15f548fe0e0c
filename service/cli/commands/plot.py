"""`perceptron plot`: draw a training or a model as PNG or SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import click

from perceptron_core import Hyperplane
from perceptron_core.linear.linear_rule import LinearRule
from service.cli.commands.replay import models_option, run_comparison
from service.cli.commands.training import TrainingOptions, load_examples, train, training_options
from service.cli.help import SettingsCommand
from service.cli.options import LEARNING, READING, WAITING, Command, setting_options
from service.cli.output import report
from service.cli.source_options import Inputs, output_option, source_options
from service.errors import ConfigurationError, InputFileError, ServiceError
from service.files.labelled_examples import Example
from service.lab.comparison import Comparison, Contender
from service.settings.load import Loaded

_PLANE: Final = 2


def _output_option(kind: str) -> Callable[[Command], Command]:
    name = f"{kind}.png"
    return output_option(
        "-o", "--output", default=name, help=f"Image to write, .png or .svg.  [default: {name}]"
    )


@click.group("plot")
def plot_command() -> None:
    """Plot the boundary, the learning curve, or the quality of the scores.

    Needs Matplotlib: pip install 'online-perceptron[plot]'.
    """


@plot_command.command("boundary", cls=SettingsCommand)
@source_options()
@training_options(holdout=0.0)
@setting_options(*LEARNING)
@_output_option("boundary")
def boundary(inputs: Inputs, options: TrainingOptions, loaded: Loaded, output: Path) -> None:
    """Draw the boundary of a model of two features.

    Train on FILE, and draw the examples as well. Mistakes are those on the wrong side after training.
    """
    charts = _import_charts(output)
    settings = loaded.settings
    example_set = load_examples(inputs, settings)
    names = _two_features(example_set.examples, example_set.name)
    model = train(settings, example_set, options).model
    if not isinstance(model, LinearRule):
        raise ConfigurationError(
            f"model: the boundary of {type(model).__name__} is not a line",
            hint="choose a linear model of two classes, such as --model perceptron",
        )
    points = [
        charts.Point(x.get(names[0], 0.0), x.get(names[1], 0.0), bool(y), model.predict_one(x) != y)
        for x, y in example_set.examples
    ]
    classes = (settings.classes[0], settings.classes[1]) if settings.classes else ("negative", "positive")
    shown = (str(names[0]), str(names[1]))
    plane = Hyperplane.of(model)
    named = Hyperplane({str(name): weight for name, weight in plane.weights.items()}, plane.bias)
    _write_picture(charts, charts.boundary(named, points, shown, classes), output)


@plot_command.command("learning-curve", cls=SettingsCommand)
@source_options()
@training_options(holdout=0.2)
@setting_options(*LEARNING)
@_output_option("learning-curve")
def learning_curve(inputs: Inputs, options: TrainingOptions, loaded: Loaded, output: Path) -> None:
    """Draw training and held-out error per epoch.

    Train on FILE, and mark the best epoch.
    """
    charts = _import_charts(output)
    examples = load_examples(inputs, loaded.settings)
    _write_picture(charts, charts.learning_curve(train(loaded.settings, examples, options)), output)


def _curves_command(kind: str, text: str) -> None:
    """Add a command that draws a curve of scores for each model."""

    @source_options(labelled=True, timed=True)
    @models_option()
    @setting_options(*READING, *WAITING)
    @_output_option(kind)
    def draw(inputs: Inputs, loaded: Loaded, models: Sequence[str], output: Path) -> None:
        charts = _import_charts(output)
        comparison = Comparison.of(loaded.settings, models)
        run_comparison(inputs, loaded.settings, comparison)
        curves = {each.name: curve for each in comparison.contenders if (curve := each.evaluation.curve())}
        if len(curves) < len(comparison.contenders):
            raise InputFileError("expected labels of two classes")
        _write_picture(charts, charts.CURVES[kind](curves), output)

    described = f"{text}\n\nPredict and learn over FILE as `compare` does."
    plot_command.command(kind, cls=SettingsCommand, help=described)(draw)


_curves_command("roc", "Draw recall against the false positive rate.")
_curves_command(
    "pr", "Draw precision against recall.\n\nIf positive events are rare, this shows more than ROC."
)


@plot_command.command("calibration", cls=SettingsCommand)
@source_options(labelled=True, timed=True)
@setting_options(*LEARNING, *WAITING)
@_output_option("calibration")
def calibration(inputs: Inputs, loaded: Loaded, output: Path) -> None:
    """Draw a reliability diagram.

    Predict and learn over FILE as `replay` does, and draw how often predictions of each probability are
    right. The model must predict probabilities, as auto and normalized-adagrad do.
    """
    charts = _import_charts(output)
    settings = loaded.settings
    run = Contender(settings.model, settings)
    if not run.processor.learner.has_log_odds:
        raise ConfigurationError(
            f"model: {settings.model} has no probabilities, as its scores are not log-odds",
            hint="--model auto has probabilities",
        )
    run_comparison(inputs, settings, Comparison([run]))
    _write_picture(charts, charts.reliability_diagram(run.processor.counters.calibration), output)


def _two_features(examples: Iterable[Example], name: str) -> tuple[Any, Any]:
    """Return the features that span the plane."""
    known = dict.fromkeys(feature for x, _ in examples for feature in x)
    if len(known) != _PLANE:
        raise InputFileError(
            f"{name}: expected 2 features, got {len(known):,}",
            hint="choose two features: --events-features NAME,NAME --events-label NAME",
        )
    first, second = known
    return first, second


def _import_charts(output: Path) -> Any:  # noqa: ANN401 - a module
    """Import the charts, or report what is missing, before any work is done."""
    try:
        from service.lab import charts  # noqa: PLC0415 - Matplotlib is an extra
    except ModuleNotFoundError as error:
        raise ServiceError(
            f"plot: {error.name} is not installed", hint="pip install 'online-perceptron[plot]'"
        ) from None
    if output.suffix.lower() not in charts.FORMATS:
        raise click.BadParameter(
            f"{output}: expected one of the extensions {', '.join(charts.FORMATS)}", param_hint="'--output'"
        )
    return charts


def _write_picture(charts: Any, figure: Any, output: Path) -> None:  # noqa: ANN401 - a module, its figure
    """Write a figure, or report why it cannot be written."""
    try:
        charts.save(figure, output)
    except OSError as error:
        raise ServiceError(
            f"{output}: cannot be written: {error.strerror}", hint="choose another file with --output"
        ) from None
    report("saved", "green", f"the picture to {output}")
