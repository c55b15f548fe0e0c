"""`perceptron replay` and `compare`: prequential runs over files, by one model or several side by side.

No stream, no server; the same processor as `serve`. `plot` compares models as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import click

from perceptron_core.elementary import logistic
from service.cli.help import SettingsCommand, number_option
from service.cli.options import (
    LEARNING,
    PARTS,
    READING,
    WAITING,
    Decorator,
    format_option,
    gathered_options,
    setting_options,
    warn_of_ignored_settings,
)
from service.cli.output import Rejections, echo_result, report, report_data_warnings, report_warning
from service.cli.replay_outputs import ConfidentMistakes, ProgressTable
from service.cli.source_options import Inputs, output_option, source_options
from service.cli.summary import ABSENT, BASELINES, count_text, number_text, summary_text, table
from service.clock import SYSTEM_CLOCK
from service.errors import InputFileError
from service.files.columns import leaving_out
from service.files.input_files import InputFiles
from service.files.labelled_examples import no_label_hint, nothing_used, rejection_hint
from service.lab.comparison import Comparison, Contender, Leaks, model_of
from service.lab.evaluation import GOALS
from service.mapping.mapper import warn_of_missing_fields
from service.messages.labels import Vocabulary
from service.models.learner import Learner
from service.models.model_file import made_with, reject_pickle, write_atomically, write_model_file
from service.partition.parts.counters import (
    KINDS,
    MAX_UNMATCHED_RATIO,
    Counters,
    concerns,
    data_warnings,
    label_warnings,
)
from service.partition.parts.decisions import kept_rules
from service.partition.processor import Processor
from service.redaction import one_line
from service.settings.declaration import Decides
from service.settings.fields import names_that_decide
from service.settings.load import Loaded, Settings
from service.settings.mapping import EventSettings
from service.stream.protocol import Output, Record

BATCH_RECORDS: Final = 256
"""Messages processed at a time; messages from a slow pipe are processed as they come."""

Process = Callable[[Sequence[Record], int | None], Iterable[tuple[int, Output]]]
"""Processes a batch; returns the dead letters, each with the position of its record."""


def process_in_batches(files: InputFiles, process: Process) -> None:
    """Process every record of files. Event times are bounded by the clock, as in `serve`.

    Parameters
    ----------
    files
        The files of records.
    process
        Receives each batch, and the time.

    Raises
    ------
    InputFileError
        There is no record, or a file cannot be read to its end.

    """
    batch: list[Record] = []
    rejections = Rejections()

    def flush() -> None:
        processing_time_ms = int(SYSTEM_CLOCK.time() * 1000) if files.are_timed else None
        for position, dead_letter in process(batch, processing_time_ms):
            rejections.report(files.complaint(batch[position], dead_letter))
        batch.clear()

    files.before_wait(flush)
    for record in files:
        batch.append(record)
        if len(batch) >= BATCH_RECORDS:
            flush()
    flush()
    for name, n_early in files.unsorted():
        report_warning(
            f"{name}: {n_early} rows are out of time order, and are processed in the order of the file",
            hint="to process rows in time order, sort the file by time",
        )


_HEAD: Final = ("threshold", "score from", "probability", "precision", "recall", "FPR", "events")
_MAX_ID_LENGTH: Final = 40


def _goals(_: click.Context, __: click.Parameter, given: Sequence[str]) -> list[tuple[str, float]]:
    """Return goals such as precision=0.95, each with its value."""
    goals = []
    for text in given:
        name, _equals, value = text.partition("=")
        try:
            ratio = float(value)
        except ValueError:
            ratio = -1.0
        if name not in GOALS or not 0 <= ratio <= 1:
            raise click.BadParameter(f"expected {'|'.join(GOALS)}=RATIO, a ratio from 0 to 1, got {text!r}")
        goals.append((name, ratio))
    return goals


def _thresholds(run: Contender, goals: Sequence[tuple[str, float]]) -> dict[str, Any]:
    """Return the threshold that reaches each goal, or only the goal if none does."""
    curve, rows = run.evaluation.curve(), []
    for name, ratio in goals:
        row: dict[str, Any] = {"goal": f"{name}={ratio:g}"}
        if curve and (point := curve.at(name, ratio)):
            row |= point._asdict()
            if run.processor.learner.has_log_odds:
                row["probability"] = logistic(point.score)
        rows.append(row)
    return {"thresholds": rows} if rows else {}


def thresholds_text(summary: Mapping[str, Any]) -> list[str]:
    """Lay out the thresholds; empty if there are none."""
    rows = [
        (
            each["goal"],
            f"{each['score']:.6g}" if "score" in each else "not reached",
            *(number_text(each.get(name)) for name in ("probability", *GOALS)),
            f"{each['decided']:,}" if "decided" in each else ABSENT,
        )
        for each in summary.get("thresholds", ())
    ]
    return ["", table([_HEAD, *rows])] if rows else []


def mistakes_text(summary: Mapping[str, Any]) -> list[str]:
    """Lay out the most confident mistakes, each with its largest terms; empty if there are none."""
    if "errors" not in summary:
        return []
    lines = [
        "",
        "most confident mistakes, with the largest contributions" if summary["errors"] else "no mistake",
    ]
    for each in summary["errors"]:
        event_id = one_line(each["id"])
        shown = event_id if len(event_id) <= _MAX_ID_LENGTH else event_id[: _MAX_ID_LENGTH - 1] + "…"
        sure = f", probability {each['probability']:.4f}" if "probability" in each else ""
        truth, predicted = one_line(each["truth"]), one_line(each["predicted"])
        lines.append(f"  {shown}: {predicted}, but is {truth}; score {each['score']:+.4g}{sure}")
        lines += [
            f"    {number_text(term['contribution'], '+'):>10}  {one_line(term['feature'])}"
            for term in each["terms"]
        ]
    return lines


_MAX_NAMED: Final = 3
_ALONE: Final = ("waiting", "orphan", "late")
"""Outcomes of labels without an event."""


@dataclass(frozen=True)
class _Wanted:
    """The requested outputs besides the summary."""

    output: str
    save: Path | None
    predictions: Path | None
    errors: int
    goals: Sequence[tuple[str, float]]


@click.command(cls=SettingsCommand)
@source_options(labelled=True, timed=True)
@setting_options(*LEARNING, *WAITING, *PARTS)
@gathered_options(
    "wanted",
    _Wanted,
    format_option("Format of the summary."),
    output_option("--save", help="File to write the model to; `perceptron inspect` shows it."),
    output_option(
        "--predictions",
        help="File to write predictions and outcomes to, as NDJSON: the records that `serve` would write.",
    ),
    number_option(
        "--errors",
        type=click.IntRange(0),
        default=0,
        metavar="N",
        help="Number of the most confident mistakes to show, with their contributions.",
    ),
    click.option(
        "--threshold",
        "goals",
        metavar="GOAL=RATIO",
        multiple=True,
        callback=_goals,
        help="Goal to find a threshold for, such as precision=0.95; may be given several times.",
    ),
)
def replay_command(inputs: Inputs, loaded: Loaded, wanted: _Wanted) -> int:
    """Predict and learn over FILE (- for stdin), one event after the other, and count the mistakes.

    Each event is predicted first and learned afterwards (prequential evaluation), exactly as in `serve`. A
    row appears at 1, 2, 4, 8, … labelled events; the summary follows. The exit code is 1 if more than 5 % of
    the rows were rejected, or if no row has one of the --classes as its label.

    With --labels, the labels come from another file, and each is learned at its event time.

    The summary has these measures of quality:

    \b
    always majority    error of always predicting the majority class
    always last label  error of always predicting the last label
    area under ROC     share of (positive, negative) pairs that the scores put in the right order
    average precision  mean of the precision at the score of each positive event
    precision          share of the predictions of a class that are right
    recall             share of the events of a class that are predicted as this class
    F1                 harmonic mean of the two
    specificity        share of the events of other classes that are not predicted as this class
    MCC                Matthews correlation: 1 all right, 0 by chance, -1 all wrong

    --threshold finds the best threshold for this file after the fact, without a margin of safety.

    \b
    For example:
      perceptron replay events.ndjson --model auto
    """  # noqa: D301 - \b is click's mark for lines to be left as they are
    settings = loaded.settings
    written: list[bytes] = []
    topic = settings.predictions_topic if wanted.predictions else ""
    with inputs.open_all(settings) as files:
        table, leaks = ProgressTable(settings.classes), Leaks()
        run = Contender(
            settings.model, settings, *(table.observe, leaks.observe), uses_fast_path=not wanted.errors
        )
        if wanted.save:
            reject_pickle(run.processor.learner)  # before the run, not after it
        if wanted.errors:
            name_of = Vocabulary(settings.classes).name
            most_confident = ConfidentMistakes(wanted.errors, name_of, run.processor.learner)
            run.observers.append(most_confident.observe)
        started = perf_counter()
        process_in_batches(files, partial(_process, run, written, topic))
        run.seconds = perf_counter() - started  # with the time of reading
        table.finish()
    _reject_nothing_used(run.processor.counters, settings.events, files.name)
    labels = _labels(files, run.processor)
    _warn(run.processor, settings.events, are_apart=bool(labels))
    warn_of_leaks(leaks, inputs.label_column)
    _save(wanted, settings, run.processor, written)
    summary = run.summary | labels | _thresholds(run, wanted.goals)
    for among in KINDS if labels else ():
        summary.pop(among, None)
    if wanted.errors:
        summary["errors"] = most_confident.summaries()
    echo_result(wanted.output, summary, lambda: _text(summary, run.processor.learner, settings.classes))
    return _report_warnings(run, settings)


def _save(wanted: _Wanted, settings: Settings, processor: Processor, written: Sequence[bytes]) -> None:
    """Write the requested files, and report each."""
    if wanted.save:
        kept = made_with(settings) | kept_rules(processor.optional_parts)
        write_model_file(wanted.save, processor.learner, kept)
        report("saved", "green", f"the model to {wanted.save}")
    if wanted.predictions:
        write_atomically(wanted.predictions, b"".join(line + b"\n" for line in written))
        report("saved", "green", f"{len(written):,} predictions and outcomes to {wanted.predictions}")


def _process(
    run: Contender, written: list[bytes], topic: str, batch: Sequence[Record], processing_time_ms: int | None
) -> Sequence[tuple[int, Output]]:
    """Predict and learn a batch; note what `serve` would write to a topic; return the dead letters."""
    processed = run.process(batch, processing_time_ms)
    written += (output.value or b"" for output in processed.outputs if output.topic == topic)
    return processed.dead_letters


def _text(summary: Mapping[str, Any], learner: Learner, classes: Sequence[str]) -> str:
    parts = [summary_text(summary, learner, classes), *thresholds_text(summary), *mistakes_text(summary)]
    return "\n".join(parts)


def _reject_nothing_used(counters: Counters, events: EventSettings, name: str) -> None:
    """Reject a file without any usable event; otherwise only warn of unusable records."""
    totals, hint = counters.totals(), rejection_hint(counters.rejected, events)
    if not totals.events and (totals.rejected or totals.skipped):
        raise InputFileError(f"{name}: {nothing_used(totals.rejected, totals.skipped)}", hint=hint)
    if hint:
        report("hint", "cyan", hint)


def _labels(files: InputFiles, processor: Processor) -> dict[str, Any]:
    """Count the labels of a file of labels by outcome.

    Raises `InputFileError` if none is of an event.
    """
    if not files.label_name:
        return {}
    early = processor.join.early
    counts = processor.counters.labels | Counter(waiting=len(early))
    alone = sum(counts[each] for each in _ALONE)
    total = counts.total() - counts["timed_out"]
    named = f", such as {', '.join(islice(early, _MAX_NAMED))}" if early else ""
    skipped = ", are of events that events.where skips" if processor.counters.skipped else ""
    hint = f"their ids are not in {files.name}{named}{skipped}, or they came after label_timeout_seconds"
    if alone and alone == total:
        raise InputFileError(f"{files.label_name}: {alone} of {total} labels match no event", hint=hint)
    if len(early) > MAX_UNMATCHED_RATIO * total:
        waiting = f"{files.label_name}: {len(early)} of {total} labels precede their events or match none"
        report_warning(waiting, hint)
    return {"labels": {name: count for name, count in sorted(counts.items()) if count}}


def _warn(processor: Processor, events: EventSettings, *, are_apart: bool) -> None:
    """Warn of a file without labels, of ids that occur more than once, and of names that no event has."""
    counters = processor.counters
    warn_of_missing_fields([processor.decoder.missing_fields()])
    if counters.predictions and not counters.labelled:
        hint = f"{no_label_hint(events)}; `perceptron predict` needs no labels"
        report_warning("no event has a label, so the model learned nothing and mistakes are unknown", hint)
    if counters.labelled and processor.learner.lacks_texts:
        report_warning("no event has a text, and the model ignores everything else")
    again = counters.labels["duplicate"] + (0 if events.label_on_timeout else counters.labels["corrected"])
    if again and not are_apart:
        report_warning(f"{again} labels repeat their event's label, which is learned once: check the ids")


def warn_of_leaks(leaks: Leaks, column: str | None) -> None:
    """Warn of fields that alone determine the label, if --label-column is given."""
    if paths := leaks.determining():
        named = ", ".join(map(one_line, paths[:_MAX_NAMED])) + (", …" if paths[_MAX_NAMED:] else "")
        hint = f"if it is known only after the label, exclude it:  {leaving_out(','.join(paths), column)}"
        report_warning(f"{named}: determines the label", hint)


def _report_warnings(run: Contender, settings: Settings) -> int:
    """Warn of results that may mislead; return the exit code."""
    counters = run.processor.counters
    last_label = run.evaluation.baselines().get("last_label", {}).get("mistakes")
    confusion, name_of = counters.confusion, Vocabulary(settings.classes).name
    for each in concerns(confusion.cells, name_of, settings.model, settings.decisions, last_label):
        report_warning(*each)
    report_data_warnings(label_warnings(counters.totals(), counters.unmatched_ids))
    rejected, consumed = counters.rejected.total(), counters.consumed.total()
    return report_data_warnings(data_warnings(rejected, consumed, settings.classes, confusion.truths))


_COLUMNS: Final = (
    ("mistakes", "mistakes", count_text),
    ("error", "error_rate", number_text),
    ("AUC", "auc", number_text),
    ("avg prec", "average_precision", number_text),
    ("log loss", "log_loss", number_text),
    ("cost", "cost", "{:,.0f}".format),
    ("rejected", "rejected", count_text),
    ("seconds", "seconds", "{:.2f}".format),
)
"""Columns of the final table: header, name in a summary, and what formats it."""
_DEFAULT_MODELS: Final = ("perceptron", "arow", "normalized-adagrad", "auto")


def models_option() -> Decorator:
    """Return the option that names several models; the command gets them as `models`."""
    return click.option(
        "--model",
        "models",
        multiple=True,
        default=_DEFAULT_MODELS,
        metavar="TEXT",
        callback=lambda _, __, models: [*dict.fromkeys(models)],
        help="A built-in model, or package.module:factory or path/to/file.py:factory, with parameters other "
        "than its defaults as in arow,r=0.1; give it once for each model.  "
        f"[default: {', '.join(_DEFAULT_MODELS)}]",
    )


def run_comparison(inputs: Inputs, settings: Settings, comparison: Comparison) -> None:
    """Run all models over all records of files; warn of mapped fields that no event had.

    Raises
    ------
    InputFileError
        No model could use a labelled event.

    """
    with inputs.open_all(settings) as files:
        process_in_batches(files, comparison.process)
    warn_of_missing_fields([comparison.contenders[0].processor.decoder.missing_fields()])
    rejected = comparison.rejected()
    hint = rejection_hint(rejected, settings.events)
    if not any(contender.evaluation.labelled for contender in comparison.contenders):
        raise InputFileError(
            f"{files.name}: no labelled event; {rejected.total():,} messages were rejected",
            hint=hint or f"{no_label_hint(settings.events)}; a label may also follow its event",
        )
    if hint:
        report("hint", "cyan", hint)


@click.command(cls=SettingsCommand)
@source_options(labelled=True, timed=True)
@models_option()
@setting_options(*READING, *WAITING, *names_that_decide(Decides.DECISIONS))
@format_option("Format of the table.")
def compare_command(inputs: Inputs, loaded: Loaded, models: Sequence[str], output: str) -> int:
    """Run several models over FILE (- for stdin), side by side, and count the mistakes of each.

    Each model sees the same events in the same order, predicts each before it learns from it, and makes
    the same mistakes as in `replay`. The table has the fewest mistakes first. To compare
    parameters: --model arow,r=0.1 --model arow,r=10. The exit code is 1 if more than 5 % of the rows were
    rejected, or if no row has one of the --classes as its label.

    \b
    AUC        share of (positive, negative) pairs that the scores put in the right order
    avg prec   mean of the precision at the score of each positive event
    log loss   mean of -ln of the probability of the label, for models with probabilities
    cost       cost of all mistakes by the settings [costs], if there are any
    rejected   records that the model could not use; --format json has the reasons
    seconds    to read, predict and learn
    (always …) two baselines without features: the majority class, and the last label

    The last label is left out if labels were corrected.

    `perceptron plot roc` and `plot pr` draw the scores of several models.
    """  # noqa: D301 - \b is click's mark for lines to be left as they are
    settings = loaded.settings
    warn_of_ignored_settings(loaded, *(model_of(model)[0] for model in models))
    comparison, leaks = Comparison.of(settings, models), Leaks()
    comparison.contenders[0].observers.append(leaks.observe)
    run_comparison(inputs, settings, comparison)
    summaries = {each.name: each.summary for each in comparison.ranked()}
    shown = {"models": [{"model": name, **summary} for name, summary in summaries.items()]}
    echo_result(output, shown, lambda: _standings(summaries))
    warn_of_leaks(leaks, inputs.label_column)
    truths = {truth for one in comparison.contenders for truth in one.processor.counters.confusion.truths}
    return report_data_warnings(
        data_warnings(comparison.rejected().total(), comparison.n_records, settings.classes, truths)
    )


def _standings(summaries: Mapping[str, Mapping[str, Any]]) -> str:
    """Format the final table of named runs, baselines last."""
    baselines = next(iter(summaries.values()))["baselines"]
    shown = {**summaries, **{f"({BASELINES[name]})": each for name, each in baselines.items()}}
    columns = [column for column in _COLUMNS if any(column[1] in each for each in shown.values())]
    rows = [
        [one_line(name), *(form(each[key]) if key in each else ABSENT for _, key, form in columns)]
        for name, each in shown.items()
    ]
    return table([["model", *(column[0] for column in columns)], *rows])
