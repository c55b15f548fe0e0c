"""`perceptron predict`: predict the labels of the rows of a file with a trained model."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path

import click

from service.cli.model_files import load_model_file
from service.cli.options import READING, setting_options
from service.cli.output import open_stdout, report, report_doubts
from service.cli.progress import progress_bar
from service.cli.source_options import SourceOptions, source_options
from service.datasets.files import Source
from service.datasets.labelled_examples import refusal_hint
from service.datasets.rows import rejection_of_row
from service.errors import InputFileError
from service.lab.loaded_model import LoadedModel
from service.messages.rejection import Rejection, Skipped
from service.models.made_with import refuse_other_classes
from service.partition.counts.doubts import doubts
from service.redaction import visible
from service.settings.load import Loaded


@click.command()
@click.argument("model", metavar="MODEL", type=click.Path(path_type=Path, dir_okay=False))
@source_options
@setting_options(*READING)
def command(model: Path, source_of: SourceOptions, loaded: Loaded) -> int:
    """Predict each row of FILE (- for stdin) with the model file MODEL; print one line of JSON for each.

    A line has id, label, score and, where there are any, the probability of the label and the decision.
    Labels in FILE are not read, and nothing is learned. A row from a pipe is answered at once. Rows that
    cannot be read are named on stderr; the exit code is 1 if that is more than 5 % of them.

    MODEL is what `perceptron train --save`, `replay --save` or `checkpoint export` wrote. It knows its
    classes and how its features were made; a setting that contradicts it is refused.
    """
    file, loaded = load_model_file(model, loaded, makes_model=False)
    refuse_other_classes(model, file.model, loaded.settings.classes)
    predictor = LoadedModel(file, loaded.settings)
    with source_of(loaded.settings) as source:
        # A bar would stand between the predictions.
        shown = nullcontext((source, None)) if open_stdout().isatty() else progress_bar(source, "predict")
        with shown as (messages, _):
            predicted, skipped, rejected = _predict(predictor, source, messages)
        hint = refusal_hint(rejected, loaded.settings.events)
        if rejected and not predicted:
            raise InputFileError(f"{source.name}: none of {len(rejected)} rows can be read", hint=hint)
    refused = f"; {skipped} rows skipped" if skipped else ""
    refused += f"; {len(rejected)} rows rejected" if rejected else ""
    report("predicted", "green", f"{predicted} events{refused}", hint=hint)
    return report_doubts(doubts(len(rejected), predicted + skipped + len(rejected), (), ()))


def _predict(predictor: LoadedModel, source: Source, messages: Iterable[bytes]) -> tuple[int, int, list[str]]:
    """Print a prediction for each message; return how many, how many it skipped, and why it refused some."""
    stdout = open_stdout().buffer
    source.before_wait(stdout.flush)
    predicted, skipped, rejected = 0, 0, list[str]()
    for message in messages:
        try:
            answer = predictor.assess(message, source.line)
        except Skipped:
            skipped += 1
        except Rejection as rejection:
            rejected.append(rejection.reason)
            report("rejected", "yellow", f"{source.place}: {rejection_of_row(message, rejection)}")
        else:
            predicted += 1
            stdout.write(visible(json.dumps(answer, ensure_ascii=False)).encode() + b"\n")
    stdout.flush()
    return predicted, skipped, rejected
