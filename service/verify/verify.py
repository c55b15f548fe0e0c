"""Verify a stream: compare the committed checkpoints, the outputs and the input.

    checkpoint logs → how far to verify, and under which settings
    dead letters    → which records were rejected
    predictions     → outputs found        ┐
    events, labels  → outputs expected     ┴ sorted by id in a temporary database, and compared

Outputs and progress are committed in one transaction. So the ends of the outputs are noted first: outputs
before them must be explained by the progress that is read next, and the outputs of that progress must lie
before the ends that are read last.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from time import monotonic, sleep
from typing import Final

from service.checkpoints.config_fingerprint import named_settings
from service.errors import CheckpointError, SettingsDiffer, StorageFull, TopicMissing
from service.models.model_file import completed_settings, origin_of
from service.settings.declaration import written
from service.settings.fields import HASH_KEY, defaults, fingerprint
from service.settings.load import DEFAULT, Loaded, Settings
from service.settings.topics import count_of_output, input_topics
from service.stream.protocol import TopicPartition, Transport
from service.verify.committed import COMPARED, Committed
from service.verify.dead_letters import DeadLetters
from service.verify.findings import Fault, RecordPosition, Report, Stream
from service.verify.ledger import Ledger
from service.verify.replay import Replay

VISIBILITY_SECONDS: Final = 5.0
"""How long a transaction may take to become visible: Kafka ends it in one partition after the other."""
_PAUSE_SECONDS: Final = 0.3
_TEMPORARY: Final = "free space on its file system, or set SQLITE_TMPDIR to another folder"


def verify(transport: Transport, settings: Settings) -> Report:
    """Verify the commits of one group on a stream.

    Repeats the verification if a contradiction may be due to a transaction that is just becoming visible.

    Parameters
    ----------
    transport
        The stream.
    settings
        The settings of the service; `with_settings_of_the_log` adds those that were not given.

    Raises
    ------
    TopicMissing, CheckpointError
        There is nothing to verify.
    SettingsDiffer
        The checkpoints have other settings.
    StorageFull
        The temporary database is out of space.
    TransportError
        The stream cannot be read.

    """
    deadline, is_last = monotonic() + VISIBILITY_SECONDS, False
    while True:
        try:
            report = _verified(Stream(transport, settings))
        except sqlite3.OperationalError as error:
            raise StorageFull(f"temporary database: {error}", hint=_TEMPORARY) from error
        if report.is_proved or is_last:
            return report
        is_last = monotonic() > deadline
        sleep(_PAUSE_SECONDS)


def _verified(stream: Stream) -> Report:
    settings = stream.settings
    try:
        outputs_before = stream.bounds(settings.predictions_topic)
        dead_letters_before = stream.bounds(settings.dead_letters_topic)
        offsets_before = _committed_offsets(stream)
        logs = read_logs(stream)
        stream.report.partitions = stream.transport.partition_count(settings.events_topic)
        partitions = range(max(stream.report.partitions, 1 + max(n for n, log in logs.items() if log.steps)))
        if any(len({n for _, n in log.offsets}) > 1 for log in logs.values()):
            partitions = range(1)  # with `share_model`, one task has the input of all partitions
        logs = {number: logs.get(number, Committed(stream, number)) for number in partitions}
    except TopicMissing:
        read_logs(stream)  # raises if the group has no checkpoint
        raise
    _check_offsets(logs, offsets_before, stream)
    check_settings(logs.values(), settings)
    with closing(sqlite3.connect("")) as database:  # in a temporary file once it is large
        database.execute("PRAGMA journal_mode = OFF")
        dead_letters, ledger = DeadLetters(database, stream), Ledger(database, stream)
        dead_letters.read(dead_letters_before)
        ledger.read(outputs_before)
        tasks = [Replay(number, log, stream, ledger, dead_letters) for number, log in logs.items()]
        for task in tasks:
            task.run()
        ledger.check()
        for task in tasks:
            task.check_outputs()
        old_ends = {each: at for log in logs.values() for each, at in log.old_ends.items()}
        starts = {each: max(at, old_ends.get(each, 0)) for task in tasks for each, at in task.starts.items()}
        ends = {each: at for log in logs.values() for each, at in log.offsets.items()}
        if not any(known.has_holes for known in ledger.completeness.values()):
            stream.report.not_yet_evaluated += dead_letters.check_others(starts, ends)
    return stream.report


def _committed_offsets(stream: Stream) -> Mapping[TopicPartition, int]:
    topics, transport = input_topics(stream.settings), stream.transport
    return {
        (topic, partition): at
        for partition in range(transport.partition_count(topics[0]))
        for topic, at in transport.committed(stream.settings.group, topics, partition).items()
    }


def _check_offsets(
    logs: Mapping[int, Committed], before: Mapping[TopicPartition, int], stream: Stream
) -> None:
    """Check that the ends of the logs lie between the group's committed offsets before and now."""
    now, topics = _committed_offsets(stream), {*input_topics(stream.settings)}
    here = range(stream.report.partitions)
    for number, log in logs.items():
        ends = {(t, p): at for (t, p), at in log.offsets.items() if t in topics - log.recreated and p in here}
        if ends and not now.keys() & ends.keys():
            what = "the group's offsets, which have expired or were never committed"
            stream.report.notes.append(f"partition {number}: {what}")
            continue
        for partition, at in ends.items():
            if not before.get(partition, 0) <= at <= now.get(partition, -1):
                where = f"{RecordPosition(*partition)}, but its checkpoint log ends at {at}"
                message = f"the group has committed {now.get(partition, 'nothing')} of {where}"
                stream.flag(Fault.WRONG, log.position, message)


