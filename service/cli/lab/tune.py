"""`perceptron tune`: search the parameters of a model, by prequential runs over a file."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import click

from service.cli.lab.side_by_side import (
    check_order,
    order_option,
    refuse_nothing_learned,
    run_contest,
    standings,
)
from service.cli.options import LEARNING, WAITING, Integer, format_option, setting_options
from service.cli.output import echo, report_doubts, report_warning
from service.cli.progress import counted_bar
from service.cli.source_options import FilesOptions, labelled_source_options
from service.datasets.files import STDIN
from service.datasets.input_files import InputFiles
from service.errors import ConfigurationError
from service.lab.contest import Contest, draw_trials, rank, written_model, written_scalar
from service.models.registry import BUILT_IN, built_in, make_learner
from service.partition.counts.doubts import doubts
from service.settings.declaration import Decides
from service.settings.fields import names_that_decide
from service.settings.load import Loaded, Settings

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
def command(
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
