"""`perceptron replay`: a prequential run over a file. No stream, no server; the same processor as `serve`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Final

import click

from service.cli.lab.file_batches import process_in_batches
from service.cli.options import LEARNING, format_option, setting_options
from service.cli.output import echo, report, report_doubts, report_warning
from service.cli.outputs import OutputPath
from service.cli.progress import ProgressTable, progress_bar
from service.cli.source_options import FilesOptions, labelled_source_options
from service.cli.summary import summary_text
from service.datasets.input_files import InputFiles
from service.datasets.labelled_examples import no_label_hint, nothing_left, refusal_hint
from service.datasets.repeated_ids import RepeatedIds
from service.errors import InputFileError
from service.lab.evaluation import Evaluation, summarise
from service.models.made_with import made_with
from service.models.model_file import refuse_pickle, write_model_file
from service.partition.counts.doubts import MOST_ASTRAY_RATIO, doubts, doubts_of_labels
from service.partition.decisions.part import Decisions
from service.partition.examples import LearnedExamples
from service.partition.factory import check_times, for_file, make_decoder, make_processor
from service.partition.processor import Processor
from service.partition.windows.part import Windows
from service.settings.load import Loaded, Settings
from service.settings.mapping import EventSettings
from service.settings.names import DECISION_SETTINGS, JOIN_SETTINGS
from service.stream import Output, Record

_MOST_NAMED: Final = 3
_ALONE: Final = ("waiting", "orphan", "late")
"""What becomes of labels without an event."""


@click.command()
@labelled_source_options
@setting_options(*LEARNING, *JOIN_SETTINGS, *DECISION_SETTINGS, "max_event_time_ahead_seconds")
@format_option("Form of the summary.")
@click.option(
    "--save",
    type=OutputPath(),
    metavar="FILE",
    help="Write the model to FILE at the end; `perceptron inspect` shows it.",
)
def command(files_of: FilesOptions, loaded: Loaded, output: str, save: Path | None) -> int:
    """Predict and learn over FILE (- for stdin), one event after the other, and count the mistakes.

    Each event is predicted first and learned from afterwards (prequential evaluation), exactly as `serve`
    does it. While it runs, a row appears at 1, 2, 4, 8, … labelled events; the summary follows. The exit code
    is 1 if more than 5 % of the rows were refused, or if one of the --classes is the label of none.

    With --labels, the labels are those of another file, and each is learned when its time comes.
    """
    settings = loaded.settings
    with files_of(settings) as files, progress_bar(files, "replay") as (records, write_line):
        run = _Replay(settings, write_line)
        if save:
            refuse_pickle(run.processor.learner)  # now, not after the work
        began = perf_counter()
        process_in_batches(records, files, run.process)
        run.table.finish()
        seconds = perf_counter() - began
    counters, learner = run.processor.counters, run.processor.learner
    summary = summarise(counters, learner, run.evaluation, seconds)
    hint = refusal_hint(counters.rejected, settings.events)
    if not summary["events"] and (summary["rejected"] or counters.skipped):
        refused = summary["rejected"] and f"none of {summary['rejected']} messages could be used"
        raise InputFileError(f"{files.name}: {refused or nothing_left(counters.skipped.total())}", hint=hint)
    for part in run.processor.further:
        summary |= part.summary(counters.confusion.cells) if isinstance(part, Decisions) else {}
    if files.label_name:
        summary["labels"] = run.label_counts(files)
    summary["repeated_ids"] = run.repeated.count
    run.warn(settings.events)
    if hint:
        report("hint", "cyan", hint)
    if save:
        write_model_file(save, learner, made_with(settings))
        report("saved", "green", f"the model to {save}")
    echo(json.dumps(summary) if output == "json" else summary_text(summary, learner, settings.classes))
    consumed, truths = counters.consumed.total(), counters.confusion.truths
    found = doubts(counters.rejected.total(), consumed, settings.classes, truths)
    report_doubts(doubts_of_labels(counters.totals(), counters.strays))
    return report_doubts(found)


class _Replay:
    """One run over one file."""

    def __init__(self, settings: Settings, write_line: Callable[[str], None]) -> None:
        check_times(settings)
        settings = for_file(settings)
        self.repeated = RepeatedIds(make_decoder(settings))
        self.processor: Processor = make_processor(settings, self._observe, decoder=self.repeated)
        self.evaluation = Evaluation(settings.classes)
        self.table = ProgressTable(write_line, settings.classes)

    def process(self, batch: Sequence[Record], now_ms: int | None) -> Sequence[tuple[int, Output]]:
        """Predict and learn a batch; return the dead letters."""
        return self.processor.process_batch(batch, now_ms).dead_letters

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
        hint = f"they name other ids than {files.name}{named}, or came later than label_timeout_seconds"
        if alone and alone == total:
            raise InputFileError(what, hint=hint)
        if len(early) > MOST_ASTRAY_RATIO * total:
            waiting = f"{files.label_name}: {len(early)} of {total} labels are of events that did not come"
            report_warning(waiting, hint)
        return {name: count for name, count in sorted(found.items()) if count}

    def warn(self, events: EventSettings) -> None:
        """Warn of a file without labels, of ids that occur more than once, and of keys that no event has."""
        counters, repeated = self.processor.counters, self.repeated
        if counters.predictions and not counters.labelled:
            hint = f"{no_label_hint(events)}; `perceptron predict` needs no labels"
            report_warning("no event has a label: nothing was learned, and no mistake can be counted", hint)
        for part in self.processor.further:
            for key in part.unseen_keys() if isinstance(part, Windows) and counters.predictions else ():
                report_warning(f"events.windows: no event has the key {key}: its windows made no feature")
        if repeated.count:
            names = ", ".join(repeated.named) + (", …" if repeated.has_more else "")
            report_warning(
                f"{repeated.count} events have the id of an earlier one ({names}): each is the same event "
                "again, and its label is not learned twice"
            )

    def _observe(self, learned: LearnedExamples) -> None:
        self.table.observe(learned)
        self.evaluation.observe(learned)