def read_logs(stream: Stream) -> dict[int, Committed]:
    """Read the checkpoint log of each task.

    Raises
    ------
    TopicMissing
        There is no checkpoints topic.
    CheckpointError
        The group has no checkpoint in it.

    """
    transport, topic = stream.transport, stream.settings.checkpoints_topic
    hint = "check --group, --checkpoints-topic and --broker"
    n_logs = count_of_output(transport, topic, hint)
    logs = {number: Committed(stream, number).read() for number in range(n_logs)}
    if not any(each.steps for each in logs.values()):
        owners = {owner for each in logs.values() for owner in each.owners}
        others = ", ".join(sorted(repr((owner or b"").decode(errors="replace")) for owner in owners))
        but = f", but {others} has" if others else ""
        group = stream.settings.group
        raise CheckpointError(f"{topic}: the group {group!r} has no checkpoint here{but}", hint=hint)
    return logs


def with_settings_of_the_log(transport: Transport, loaded: Loaded) -> Loaded:
    """Return the settings; a setting that was not given comes from the newest snapshot.

    Raises
    ------
    TransportError
        The stream cannot be read.
    TopicMissing, CheckpointError
        As `read_logs`.
    NewerRelease
        A newer release has written the log.
    InputFileError
        A snapshot has settings that this release does not have.

    """
    logs = read_logs(Stream(transport, loaded.settings))
    newest = max(logs.values(), key=lambda log: (bool(log.config_fingerprint), log.n_changes))
    if not newest.config_fingerprint:
        return loaded
    given = {**defaults(), **fingerprint(loaded.settings)}
    for name, value in {**defaults(), **newest.config_fingerprint}.items():
        # The key is known only with the settings that it belongs to.
        is_given = origin_of(name, loaded) != DEFAULT and (name != HASH_KEY or given[name])
        if is_given and name not in COMPARED and given[name] != value:
            raise _differs(name, value, given[name])
    named = named_settings(newest.config_fingerprint)
    known = {name: value for name, value in named.items() if name in COMPARED}
    return completed_settings(known, loaded.settings.checkpoints_topic, loaded)


def check_settings(logs: Iterable[Committed], settings: Settings) -> None:
    """Reject settings under which no partition was processed: every record would be reported as wrong.

    Records that a partition processed under other settings are not verified.

    Raises
    ------
    SettingsDiffer
        A setting differs; the message has its name and the value in the checkpoint.

    """
    given = {**defaults(), **fingerprint(settings, COMPARED)}
    named = [(log, {**defaults(), **log.config_fingerprint}) for log in logs if log.config_fingerprint]
    for name in COMPARED:
        used = [config_fingerprint[name] for _, config_fingerprint in named]
        if used and given[name] not in used:
            raise _differs(name, used[0], given[name])
    for log, config_fingerprint in named:
        if any(config_fingerprint[name] != given[name] for name in COMPARED):
            log.begin_at(log.offsets, "were read under other settings")


def _differs(name: str, used: object, given: object) -> SettingsDiffer:
    what = f"{name}: expected {written(used)} as in the checkpoint, got {written(given)}"
    return SettingsDiffer(what, hint="omit it: `verify` takes this setting from the checkpoints")
