"""`perceptron compare` and `tune`: several models over files, side by side; `plot` runs them as well."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import click

from service.cli.commands.replay import process_in_batches
from service.cli.options import (
    LEARNING,
    READING,
    WAITING,
    Decorator,
    Integer,
    format_option,
    setting_options,
    warn_of_ignored_settings,
)
from service.cli.output import echo, report, report_doubts, report_warning
from service.cli.progress import counted_bar
from service.cli.source_options import FilesOptions, labelled_source_options
from service.cli.summary import ABSENT, BASELINES, table
from service.errors import ConfigurationError, InputFileError
from service.files.files import STDIN
from service.files.input_files import InputFiles
from service.files.labelled_examples import no_label_hint, refusal_hint
from service.lab.contest import (
    ORDERS,
    Contender,
    Contest,
    draw_trials,
    model_of,
    rank,
    written_model,
    written_scalar,
)
from service.mapping.unfound import warn_of_unfound
from service.models.registry import BUILT_IN, built_in, make_learner
from service.partition.parts.counters import doubts
from service.redaction import one_line
from service.settings.declaration import Decides
from service.settings.fields import names_that_decide
from service.settings.load import Loaded, Settings
from service.settings.mapping import EventSettings
from service.stream.protocol import Output, Record

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


_NARROWEST: Final = 10


@click.command()
@labelled_source_options
@models_option()
@order_option
@setting_options(*READING, *WAITING, *names_that_decide(Decides.DECISIONS))
@format_option("Form of the table.")
def compare_command(
    files_of: FilesOptions, loaded: Loaded, models: Sequence[str], order: str, output: str
) -> int:
    """Run several models over FILE (- for stdin), side by side, and count the mistakes of each.

    Each model sees the same events in the same order, predicts each before it learns from it, and makes
    the mistakes that `replay` counts for it. While they run, a row appears at 1, 2, 4, 8, … labelled events;
    the table at the end has the fewest mistakes first. To compare parameters: --model arow,r=0.1 --model
    arow,r=10. The exit code is 1 if more than 5 % of the rows were refused, or if one of the --classes is the
    label of none.

    \b
    AUC        share of (positive, negative) pairs that the scores put in the right order
    avg prec   mean of the precision at the score of each positive event
    log loss   mean of -ln of the probability of what happened; of models that have one
    cost       as the settings of [costs] say; where there are some
    seconds    to predict and learn; reading and features are shared, and not counted
    (always …) what two predictors without features would do: the commonest class, and the label that
               came before (left out where labels were corrected)

    `perceptron plot roc` and `plot pr` draw the scores of several models.
    """  # noqa: D301 - \b is click's mark for lines to be left as they are
    settings = loaded.settings
    check_order(order, settings)
    warn_of_ignored_settings(loaded, *(model_of(each)[0] for each in models))
    contest = Contest(settings, models)
    with (
        files_of(settings) as files,
        counted_bar(files.size_bytes, "compare") as (completed, write_line),
    ):
        rows = MistakeRows(write_line, contest.contenders)

        def observe() -> None:
            rows.observe()
            completed(files.bytes_read)

        run_contest(contest, files, observe)
        rows.finish()
    refuse_nothing_learned(contest, files.name, settings.events)
    ranked = contest.ranked(order)
    if output == "json":
        echo(json.dumps({"models": [{"model": each.name, **each.summary()} for each in ranked]}))
    else:
        echo(standings([(each.name, each.summary()) for each in ranked]))
    return report_doubts(
        doubts(contest.rejected().total(), contest.n_records, settings.classes, contest.truths())
    )


class MistakeRows:
    """Rows at 1, 2, 4, 8, … labelled events: the mistakes of each model so far."""

    def __init__(self, write_line: Callable[[str], None], contenders: Sequence[Contender]) -> None:
        self._write_line = write_line
        self._contenders = contenders
        self._shown = 0
        self._next_row = 1

    def observe(self) -> None:
        """Show a row for each power of two that every model has passed."""
        while self._next_row <= self._labelled():
            self._row(self._next_row)
            self._next_row *= 2

    def finish(self) -> None:
        """Show the final counts, unless the last row shows them."""
        if self._labelled() > self._shown:
            self._row(self._labelled())

    def _labelled(self) -> int:
        return min(contender.labelled for contender in self._contenders)

    def _row(self, labelled: int) -> None:
        names = [one_line(contender.name) for contender in self._contenders]
        widths = [max(len(name), _NARROWEST) for name in names]
        if not self._shown:
            self._write_line(f"{'labelled':>10}  mistakes so far")
            self._write_line("  ".join([f"{'events':>10}", *map(str.rjust, names, widths)]))
        counts = [str(contender.mistakes(labelled)) for contender in self._contenders]
        self._write_line("  ".join([f"{labelled:>10}", *map(str.rjust, counts, widths)]))
        self._shown = labelled


_SIDE_BY_SIDE: Final = 8
"""Trials that pass over the file together: it is read once for them, and their models lie in memory."""
_SHOWN: Final = 5
_OWN_OPTIONS: Final = ("--trials", "--seed", "--sort", "--format", "--model", "--model-param")
_PARTS: Final = 1000
"""Of a trial, for the progress bar."""

Trial = tuple[str, dict[str, Any], dict[str, Any]]
"""Name, parameters and the summary that `replay` gives."""


class _KeepsArguments(click.Command):
    """A command that remembers its arguments as they were given."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Note the arguments, and parse them."""
        ctx.meta["arguments"] = [*args]
        return super().parse_args(ctx, args)


