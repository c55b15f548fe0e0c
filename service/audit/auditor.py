"""Prove or refute that a stream holds every output exactly once.

    checkpoint logs → how far to judge
    dead letters    → which records were refused
    events, labels  → expected outputs ┐
    predictions     → outputs found    ┴ paired by id while both topics are read

The audit knows the form of the messages and the documented rules, and nothing of the loop or the learners.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from operator import attrgetter
from time import monotonic, sleep
from typing import Final

from service.audit.committed.commits import VISIBILITY_SECONDS, CommitReader
from service.audit.committed.history import CommitHistory
from service.audit.committed.settings import check_settings
from service.audit.counts import DRIFTS
from service.audit.findings import Fault, Place, Report
from service.audit.letters import Letters, replay_positions
from service.audit.matching.ledger import Ledger
from service.audit.matching.outputs import read_output
from service.audit.matching.pairing import ALL_HAVE_PARTNERS, WithoutPartner
from service.audit.matching.shared_ids import SharedIds, find_shared
from service.audit.partition import Audit, Partition, limits_of
from service.audit.reader import PredictionsReader, Reader
from service.audit.verdict import Verdict
from service.errors import TopicMissing
from service.messages.labels import Vocabulary
from service.settings.load import Settings
from service.stream import Record, Transport
from service.transport.topics import input_topics, partition_counts

_CHUNK: Final = 500
"""Input records read before predictions are: how far the one is read ahead of the other."""

_PAUSE_SECONDS: Final = 0.3


class Auditor:
    """Audits what one group has committed on a stream.

    Parameters
    ----------
    transport
        The stream.
    settings
        Those that the service runs under: topics, group, classes, limits.

    Attributes
    ----------
    on_progress
        Called with the number of records read so far.

    """

    def __init__(self, transport: Transport, settings: Settings) -> None:
        self._transport = transport
        self._settings = settings
        self.on_progress: Callable[[int], None] = lambda _: None
        self._topics = input_topics(settings)
        self._vocabulary = Vocabulary(settings.classes)
        self.report = Report()

    def n_records(self) -> int:
        """Count what there is to read: input and predictions; nothing if a topic is missing."""
        topics = (*self._topics, self._settings.predictions_topic)
        bounds = (
            self._transport.bounds(topic, partition)
            for topic in topics
            for partition in range(self._transport.partition_count(topic))
        )
        try:
            return sum(end - first for first, end in bounds)
        except TopicMissing:
            return 0

    def run(self) -> Report:
        """Audit; once more, if something contradicts that may be due to ids that came several times.

        They, or their predictions, may lie in several partitions; or their first records are deleted.

        Raises
        ------
        TopicMissing, CheckpointError
            There is nothing to audit; or it was made under other settings.
        TransportError
            The stream cannot be read.

        """
        shared: AbstractSet[str] = frozenset()
        self._audit(shared)
        if not self.report.is_proved and len(self._partitions) > 1:
            n_partitions = self._transport.partition_count(self._settings.events_topic)
            shared = find_shared(self._events, n_partitions) | self._predictions.find_scattered()
            if shared:
                self._audit(shared)
        if not self.report.is_proved and self._is_deleted():
            before, without_partner = self.report, self._ledger.pairing.without_partner()
            self._audit(shared, without_partner)
            self.report = min(before, self.report, key=lambda report: len(report.findings))
        return self.report

    def _is_deleted(self) -> bool:
        """Return whether events or predictions may have lost their partners."""
        return any(self._predictions.first.values()) or not all(
            partition.is_complete for partition in self._partitions.values()
        )

    def _events(self) -> Iterator[tuple[str, int]]:
        """Yield the id and the partition of each event; the reader has reported what is missing."""
        for partition in self._partitions.values():
            for topic in partition.first:
                for record in self._transport.read(topic, partition.number):
                    event_id = partition.event_id(record)
                    if event_id is not None:
                        yield event_id, partition.number

    def _events_with(self, ids: set[str]) -> Mapping[str, Sequence[Place]]:
        """Read the input once more, and find the places of the events with these ids."""
        found: defaultdict[str, list[Place]] = defaultdict(list)
        for partition in self._partitions.values() if ids else ():
            for topic, first in partition.first.items():
                end = partition.history.offsets.get(topic, 0)
                for record in self._transport.read(topic, partition.number, first, end):
                    event_id = partition.event_id(record)
                    if event_id in ids:
                        found[event_id].append(Place.of(record))
        return found

    def _audit(self, shared: AbstractSet[str], without_partner: WithoutPartner = ALL_HAVE_PARTNERS) -> None:
        self.report, self._n_read = Report(), 0
        transport, settings, findings = self._transport, self._settings, self.report.findings
        self._reader = Reader(transport, findings)
        commits = CommitReader(transport, settings)
        histories = commits.read(self.report)
        check_settings(histories.values(), settings)
        self._letters, self._letters_end = self._read_letters()
        firsts = {n: commits.first_offsets(n, history) for n, history in histories.items()}
        n_lanes = transport.partition_count(settings.predictions_topic)
        self._ledger = Ledger(
            order_is_known=self._order_is_known(histories, firsts),
            shared=SharedIds(shared),
            without_partner=without_partner,
            n_partitions=n_lanes,
        )
        self._ledger.compared = lambda n, compared: self._partitions[n].note_compared(compared)
        self._ledger.pairing.paired = lambda at, found: self._partitions[at.partition].note_prediction(
            at, found
        )
        self._predictions = PredictionsReader(transport, self._reader, settings, self._read_prediction)
        audit = Audit(transport, settings, n_lanes, self._ledger, self._letters, findings)
        self._partitions = {n: Partition(n, history, firsts[n], audit) for n, history in histories.items()}
        for partition in self._partitions.values():
            self._read_input(partition)
        self._predictions.read_all()
        self._wait_for_the_rest()
        self._read_ahead()
        for partition in self._partitions.values():
            self._read_signals(partition)
            partition.window.close()
        self._ledger.finish()
        verdict = Verdict(self.report, self._ledger, self._letters, self._partitions, self._predictions)
        letters = settings.dead_letters_topic
        verdict.conclude(
            self._events_with(verdict.ids_in_question()),
            are_letters_deleted=any(transport.bounds(letters, q)[0] for q in self._letters_end),
        )

    def _order_is_known(
        self, histories: Mapping[int, CommitHistory], firsts: Mapping[int, Mapping[str, int]]
    ) -> bool:
        """Return whether all that was processed under the same settings lies in one topic."""
        return all(
            history.offsets.get(topic, 0) <= first
            for number, history in histories.items()
            for topic, first in firsts[number].items()
            if topic not in {self._topics[0], *history.earlier_names("events_topic")}
        )

    def _read_letters(self) -> tuple[Letters, dict[int, int]]:
        """Read all dead letters, and how far `dead-letters replay` has moved through them."""
        topic = self._settings.dead_letters_topic
        moved, ends = replay_positions(self._transport, self._settings)
        letters = Letters(moved)
        for partition, end in ends.items():
            letters.add(self._reader.read(topic, partition, 0, end))
        return letters, ends

    def _read_input(self, partition: Partition) -> None:
        """Read a partition's events and labels up to the last commit, and its predictions beside them."""
        start = partition.first
        for era in partition.eras:
            end = {topic: at for topic, at in era.until.items() if topic in start}
            partition.window.set_limits(limits_of(era.settings))
            self._read_era(partition, self._records(partition, start, end))
            start = {topic: max(at, end.get(topic, 0)) for topic, at in start.items()}
        partition.counts.find_gone(self.report.findings)

    def _read_era(self, partition: Partition, records: Iterator[Record]) -> None:
        while chunk := list(islice(records, _CHUNK)):
            for record in chunk:
                partition.judge(record, is_ahead=False)
            self._count(len(chunk))
            self._predictions.read_until(partition.number, lambda: self._has_enough(partition))

    def _has_enough(self, partition: Partition) -> bool:
        """Return whether the predictions have been read about as far as the events."""
        pairing = self._ledger.pairing
        if not partition.is_complete and not pairing.lanes.is_begun(partition.number):
            return False  # those of deleted events come first
        return not pairing.n_expected or pairing.n_found >= pairing.n_expected + 2 * _CHUNK

    def _records(
        self, partition: Partition, starts: Mapping[str, int], ends: Mapping[str, int | None]
    ) -> Iterator[Record]:
        """Yield the records of a partition, topics merged by event time as in the service."""
        topics = [
            self._reader.read(topic, partition.number, starts[topic], ends[topic])
            for topic in partition.first
            if topic in ends
        ]
        return heapq.merge(*topics, key=attrgetter("timestamp_ms"))

    def _read_prediction(self, record: Record) -> None:
        self._count(1)
        found = read_output(record, self._vocabulary)
        if found is None:
            message = "neither a prediction nor an outcome"
            self.report.findings.add(Fault.FOREIGN, Place.of(record), message)
            return
        if found.contradiction:
            self.report.findings.add(Fault.WRONG, found.place, found.contradiction, found.event_id)
        self._ledger.find(found)

    def _count(self, n_records: int) -> None:
        self._n_read += n_records
        self.on_progress(self._n_read)

    def _wait_for_the_rest(self) -> None:
        """Read missing outputs once more: a transaction becomes visible in one topic before another."""
        deadline = monotonic() + VISIBILITY_SECONDS
        while self._is_lacking() and monotonic() < deadline:
            sleep(_PAUSE_SECONDS)
            self._predictions.read_new()
            topic = self._settings.dead_letters_topic
            for partition, end in self._letters_end.items():
                present = self._transport.bounds(topic, partition)[1]
                self._letters.add(self._reader.read(topic, partition, end, present))
                self._letters_end[partition] = present

    def _is_lacking(self) -> bool:
        without_letter = (place for each in self._partitions.values() for place in each.without_letter)
        return self._ledger.is_lacking() or any(place not in self._letters for place in without_letter)

    def _read_ahead(self) -> None:
        """Read on as far as the group has committed since, if there is something that it may explain.

        Outputs and progress are one transaction: what is left over when the log has been read once more was
        committed by nobody.
        """
        deadline = monotonic() + VISIBILITY_SECONDS
        while self._has_surplus():
            for partition in self._partitions.values():
                self._read_on(partition)
            if monotonic() >= deadline:
                break
            sleep(_PAUSE_SECONDS)
        for partition in self._partitions.values() if self._letters.any_moved else ():
            for record in self._records(partition, partition.ahead, dict.fromkeys(self._topics)):
                if record.headers:
                    self._letters.note_replayed(record)

    def _read_on(self, partition: Partition) -> None:
        topic, number, history = self._settings.checkpoints_topic, partition.number, partition.history
        if number >= self._transport.partition_count(topic):
            return
        start = max(history.end, self._transport.bounds(topic, number)[0])
        end = history.offsets_since(self._transport.read(topic, number, start))
        for record in self._records(partition, partition.ahead, end):
            partition.judge(record, is_ahead=True)
        partition.ahead = end

    def _read_signals(self, partition: Partition) -> None:
        """Count the drifts of a partition, if it looks for them and all that it has found are there."""
        place = Place(self._settings.signals_topic, partition.number)
        if DRIFTS not in partition.history.counts:
            return
        n_partitions = partition_counts(self._transport, [place.topic]).get(place.topic, 0)
        if place.partition < n_partitions:
            if first := self._transport.bounds(*place[:2])[0]:
                self.report.note(f"{place}: records 0-{first - 1} are deleted")
                return
            for record in self._reader.read(*place[:2]):
                partition.note_signal(record)
        partition.counts.are_signals_known = True

    def _has_surplus(self) -> bool:
        partitions, pairing = self._partitions.values(), self._ledger.pairing
        incomplete = [partition.number for partition in partitions if not partition.is_complete]
        with_holes = [partition.number for partition in partitions if partition.has_holes]
        unread = [source for source, _ in self._letters.of_no_record()]
        return (
            self._ledger.has_surplus()
            or any(
                not pairing.lanes.lost_its_event(found.place, incomplete, with_holes)
                for found in pairing.surplus()
            )
            or any(partition.is_beyond(source) for partition in partitions for source in unread)
        )
