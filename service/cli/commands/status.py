"""`perceptron status`: the state of each partition."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import click

from service.checkpoints.status import PartitionStatus, partition_statuses
from service.cli.help import SettingsCommand
from service.cli.options import SERVICE, format_option, opened_stream, setting_options
from service.cli.output import echo_result, report_warning
from service.cli.summary import ABSENT, class_table, count_text, duration_text, number_text, size_text, table
from service.errors import raise_first
from service.messages.labels import Vocabulary
from service.partition.parts.counters import SCORED, concerns
from service.partition.parts.quality import class_metrics
from service.redaction import one_line
from service.settings.load import DEFAULT, Loaded
from service.settings.parts import DecisionSettings
from service.settings.topics import input_topics

_COLUMNS: Final[Mapping[str, tuple[str, Callable[[Any], str]]]] = {
    "error_rate": ("error", number_text),
    "snapshot_age_seconds": ("snapshot", duration_text),
    "snapshot_size_bytes": ("size", size_text),
    "batches_to_replay": ("to replay", count_text),
}
"""Header and format of columns that are not counts."""
_NO_COLUMN: Final = frozenset({"lag", "undecided", "exhausted", "error"})
_COUNTS: Final = (*SCORED, "updates", "rejected", "pending_labels")


@click.command(cls=SettingsCommand)
@setting_options(*SERVICE)
@format_option()
def status_command(loaded: Loaded, *, output: str) -> None:
    """Show each partition's lag, mistakes, pending labels and snapshots.

    The command reads what the service has committed and changes nothing: run it before, while or after the
    service runs. Counts belong to the model and survive restarts.

    \b
    lag TOPIC         records of the topic that are not processed yet
    labelled          predictions whose label is known
    error             known mistakes / labelled; after corrections, if there were any
    pending labels    predictions that wait for their label
    snapshot          age of the newest valid snapshot of the model, and its size
    to replay         batches committed since, which a restart would replay

    If no snapshot of a partition is valid, the command reports it and fails.

    A second table covers all partitions: how well each class is separated from the others, as of the
    snapshots. `replay --help` explains its columns.
    """  # noqa: D301 - \b is click's mark for lines to be left as they are
    settings = loaded.settings
    with opened_stream(loaded) as transport:
        topics = input_topics(settings)
        statuses = partition_statuses(transport, settings.checkpoints_topic, settings.group, topics)
    _warn_of_unread_topics(loaded, statuses)
    cells = sum((Counter(each.cells) for each in statuses), Counter[tuple[str, str]]())
    classes = {name: each._asdict() for name, each in class_metrics(cells).items()}
    made = next((each.settings for each in statuses if each.settings), {})
    decisions = [DecisionSettings.model_validate(each) for each in made.get("decisions", ())]
    positive = Vocabulary(made.get("classes", ())).name(truth=True)
    for concern in concerns(cells, str, made.get("model", ""), decisions, positive=positive):
        report_warning(*concern)
    partitions = [_as_row(each) for each in statuses]
    shown = {"group": settings.group, "partitions": partitions, "classes": classes}
    echo_result(
        output,
        shown,
        lambda: "\n".join([_as_text(partitions), *_undecided(partitions), *class_table(classes)]),
    )
    raise_first([each.error for each in statuses if each.error])


def _warn_of_unread_topics(loaded: Loaded, statuses: Sequence[PartitionStatus]) -> None:
    """Warn of models without input, and of input topics that are given and that no partition reads."""
    for each in statuses:
        if each.settings and each.settings["events_topic"] not in each.lag:
            report_warning(
                f"partition {each.partition}: unused model, as the events topic lacks the partition"
            )
    read = dict.fromkeys(topic for each in statuses for topic in each.lag)
    for name in ("events_topic", "labels_topic"):
        topic = getattr(loaded.settings, name)
        if topic and topic not in read and loaded.origins[name] != DEFAULT:
            report_warning(f"{name}: the group has no offset of {topic}; it has offsets of {', '.join(read)}")


def _undecided(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """List the decisions that decide nothing, why, and the age of values that may have changed since."""
    lines = []
    for row in rows:
        age = row["batches_to_replay"] and duration_text(row["snapshot_age_seconds"])
        since = f", as of its snapshot {age} ago" if age else ""
        reasons = [(name, f"has no threshold: {why}") for name, why in row.get("undecided", {}).items()]
        reasons += [(name, "has used up the decisions of its period") for name in row.get("exhausted", ())]
        lines += [f"partition {row['partition']}{since}: {name!r} {why}" for name, why in reasons]
    return [*map(one_line, lines)]


def _as_row(each: PartitionStatus) -> dict[str, Any]:
    """Return the entries of a partition for `--format json`."""
    counts, stored = dict.fromkeys(_COUNTS) | dict(each.counts), each.snapshot
    labelled, mistakes = counts["labelled"], counts.get("known_mistakes", counts["mistakes"])
    return {
        "partition": each.partition,
        "lag": dict(each.lag),
        **dict.fromkeys(SCORED),
        "error_rate": mistakes / labelled if labelled and mistakes is not None else None,
        **counts,
        # The broker's host and this one may disagree about the time.
        "snapshot_age_seconds": max(0.0, time.time() - stored.timestamp_ms / 1000) if stored else None,
        "snapshot_size_bytes": stored.size_bytes if stored else None,
        "batches_to_replay": each.batches_to_learn,
        **({"undecided": dict(each.undecided)} if each.undecided else {}),
        **({"exhausted": [*each.exhausted]} if each.exhausted else {}),
        **({"error": str(each.error)} if each.error else {}),
    }


def _as_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Format the entries of `--format json`, without reasons, as a table with a column for each."""
    lags = dict.fromkeys(topic for row in rows for topic in row["lag"])
    names = dict.fromkeys(name for row in rows for name in row if name not in _NO_COLUMN)
    columns = {name: _COLUMNS.get(name, (name.replace("_", " "), count_text)) for name in names}
    (number, *heads), (_, *others) = [head for head, _ in columns.values()], names
    table_rows = [[number, *(f"lag {topic}" for topic in lags), *heads]]
    for row in rows:
        known = [ABSENT if row.get(name) is None else columns[name][1](row[name]) for name in others]
        waiting = [count_text(row["lag"].get(topic)) for topic in lags]
        table_rows.append([str(row["partition"]), *waiting, *known])
    return table(table_rows)