@click.command(cls=_KeepsArguments)
@labelled_source_options
@click.option("--trials", type=Integer(2), default=50, help="How many, with the defaults.  [default: 50]")
@click.option("--seed", type=Integer(0), default=0, help="Of all that is drawn.")
@order_option
@setting_options(*LEARNING, *WAITING, *names_that_decide(Decides.DECISIONS))
@format_option("Form of the table.")
@click.pass_context
def tune_command(
    ctx: click.Context,
    files_of: FilesOptions,
    loaded: Loaded,
    trials: int,
    seed: int,
    order: str,
    output: str,
) -> int:
    """Search the parameters of --model that make the fewest mistakes over FILE, at random.

    Each trial predicts every event before it learns from it, as `replay` does. The first has the defaults,
    the others parameters drawn from the space that the model declares; those given with --model-param stay
    as they are. FILE is read once for each eight trials, so it cannot be a pipe. It ends with the command
    that runs the best one. The columns are those of `compare`.

    The best of many trials is better on this file than it will be on others: judge it on records that
    the search has not seen.
    """
    settings = loaded.settings
    check_order(order, settings)
    _refuse_pipes(ctx)
    space = _space(settings)
    drawn = [settings.model_params | each for each in draw_trials(space, trials, seed)]
    found, contest = _run(files_of, settings, drawn, order)
    ranked = sorted(found, key=lambda trial: rank(trial[2], order))
    name, params, _ = ranked[0]
    best = _command_line(ctx.meta["arguments"], settings.model, params)
    if output == "json":
        shown = [{"model": name, "model_params": params, **summary} for name, params, summary in ranked]
        echo(json.dumps({"models": shown, "command": best}))
    else:
        leading = [trial for trial in ranked if trial in ranked[:_SHOWN] or trial is found[0]]
        echo(standings([(name, summary) for name, _, summary in leading]))
        echo(f"\n{best}")
    report_warning(
        f"the best of {len(found)} trials on one stream is better on it than it will be on others",
        hint=f"judge {name} on records that this search has not seen, beside the defaults",
    )
    return report_doubts(
        doubts(contest.rejected().total(), contest.n_records, settings.classes, contest.truths())
    )


def _refuse_pipes(ctx: click.Context) -> None:
    if STDIN in {ctx.params.get("file"), ctx.params.get("labels")}:
        raise click.UsageError("tune reads FILE several times, so it cannot be stdin: save it to a file")


def _space(settings: Settings) -> dict[str, Any]:
    """Return what the model declares to be searched, without what is given."""
    declared = getattr(built_in(settings.model, settings.classes), "SEARCHED", {})
    space = {name: each for name, each in declared.items() if name not in settings.model_params}
    if not space:
        make_learner(settings.model, settings.model_params, settings.classes)  # refuses what is no model
        known = ", ".join(name for name, kind in BUILT_IN.items() if hasattr(kind, "SEARCHED"))
        raise ConfigurationError(
            f"model: {settings.model} has no parameter to be searched",
            hint=f"--model NAME, one of {known}; or `perceptron compare --model mine.py:build,param=value`",
        )
    return space


def _run(
    files_of: FilesOptions, settings: Settings, drawn: Sequence[dict[str, Any]], order: str
) -> tuple[list[Trial], Contest]:
    """Run all trials, some side by side; return them in order, and the last contest."""
    found: list[Trial] = []
    with counted_bar(len(drawn) * _PARTS, "tune") as (completed, write_line):
        for start in range(0, len(drawn), _SIDE_BY_SIDE):
            group = drawn[start : start + _SIDE_BY_SIDE]
            contest = Contest(settings, [written_model(settings.model, params) for params in group])
            with files_of(settings) as files:
                run_contest(contest, files, partial(_show, completed, files, start, len(group)))
            refuse_nothing_learned(contest, files.name, settings.events)
            contenders = contest.contenders
            found += [
                (each.name, params, each.summary()) for each, params in zip(contenders, group, strict=True)
            ]
            name, _, best = min(found, key=lambda trial: rank(trial[2], order))
            write_line(f"{len(found):>6} of {len(drawn)} trials; best so far {name}: {_figure(best, order)}")
    return found, contest


def _show(completed: Callable[[int], None], files: InputFiles, done: int, running: int) -> None:
    """Show how far the trials are that run side by side."""
    if files.size_bytes:
        completed(round(_PARTS * (done + running * files.bytes_read / files.size_bytes)))


def _figure(summary: dict[str, Any], order: str) -> str:
    """Write what decides."""
    value = summary.get(order, "none")
    return f"{order.replace('_', ' ')} {value:.4f}" if isinstance(value, float) else f"{value} {order}"


def _command_line(arguments: Sequence[str], model: str, params: dict[str, Any]) -> str:
    """Write the command that runs a model over the same file, read in the same way."""
    kept: list[str] = []
    words = iter(arguments)
    for word in words:
        option, equals, _ = word.partition("=")
        if option not in _OWN_OPTIONS:
            kept.append(word)
        elif not equals:
            next(words, None)
    chosen = [
        part for key, value in params.items() for part in ("--model-param", f"{key}={written_scalar(value)}")
    ]
    return shlex.join(["perceptron", "replay", *kept, "--model", model, *chosen])
