"""`perceptron checkpoint`: list the committed state of models, export one, import one, reset."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, get_args

import click

from perceptron_core import DamagedError, from_bytes, to_bytes
from service.checkpoints.config_fingerprint import named_settings
from service.checkpoints.log import CheckpointLog, read_log
from service.checkpoints.snapshot import StoredSnapshot
from service.checkpoints.status import newest_valid, read_logs
from service.cli.commands.training import load_model_file
from service.cli.help import SettingsCommand, number_option
from service.cli.options import SERVICE, STATE, check_partition, opened_stream, setting_options
from service.cli.output import echo, report
from service.cli.source_options import OUTPUT_PATH, check_outputs
from service.cli.summary import size_text, time_text
from service.errors import ConfigurationError
from service.loop.bootstrap import Bootstrap
from service.loop.context import quiet_context
from service.loop.reset import Start, opened_writer, reset
from service.loop.restore import restore
from service.loop.task import Task
from service.models.model_file import (
    ModelKind,
    completed_settings,
    made_with,
    reject_pickle,
    write_model_file,
)
from service.partition.factory import make_processor
from service.partition.parts.decisions import kept_rules
from service.settings.declaration import Decides
from service.settings.fields import names_that_decide
from service.settings.load import Loaded, Settings
from service.settings.topics import ensure_topics, input_topics, n_tasks, owner_topic, task_partitions
from service.stream.protocol import TopicPartition, Transport, by_partition, nested
from service.stream.temporary_member import TemporaryMember

STOP_FIRST: Final = "stop the service first, with SIGTERM"


@click.command("reset", cls=SettingsCommand)
@click.option(
    "--from",
    "start",
    type=click.Choice(get_args(Start)),
    required=True,
    help="Where to continue: at the committed offsets of the group, or at the oldest records.",
)
@number_option(
    "--partition",
    "partitions",
    type=click.IntRange(0),
    multiple=True,
    help="Partition to reset; may be given several times.  [default: all]",
)
@click.option("--yes", is_flag=True, help="Reset without confirmation.")
@setting_options(*STATE, "bootstrap", "create_topics", "session_timeout_seconds")
def reset_command(start: Start, partitions: Sequence[int], loaded: Loaded, *, yes: bool) -> None:
    """Delete models and counts; begin untrained or with --bootstrap.

    Use it after the checkpoints topic was lost or damaged, or for settings that make another model. Models,
    counts and pending labels of the partitions are deleted for good; predictions and dead letters stay. The
    service must not be running. Give the settings of `serve`: they make the new model.

    \b
    --from committed   each new event is predicted once; labels of events that were
                       predicted before find no event
    --from beginning   every event of the topic is replayed: readers of the predictions
                       see its prediction twice
    """  # noqa: D301 - \b is click's mark for lines to be left as they are
    settings = loaded.settings
    make_processor(settings).learner.dump()  # fail before anything is deleted
    with opened_stream(loaded) as transport:
        transport.partition_count(settings.events_topic)  # raises TopicMissing before one is created
        count = ensure_topics(transport, settings)
        for partition in partitions:
            check_partition(partition, count)
        chosen = sorted(set(partitions)) or range(n_tasks(settings, count))
        if not yes:
            whose = f"the models of the group {settings.group!r}, partition {', '.join(map(str, chosen))}"
            question = f"Forget {whose} of {settings.events_topic!r}? (--yes resets without this question)"
            click.confirm(question, abort=True, err=True)
        bootstrap, model = Bootstrap(settings), "an untrained model"
        if settings.bootstrap:
            bootstrap.train()  # before the group waits
            model = f"a model of {', '.join(settings.bootstrap)}"
        with temporary_member(transport, settings) as visitor:  # owns all, so that no other process runs
            visitor.wait_for(range(count), hint=STOP_FIRST)
            for partition in chosen:
                visitor.stay()
                offsets = reset(transport, settings, partition, visitor.consumer, start, bootstrap)
                positions = ", ".join(f"{topic}[{number}]@{at}" for (topic, number), at in offsets.items())
                report("reset", "green", f"partition {partition} continues at {positions} with {model}")


def temporary_member(transport: Transport, settings: Settings) -> TemporaryMember:
    """Join the group for the duration of a command."""
    return TemporaryMember(
        transport,
        settings.group,
        input_topics(settings),
        settings.session_timeout_seconds,
        owner_topic(settings),
    )


_RESTORING = (*STATE, "on_data_loss")
"""Settings that restoring needs: the settings of `serve`."""

_partition_option = number_option(
    "--partition", "chosen", type=click.IntRange(0), help="The model's partition.  [default: the only one]"
)


@click.group()
def checkpoint_command() -> None:
    """Inspect, export, import or reset committed models.

    The checkpoints topic holds, for each partition, snapshots of its model's whole state and a small
    progress record for every batch since. A restart loads the newest valid snapshot and replays the
    batches after it.
    """


checkpoint_command.add_command(reset_command)


@checkpoint_command.command(cls=SettingsCommand)
@setting_options(*SERVICE)
def show(loaded: Loaded) -> None:
    """Print the snapshots and the progress of each partition, as JSON.

    Each snapshot is read and its checksum tested. `invalid` has the reason why a snapshot cannot be used; a
    restart would use the snapshot before it. An increment names the snapshot that it continues from. The
    settings come from the newest valid snapshot.
    """
    settings = loaded.settings
    with opened_stream(loaded) as transport:
        logs = read_logs(transport, settings.checkpoints_topic, settings.group)
    partitions = [_described(partition, log) for partition, log in logs.items()]
    echo(json.dumps({"group": settings.group, "partitions": partitions}, ensure_ascii=False, indent=2))


def _described(partition: int, log: CheckpointLog) -> dict[str, Any]:
    _, newest = newest_valid(log)
    progress = None
    if log.progress:
        first, last = log.progress[0], log.progress[-1]
        progress = {
            "first_sequence": first.sequence,
            "last_sequence": last.sequence,
            "offsets": nested(last.offsets),
            "counts": dict(last.counts),
        }
    return {
        "partition": partition,
        "snapshots": [_snapshot(stored) for stored in log.snapshots],
        "progress": progress,
        "made_with": dict(newest.config_fingerprint) if newest else None,
    }


def _snapshot(stored: StoredSnapshot) -> dict[str, Any]:
    """Describe a snapshot, with the reason why it cannot be used if it is invalid."""
    invalid = None
    try:
        stored.read()
    except DamagedError as error:
        invalid = str(error)
    return {
        "sequence": stored.sequence,
        "offset": stored.first_offset,
        "parent": stored.before,
        "time": time_text(stored.timestamp_ms),
        "size_bytes": stored.size_bytes,
        "invalid": invalid,
    }


@checkpoint_command.command(cls=SettingsCommand)
@click.argument("file", type=OUTPUT_PATH)
@_partition_option
@setting_options(*_RESTORING)
def export(file: Path, chosen: int | None, loaded: Loaded) -> None:
    """Write the committed model of a partition to FILE.

    This is the model that a restart would continue with, to the last bit: the newest snapshot, and the
    batches after it replayed. Settings that are not given are read from the snapshot; given settings must
    agree with it. The service may run meanwhile. FILE appears whole or not at all; `perceptron inspect` shows
    it, `checkpoint import` and `perceptron_core.from_bytes` read it.
    """
    settings = loaded.settings
    check_outputs(click.get_current_context())
    reject_pickle(make_processor(settings).learner)
    with opened_stream(loaded) as transport:
        logs = read_logs(transport, settings.checkpoints_topic, settings.group)
        partition = check_partition(chosen, len(logs))
        log = f"{settings.checkpoints_topic}[{partition}]"
        settings = completed_settings(_settings_in(logs[partition]), log, loaded).settings
        restored = restore(transport, settings, partition, _committed(transport, settings, partition))
    kept = made_with(settings) | kept_rules(restored.processor.optional_parts)
    size = size_text(write_model_file(file, restored.processor.learner, kept))
    model = f"the model of partition {partition} after batch {restored.sequence}"
    report("exported", "green", f"{model} to {file}, {size}")


@checkpoint_command.command("import", cls=SettingsCommand)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@_partition_option
@setting_options(*_RESTORING, "session_timeout_seconds")
def import_(file: Path, chosen: int | None, loaded: Loaded) -> None:
    """Make the model in FILE the model of a partition.

    The service must not be running, and the settings must equal the service's: a model of another class
    or with other parameters is rejected. Offsets, pending labels and counts stay as they are; updates are
    counted by the model itself. The new model is committed as a snapshot, from which the service continues.
    `checkpoint export` and `replay --save` write FILE. Settings that are not given are read from FILE, and
    the settings of the records from the checkpoint.
    """
    read, with_file = load_model_file(file, loaded, makes_model=True)
    model = read.model
    settings = with_file.settings
    _check_kind(file, model, settings)
    with opened_stream(loaded) as transport:
        n_logs = transport.partition_count(settings.checkpoints_topic)  # raises before anybody waits
        partition = check_partition(None, n_logs) if chosen is None else chosen
        if partition < n_logs:
            log = read_log(transport.read(settings.checkpoints_topic, partition), settings.group)
            settings = _with_those_of_records(log, partition, replace(with_file, origins=loaded.origins))
        check_partition(partition, n_tasks(settings, transport.partition_count(settings.events_topic)))
        _replace_model(transport, settings, partition, to_bytes(model))
    report("imported", "green", f"{file} is the model of partition {partition} now")


def _check_kind(file: Path, model: Any, settings: Settings) -> None:  # noqa: ANN401 - any of the core's models
    learner = make_processor(settings).learner
    reject_pickle(learner)
    difference = ModelKind.of(model).difference(ModelKind.of(from_bytes(learner.dump())))
    if difference:
        raise ConfigurationError(
            f"{file}: its model differs from the settings: {difference}",
            hint="set --model and --model-param as for the service",
        )


def _settings_in(log: CheckpointLog) -> dict[str, Any]:
    """Return the settings of the newest valid snapshot, by dotted name."""
    _, snapshot = newest_valid(log)
    return {} if snapshot is None else named_settings(snapshot.config_fingerprint)


def _with_those_of_records(log: CheckpointLog, partition: int, loaded: Loaded) -> Settings:
    """Return the settings, completed with the checkpoint's settings of the records."""
    others = names_that_decide(Decides.MODEL, Decides.TEXT, Decides.FEATURES)
    of_records = {name: value for name, value in _settings_in(log).items() if name not in others}
    return completed_settings(
        of_records, f"{loaded.settings.checkpoints_topic}[{partition}]", loaded
    ).settings


def _replace_model(transport: Transport, settings: Settings, partition: int, dumped: bytes) -> None:
    """Join the group to own the partition, replace its model, and leave."""
    with temporary_member(transport, settings) as visitor:
        visitor.wait_for(task_partitions(settings, transport, partition), hint=STOP_FIRST)
        context = quiet_context(transport, settings)
        writer, committed = opened_writer(visitor.consumer, context, partition)
        with closing(writer):
            restored = restore(transport, settings, partition, committed)
            Task(context, restored, writer).replace_model(dumped)


def _committed(transport: Transport, settings: Settings, partition: int) -> Mapping[TopicPartition, int]:
    """Return the group's committed offsets of a task."""
    topics = input_topics(settings)
    partitions = task_partitions(settings, transport, partition)
    return by_partition({each: transport.committed(settings.group, topics, each) for each in partitions})
