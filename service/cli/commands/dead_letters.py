"""`perceptron dead-letters`: list messages that were refused, or replay them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from service.cli.options import SERVICE, format_option, opened_stream, setting_options
from service.cli.output import echo, report
from service.cli.summary import bytes_field, time_text
from service.dead_letters.replay import Action, Redelivery, ReplayDecision
from service.errors import ServiceError, TopicMissing
from service.messages.dead_letter import DeadLetter
from service.messages.rejection import Reason
from service.redaction import one_line
from service.settings.fields import MAPPING
from service.settings.load import Loaded
from service.stream.protocol import Transport

_reason_option = click.option(
    "--reason",
    type=click.Choice([reason.value for reason in Reason]),
    help="Only letters refused for this.  [default: all]",
)
_format_option = format_option("Form of the output; json is one object a line.")


@click.group()
def dead_letters_command() -> None:
    """Look at the messages that were refused, and give them a second chance.

    A message that cannot be used becomes a dead letter: the same bytes on the dead-letters topic, with
    the reason and its origin as headers. It is outstanding until `dead-letters replay` has brought it back.
    """


@dead_letters_command.command("list")
@_reason_option
@click.option("--show-values", is_flag=True, help="Show the messages themselves; json always does.")
@_format_option
@setting_options(*SERVICE)
def list_(reason: str | None, output: str, loaded: Loaded, *, show_values: bool) -> None:
    """List the outstanding dead letters, the newest last, and count them by reason.

    Each line says where the letter lies, its event time, the reason, where it came from, and what is
    wrong. In json, a value that is not UTF-8 is in base64, as value_base64.
    """
    reasons: Counter[str] = Counter()
    with _stream(loaded) as transport:
        for letter in Redelivery(transport, loaded.settings, reason or "").outstanding():
            reasons[letter.reason] += 1
            if output == "json":
                echo(json.dumps(_as_json(letter), ensure_ascii=False))
            else:
                echo(_as_line(letter))
                if show_values:
                    echo(f"    {_shown(letter.record.value)}")
    report("outstanding", "green", f"{reasons.total()} dead letters{_by_reason(reasons)}")


@dead_letters_command.command()
@_reason_option
@click.option("--dry-run", is_flag=True, help="Only show what would become of each.")
@_format_option
@setting_options(
    *SERVICE,
    "classes",
    "max_message_bytes",
    "max_event_time_ahead_seconds",
    "max_batch_records",
    "session_timeout_seconds",
    *MAPPING,
)
def replay(reason: str | None, output: str, loaded: Loaded, *, dry_run: bool) -> None:
    """Send outstanding dead letters that the present settings accept back to where they came from, once.

    They go with their own key, headers and event time to the partition they came from; the header
    replayed.from says where they lay. Those still refused stay outstanding: where they lie before one
    that goes back, they are appended to the dead letters again. Each step is one transaction: stopped
    at any moment, nothing is lost and nothing goes back twice. The service may be running.

    A letter that was cut to fit its topic never goes back: it stays outstanding, and the exit code is 1.
    """
    actions: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    cut = 0
    with _stream(loaded) as transport:
        redelivery = Redelivery(transport, loaded.settings, reason or "")
        for decision in redelivery.plan() if dry_run else redelivery.replay():
            actions[decision.action] += 1
            refused[decision.letter.reason] += decision.action is Action.REFUSED
            cut += decision.action is Action.REFUSED and decision.letter.is_truncated
            _show(decision, output)
    report(
        "dry run, nothing sent" if dry_run else "done",
        "green",
        f"{actions[Action.REPLAYED]} replayed, "
        f"{actions[Action.REFUSED]} still refused{_by_reason(+refused)}, "
        f"{actions[Action.PASSED_OVER]} passed over",
    )
    if cut:
        raise ServiceError(
            f"{cut} of the letters still refused {'was' if cut == 1 else 'were'} cut to fit the topic",
            hint="the whole record lies where `dead-letters list` says it came from, as long as that topic "
            "keeps it: produce it again from there",
        )


@contextmanager
def _stream(loaded: Loaded) -> Iterator[Transport]:
    """Open the stream; there must be dead letters in it."""
    with opened_stream(loaded) as transport:
        try:
            transport.partition_count(loaded.settings.dead_letters_topic)
        except TopicMissing as error:
            hint = "`perceptron serve` creates it; --broker and --dead-letters-topic say where to look"
            raise TopicMissing(str(error), hint=hint) from None
        yield transport


def _show(decision: ReplayDecision, output: str) -> None:
    letter = decision.letter
    if output == "json":
        fields = {
            "partition": letter.record.partition,
            "offset": letter.record.offset,
            "action": decision.action,
            "topic": decision.output.topic,
            "message": decision.why,
        }
        echo(json.dumps(fields, ensure_ascii=False))
    elif decision.action is Action.REPLAYED:
        echo(f"{letter.place}  replayed to {decision.output.topic}")
    else:
        echo(f"{letter.place}  {decision.action}" + (f": {one_line(decision.why)}" if decision.why else ""))


def _as_line(letter: DeadLetter) -> str:
    source = f"{letter.source_topic}[{letter.source_partition}]@{letter.source_offset}"
    return "  ".join(
        [letter.place, time_text(letter.event_time_ms)]
        + [one_line(part) for part in (f"{letter.reason:<14}", source, letter.message)]
        + ([f"(cut: {len(letter.record.value or b'')} of {letter.full_size} bytes)"] * letter.is_truncated)
    )


def _as_json(letter: DeadLetter) -> dict[str, Any]:
    record = letter.record
    return {
        "partition": record.partition,
        "offset": record.offset,
        "time": time_text(letter.event_time_ms),
        "reason": letter.reason,
        "message": letter.message,
        "source": {
            "topic": letter.source_topic,
            "partition": letter.source_partition,
            "offset": letter.source_offset,
        },
        **({"truncated": True, "size": letter.full_size} if letter.is_truncated else {}),
        **bytes_field("key", record.key),
        **bytes_field("value", record.value),
    }


def _shown(value: bytes | None) -> str:
    return "(no value)" if value is None else one_line(value.decode(errors="backslashreplace"))


def _by_reason(reasons: Counter[str]) -> str:
    parts: Iterable[str] = (f"{reason or 'unknown'} {count}" for reason, count in reasons.most_common())
    return f" ({', '.join(parts)})" if reasons else ""
