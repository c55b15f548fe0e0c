"""Replay the input of one task in the order of processing, to determine the expected output."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import inf
from operator import attrgetter
from typing import Final

from service.formats.topics import make_schemas
from service.messages.dead_letter import DeadLetter
from service.messages.decoder import Incoming
from service.messages.rejection import BEFORE_START, Reason, Rejection, Skipped
from service.partition.factory import make_decoder
from service.settings.topics import input_topics
from service.stream.protocol import Record, TopicPartition
from service.stream.records import RangeReader
from service.verify.cases import Event, Label
from service.verify.committed import Committed, Step
from service.verify.dead_letters import DeadLetters
from service.verify.findings import Fault, RecordPosition, Stream
from service.verify.join import Join
from service.verify.ledger import Ledger

_FATES: Final = ("predictions", "rejected", "skipped")
"""Fates of records, without the fates of labels."""
_JOIN_COUNTS: Final = ("pending_labels", "assumed", "evicted", "late", "orphaned")
_OUTPUT_COUNTS: Final = ("labelled", "mistakes")


class Replay:
    """The replay of one task.

    Parameters
    ----------
    number, committed
        The number of the task, and its checkpoint log.
    stream
        The input, and the report that receives the findings.
    ledger, dead_letters
        Receive the expected output; have the rejected records.

    """

    def __init__(
        self, number: int, committed: Committed, stream: Stream, ledger: Ledger, dead_letters: DeadLetters
    ) -> None:
        self._number, self._committed, self._stream = number, committed, stream
        self._ledger, self._dead_letters, self._report = ledger, dead_letters, stream.report
        settings = stream.settings
        self._decoder = make_decoder(settings, make_schemas(settings, committed.schemas))
        if self._decoder.vectors is not None:
            self._decoder.vectors.restore(committed.vectors)
        self._join = Join(settings)
        self._record = 0
        """The number of the present record."""
        self._are_whole: list[bool] = []
        """Whether all input of a batch is available, by batch."""
        self._gone: Counter[str] = Counter()
        """Number of records missing between others, by topic."""
        self.starts = self._find_starts()
        self._known = ledger.completeness[number]
        self._known.is_complete = self._known.is_exact = not committed.reasons
        self._report.notes += committed.reasons

    def _find_starts(self) -> Mapping[TopicPartition, int]:
        """Return the first offset to read of each partition; report why it is not the first of all."""
        committed, settings, starts = self._committed, self._stream.settings, {}
        topics, partitions = input_topics(settings), {self._number, *(p for _, p in committed.offsets)}
        self._ledger.is_mixed |= len(partitions) > 1
        for each in ((topic, partition) for topic in topics for partition in sorted(partitions)):
            at, is_recreated = committed.offsets.get(each, 0), each[0] in committed.recreated
            first, end, why = at, at, "are gone: the topic was recreated with fewer partitions"
            if each[1] < self._report.partitions:
                first, end = self._stream.transport.bounds(*each)
                why = "are gone: the topic was deleted and recreated" if is_recreated else "are deleted"
            committed.begin_at({each: at if is_recreated else first}, why)
            starts[each] = committed.start.get(each, committed.origin.get(each, 0))
            if is_recreated:
                at = first
            if end < at:
                message = f"the topic ends here, but the group has processed records up to {at}"
                self._stream.flag(Fault.MISSING, RecordPosition(*each, end), message)
            elif end > max(at, first):
                self._report.unread[str(RecordPosition(*each))] = end - max(at, first)
        return starts

    def run(self) -> None:
        """Read all input up to the last commit."""
        records = InOrder(self._stream, self.starts, self._committed.offsets)
        origin, topic = self._committed.origin, self._stream.settings.events_topic
        cut = {each for each, at in self.starts.items() if each[0] == topic and at > origin.get(each, 0)}
        for batch, (before, step) in enumerate(self._steps()):
            fates: Counter[str] = Counter()
            self._note_order(batch, before, step)
            for record in records.until(step.offsets):
                self._record += 1
                if record[:2] in cut:
                    cut.remove(record[:2])
                    self._known.deleted_until = self._record
                fates["read " + record.topic] += 1
                fates[self._fate_of(record, batch)] += 1
            if batch in self._known.unordered and self._known.deleted_until and self._ledger.is_mixed:
                self._known.deleted_until = self._record + 1
            self._report.skipped += fates["skipped"]
            self._check_batch(before, step, fates)
        self._report.records += self._record
        if cut:
            self._known.deleted_until = inf
        for topic, count in self._gone.items():
            what = f"up to {count} processed records are missing between others, as after compaction"
            self._report.notes.append(f"{RecordPosition(topic, self._number)}: {what}")

    def _note_order(self, batch: int, before: Step, step: Step) -> None:
        """Note a batch whose order is unknown.

        Batches merge several partitions by the times of their next records, which deleted records change.
        """
        first, last = before.offsets, step.offsets
        read = [each for each, at in self.starts.items() if max(at, first.get(each, 0)) < last.get(each, 0)]
        is_cut = any(first.get(each, 0) < self.starts[each] for each in read)
        if len(read) > 1 and (is_cut or not batch):
            self._known.unordered.add(batch)

    def _steps(self) -> Iterator[tuple[Step, Step]]:
        """Yield each step with the preceding step."""
        return pairwise([Step(self._committed.position, 0, self.starts, {}, {}), *self._committed.steps])

    def _fate_of(self, record: Record, batch: int) -> str:
        """Note the expected output of a record; return its fate, as counts name it."""
        position, join, ledger = RecordPosition.of(record), self._join, self._ledger
        where = position, self._number, self._record, batch
        dead_letters = self._dead_letters.of(position)
        message, timestamp_ms, moves_clock = self._read(record)
        reason = message.reason if isinstance(message, Rejection) else None
        if record.offset < self._committed.old_ends.get((record.topic, record.partition), 0):
            # Those that differ belong to a record of the topic before it was recreated.
            dead_letters = [each for each in dead_letters if not any(each.contradictions(record, reason))]
        reasons = [DeadLetter.of(each.record).reason for each in dead_letters]
        if moves_clock and Reason.EVENT_TIME_OUT_OF_RANGE not in reasons:
            for event_id, event in join.advance(timestamp_ms):
                time_ms = event.timestamp_ms + join.timeout_ms
                ledger.add_expected(event_id, Label(*where, time_ms, event.truths[0], event.number))
        if isinstance(message, Skipped) and not dead_letters:
            return "skipped"
        if dead_letters or isinstance(message, Rejection):
            self._dead_letters.check(record, dead_letters, reason)
            if len(dead_letters) == 1:  # a replay appends copies
                ledger.add_dead_letter(dead_letters[0].position, *where)
            return "rejected"
        ledger.is_mixed |= record.key != message.id.encode()
        if message.truth is not None and message.is_label:
            joined = join.join_label(message.id, message.truth, timestamp_ms)
            due = None if joined is None else joined.number
            ledger.add_expected(message.id, Label(*where, timestamp_ms, message.truth, due))
            return "labels"
        expected = join.add_event(self._record, message, timestamp_ms)
        ledger.add_expected(message.id, Event(*where, timestamp_ms, message.truth, *expected))
        return "predictions"

    def _read(self, record: Record) -> tuple[Incoming | Rejection, int, bool]:
        """Return a record's message or rejection, its event time, and whether it advances event time."""
        decoder, timestamp_ms, message = self._decoder, record.timestamp_ms, None
        try:
            if decoder.maps_time:
                message = decoder.decode(record.value, record)
                timestamp_ms = timestamp_ms if message.timestamp_ms is None else message.timestamp_ms
            if 0 <= timestamp_ms < self._committed.start_ms:
                raise Skipped(BEFORE_START)
        except Rejection as rejection:
            return rejection, timestamp_ms, False
        try:
            return message or decoder.decode(record.value, record), timestamp_ms, True
        except Rejection as rejection:
            return rejection, timestamp_ms, True

    def _check_batch(self, before: Step, step: Step, fates: Counter[str]) -> None:
        """Compare the counts of a batch with its records, if all are available."""
        known, is_first = self._known, not self._are_whole
        is_whole = not self._committed.reasons if is_first else True
        is_whole &= all(start <= before.offsets.get(each, start) for each, start in self.starts.items())
        is_due = is_whole
        for topic in dict.fromkeys(topic for topic, _ in self.starts):
            is_whole &= self._is_counted(before, step, topic, fates["read " + topic], is_due=is_due)
        self._are_whole.append(is_whole)
        known.is_exact &= is_whole and not (known.unordered or self._join.may_be_full)
        n_lacking = _grown(before.counts, step.counts, "rejected") - fates["rejected"] if is_whole else inf
        if self._dead_letters.are_deleted and n_lacking > 0:
            known.is_exact = is_whole = False  # valid records were rejected: it is unknown which
            known.n_rejected += n_lacking
        for name in _FATES if is_whole else ():
            self._compare(step, name, _grown(before.counts, step.counts, name), fates[name])
        for name in _JOIN_COUNTS if known.is_exact else ():
            self._compare(step, name, step.counts.get(name, 0), self._join.counts[name])

    def _is_counted(self, before: Step, step: Step, topic: str, available: int, *, is_due: bool) -> bool:
        """Compare the number of records that a batch counts for a topic with the available records."""
        processed, known = _grown(before.consumed, step.consumed, topic), self._known
        offsets = sum(
            max(0, step.offsets.get(partition, 0) - max(at, self.starts.get(partition, 0)))
            for partition, at in before.offsets.items()
            if partition[0] == topic
        )
        if is_due and processed == available:
            return True
        is_dense = self._stream.transport.offsets_are_dense
        if available < offsets and not is_dense:
            known.is_complete, known.has_holes = False, True
            self._gone[topic] += offsets - available
        if not is_due:
            return False
        if not self._are_whole and processed < available:
            restarted = f"partition {self._number}: its counts restarted (`checkpoint reset`)"
            self._report.notes += {restarted}.difference(self._report.notes)
        elif not self._are_whole and processed > offsets:
            known.is_complete = False
            position = RecordPosition(topic, self._number)
            self._report.notes.append(f"{position}: the topic was recreated and held records before")
        elif is_dense or not available < processed <= offsets:
            message = f"consumed grew by {processed} {topic} in batch {step.sequence}, expected {available}"
            self._stream.flag(Fault.WRONG, step.position, message)
        return False

    def check_outputs(self) -> None:
        """Compare the counts of each batch with its outputs, or, if that is impossible, of all batches."""
        known, sums = self._known, self._ledger.sums(self._number)
        is_known = not (self._ledger.deleted or known.has_shared_ids or self._report.findings)
        for n, (before, step) in enumerate(self._steps() if is_known else ()):
            names = _OUTPUT_COUNTS if known.is_exact else ()
            if "decided" in step.counts and ("decided" in before.counts or n == 0):
                names = (*names, "decided")
            for name in names if self._are_whole[n] else ():
                grown = _grown(before.counts, step.counts, name)
                self._compare(step, name, grown, sums.get(n, {}).get(name, 0))
        if not known.is_exact and is_known and all(self._are_whole):
            step = self._committed.steps[-1]
            for name in _OUTPUT_COUNTS:
                counted, n_outputs = step.counts.get(name, 0), sum(each[name] for each in sums.values())
                if not n_outputs <= counted <= n_outputs + known.n_ambiguous:
                    message = f"progress records count {counted} {name}, predictions and outcomes {n_outputs}"
                    self._stream.flag(Fault.WRONG, step.position, message)
            for warning in known.tentative.kept if self._report.findings else ():
                self._report.findings.add(warning)
        if known.tentative:
            first = known.tentative.kept[0]
            labels = f"{len(known.tentative)} labels whose events may have expired before they arrived"
            what = f"{labels}; the first: {first.position}: {first.message}"
            self._report.notes.append(f"partition {self._number}: {what}")

    def _compare(self, step: Step, name: str, counted: int, expected: int) -> None:
        if counted != expected:
            message = f"{name}: batch {step.sequence} counts {counted}, expected {expected} from its records"
            self._stream.flag(Fault.WRONG, step.position, message)


def _grown(before: Mapping[str, int], after: Mapping[str, int], name: str) -> int:
    return after.get(name, 0) - before.get(name, 0)


class InOrder:
    """Reads the input of a task in the order of processing: by time, equal times in the order of partitions.

    Parameters
    ----------
    stream
        The stream to read.
    starts, ends
        First and end offsets by topic and partition, in the order of the partitions.

    """

    def __init__(
        self, stream: Stream, starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
    ) -> None:
        self._partitions = {
            each: RangeReader(stream.read(*each, at, ends[each]))
            for each, at in starts.items()
            if at < ends.get(each, 0)
        }

    def until(self, ends: Mapping[TopicPartition, int]) -> Iterator[Record]:
        """Yield the records before these offsets that have not been yielded."""
        parts = [records.until(ends.get(partition, 0)) for partition, records in self._partitions.items()]
        return heapq.merge(*parts, key=attrgetter("timestamp_ms"))
