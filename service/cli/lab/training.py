"""The options and steps that `train`, `test` and `plot` share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import click

from perceptron_core import Epoch, Training, hold_out, perceptron_train
from service.cli.options import Command, Decorator, Integer, with_options
from service.cli.output import Rejections
from service.cli.progress import counted_bar, progress_bar
from service.cli.source_options import SourceOptions
from service.datasets.labelled_examples import ExampleSet, WeightedExample, read_examples
from service.errors import ConfigurationError, InputFileError
from service.models.example_weights import weigh_classes
from service.models.learner import Learner
from service.models.registry import make_learner
from service.models.river import RiverLearner
from service.settings.load import Settings

_HEADER: Final = "     epoch   mistakes    updates  training error"


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """The options of `training_options`."""

    epochs: int
    order: Literal["shuffle", "constant", "random"]
    start: Literal["zero", "random"]
    holdout: float
    patience: int | None
    seed: int


def _options(holdout: float) -> Sequence[Decorator]:
    orders, starts = click.Choice(["shuffle", "constant", "random"]), click.Choice(["zero", "random"])
    of_order = "Of the examples in an epoch: shuffled each time, as in FILE, or drawn with replacement."
    of_holdout = (
        "Share of the examples to hold out; the epoch with the smallest error on them gives the model."
    )
    of_patience = "Stop after this many epochs without a smaller held-out error."
    return (
        click.option("--epochs", type=Integer(1), default=10, help="At most.  [default: 10]"),
        click.option("--order", type=orders, default="shuffle", help=of_order),
        click.option("--start", type=starts, default="zero", help="The first weights."),
        click.option(
            "--holdout",
            type=click.FloatRange(0, 1, max_open=True),
            default=holdout,
            metavar="RATIO",
            help=f"{of_holdout}  [default: {holdout:g}]",
        ),
        click.option("--patience", type=Integer(1), help=of_patience),
        click.option("--seed", type=Integer(0), default=0, help="Of all that is drawn."),
    )


def training_options(holdout: float) -> Decorator:
    """Add the options of a training to a command, which gets them as the keyword argument `options`."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def run(*args: object, **given: Any) -> Any:  # noqa: ANN401 - the command's own types
            names = TrainingOptions.__dataclass_fields__
            options = TrainingOptions(**{name: given.pop(name) for name in names})
            if options.patience and not options.holdout:
                raise click.UsageError("--patience needs --holdout: without it there is no error to watch")
            return command(*args, options=options, **given)

        return with_options(run, *_options(holdout))

    return decorate


def load_examples(source_of: SourceOptions, settings: Settings, title: str) -> ExampleSet:
    """Read the examples of a file, with a bar; say on stderr what cannot be used."""
    with source_of(settings) as source, progress_bar(source, title) as (messages, _):
        rejections = Rejections()
        return read_examples(
            messages, settings, source.name, lambda each: rejections.report(f"{source.place}: {each}")
        )


def make_trainable(settings: Settings) -> Any:  # noqa: ANN401 - a learner with a model of perceptron_core's
    """Make the learner that the settings describe.

    Raises
    ------
    ConfigurationError
        It is a River model: those count no updates, so training could not detect convergence.

    """
    learner: Learner = make_learner(settings.model, settings.model_params, settings.classes)
    if isinstance(learner, RiverLearner):
        raise ConfigurationError(
            f"model: {settings.model} is none of the built-in models, and others are not trained in epochs",
            hint="`perceptron replay` runs any River model over a file, once",
        )
    weigh_classes(learner, settings)
    return learner


def train(settings: Settings, found: ExampleSet, options: TrainingOptions) -> Training:
    """Train in epochs, with a bar and a row for each on stderr; a * marks the best one so far."""
    weighted, held_out = found.weighted(settings), list[WeightedExample]()
    if options.holdout:
        try:
            weighted, held_out = hold_out(weighted, options.holdout, options.seed)
        except ValueError as error:
            raise InputFileError(f"{found.name}: {error}", hint="--holdout 0 holds none out") from None
    with counted_bar(options.epochs, "train") as (completed, write_line):
        table = _EpochTable(write_line, completed)
        try:
            return perceptron_train(
                [example for example, _ in weighted],
                options.epochs,
                learner=make_trainable(settings).model,
                order=options.order,
                start=options.start,
                seed=options.seed,
                weights=[weight for _, weight in weighted],
                held_out=[example for example, _ in held_out],
                patience=options.patience,
                observe=table.row,
            )
        except ValueError as error:
            raise ConfigurationError(f"{settings.model}: {error}") from None


class _EpochTable:
    """A row for each epoch."""

    def __init__(self, write_line: Callable[[str], None], completed: Callable[[int], None]) -> None:
        self._write_line = write_line
        self._completed = completed
        self._best = float("inf")

    def row(self, epoch: Epoch) -> None:
        """Show an epoch that has ended."""
        if epoch.number == 1:
            self._write_line(_HEADER + ("  held-out error" if epoch.held_out_error is not None else ""))
        line = f"{epoch.number:>10} {epoch.mistakes:>10} {epoch.updates:>10} {epoch.training_error:>15.4f}"
        if epoch.held_out_error is not None:
            line += f" {epoch.held_out_error:>15.4f}"
            if epoch.held_out_error < self._best:
                self._best = epoch.held_out_error
                line += " *"
        self._write_line(line)
        self._completed(epoch.number)
