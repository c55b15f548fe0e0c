"""Run several models over files, side by side: what `compare`, `tune` and the plots of scores share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import click

from service.cli.lab.file_batches import process_in_batches
from service.cli.options import Decorator
from service.cli.output import report, report_warning
from service.cli.summary import BASELINES
from service.cli.table import ABSENT, table
from service.datasets.input_files import InputFiles
from service.datasets.labelled_examples import no_label_hint, refusal_hint
from service.errors import ConfigurationError, InputFileError
from service.lab.contest import ORDERS, Contest
from service.mapping.unfound import warn_of_unfound
from service.redaction import one_line
from service.settings.load import Settings
from service.settings.mapping import EventSettings
from service.stream import Output, Record

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


order_option: Final = click.option(
    "--sort",
    "order",
    type=click.Choice([each.replace("_", "-") for each in ORDERS]),
    default="mistakes",
    callback=lambda _, __, chosen: chosen.replace("-", "_"),
    help="Which figure ranks the models.  [default: mistakes]",
)


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


def check_order(order: str, settings: Settings) -> None:
    """Raise `ConfigurationError` if models are to be ranked by costs that are not given."""
    if order == "cost" and not settings.costs.are_given:
        raise ConfigurationError(
            "--sort cost: no costs are given",
            hint="--costs-false-positive 1 --costs-false-negative 20, or a table [costs]",
        )


def run_contest(contest: Contest, files: InputFiles, observe: Callable[[], None]) -> None:
    """Let all models predict and learn all records; `observe` is called after each batch.

    Warn at the end of what settings name and no event had.
    """

    def process(batch: Sequence[Record], now_ms: int | None) -> Sequence[tuple[int, Output]]:
        letters = contest.process(batch, now_ms)
        observe()
        return letters

    process_in_batches(files, files, process)
    warn_of_unfound([contest.unfound()])


def refuse_nothing_learned(contest: Contest, name: str, events: EventSettings) -> None:
    """Refuse a file of which no model could use a labelled event; give a hint if some could not be used."""
    rejected = contest.rejected()
    hint = refusal_hint(rejected, events)
    if any(contender.labelled for contender in contest.contenders):
        if hint:
            report("hint", "cyan", hint)
        return
    raise InputFileError(
        f"{name}: no labelled event in it, so there are no mistakes to count; "
        f"{rejected.total():,} messages could not be used",
        hint=hint or f"{no_label_hint(events)}; a label may also follow its event",
    )


def standings(summaries: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """Lay out the final table of named runs, those without features last, and what could not be used."""
    baselines = summaries[0][1]["baselines"]
    shown = [*summaries, *((f"({BASELINES[name]})", each) for name, each in baselines.items())]
    columns = [column for column in _COLUMNS if any(column[1] in each for _, each in shown)]
    rows = [[one_line(name), *(_cell(each, *column[1:]) for column in columns)] for name, each in shown]
    lines = [table([["model", *(column[0] for column in columns)], *rows])]
    by_reasons: dict[str, list[str]] = {}
    for name, each in summaries:
        reasons = ", ".join(f"{why} {count:,}" for why, count in sorted(each["rejected_by_reason"].items()))
        by_reasons.setdefault(reasons, []).append(one_line(name))
    lines += [
        f"rejected by {', '.join(names)}: {reasons}" for reasons, names in by_reasons.items() if reasons
    ]
    return "\n".join(lines)


def _cell(summary: Mapping[str, Any], name: str, form: str) -> str:
    return format(summary[name], form) if name in summary else ABSENT
