"""`perceptron test`: PerceptronTest over a file, which counts the errors of a model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import click

from service.cli.lab.training import load_examples
from service.cli.model_files import load_model_file
from service.cli.options import READING, format_option, setting_options
from service.cli.output import echo, report_doubts
from service.cli.source_options import SourceOptions, source_options
from service.cli.summary import RANKING, class_table, confusion_table, facts
from service.datasets.labelled_examples import Example, ExampleSet
from service.lab.evaluation import Evaluation
from service.models.learner import Learner
from service.models.made_with import refuse_other_classes
from service.models.registry import learner_of
from service.partition.counts.doubts import doubts
from service.partition.examples import LearnedExamples
from service.partition.processed import Step
from service.settings.load import Loaded


@click.command()
@click.argument("model", metavar="MODEL", type=click.Path(path_type=Path, dir_okay=False))
@source_options
@setting_options(*READING)
@format_option("Form of the summary.")
def command(model: Path, source_of: SourceOptions, loaded: Loaded, output: str) -> int:
    """Predict FILE (- for stdin) with the model file MODEL, learning nothing, and count the mistakes.

    MODEL is what `perceptron train --save`, `replay --save` or `checkpoint export` wrote. It knows its
    classes and how its features were made; a setting that contradicts it is refused. The exit code is 1 if
    more than 5 % of the rows were refused, or if one of the classes is the label of none.
    """
    file, loaded = load_model_file(model, loaded, makes_model=False)
    settings = loaded.settings
    refuse_other_classes(model, file.model, settings.classes)
    found = load_examples(source_of, settings, "read")
    began = perf_counter()
    evaluation = _evaluate(learner_of(file.model), found.examples, settings.classes)
    summary = _summarise(found, evaluation, perf_counter() - began)
    echo(json.dumps(summary) if output == "json" else _as_text(summary))
    return report_doubts(doubts(found.rejected.total(), found.records, settings.classes, found.truths()))


def _evaluate(learner: Learner, examples: Sequence[Example], classes: Sequence[str]) -> Evaluation:
    evaluation = Evaluation(classes)
    steps = []
    for number, (x, truth) in enumerate(examples, start=1):
        predicted, score = learner.assess(x)
        steps.append(Step(str(number), x, score, predicted, truth, predicted != truth, updates=0))
    evaluation.observe(LearnedExamples(steps))
    return evaluation


def _summarise(found: ExampleSet, evaluation: Evaluation, seconds: float) -> dict[str, Any]:
    confusion = evaluation.confusion()
    mistakes = sum(n for truth, row in confusion.items() for guess, n in row.items() if guess != truth)
    summary = {
        **found.describe(),
        "mistakes": mistakes,
        "error_rate": mistakes / len(found.examples),
        "confusion": confusion,
        "classes": evaluation.classes(),
        **evaluation.ranking(),
        "seconds": seconds,
    }
    return {name: value for name, value in summary.items() if value is not None}


def _as_text(summary: dict[str, Any]) -> str:
    counts = facts(summary, "examples", "unlabelled", "rejected", "skipped", "mistakes", "error_rate")
    confusion = summary["confusion"]
    judged = [*facts(summary, *RANKING), *confusion_table(confusion), *class_table(summary["classes"])]
    return "\n".join([*counts, *judged])
