"""The verified stream, the findings of a verification, and claims that cannot be verified."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from service.settings.load import Settings
from service.stream.protocol import Record, Transport

_MAX_KEPT: Final = 1000

NOT_VERIFIABLE: Final = (
    "results of the model: labels, scores, updates, weights (`verify` checks probabilities against scores)",
    "deleted records: by age, by compaction, or with their topic",
    "records processed before a setting changed or a model was imported",
    "ids with events in several partitions, as after partitions were added",
    (
        "which labels came in time, if the order of two topics or the size of events is unknown "
        "(`verify` checks their counts)"
    ),
    "the wording of dead letters, and reasons that depend on the model, the clock or a schema registry",
    (
        "`updates` and `processing_time_ms` in progress records; snapshots that are missing, incomplete or "
        "partly repeated; output timestamps; signals"
    ),
    "the decision of a prediction (`verify` checks the counts of each batch); an absent probability",
)
"""Claims that cannot be verified from the topics; the guarantees list them, too."""


class Fault(StrEnum):
    """How a record contradicts exactly-once."""

    MISSING = "missing"
    DUPLICATE = "duplicate"
    WRONG = "wrong"
    OUT_OF_ORDER = "out of order"
    UNEXPECTED = "unexpected"


class RecordPosition(NamedTuple):
    """The position of a record, or a whole partition."""

    topic: str
    partition: int
    offset: int | None = None

    @classmethod
    def of(cls, record: Record) -> RecordPosition:
        """Return the position of a record."""
        return cls(*record[:3])

    def __str__(self) -> str:
        where = f"{self.topic}[{self.partition}]"
        return where if self.offset is None else f"{where}@{self.offset}"


class Finding(NamedTuple):
    """One contradiction."""

    fault: Fault
    position: RecordPosition
    message: str
    event_id: str | None = None


@dataclass
class Findings:
    """Contradictions in the order found: all are counted, the first 1,000 are kept."""

    counts: Counter[Fault] = field(default_factory=Counter)
    kept: list[Finding] = field(default_factory=list)

    def __len__(self) -> int:
        return self.counts.total()

    def add(self, finding: Finding) -> None:
        """Add a contradiction."""
        self.counts[finding.fault] += 1
        self.kept += [finding] * (len(self.kept) < _MAX_KEPT)


@dataclass
class Report:
    """The result of a verification."""

    findings: Findings = field(default_factory=Findings)
    notes: list[str] = field(default_factory=list)
    """What could not be verified of this stream, and why."""
    partitions: int = 0
    records: int = 0
    """Input records up to the last commit, as in all counts below."""
    predictions: int = 0
    outcomes: int = 0
    dead_letters: int = 0
    skipped: int = 0
    """Input records that a filter skipped."""
    progress_records: int = 0
    snapshots: int = 0
    not_yet_evaluated: int = 0
    """Outputs committed during the verification."""
    unread: dict[str, int] = field(default_factory=dict)
    """Number of offsets after the last commit, by partition."""

    @property
    def is_proved(self) -> bool:
        """Return whether nothing contradicts exactly-once."""
        return not self.findings


@dataclass(slots=True)
class Stream:
    """The verified stream, and the report.

    Each record is read once, in the order of its topic or of processing.
    """

    transport: Transport
    settings: Settings
    report: Report = field(default_factory=Report)

    def flag(self, fault: Fault, position: RecordPosition, message: str, event_id: str | None = None) -> None:
        """Report a contradiction."""
        self.report.findings.add(Finding(fault, position, message, event_id))

    def bounds(self, topic: str) -> Sequence[tuple[int, int]]:
        """Return the first offset and the end of each partition of a topic."""
        partitions = range(self.transport.partition_count(topic))
        return [self.transport.bounds(topic, partition) for partition in partitions]

    def deleted(self, topic: str) -> set[int]:
        """Return the partitions of a topic whose first records are deleted, and note them."""
        firsts = {partition: first for partition, (first, _) in enumerate(self.bounds(topic)) if first}
        self.report.notes += [f"{topic}[{each}]: records 0-{firsts[each] - 1} are deleted" for each in firsts]
        return {*firsts}

    def written(self, topic: str, ends: Sequence[tuple[int, int]]) -> Iterator[tuple[Record, bool]]:
        """Yield the records of all partitions, and whether each lies after the `ends` noted before."""
        for partition, (_, end) in enumerate(self.bounds(topic)):
            before = ends[partition][1] if partition < len(ends) else 0
            for record in self.read(topic, partition, 0, end):
                yield record, record.offset >= before

    def read(self, topic: str, partition: int, start: int = 0, end: int | None = None) -> Iterator[Record]:
        """Yield the records from `start` to `end` (exclusive; the present end if None).

        Reports missing records, if the stream has a record at each offset.
        """
        first, last = self.transport.bounds(topic, partition)
        due, end = max(start, first), last if end is None else min(end, last)
        for record in self.transport.read(topic, partition, due, end):
            self._check_gap(topic, partition, due, record.offset)
            yield record
            due = record.offset + 1
        self._check_gap(topic, partition, due, end)

    def _check_gap(self, topic: str, partition: int, due: int, end: int) -> None:
        """Report the missing offsets from `due` to `end`, unless all before `end` were deleted meanwhile."""
        if due >= end or not self.transport.offsets_are_dense:
            return
        due = max(due, self.transport.bounds(topic, partition)[0])
        if due < end:
            which = f"record {due} is" if end == due + 1 else f"records {due}-{end - 1} are"
            message = (
                f"{which} missing: offsets in this stream are dense, and only the oldest records are deleted"
            )
            self.flag(Fault.MISSING, RecordPosition(topic, partition, due), message)
