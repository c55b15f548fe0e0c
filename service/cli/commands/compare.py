"""`perceptron compare`: several models over files, side by side; `plot` runs them as well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import click

from service.cli.commands.replay import process_in_batches, warn_of_leaks
from service.cli.options import (
    READING,
    WAITING,
    Decorator,
    format_option,
    setting_options,
    warn_of_ignored_settings,
)
from service.cli.output import echo_result, report, report_doubts, report_warning
from service.cli.progress import progress_bar
from service.cli.source_options import Inputs, source_options
from service.cli.summary import ABSENT, BASELINES, table
from service.errors import InputFileError
from service.files.labelled_examples import no_label_hint, refusal_hint
from service.lab.contest import Contest, Leaks, model_of
from service.mapping.mapper import warn_of_unfound
from service.partition.parts.counters import doubts
from service.redaction import one_line
from service.settings.declaration import Decides
from service.settings.fields import names_that_decide
from service.settings.load import Loaded, Settings

_COLUMNS: Final = (
    ("mistakes", "mistakes", ","),
    ("error", "error_rate", ".4f"),
    ("AUC", "auc", ".4f"),
    ("avg prec", "average_precision", ".4f"),
    ("log loss", "log_loss", ".4f"),
    ("cost", "cost", ",.0f"),
    ("seconds", "seconds", ".2f"),
)
"""Of the final table: the head, the name in a summary, the form."""
_DEFAULT_MODELS: Final = ("perceptron", "arow", "normalized-adagrad", "auto")


def models_option() -> Decorator:
    """Return the option that names several models; the command gets them as `models`."""
    return click.option(
        "--model",
        "models",
        multiple=True,
        default=_DEFAULT_MODELS,
        metavar="TEXT",
        callback=lambda _, __, models: _once_each(models),
        help="A built-in model, or package.module:factory or path/to/file.py:factory, with parameters other "
        "than its defaults as in arow,r=0.1; give it once for each model.  "
        f"[default: {', '.join(_DEFAULT_MODELS)}]",
    )


def _once_each(models: Sequence[str]) -> list[str]:
    """Return the models without repetitions, and warn of those."""
    counts = Counter(models)
    if repeated := [name for name, count in counts.items() if count > 1]:
        report_warning(f"--model {', '.join(repeated)}: given more than once, and runs once")
    return [*counts]


def run_contest(inputs: Inputs, settings: Settings, contest: Contest) -> None:
    """Let all models predict and learn all records of files. Warn of what settings name and no event had.

    Raises
    ------
    InputFileError
        No model could use a labelled event.

    """
    with inputs.open_all(settings) as files, progress_bar(files, "compare") as records:
        process_in_batches(records, files, contest.process)
    warn_of_unfound([contest.contenders[0].processor.decoder.unfound()])
    rejected = contest.rejected()
    hint = refusal_hint(rejected, settings.events)
    if not any(contender.evaluation.labelled for contender in contest.contenders):
        raise InputFileError(
            f"{files.name}: no labelled event in it, so there are no mistakes to count; "
            f"{rejected.total():,} messages could not be used",
            hint=hint or f"{no_label_hint(settings.events)}; a label may also follow its event",
        )
    if hint:
        report("hint", "cyan", hint)


@click.command()
@source_options(labelled=True, timed=True)
@models_option()
@setting_options(*READING, *WAITING, *names_that_decide(Decides.DECISIONS))
@format_option("Form of the table.")
def compare_command(inputs: Inputs, loaded: Loaded, models: Sequence[str], output: str) -> int:
    """Run several models over FILE (- for stdin), side by side, and count the mistakes of each.

    Each model sees the same events in the same order, predicts each before it learns from it, and makes
    the mistakes that `replay` counts for it. The table has the fewest mistakes first. To compare
    parameters: --model arow,r=0.1 --model arow,r=10. The exit code is 1 if more than 5 % of the rows were
    rejected, or if one of the --classes is the label of none.

    \b
    AUC        share of (positive, negative) pairs that the scores put in the right order
    avg prec   mean of the precision at the score of each positive event
    log loss   mean of -ln of the probability of what happened; of models that have one
    cost       as the settings of [costs] say; where there are some
    seconds    to read, predict and learn
    (always …) what two predictors without features would do: the commonest class, and the label that
               came before (left out where labels were corrected)

    `perceptron plot roc` and `plot pr` draw the scores of several models.
    """  # noqa: D301 - \b is click's mark for lines to be left as they are
    settings = loaded.settings
    warn_of_ignored_settings(loaded, *(model_of(each)[0] for each in models))
    contest, leaks = Contest.of(settings, models), Leaks()
    contest.contenders[0].observers.append(leaks.observe)
    run_contest(inputs, settings, contest)
    summaries = {each.name: each.summary for each in contest.ranked()}
    shown = {"models": [{"model": name, **summary} for name, summary in summaries.items()]}
    echo_result(output, shown, lambda: _standings(summaries))
    warn_of_leaks(leaks)
    truths = {each for one in contest.contenders for each in one.processor.counters.confusion.truths}
    return report_doubts(doubts(contest.rejected().total(), contest.n_records, settings.classes, truths))


def _standings(summaries: Mapping[str, Mapping[str, Any]]) -> str:
    """Lay out the final table of named runs, those without features last, and what could not be used."""
    baselines = next(iter(summaries.values()))["baselines"]
    shown = {**summaries, **{f"({BASELINES[name]})": each for name, each in baselines.items()}}
    columns = [column for column in _COLUMNS if any(column[1] in each for each in shown.values())]
    rows = [
        [one_line(name), *(_cell(each, *column[1:]) for column in columns)] for name, each in shown.items()
    ]
    lines = [table([["model", *(column[0] for column in columns)], *rows])]
    by_reasons: dict[str, list[str]] = {}
    for name, each in summaries.items():
        reasons = ", ".join(f"{why} {count:,}" for why, count in sorted(each["rejected_by_reason"].items()))
        by_reasons.setdefault(reasons, []).append(one_line(name))
    lines += [
        f"rejected by {', '.join(names)}: {reasons}" for reasons, names in by_reasons.items() if reasons
    ]
    return "\n".join(lines)


def _cell(summary: Mapping[str, Any], name: str, form: str) -> str:
    return format(summary[name], form) if name in summary else ABSENT
