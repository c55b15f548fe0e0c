"""`perceptron verify`: prove exactly-once from the topics alone, or list the offending records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import click

from service.cli.options import SERVICE, format_option, opened_stream, setting_options
from service.cli.output import echo, report
from service.cli.progress import counted_bar
from service.cli.summary import count_text
from service.errors import FAILURE
from service.redaction import one_line
from service.settings.declaration import Decides
from service.settings.fields import MAPPING, names_that_decide
from service.settings.load import Loaded
from service.verify.findings import NOT_VERIFIABLE, Finding, Report
from service.verify.verify import Verification, with_settings_of_the_log

_SHOWN: Final = 20
_COUNTED: Final = ("records", "predictions", "outcomes", "dead_letters", "progress_records", "snapshots")


@click.command(
    epilog="\b\nFor example, after a stop and before an upgrade:\n"
    "  perceptron verify --broker kafka://localhost:9092 --group perceptron",
)
@setting_options(
    *SERVICE, "predictions_format", "classes", "max_message_bytes", *names_that_decide(Decides.JOIN), *MAPPING
)
@click.option("--strict", is_flag=True, help="Exit with 1 also if something could not be verified.")
@format_option()
@click.pass_context
def verify_command(ctx: click.Context, loaded: Loaded, *, strict: bool, output: str) -> None:
    """Prove from the topics alone that everything was done exactly once.

    Up to the last commit, every event must have one prediction or dead letter, every other record that is
    refused one dead letter, and the first label of each event that waited one outcome; all of them must agree
    with their input, and with the progress records, the snapshots and the committed offsets of the group.
    Nothing is written, and the service may run meanwhile. Settings that are not given are those that the
    checkpoints name.

    Exit code 0: nothing contradicts; what could not be verified is named.
    Exit code 1: something contradicts; the records are listed.
    """
    with opened_stream(loaded) as transport:
        settings = with_settings_of_the_log(transport, loaded).settings
        verification = Verification(transport, settings)
        with counted_bar(verification.n_records(), "verify") as (completed, _):
            verification.on_progress = completed
            found = verification.run()
    if output == "json":
        echo(json.dumps(_as_json(settings.group, found), ensure_ascii=False))
    else:
        _show(found)
    if not found.is_proved or (strict and found.notes):
        ctx.exit(FAILURE)


def _as_json(group: str, found: Report) -> dict[str, Any]:
    return {
        "group": group,
        "proved": found.is_proved,
        "partitions": found.partitions,
        **{name: getattr(found, name) for name in _counted(found)},
        "not_yet_judged": found.not_yet_judged,
        "not_yet_processed": found.unread,
        "not_verifiable": found.notes,
        "never_verifiable": NOT_VERIFIABLE,
        "faults": dict(found.findings.counts),
        "findings": [
            {"fault": each.fault, **each.place._asdict(), "id": each.event_id, "message": each.message}
            for each in found.findings.kept
        ],
    }


def _show(found: Report) -> None:
    for each in found.findings.kept[:_SHOWN]:
        echo(_as_line(each))
    if len(found.findings) > _SHOWN:
        echo(f"... and {len(found.findings) - _SHOWN} more; --format json lists up to 1,000")
    for note in found.notes:
        echo(one_line(f"not verifiable: {note}"))
    if found.not_yet_judged:
        echo(f"not yet judged: {count_text(found.not_yet_judged)} records written meanwhile")
    for place, n_offsets in found.unread.items():
        echo(f"not yet processed: {place}: {count_text(n_offsets)} offsets after the last commit")
    if found.is_proved:
        echo(f"proved: {_summary(found)}")
        echo(f"never verifiable: {'; '.join(NOT_VERIFIABLE)}")
    else:
        faults = ", ".join(f"{count_text(count)} {fault}" for fault, count in found.findings.counts.items())
        report("not proved", "red", f"{faults}; {_summary(found)}")


def _as_line(each: Finding) -> str:
    whose = "" if each.event_id is None else f"  id {json.dumps(each.event_id, ensure_ascii=False)}"
    return one_line(f"{each.place}  {each.fault}{whose}: {each.message}")


def _counted(found: Report) -> Sequence[str]:
    return (*_COUNTED, "skipped") if found.skipped else _COUNTED


def _summary(found: Report) -> str:
    counts = (f"{count_text(getattr(found, name))} {name.replace('_', ' ')}" for name in _counted(found))
    return f"{', '.join(counts)} in {found.partitions} partition(s)"
