"""`perceptron verify`: a verification of exactly once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import click

from service.cli.help import SettingsCommand
from service.cli.options import SERVICE, format_option, opened_stream, setting_options
from service.cli.output import echo, report
from service.cli.summary import count_text, counted
from service.errors import FAILURE
from service.redaction import one_line
from service.settings.declaration import Decides
from service.settings.fields import MAPPING, names_that_decide
from service.settings.load import Loaded
from service.verify.findings import NOT_VERIFIABLE, Report
from service.verify.verify import verify, with_settings_of_the_log

_SHOWN: Final = 20
_COUNTED: Final = ("records", "predictions", "outcomes", "dead_letters", "progress_records", "snapshots")


@click.command(
    cls=SettingsCommand,
    epilog="\b\nFor example, after a stop and before an upgrade:\n"
    "  perceptron verify --broker kafka://localhost:9092 --group online-perceptron",
)
@setting_options(*SERVICE, "classes", "max_message_bytes", *names_that_decide(Decides.JOIN), *MAPPING)
@format_option()
@click.pass_context
def verify_command(ctx: click.Context, loaded: Loaded, *, output: str) -> None:
    """Prove from the topics alone that processing was exactly once.

    Up to the last commit, every event must have one prediction or dead letter. Every other rejected record
    must have one dead letter, and the first label of each pending event one outcome. All of them must agree
    with their input, and with the progress records, the snapshots and the committed offsets of the group.
    Nothing is written, and the service may run meanwhile. Settings that are not given are read from the
    checkpoints.

    Exit code 0: no contradiction was found; claims that could not be verified are listed.
    Exit code 1: contradictions were found, and their records are listed; or the stream cannot be read.
    Exit code 2: the command line or a setting is wrong, or the service ran under another setting.
    """
    with opened_stream(loaded) as transport:
        settings = with_settings_of_the_log(transport, loaded).settings
        outcome = verify(transport, settings)
    if output == "json":
        echo(json.dumps(_report_as_json(settings.group, outcome), ensure_ascii=False))
    else:
        _print_report(outcome)
    if not outcome.is_proved:
        ctx.exit(FAILURE)


def _report_as_json(group: str, outcome: Report) -> dict[str, Any]:
    return {
        "group": group,
        "proved": outcome.is_proved,
        "partitions": outcome.partitions,
        **{name: getattr(outcome, name) for name in _counted(outcome)},
        "not_yet_evaluated": outcome.not_yet_evaluated,
        "not_yet_processed": outcome.unread,
        "not_verifiable": outcome.notes,
        "never_verifiable": NOT_VERIFIABLE,
        "faults": dict(outcome.findings.counts),
        "findings": [
            {"fault": each.fault, **each.position._asdict(), "id": each.event_id, "message": each.message}
            for each in outcome.findings.kept
        ],
    }


def _print_report(outcome: Report) -> None:
    for each in outcome.findings.kept[:_SHOWN]:
        whose = "" if each.event_id is None else f"  id {json.dumps(each.event_id, ensure_ascii=False)}"
        echo(one_line(f"{each.position}  {each.fault}{whose}: {each.message}"))
    if len(outcome.findings) > _SHOWN:
        echo(f"... and {len(outcome.findings) - _SHOWN} more; --format json lists up to 1,000")
    for note in outcome.notes:
        echo(one_line(f"not verifiable: {note}"))
    if outcome.not_yet_evaluated:
        echo(f"not yet evaluated: {counted(outcome.not_yet_evaluated, 'records')} written during the check")
    for partition, n_offsets in outcome.unread.items():
        echo(f"not yet processed: {partition}: {counted(n_offsets, 'offsets')} after the last commit")
    if outcome.is_proved:
        echo(f"proved: {_summary(outcome)}")
        echo("\n".join(f"never verifiable: {each}" for each in NOT_VERIFIABLE))
    else:
        faults = ", ".join(f"{count_text(count)} {fault}" for fault, count in outcome.findings.counts.items())
        report("not proved", "red", f"{faults}; {_summary(outcome)}")


def _counted(outcome: Report) -> Sequence[str]:
    return (*_COUNTED, "skipped") if outcome.skipped else _COUNTED


def _summary(outcome: Report) -> str:
    counts = (counted(getattr(outcome, name), name.replace("_", " ")) for name in _counted(outcome))
    return f"{', '.join(counts)} in {counted(outcome.partitions, 'partitions')}"
