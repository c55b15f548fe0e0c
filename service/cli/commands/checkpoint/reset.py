"""`perceptron checkpoint reset`: begin again with an untrained model, at a chosen position."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final, get_args

import click

from service.cli.options import STATE, Integer, check_partition, opened_stream, setting_options
from service.cli.output import report
from service.dead_letters.temporary_member import TemporaryMember
from service.loop.opening.bootstrap import Bootstrap
from service.loop.reset import Start, reset
from service.partition.factory import make_processor
from service.settings.load import Loaded, Settings
from service.stream import Transport
from service.transport.topics import ensure_topics, input_topics

STOP_FIRST: Final = "stop the service first; SIGTERM ends it in order"


@click.command("reset")
@click.option(
    "--from",
    "start",
    type=click.Choice(get_args(Start)),
    required=True,
    help="Where to go on: at the offsets that the group has committed, or at the first records there are.",
)
@click.option(
    "--partition",
    "partitions",
    type=Integer(0),
    multiple=True,
    help="Partition to reset; may be given several times.  [default: all]",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@setting_options(*STATE, "bootstrap", "bootstrap_labels", "create_topics", "session_timeout_seconds")
def command(start: Start, partitions: Sequence[int], loaded: Loaded, *, yes: bool) -> None:
    """Forget what was learned and begin with an untrained model, or one that is trained on --bootstrap.

    For a checkpoints topic that was lost or cannot be read, and for settings that make another model.
    Models, counts and pending labels of the partitions are gone for good; predictions and dead letters
    stay. The service must not be running.

    \b
    --from committed   each event that comes is predicted once; a label whose event was
                       predicted before finds no event
    --from beginning   every event that the topic still holds is predicted and learned
                       again: readers of the predictions see it twice
    """  # noqa: D301 - \b is click's mark for lines to be left as they are
    settings = loaded.settings
    make_processor(settings).learner.dump()  # a model that cannot be made is refused before anything is lost
    with opened_stream(loaded) as transport:
        transport.partition_count(settings.events_topic)  # raises TopicMissing before one is created
        count = ensure_topics(transport, settings)
        for partition in partitions:
            check_partition(partition, count)
        chosen = sorted(set(partitions)) or range(count)
        if not yes:
            _confirm(settings, chosen, start)
        bootstrap = Bootstrap(settings)
        if settings.bootstrap:
            bootstrap.train()  # before the group waits
        _reset(transport, settings, chosen, start, count, bootstrap)


def _confirm(settings: Settings, partitions: Sequence[int], start: Start) -> None:
    """Ask for confirmation before anything is lost; refuse where there is no terminal."""
    if not _is_asked_by_a_person():
        raise click.UsageError("stdin is no terminal, so nobody can confirm; --yes resets without asking")
    numbers = ", ".join(map(str, partitions))
    click.confirm(
        f"Forget the models of the group {settings.group!r}, partition {numbers} of "
        f"{settings.events_topic!r}, and go on from {start}?",
        abort=True,
        err=True,
    )


def _is_asked_by_a_person() -> bool:
    return sys.stdin.isatty()


def _reset(
    transport: Transport,
    settings: Settings,
    partitions: Sequence[int],
    start: Start,
    count: int,
    bootstrap: Bootstrap,
) -> None:
    """Own every partition of the group, so that no other process runs, and reset those chosen."""
    topics = input_topics(settings)
    model = f"a model of {', '.join(settings.bootstrap)}" if settings.bootstrap else "an untrained model"
    with TemporaryMember(transport, settings.group, topics, settings.session_timeout_seconds) as visitor:
        visitor.wait_for(range(count), hint=STOP_FIRST)
        for partition in partitions:
            visitor.stay()
            offsets = reset(transport, settings, partition, visitor.consumer, start, bootstrap=bootstrap)
            places = ", ".join(f"{topic}@{offset}" for topic, offset in offsets.items())
            report("reset", "green", f"partition {partition} goes on at {places} with {model}")
