"""`perceptron train`, `test` and `predict`: a model over a file that has an end."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import click

from perceptron_core import Epoch, Training, hold_out, perceptron_train
from service.cli.help import SettingsCommand, number_option
from service.cli.options import LEARNING, READING, Decorator, format_option, gathered_options, setting_options
from service.cli.output import (
    Rejections,
    echo_line,
    echo_result,
    open_stdout,
    report,
    report_data_warnings,
    report_warning,
)
from service.cli.source_options import Inputs, output_option, source_options
from service.cli.summary import counted, summary_text
from service.errors import ConfigurationError, InputFileError
from service.files.labelled_examples import (
    Example,
    ExampleSet,
    WeightedExample,
    read_examples,
    rejection_hint,
)
from service.files.rows import rejection_of_row
from service.files.sources import Source
from service.lab.evaluation import Evaluation
from service.lab.loaded_model import LoadedModel
from service.messages.rejection import Rejection, Skipped
from service.models.learner import Learner
from service.models.model_file import (
    ModelFile,
    made_with,
    read_model_file,
    reject_other_classes,
    settings_for,
    write_model_file,
)
from service.models.registry import learner_of, make_learner
from service.partition.examples import Example as PredictedExample
from service.partition.examples import LearnedExamples
from service.partition.parts.counters import data_warnings
from service.redaction import escaped
from service.settings.load import Loaded, Settings

_HEADER: Final = "     epoch   mistakes    updates  training error"


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """The options of `training_options`."""

    epochs: int
    holdout: float
    seed: int


def training_options(holdout: float) -> Decorator:
    """Add the options of a training to a command, which gets them as the keyword argument `options`."""
    return gathered_options(
        "options",
        TrainingOptions,
        number_option(
            "--epochs", type=click.IntRange(1), default=10, help="Largest number of epochs.  [default: 10]"
        ),
        number_option(
            "--holdout",
            type=click.FloatRange(0, 1, max_open=True),
            default=holdout,
            metavar="RATIO",
            help=f"Share of the examples to hold out to choose the best epoch.  [default: {holdout:g}]",
        ),
        number_option("--seed", type=click.IntRange(0), default=0, help="Seed of all random numbers."),
    )


def load_examples(inputs: Inputs, settings: Settings) -> ExampleSet:
    """Read the examples of a file; report unusable records on stderr."""
    with inputs.open(settings) as source:
        rejections = Rejections()
        return read_examples(
            source, settings, source.name, lambda each: rejections.report(f"{source.location}: {each}")
        )


def make_trainable(settings: Settings) -> Any:  # noqa: ANN401 - a learner with a model of perceptron_core's
    """Make the learner that the settings describe.

    Raises
    ------
    ConfigurationError
        It is a River model: those count no updates, so training could not detect convergence.

    """
    learner: Learner = make_learner(settings.model, settings.model_params, settings.classes)
    if not learner.has_files:
        raise ConfigurationError(
            f"model: {settings.model} is not a built-in model, and only these are trained in epochs",
            hint="run a River model once over a file: `perceptron replay`",
        )
    return learner


def train(settings: Settings, examples: ExampleSet, options: TrainingOptions) -> Training:
    """Train in epochs, with a row for each on stderr."""
    weighted, held_out = list(zip(examples.examples, examples.weights, strict=True)), list[WeightedExample]()
    if options.holdout:
        try:
            weighted, held_out = hold_out(weighted, options.holdout, options.seed)
        except ValueError as error:
            raise InputFileError(
                f"{examples.name}: {error}", hint="train on all examples: --holdout 0"
            ) from None
    try:
        return perceptron_train(
            [example for example, _ in weighted],
            options.epochs,
            learner=make_trainable(settings).model,
            seed=options.seed,
            weights=[weight for _, weight in weighted],
            held_out=[example for example, _ in held_out],
            observe=_show,
        )
    except ValueError as error:
        raise ConfigurationError(f"{settings.model}: {error}") from None


def _show(epoch: Epoch) -> None:
    """Show an epoch that has ended as a row on stderr."""
    is_held_out = epoch.held_out_error is not None
    if epoch.number == 1:
        echo_line(_HEADER + "  held-out error" * is_held_out)
    line = f"{epoch.number:>10} {epoch.mistakes:>10} {epoch.updates:>10} {epoch.training_error:>15.4f}"
    echo_line(line + (f" {epoch.held_out_error:>15.4f}" if is_held_out else ""))


@click.command(cls=SettingsCommand)
@source_options()
@training_options(holdout=0.0)
@setting_options(*LEARNING)
@output_option(
    "--save",
    help="File to write the model to; `perceptron test` evaluates it, `perceptron inspect` shows it.",
)
@format_option("Format of the summary.")
def train_command(
    inputs: Inputs, options: TrainingOptions, loaded: Loaded, *, save: Path | None, output: str
) -> int:
    """Train over FILE (- for stdin) in several epochs, as the textbook's PerceptronTrain does.

    Too few epochs underfit, too many overfit: --holdout keeps the model of the epoch with the smallest error
    on the held-out examples. Training ends early after an epoch without an update. The exit
    code is 1 if more than 5 % of the rows were rejected, or if no row has one of the --classes as its label.
    """
    settings = loaded.settings
    learner = make_trainable(settings)
    examples = load_examples(inputs, settings)
    started = perf_counter()
    training = train(settings, examples, options)
    seconds = perf_counter() - started
    learner.model = training.model
    if save:
        write_model_file(save, learner, made_with(settings))
        report("saved", "green", f"the model to {save}")
    summary = _training_summary(examples, training, learner, options, seconds)
    echo_result(output, summary, lambda: summary_text(summary, learner, settings.classes))
    return _report_warnings(examples, settings)


def _training_summary(
    examples: ExampleSet, training: Training, learner: Learner, options: TrainingOptions, seconds: float
) -> dict[str, Any]:
    summary = {
        **examples.describe(),
        "epochs": training.epochs,
        "best_epoch": training.best_epoch,
        "stopped": training.stopped,
        "converged": training.converged,
        "mistakes": training.mistakes,
        "updates": training.updates,
        "training_error": training.best.training_error,
        "held_out_error": training.best.held_out_error,
        "seed": options.seed,
        "seconds": seconds,
        "curve": [dataclasses.asdict(epoch) for epoch in training.curve],
    }
    weights = learner.weights()
    if weights is not None:
        summary |= {"weights_nonzero": len(weights[0]), "bias": weights[1]}
    return {name: value for name, value in summary.items() if value is not None}


@click.command(cls=SettingsCommand)
@click.argument("model", metavar="MODEL", type=click.Path(path_type=Path, dir_okay=False))
@source_options()
@setting_options(*READING)
@format_option("Format of the summary.")
def test_command(model: Path, inputs: Inputs, loaded: Loaded, output: str) -> int:
    """Predict FILE (- for stdin) with the model file MODEL, learning nothing, and count the mistakes.

    `perceptron train --save`, `replay --save` and `checkpoint export` write MODEL. It contains its classes
    and the settings of its features; a contradicting setting is rejected. The exit code is 1 if more than
    5 % of the rows were rejected, or if no row has one of the classes as its label.
    """
    file, loaded = load_model_file(model, loaded)
    settings = loaded.settings
    examples = load_examples(inputs, settings)
    started = perf_counter()
    evaluation = _evaluate(learner_of(file.model), examples.examples, settings.classes)
    summary = _test_summary(examples, evaluation, perf_counter() - started)
    echo_result(output, summary, lambda: summary_text(summary))
    return _report_warnings(examples, settings)


def _report_warnings(examples: ExampleSet, settings: Settings) -> int:
    """Warn of examples that may mislead; return the exit code."""
    rejected, truths = examples.rejected.total(), examples.truths()
    return report_data_warnings(data_warnings(rejected, examples.records, settings.classes, truths))


def _evaluate(learner: Learner, examples: Sequence[Example], classes: Sequence[str]) -> Evaluation:
    evaluation = Evaluation(classes)
    learned = LearnedExamples()
    for number, (x, truth) in enumerate(examples, start=1):
        learned.note(PredictedExample(str(number), x, *learner.assess(x), 0), truth, 0.0, 0)
    evaluation.observe(learned)
    return evaluation


def _test_summary(examples: ExampleSet, evaluation: Evaluation, seconds: float) -> dict[str, Any]:
    confusion = evaluation.confusion()
    mistakes = sum(n for truth, row in confusion.items() for guess, n in row.items() if guess != truth)
    summary = {
        **examples.describe(),
        "mistakes": mistakes,
        "error_rate": mistakes / len(examples.examples),
        "confusion": confusion,
        "classes": evaluation.classes(),
        **evaluation.ranking(),
        "seconds": seconds,
    }
    return {name: value for name, value in summary.items() if value is not None}


@click.command(cls=SettingsCommand)
@click.argument("model", metavar="MODEL", type=click.Path(path_type=Path, dir_okay=False))
@source_options()
@setting_options(*READING)
def predict_command(model: Path, inputs: Inputs, loaded: Loaded) -> int:
    """Predict each row of FILE (- for stdin) with the model file MODEL; print one line of JSON for each.

    A line has the id, label and score, and the probability of the label and the decision if there are any.
    Labels in FILE are not read, and nothing is learned. A row from a pipe is predicted at once. Rows that
    cannot be read are listed on stderr; the exit code is 1 if they are more than 5 % of all rows.

    `perceptron train --save`, `replay --save` and `checkpoint export` write MODEL. It contains its classes
    and the settings of its features; a contradicting setting is rejected.
    """
    file, loaded = load_model_file(model, loaded)
    predictor = LoadedModel(file, loaded.settings)
    with inputs.open(loaded.settings) as source:
        predicted, skipped, rejected = _predict(predictor, source)
        hint = rejection_hint(rejected, loaded.settings.events)
        if rejected and not predicted:
            raise InputFileError(f"{source.name}: all {len(rejected)} rows are rejected", hint=hint)
    others = f"; {counted(skipped, 'rows')} skipped" if skipped else ""
    others += f"; {counted(len(rejected), 'rows')} rejected" if rejected else ""
    report("predicted", "green", f"{counted(predicted, 'events')}{others}", hint=hint)
    return report_data_warnings(data_warnings(len(rejected), predicted + skipped + len(rejected), (), ()))


def _predict(predictor: LoadedModel, source: Source) -> tuple[int, int, list[str]]:
    """Print a prediction for each message; return how many, how many it skipped, and why it rejects some."""
    stdout = open_stdout().buffer
    source.before_wait(stdout.flush)
    predicted, skipped, rejected = 0, 0, list[str]()
    for message in source:
        try:
            prediction = predictor.assess(message, source.line)
        except Skipped:
            skipped += 1
        except Rejection as rejection:
            rejected.append(rejection.reason)
            report("rejected", "yellow", f"{source.location}: {rejection_of_row(message, rejection)}")
        else:
            predicted += 1
            stdout.write(escaped(json.dumps(prediction, ensure_ascii=False)).encode() + b"\n")
    stdout.flush()
    return predicted, skipped, rejected


def load_model_file(path: Path, loaded: Loaded, *, makes_model: bool = False) -> tuple[ModelFile, Loaded]:
    """Read a model file; return it, and the settings with those in it.

    With `makes_model`, another model is made with them.

    Raises
    ------
    ConfigurationError
        A setting that was given contradicts the file, or the file names code that would make the model.
    InputFileError
        The file cannot be read.

    """
    file = read_model_file(path)
    if file.settings is None:
        report_warning(f"{path} has no settings: set --classes, --text, --ngrams, … as when it was trained")
    loaded = settings_for(file, loaded, makes_model=makes_model)
    if not makes_model:
        reject_other_classes(path, file.model, loaded.settings.classes)
    return file, loaded
