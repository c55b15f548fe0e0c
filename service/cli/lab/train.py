"""`perceptron train`: PerceptronTrain over a file, which writes a model and prints its learning curve."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import click

from perceptron_core import Training
from service.cli.lab.training import TrainingOptions, load_examples, make_trainable, train, training_options
from service.cli.options import LEARNING, format_option, setting_options
from service.cli.output import echo, report, report_doubts
from service.cli.outputs import OutputPath
from service.cli.source_options import SourceOptions, source_options
from service.cli.summary import facts, largest_weights
from service.datasets.labelled_examples import ExampleSet
from service.models.learner import Learner
from service.models.made_with import made_with
from service.models.model_file import write_model_file
from service.partition.counts.doubts import doubts
from service.settings.load import Loaded

_REASONS = {
    "max_iter": "all epochs were made",
    "converged": "converged: an epoch passed without an update",
    "patience": "the held-out error got no smaller",
}


@click.command()
@source_options
@training_options(holdout=0.0)
@setting_options(*LEARNING)
@click.option(
    "--save",
    type=OutputPath(),
    metavar="FILE",
    help="Write the model to FILE; `perceptron test` tries it, `perceptron inspect` shows it.",
)
@format_option("Form of the summary.")
def command(
    source_of: SourceOptions, options: TrainingOptions, loaded: Loaded, *, save: Path | None, output: str
) -> int:
    """Train over FILE (- for stdin) in several epochs, as the textbook's PerceptronTrain does.

    Few epochs underfit, many overfit: with --holdout, the table's last * marks the sweet spot, and the
    model of that epoch is the one that is kept. Ends early when an epoch passes without an update. The exit
    code is 1 if more than 5 % of the rows were refused, or if one of the --classes is the label of none.
    """
    settings = loaded.settings
    learner = make_trainable(settings)
    found = load_examples(source_of, settings, "read")
    began = perf_counter()
    training = train(settings, found, options)
    seconds = perf_counter() - began
    learner.model = training.model
    if save:
        write_model_file(save, learner, made_with(settings))
        report("saved", "green", f"the model to {save}")
    summary = _summarise(found, training, learner, options, seconds)
    echo(json.dumps(summary) if output == "json" else _as_text(summary, learner, settings.classes))
    return report_doubts(doubts(found.rejected.total(), found.records, settings.classes, found.truths()))


def _summarise(
    found: ExampleSet, training: Training, learner: Learner, options: TrainingOptions, seconds: float
) -> dict[str, Any]:
    summary = {
        **found.describe(),
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


def _as_text(summary: dict[str, Any], learner: Learner, classes: Sequence[str]) -> str:
    counts = ("examples", "unlabelled", "rejected", "skipped", "epochs", "mistakes", "updates")
    shown = {**summary, "stopped": _REASONS[summary["stopped"]]}
    if "held_out_error" in summary:
        shown["best_epoch"] = f"{'epoch ' + str(summary['best_epoch']):>12}"
    else:
        del shown["best_epoch"]
    lines = facts(shown, *counts, "training_error", "held_out_error", "best_epoch", "stopped")
    return "\n".join([*lines, *largest_weights(learner, classes)])
