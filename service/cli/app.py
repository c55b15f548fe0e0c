"""The root of the command line: finds the command, reports its errors, exits with its code.

Exit codes: 0 success, 1 failure, 2 usage, 130 interrupted. Only the chosen command's module is imported, so
that ``--help`` and shell completion stay quick.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from service.cli.output import echo, report_error
from service.errors import (
    FAILURE,
    INTERRUPTED,
    USAGE,
    ConfigurationError,
    ServiceError,
    SettingsDiffer,
    click_sentence,
)
from service.logs import end_log
from service.settings.code import instead_of

_HINTS = dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "free space on its file system")
_HINTS[errno.EMFILE] = "raise the limit of open files, as `ulimit -n 1024` does"

COMMANDS = {
    "demo": ("demo", "Run the whole service on this machine, with a real data set."),
    "serve": ("serve", "Read events, predict, learn on mistakes; serve metrics and predictions over HTTP."),
    "replay": ("replay", "Predict and learn over a file, event by event, and count the mistakes."),
    "compare": ("replay", "Run several models over a file, and count the mistakes of each."),
    "train": ("training", "Train a model over a file in several epochs; show the learning curve."),
    "test": ("training", "Predict a file with a trained model, and count the mistakes."),
    "init": ("check_input", "Propose settings for records of any shape, and write them."),
    "check-input": ("check_input", "Show how the settings read records: as events, labels or dead letters."),
    "predict": ("training", "Predict the rows of a file with a trained model; print the predictions."),
    "produce": ("produce", "Send the events of a file to a topic."),
    "consume": ("records", "Print the records of a topic."),
    "relay": ("serve", "Post alerts about predictions and outcomes to webhooks."),
    "status": ("status", "Show each partition's lag, mistakes, pending labels and snapshots."),
    "verify": ("verify", "Prove from the topics alone that processing was exactly once."),
    "checkpoint": ("checkpoint", "Inspect, export, import or reset committed models."),
    "dead-letters": ("records", "List rejected messages; replay them."),
    "inspect": ("models", "Show the weights and counts of a model file."),
    "export": ("models", "Export a linear model as JSON, for scikit-learn or as ONNX."),
    "plot": ("plot", "Plot boundary, learning curve, mistakes, ROC, precision, recall or calibration."),
    "schema": ("models", "Print the JSON Schema of a message."),
    "config": ("models", "Show the settings and the source of each value."),
}
"""For each command `NAME`, the module of `service.cli.commands` with `NAME_command`, and its help."""


class LazyGroup(click.Group):
    """A group that imports a command only to run it, and turns every error into an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the signature is click's
        """Return the names of the commands, in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        """Import the command, if there is one of that name."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"service.cli.commands.{COMMANDS[cmd_name][0]}")
        command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a command's name without importing the commands."""
        names = [name for name in COMMANDS if name.startswith(incomplete)]
        items = [CompletionItem(name, help=COMMANDS[name][1]) for name in names]
        return items + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - whatever the command returns
        """Run the command; exit silently if the reader of stdout is gone (``| head``)."""
        try:
            result = super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()
        except BrokenPipeError:
            _detach_stdout()
            return None
        return result

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any) -> NoReturn:  # type: ignore[override] # noqa: ANN401 - what click takes; it always exits
        """Run the command line and exit."""
        extra["standalone_mode"] = False  # click raises, and everything is reported here
        if sys.stderr is None:  # closed from the start
            _discard_stderr()
        end_log()  # only some commands begin a log
        try:
            result = super().main(args, prog_name or "perceptron", **extra)
            code = result if isinstance(result, int) else 0
        except ServiceError as error:
            report_error(*error.lines, hint=error.hint)
            code = USAGE if isinstance(error, (ConfigurationError, SettingsDiffer)) else FAILURE
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            code = USAGE
        except click.ClickException as error:
            _report_click_error(error)
            code = error.exit_code
        except (click.Abort, KeyboardInterrupt):
            code = INTERRUPTED
        except OSError as error:
            if error.errno not in _HINTS:
                raise
            if error.errno != errno.EMFILE:
                _detach_stdout()
            reason = f"{error.filename or 'the output'}: {error.strerror}"
            report_error(reason, hint=_HINTS[error.errno])
            code = FAILURE
        finally:
            end_log()
        sys.exit(code)


def _discard_stderr() -> None:
    """Discard further reports."""
    sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115 - until the process ends


def _detach_stdout() -> None:
    """Prevent a second failure when Python flushes stdout at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report_click_error(error: click.ClickException) -> None:
    if isinstance(error, click.NoSuchOption) and error.possibilities:  # dashes count as a likeness
        error.possibilities[:] = get_close_matches(error.option_name, error.possibilities, cutoff=0.7)
    message = error.format_message().replace("\n\t", " ")  # the choices of a missing option, a line each
    ctx = getattr(error, "ctx", None)
    hint = f"`{ctx.command_path} --help` shows the usage" if ctx else ""
    name = getattr(error, "option_name", "") or getattr(error, "command_name", "")
    report_error(click_sentence(message), hint=instead_of(name) or hint)


def _show_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click calls it so
    if value and not ctx.resilient_parsing:
        from service.version import is_compiled, version  # noqa: PLC0415 - one in a thousand calls asks for it

        echo(f"perceptron {version()} ({'compiled' if is_compiled() else 'uncompiled'} core)")
        ctx.exit()


@click.command(
    "perceptron",
    cls=LazyGroup,
    commands={name: click.Command(name) for name in COMMANDS},  # suggestions for an unknown name
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version, and whether the core is compiled.",
)
def cli() -> None:
    """Learn online with the perceptron: receive x, predict, receive y, update on a mistake.

    Start with `perceptron demo`. Data goes to stdout, everything else to stderr.
    """


def main() -> NoReturn:
    """Run the `perceptron` command with the arguments of this process."""
    cli.main()
