"""The committed offsets of a group, which say how far its topics are judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import monotonic, sleep
from typing import Final

from service.audit.committed.history import TOPIC_SETTINGS, CommitHistory, Jump
from service.audit.findings import Fault, Place, Report
from service.audit.reader import Reader
from service.errors import CheckpointError, TopicMissing
from service.settings.load import Settings
from service.stream import Transport
from service.transport.topics import input_topics

VISIBILITY_SECONDS: Final = 5.0
"""How long a transaction may take to become visible everywhere: Kafka ends it partition by partition."""

_PAUSE_SECONDS: Final = 0.3


class CommitReader:
    """Reads what a group has committed on a stream.

    Parameters
    ----------
    transport, settings
        The stream, and the names of its topics and of the group.

    Raises
    ------
    TopicMissing
        There is no checkpoints topic, or no events topic.

    """

    def __init__(self, transport: Transport, settings: Settings) -> None:
        self._transport = transport
        self._group = settings.group
        self._topics = input_topics(settings)
        self._log_topic = settings.checkpoints_topic
        self._n_logs = self._count_logs()
        self._n_partitions = transport.partition_count(settings.events_topic)

    def read(self, report: Report) -> dict[int, CommitHistory]:
        """Read the checkpoint log of every partition, and hold the group's committed offsets against it.

        A service that runs commits meanwhile: the log must lie between the offsets before it was read and
        after. It deletes old snapshots, too, of a log that is just being read.

        Raises
        ------
        CheckpointError
            The group has left nothing in it.

        """
        deadline = monotonic() + VISIBILITY_SECONDS
        while True:
            report_now = Report()
            try:
                before = self._committed()
            except TopicMissing:
                self._read_logs(Reader(self._transport, report_now.findings))  # refuses another group's
                raise
            histories = self._read_logs(Reader(self._transport, report_now.findings))
            after = self._committed()
            for partition, history in histories.items():
                self._check_committed(partition, history, before[partition], after[partition], report_now)
            are_whole = all(history.begins_with_snapshot for history in histories.values())
            if (report_now.is_proved and are_whole) or monotonic() > deadline:
                break
            sleep(_PAUSE_SECONDS)
        for partition, history in histories.items():
            self._check_ends(partition, history, report)
            for jump in history.jumps:
                self._judge_jump(partition, jump, report)
            report.findings.extend(history.findings.kept)
            report.progress_records += len(history.batches)
            report.snapshots += history.n_snapshots
        report.findings.extend(report_now.findings.kept)
        report.notes += report_now.notes
        return histories

    def first_offsets(self, partition: int, history: CommitHistory) -> dict[str, int]:
        """Return where the input of a partition begins, by topic; that of earlier settings if it is there."""
        named = {name for setting in TOPIC_SETTINGS for name in history.earlier_names(setting)}
        earlier = (
            topic
            for topic, end in history.offsets.items()
            if topic in named.difference(self._topics) and self._reaches(topic, partition, end)
        )
        return {
            topic: max(self._transport.bounds(topic, partition)[0], history.start.get(topic, 0))
            for topic in (*self._topics, *earlier)
        }

    def _reaches(self, topic: str, partition: int, end: int) -> bool:
        """Return whether a topic is there, with as many records as the group has read."""
        try:
            n_partitions = self._transport.partition_count(topic)
        except TopicMissing:
            return False
        return partition < n_partitions and self._transport.bounds(topic, partition)[1] >= end

    def _check_ends(self, partition: int, history: CommitHistory, report: Report) -> None:
        """Check that all input that was processed is there up to its end, which a broker may have lost."""
        for topic in self._topics:
            end, at = self._transport.bounds(topic, partition)[1], history.offsets.get(topic, 0)
            if end < at:
                message = f"the group has processed records up to {at}, but the topic ends here"
                report.findings.add(Fault.MISSING, Place(topic, partition, end), message)

    def _judge_jump(self, partition: int, jump: Jump, report: Report) -> None:
        """Distinguish input that was lost (`on_data_loss`) from a progress record that is missing."""
        for topic, after in jump.after.items():
            before = jump.before.get(topic, after)
            place = Place(topic, partition)
            if before < after <= self._transport.bounds(topic, partition)[0]:
                report.note(f"{place}: records {before}-{after - 1} were lost unread")
            elif after < before:
                report.note(f"{place}: what came of it before it was created again")
            elif after != before:
                message = f"no progress record of batch {jump.sequence} before its snapshot"
                report.findings.add(Fault.MISSING, jump.place, message)
                return

    def _committed(self) -> Sequence[Mapping[str, int]]:
        """Return the committed offsets by topic, for each partition."""
        partitions = range(self._n_partitions)
        return [self._transport.committed(self._group, self._topics, partition) for partition in partitions]

    def _count_logs(self) -> int:
        try:
            return self._transport.partition_count(self._log_topic)
        except TopicMissing as error:
            hint = "`perceptron serve` creates it; --broker and --checkpoints-topic say where to look"
            raise TopicMissing(str(error), hint=hint) from None

    def _read_logs(self, reader: Reader) -> dict[int, CommitHistory]:
        group, topic, partitions = self._group, self._log_topic, range(self._n_partitions)
        logged = partitions[: self._n_logs]
        histories = {n: CommitHistory.of(reader.read(topic, n), group) for n in logged}
        if all(history.sequence is None for history in histories.values()):
            owners = {owner for history in histories.values() for owner in history.owners}
            others = ", ".join(sorted(repr((owner or b"").decode(errors="replace")) for owner in owners))
            raise CheckpointError(
                f"{topic}: the group {group!r} has left no checkpoint here"
                + (f", but {others} has" if others else ""),
                hint="--group, --checkpoints-topic and --broker say where to look",
            )
        return histories | {n: CommitHistory(group) for n in partitions[self._n_logs :]}

    def _check_committed(
        self,
        partition: int,
        history: CommitHistory,
        before: Mapping[str, int],
        after: Mapping[str, int],
        report: Report,
    ) -> None:
        whose = f"the group {self._group!r} has committed"
        if history.sequence is not None and not after:
            report.note(
                f"the offsets that {whose} for partition {partition}; there are none (they expire when a "
                "group stands still)"
            )
            return
        log = Place(self._log_topic, partition)
        for topic in (history.offsets.keys() & set(self._topics)) - after.keys():
            message = f"{whose} no offset of {topic}, its checkpoint log has one"
            report.findings.add(Fault.WRONG, log, message)
        for topic in before:
            at, least, most = history.offsets.get(topic, 0), before[topic], after[topic]
            if not least <= at <= most:
                message = f"{whose} {topic}@{most}, its checkpoint log ends at {at}"
                report.findings.add(Fault.WRONG, log, message)
