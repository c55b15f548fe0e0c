"""`perceptron test`: PerceptronTest over a file, which counts the errors of a model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import click

from perceptron_core import AutoClassifier
from service.cli.app import report_doubts
from service.cli.model_files import load_model_file, refuse_other_classes
from service.cli.options import LEARNING, setting_options
from service.cli.output import echo
from service.cli.source_options import SourceOptions, source_options
from service.cli.summary import confusion_table
from service.cli.training import load_examples
from service.datasets.labelled_examples import Example, ExampleSet
from service.messages.labels import Truth
from service.models.auto import AutoLearner
from service.monitoring.evaluation import Evaluation
from service.partition.counts.doubts import doubts
from service.partition.examples import LearnedExamples
from service.partition.processed import Step
from service.settings.load import Loaded

_FEATURES = tuple(name for name in LEARNING if name not in {"model", "model_params"})


@click.command()
@click.argument("model", metavar="MODEL", type=click.Path(path_type=Path, dir_okay=False))
@source_options
@setting_options(*_FEATURES)
@click.option(
    "--format", "output", type=click.Choice(["text", "json"]), default="text", help="Form of the summary."
)
def command(model: Path, source_of: SourceOptions, loaded: Loaded, output: str) -> int:
    """Predict FILE (- for stdin) with the model file MODEL, learning nothing, and count the mistakes.

    MODEL is what `perceptron train --save`, `replay --save` or `checkpoint export` wrote. It knows its
    classes and how its features were made; a setting that contradicts it is refused. The exit code is 1 if
    more than 5 % of the rows were refused, or if one of the classes is the label of none.
    """
    tested, loaded = load_model_file(model, loaded, makes_model=False)
    settings = loaded.settings
    refuse_other_classes(model, tested, settings.classes)
    found = load_examples(source_of, settings, "read")
    began = perf_counter()
    summary = _summarise(found, _evaluate(tested, found.examples, settings.classes), perf_counter() - began)
    echo(json.dumps(summary) if output == "json" else _as_text(summary))
    return report_doubts(doubts(found.rejected.total(), found.records, settings.classes, found.truths()))


def _evaluate(
    model: Any,  # noqa: ANN401 - any of perceptron_core's
    examples: list[Example],
    classes: Sequence[str],
) -> Evaluation:
    evaluation = Evaluation(classes)
    steps = []
    for number, (x, truth) in enumerate(examples, start=1):
        score, predicted = _assess(model, x)
        steps.append(Step(str(number), x, score, predicted, truth, predicted != truth, updates=0))
    evaluation.observe(LearnedExamples(steps))
    return evaluation


def _assess(model: Any, x: dict[Any, float]) -> tuple[float, Truth]:  # noqa: ANN401 - as above
    """Return the score and the class; of many scores the highest."""
    if isinstance(model, AutoClassifier):
        predicted, score = AutoLearner(model).assess(x)
        return score, predicted
    if hasattr(model, "score_one"):
        return model.score_one(x), model.predict_one(x)
    return max(model.scores_one(x).values(), default=0.0), model.predict_one(x)


def _summarise(found: ExampleSet, evaluation: Evaluation, seconds: float) -> dict[str, Any]:
    confusion = evaluation.confusion()
    mistakes = sum(n for truth, row in confusion.items() for guess, n in row.items() if guess != truth)
    summary = {
        **found.describe(),
        "mistakes": mistakes,
        "error_rate": mistakes / len(found.examples),
        "confusion": confusion,
        "auc": evaluation.auc(),
        "seconds": seconds,
    }
    return {name: value for name, value in summary.items() if value is not None}


def _as_text(summary: dict[str, Any]) -> str:
    lines = [
        f"{name:<20} {summary[name]:>12,}" for name in ("examples", "unlabelled", "rejected", "mistakes")
    ]
    lines.append(f"{'error rate':<20} {summary['error_rate']:>12.4f}")
    if "auc" in summary:
        lines.append(f"{'area under ROC':<20} {summary['auc']:>12.4f}")
    return "\n".join([*lines, *confusion_table(summary["confusion"])])
