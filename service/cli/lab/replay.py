"""`perceptron replay`: a prequential run over a file. No stream, no server; the same processor as `serve`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

import click

from service.cli.lab.file_batches import process_in_batches
from service.cli.options import LEARNING, format_option, setting_options
from service.cli.output import echo, report, report_doubts, report_warning
from service.cli.outputs import OutputPath
from service.cli.progress import ProgressTable, progress_bar
from service.cli.source_options import SourceOptions, source_options
from service.cli.summary import summary_text
from service.datasets.labelled_examples import no_label_hint, nothing_left, refusal_hint
from service.datasets.repeated_ids import RepeatedIds
from service.errors import InputFileError
from service.lab.evaluation import Evaluation, summarise
from service.models.made_with import made_with
from service.models.model_file import refuse_pickle, write_model_file
from service.partition.counts.doubts import doubts
from service.partition.examples import LearnedExamples
from service.partition.factory import for_file, make_decoder, make_processor
from service.partition.processor import Processor
from service.settings.load import Loaded, Settings
from service.settings.mapping import EventSettings
from service.settings.names import JOIN_SETTINGS
from service.stream import Output, Record


@click.command()
@source_options
@setting_options(*LEARNING, *JOIN_SETTINGS)
@format_option("Form of the summary.")
@click.option(
    "--save",
    type=OutputPath(),
    metavar="FILE",
    help="Write the model to FILE at the end; `perceptron inspect` shows it.",
)
def command(source_of: SourceOptions, loaded: Loaded, output: str, save: Path | None) -> int:
    """Predict and learn over FILE (- for stdin), one event after the other, and count the mistakes.

    Each event is predicted first and learned from afterwards (prequential evaluation), exactly as `serve`
    does it. While it runs, a row appears at 1, 2, 4, 8, … labelled events; the summary follows. The exit code
    is 1 if more than 5 % of the rows were refused, or if one of the --classes is the label of none.
    """
    settings = loaded.settings
    with source_of(settings) as source, progress_bar(source, "replay") as (messages, write_line):
        run = _Replay(settings, write_line)
        if save:
            refuse_pickle(run.processor.learner)  # now, not after the work
        began = perf_counter()
        process_in_batches(messages, source, settings.events_topic, run.process)
        run.table.finish()
        seconds = perf_counter() - began
    counters, learner = run.processor.counters, run.processor.learner
    summary = summarise(counters, learner, run.evaluation, seconds)
    hint = refusal_hint(counters.rejected, settings.events)
    if not summary["events"] and (summary["rejected"] or counters.skipped):
        refused = summary["rejected"] and f"none of {summary['rejected']} messages could be used"
        raise InputFileError(f"{source.name}: {refused or nothing_left(counters.skipped.total())}", hint=hint)
    summary["repeated_ids"] = run.repeated.count
    run.warn(settings.events)
    if hint:
        report("hint", "cyan", hint)
    if save:
        write_model_file(save, learner, made_with(settings))
        report("saved", "green", f"the model to {save}")
    echo(json.dumps(summary) if output == "json" else summary_text(summary, learner, settings.classes))
    records, truths = counters.consumed.total(), counters.confusion.truths
    return report_doubts(doubts(counters.rejected.total(), records, settings.classes, truths))


class _Replay:
    """One run over one file."""

    def __init__(self, settings: Settings, write_line: Callable[[str], None]) -> None:
        settings = for_file(settings)
        self.repeated = RepeatedIds(make_decoder(settings))
        self.processor: Processor = make_processor(settings, self._observe, decoder=self.repeated)
        self.evaluation = Evaluation(settings.classes)
        self.table = ProgressTable(write_line, settings.classes)

    def process(self, batch: Sequence[Record]) -> Sequence[tuple[int, Output]]:
        """Predict and learn a batch; return the dead letters."""
        return self.processor.process_batch(batch).dead_letters

    def warn(self, events: EventSettings) -> None:
        """Warn of a file without labels, and of ids that occur more than once."""
        counters, repeated = self.processor.counters, self.repeated
        if counters.predictions and not counters.labelled:
            hint = f"{no_label_hint(events)}; `perceptron predict` needs no labels"
            report_warning("no event has a label: nothing was learned, and no mistake can be counted", hint)
        if repeated.count:
            names = ", ".join(repeated.named) + (", …" if repeated.has_more else "")
            report_warning(
                f"{repeated.count} events have the id of an earlier one ({names}): each is the same event "
                "again, and its label is not learned twice"
            )

    def _observe(self, learned: LearnedExamples) -> None:
        self.table.observe(learned)
        self.evaluation.observe(learned)
