"""The committed offsets of a group, which say how far its topics are judged."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic, sleep
from typing import Final

from service.audit.committed.history import CommitHistory, Jump
from service.audit.findings import Fault, Place, Report
from service.audit.reader import Reader
from service.errors import CheckpointError, TopicMissing
from service.settings.load import Settings
from service.stream import Transport
from service.transport.topics import input_topics

SETTLE_SECONDS: Final = 5.0
"""How long a transaction may take to become visible everywhere: Kafka ends it partition by partition."""

_PAUSE_SECONDS: Final = 0.3

_Offsets = Mapping[int, Mapping[str, int]]


def read_commits(transport: Transport, settings: Settings, report: Report) -> dict[int, CommitHistory]:
    """Read the checkpoint log of every partition, and hold the group's committed offsets against it.

    A service that runs commits meanwhile: the log must lie between the offsets before it was read and after.
    It deletes old snapshots, too, of a log that is just being read.

    Raises
    ------
    TopicMissing
        There is no checkpoints topic.
    CheckpointError
        The group has left nothing in it.

    """
    n_logs = _count_logs(transport, settings)
    deadline = monotonic() + SETTLE_SECONDS
    while True:
        before = _committed(transport, settings)
        report_now = Report()
        histories = _read_logs(transport, settings, n_logs, Reader(transport, report_now.findings))
        after = _committed(transport, settings)
        for partition, history in histories.items():
            _check_committed(settings, partition, history, (before[partition], after[partition]), report_now)
        are_whole = all(history.begins_with_snapshot for history in histories.values())
        if (report_now.is_proved and are_whole) or monotonic() > deadline:
            break
        sleep(_PAUSE_SECONDS)
    for partition, history in histories.items():
        _check_ends(transport, settings, partition, history, report)
        for jump in history.jumps:
            _judge_jump(transport, partition, jump, report)
        report.findings.extend(history.findings.kept)
        report.batches += len(history.batches)
        report.snapshots += history.n_snapshots
    report.findings.extend(report_now.findings.kept)
    report.notes += report_now.notes
    return histories


def _check_ends(
    transport: Transport, settings: Settings, partition: int, history: CommitHistory, report: Report
) -> None:
    """Check that all input that was processed is there up to its end, which a broker may have lost."""
    for topic in input_topics(settings):
        (_, end), at = transport.bounds(topic, partition), history.offsets.get(topic, 0)
        if end < at:
            message = f"the group has processed records up to {at}, but the topic ends here"
            report.findings.add(Fault.MISSING, Place(topic, partition, end), message)


def _judge_jump(transport: Transport, partition: int, jump: Jump, report: Report) -> None:
    """Distinguish input that was lost (`on_data_loss`) from a progress record that is missing."""
    for topic, after in jump.after.items():
        before = jump.before.get(topic, after)
        place = Place(topic, partition)
        if before < after <= transport.bounds(topic, partition)[0]:
            report.notes.append(f"not verifiable: {place}: records {before}-{after - 1} were lost unread")
        elif after < before:
            report.notes.append(f"not verifiable: {place}: what came of it before it was created again")
        elif after != before:
            message = f"no progress record of batch {jump.sequence} before its snapshot"
            report.findings.add(Fault.MISSING, jump.place, message)
            return


def _committed(transport: Transport, settings: Settings) -> _Offsets:
    topics = input_topics(settings)
    return {
        partition: transport.committed(settings.group, topics, partition)
        for partition in range(transport.partition_count(settings.events_topic))
    }


def _count_logs(transport: Transport, settings: Settings) -> int:
    try:
        return transport.partition_count(settings.checkpoints_topic)
    except TopicMissing as error:
        hint = "`perceptron serve` creates it; --broker and --checkpoints-topic say where to look"
        raise TopicMissing(str(error), hint=hint) from None


def _read_logs(
    transport: Transport, settings: Settings, count: int, reader: Reader
) -> dict[int, CommitHistory]:
    topic, group = settings.checkpoints_topic, settings.group
    partitions = transport.partition_count(settings.events_topic)
    histories = {n: CommitHistory.of(reader.read(topic, n), group) for n in range(min(count, partitions))}
    if all(history.sequence is None for history in histories.values()):
        owners = {owner for history in histories.values() for owner in history.owners}
        others = ", ".join(sorted(repr((owner or b"").decode(errors="replace")) for owner in owners))
        raise CheckpointError(
            f"{topic}: the group {group!r} has left no checkpoint here"
            + (f", but {others} has" if others else ""),
            hint="--group, --checkpoints-topic and --broker say where to look",
        )
    return histories | {n: CommitHistory(group) for n in range(count, partitions)}


def _check_committed(
    settings: Settings,
    partition: int,
    history: CommitHistory,
    committed: tuple[Mapping[str, int], Mapping[str, int]],
    report: Report,
) -> None:
    before, after = committed
    group = settings.group
    if history.sequence is not None and not after:
        report.notes.append(
            f"not verifiable: the offsets that the group {group!r} has committed for partition {partition}; "
            "there are none (they expire when a group stands still)"
        )
        return
    log = Place(settings.checkpoints_topic, partition)
    for topic in (history.offsets.keys() & set(input_topics(settings))) - after.keys():
        message = f"the group {group!r} has committed no offset of {topic}, its checkpoint log has one"
        report.findings.add(Fault.WRONG, log, message)
    for topic in before:
        at, least, most = history.offsets.get(topic, 0), before[topic], after[topic]
        if not least <= at <= most:
            message = f"the group {group!r} has committed {topic}@{most}, its checkpoint log ends at {at}"
            report.findings.add(Fault.WRONG, log, message)
