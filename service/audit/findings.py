"""The findings of an audit, and its report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from service.stream import Record

_MOST_KEPT: Final = 1000

NOT_PROVED: Final = (
    "what only the model knows: label, score and updates, but that a probability follows from the score",
    "of progress records updates and now_ms, and pending of one that no snapshot follows",
    "snapshots that are missing whole or at their end, and the model inside one, but for its checksum",
    "of dead letters the wording, and reasons that only the model or the clock knows",
    "of signals all but how many drifts each batch has found",
    "timestamps of output records, and spaces between the fields of a message",
    "the order of outcomes between the same two predictions",
    "with labels on a topic of their own, where within its batch an outcome lies behind its prediction",
    "with such labels, which batch an outcome is of if ids come again labelled, or labels may be too late",
    "a field that earlier releases did not write, before the first prediction that has it",
    "a prediction that lies where its id belonged among fewer partitions, before the first that needs more",
)
"""Claims that the topics cannot decide, or that the audit does not check."""


class Fault(StrEnum):
    """How a record contradicts exactly-once."""

    MISSING = "missing"
    DOUBLED = "doubled"
    WRONG = "wrong"
    OUT_OF_ORDER = "out of order"
    FOREIGN = "foreign"


class Place(NamedTuple):
    """Where a record lies, or a whole partition."""

    topic: str
    partition: int
    offset: int | None = None

    @classmethod
    def of(cls, record: Record) -> Place:
        """Return where a record lies."""
        return cls(record.topic, record.partition, record.offset)

    def __str__(self) -> str:
        """Write it as errors do: `topic[partition]@offset`."""
        where = f"{self.topic}[{self.partition}]"
        return where if self.offset is None else f"{where}@{self.offset}"


class Finding(NamedTuple):
    """One contradiction."""

    fault: Fault
    place: Place
    event_id: str | None
    message: str


@dataclass
class Findings:
    """Contradictions in the order in which they are found: all are counted, the first 1,000 kept."""

    counts: Counter[Fault] = field(default_factory=Counter)
    kept: list[Finding] = field(default_factory=list)

    def __len__(self) -> int:
        """Count them all."""
        return self.counts.total()

    def add(self, fault: Fault, place: Place, message: str, event_id: str | None = None) -> None:
        """Add a contradiction."""
        self.extend([Finding(fault, place, event_id, message)])

    def extend(self, found: Iterable[Finding]) -> None:
        """Add contradictions."""
        for each in found:
            self.counts[each.fault] += 1
            if len(self.kept) < _MOST_KEPT:
                self.kept.append(each)

    def include(self, others: Findings) -> None:
        """Add the findings of others."""
        self.counts.update(others.counts)
        self.kept += others.kept[: _MOST_KEPT - len(self.kept)]


@dataclass
class Report:
    """The result of an audit."""

    findings: Findings = field(default_factory=Findings)
    notes: list[str] = field(default_factory=list)
    """What could not be verified, and why."""
    partitions: int = 0
    records: int = 0
    """Input records up to the last commit."""
    predictions: int = 0
    outcomes: int = 0
    dead_letters: int = 0
    skipped: int = 0
    """Input records that a filter has left out."""
    progress_records: int = 0
    snapshots: int = 0
    not_yet_judged: int = 0
    """Predictions of events behind the last commit as it was when the audit began."""
    unread: dict[str, int] = field(default_factory=dict)
    """Offsets behind the last commit, by place, that the group has yet to process."""

    def note(self, what: str) -> None:
        """Note what could not be verified."""
        self.notes.append(f"not verifiable: {what}")

    @property
    def is_proved(self) -> bool:
        """Return whether nothing contradicts exactly-once."""
        return not self.findings
