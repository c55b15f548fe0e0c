"""`perceptron replay`: a prequential run over a file. No stream, no server; the same processor as `serve`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import click

from service.cli.lab.file_batches import process_in_batches
from service.cli.lab.hindsight import Goal, mistakes_as_json, mistakes_text, reached, thresholds_text
from service.cli.options import LEARNING, PARTS, WAITING, Integer, format_option, setting_options
from service.cli.output import echo, report, report_doubts, report_warning
from service.cli.outputs import OutputPath
from service.cli.progress import ProgressTable, progress_bar
from service.cli.source_options import FilesOptions, labelled_source_options
from service.cli.summary import summary_text
from service.datasets.input_files import InputFiles, RepeatedIds
from service.datasets.labelled_examples import no_label_hint, nothing_used, refusal_hint
from service.errors import InputFileError
from service.lab.evaluation import Evaluation, summarise
from service.lab.prediction_file import PredictionFile
from service.lab.surest_mistakes import SurestMistakes
from service.mapping.unfound import warn_of_unfound
from service.models.auto import AutoLearner
from service.models.made_with import made_with
from service.models.model_file import refuse_pickle, write_model_file
from service.partition.counts.doubts import MOST_ASTRAY_RATIO, doubts, doubts_of_labels
from service.partition.counts.totals import Totals
from service.partition.decisions.part import kept_rules
from service.partition.examples import LearnedExamples
from service.partition.factory import check_times, for_file, make_decoder, make_processor
from service.partition.processor import Processor
from service.settings.load import Loaded, Settings
from service.settings.mapping import EventSettings
from service.stream import Output, Record

_MOST_NAMED: Final = 3
_ALONE: Final = ("waiting", "orphan", "late")
"""What becomes of labels without an event."""


@click.command()
@labelled_source_options
@setting_options(*LEARNING, *WAITING, *PARTS)
@format_option("Form of the summary.")
@click.option(
    "--save",
    type=OutputPath(),
    metavar="FILE",
    help="Write the model to FILE at the end; `perceptron inspect` shows it.",
)
@click.option(
    "--predictions",
    type=OutputPath(),
    metavar="FILE",
    help="Write the prediction of each event, with its truth, to FILE; .csv, .ndjson or .parquet.",
)
@click.option(
    "--errors",
    type=Integer(0),
    default=0,
    metavar="N",
    help="Show the N surest mistakes, and what spoke for them.",
)
@click.option(
    "--threshold",
    "goals",
    type=Goal(),
    multiple=True,
    help="Show which threshold of the score reaches a goal, such as precision=0.95; recall and "
    "false_positive_rate are others. May be given several times.",
)
def command(
    files_of: FilesOptions,
    loaded: Loaded,
    output: str,
    save: Path | None,
    predictions: Path | None,
    errors: int,
    goals: Sequence[tuple[str, float]],
) -> int:
    """Predict and learn over FILE (- for stdin), one event after the other, and count the mistakes.

    Each event is predicted first and learned from afterwards (prequential evaluation), exactly as `serve`
    does it. While it runs, a row appears at 1, 2, 4, 8, … labelled events; the summary follows. The exit code
    is 1 if more than 5 % of the rows were refused, or if one of the --classes is the label of none.

    With --labels, the labels are those of another file, and each is learned when its time comes.

    \b
    always commonest   error of always predicting the commonest class
    always last label  error of predicting the label that came before
    area under ROC     share of (positive, negative) pairs that the scores put in the right order
    average precision  mean of the precision at the score of each positive event
    recall at prec.    the most recall that a threshold has with that precision
    (1-ROCA)%          100 times what the area lacks of 1
    lam%               mean of the error rates of both classes, as log-odds
    precision          of the predictions of a class, those that are right
    recall             of the events of a class, those that are predicted so
    F1                 harmonic mean of the two
    specificity        of the events of other classes, those that are not predicted so
    MCC                Matthews correlation: 1 all right, 0 by chance, -1 all wrong

    A threshold that --threshold finds is that of this file, in hindsight and without a margin of safety.
    """  # noqa: D301 - \b is click's mark for lines to be left as they are
    settings = loaded.settings
    written = PredictionFile(predictions) if predictions else None
    with files_of(settings) as files, progress_bar(files, "replay") as (records, write_line):
        run = _Replay(settings, write_line, written, errors)
        if save:
            refuse_pickle(run.processor.learner)  # now, not after the work
        began = perf_counter()
        process_in_batches(records, files, partial(run.process, files))
        run.table.finish()
        seconds = perf_counter() - began
    counters, learner = run.processor.counters, run.processor.learner
    hint = refusal_hint(counters.rejected, settings.events)
    _refuse_nothing_used(counters.totals(), files.name, hint)
    summary = run.summary(files, seconds)
    run.warn(settings.events)
    if hint:
        report("hint", "cyan", hint)
    if save:
        write_model_file(save, learner, made_with(settings) | kept_rules(run.processor.further))
        report("saved", "green", f"the model to {save}")
    if run.predictions:
        report("saved", "green", f"{run.predictions.write():,} predictions to {predictions}")
    if run.mistakes:
        summary["errors"] = mistakes_as_json(run.mistakes.found(), settings.classes)
    if goals:
        summary["thresholds"] = reached(run.evaluation.curve(), goals, has_log_odds=learner.has_log_odds)
    if output == "json":
        echo(json.dumps(summary))
    else:
        further = [*thresholds_text(summary), *mistakes_text(summary)]
        echo("\n".join([summary_text(summary, learner, settings.classes), *further]))
    consumed, truths = counters.consumed.total(), counters.confusion.truths
    found = doubts(counters.rejected.total(), consumed, settings.classes, truths)
    report_doubts(doubts_of_labels(counters.totals(), counters.strays))
    return report_doubts(found)


def _refuse_nothing_used(totals: Totals, name: str, hint: str) -> None:
    """Refuse a file of which no record was an event that could be used."""
    if not totals.events and (totals.rejected or totals.skipped):
        raise InputFileError(f"{name}: {nothing_used(totals.rejected, totals.skipped)}", hint=hint)


class _Replay:
    """One run over one file."""

    def __init__(
        self,
        settings: Settings,
        write_line: Callable[[str], None],
        predictions: PredictionFile | None = None,
        errors: int = 0,
    ) -> None:
        check_times(settings)
        settings = for_file(settings)
        self.repeated = RepeatedIds(make_decoder(settings))
        self.processor: Processor = make_processor(
            settings, self._observe, decoder=self.repeated, uses_fast_path=not errors
        )
        self.predictions = predictions
        self.mistakes = SurestMistakes(errors, self.processor.learner) if errors else None
        self._topic = settings.predictions_topic
        self._is_timed = bool(settings.events.timestamp)
        self.evaluation = Evaluation(settings.classes)
        self.table = ProgressTable(write_line, settings.classes)

    def process(
        self, files: InputFiles, batch: Sequence[Record], now_ms: int | None
    ) -> Sequence[tuple[int, Output]]:
        """Predict and learn a batch; return the dead letters."""
        processed = self.processor.process_batch(batch, now_ms)
        if self.predictions:
            self.predictions.observe(
                processed.outputs, self._topic, are_timed=files.are_timed or self._is_timed
            )
        return processed.dead_letters

    def summary(self, files: InputFiles, seconds: float) -> dict[str, Any]:
        """Sum up what came of all records. Raises `InputFileError`, as `label_counts`."""
        found = summarise(self.processor, self.evaluation, seconds)
        if files.label_name:
            found["labels"] = self.label_counts(files)
            for kind in ("corrected", "late", "orphaned"):
                found.pop(kind, None)  # they are among the labels
        return found | {"repeated_ids": self.repeated.count}

    def label_counts(self, files: InputFiles) -> dict[str, int]:
        """Count the labels of a file of labels by what became of them.

        Raises `InputFileError` if none is of an event.
        """
        early = self.processor.join.early
        found = self.processor.counters.labels | Counter(waiting=len(early))
        alone = sum(found[each] for each in _ALONE)
        total = found.total() - found["timed_out"]
        what = f"{files.label_name}: {alone} of {total} labels found no event"
        named = f", such as {', '.join(islice(early, _MOST_NAMED))}" if early else ""
        skipped = ", are of events that events.where skips" if self.processor.counters.skipped else ""
        hint = f"they name other ids than {files.name}{named}{skipped}, "
        hint += "or came later than label_timeout_seconds"
        if alone and alone == total:
            raise InputFileError(what, hint=hint)
        if len(early) > MOST_ASTRAY_RATIO * total:
            waiting = f"{files.label_name}: {len(early)} of {total} labels are of events that did not come"
            report_warning(waiting, hint)
        return {name: count for name, count in sorted(found.items()) if count}

    def warn(self, events: EventSettings) -> None:
        """Warn of a file without labels, of ids that occur more than once, and of names that no event has."""
        counters, repeated = self.processor.counters, self.repeated
        warn_of_unfound([repeated.unfound()])
        if counters.predictions and not counters.labelled:
            hint = f"{no_label_hint(events)}; `perceptron predict` needs no labels"
            report_warning("no event has a label: nothing was learned, and no mistake can be counted", hint)
        learner = self.processor.learner
        if counters.labelled and isinstance(learner, AutoLearner) and learner.lacks_texts:
            report_warning("no event has a text, and nothing else says anything to the model")
        if repeated.count:
            names = ", ".join(repeated.named) + (", …" if repeated.has_more else "")
            report_warning(
                f"{repeated.count} events have the id of an earlier one ({names}): each is the same event "
                "again, and its label is not learned twice"
            )

    def _observe(self, learned: LearnedExamples) -> None:
        self.table.observe(learned)
        self.evaluation.observe(learned)
        if self.mistakes:
            self.mistakes.observe(learned)
