"""Read each record of a stream once, in the order in which it lies there or in which it was processed."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from service.settings.load import Settings
from service.stream.protocol import Place, Record, Transport
from service.verify.findings import Fault, Finding, RecordPosition, Report


@dataclass(slots=True)
class Stream:
    """A stream that is verified, and what is found.

    Attributes
    ----------
    on_read
        Called for each record that is read.

    """

    transport: Transport
    settings: Settings
    on_read: Callable[[], None] = lambda: None
    report: Report = field(default_factory=Report)

    def say(self, fault: Fault, place: RecordPosition, message: str, event_id: str | None = None) -> None:
        """Report a contradiction."""
        self.report.findings.add(Finding(fault, place, message, event_id))

    def bounds(self, topic: str) -> Sequence[tuple[int, int]]:
        """Return the first offset and the end of each partition of a topic."""
        partitions = range(self.transport.partition_count(topic))
        return [self.transport.bounds(topic, partition) for partition in partitions]

    def written(self, topic: str, ends: Sequence[tuple[int, int]]) -> Iterator[tuple[Record, bool]]:
        """Yield the records of all partitions, and whether they lie after the bounds of before."""
        for partition, (_, end) in enumerate(self.bounds(topic)):
            before = ends[partition][1] if partition < len(ends) else 0
            for record in self.read(topic, partition, 0, end):
                yield record, record.offset >= before

    def read(self, topic: str, partition: int, start: int = 0, end: int | None = None) -> Iterator[Record]:
        """Yield the records from `start` to `end` (exclusive; the present end if None).

        Reports those that are missing, if the stream has a record at each offset.
        """
        first, last = self.transport.bounds(topic, partition)
        due, end = max(start, first), last if end is None else min(end, last)
        for record in self.transport.read(topic, partition, due, end):
            self._check_gap(topic, partition, due, record.offset)
            yield record
            due = record.offset + 1
            self.on_read()
        self._check_gap(topic, partition, due, end)

    def _check_gap(self, topic: str, partition: int, due: int, end: int) -> None:
        """Report the offsets from `due` to `end` that were not deleted from the beginning on meanwhile."""
        if due >= end or not self.transport.offsets_are_dense:
            return
        due = max(due, self.transport.bounds(topic, partition)[0])
        if due < end:
            which = f"record {due} is" if end == due + 1 else f"records {due}-{end - 1} are"
            message = f"{which} not there: this stream leaves no offset out, and deletes the oldest only"
            self.say(Fault.MISSING, RecordPosition(topic, partition, due), message)


class InOrder:
    """Reads the input of a task batch by batch, as it was processed: merged by time, ties to earlier places.

    Parameters
    ----------
    stream
        What is read.
    starts, ends
        From where to where, by place: topic and partition; in the order of the places.

    """

    def __init__(self, stream: Stream, starts: Mapping[Place, int], ends: Mapping[Place, int]) -> None:
        self._rest = {place: stream.read(*place, at, ends.get(place, 0)) for place, at in starts.items()}
        self._next: dict[Place, Record] = {}

    def until(self, ends: Mapping[Place, int]) -> Iterator[Record]:
        """Yield the records before these offsets that were not yielded yet."""
        parts = [self._part(place, ends.get(place, 0)) for place in self._rest]
        return heapq.merge(*parts, key=attrgetter("timestamp_ms"))

    def _part(self, place: Place, end: int) -> Iterator[Record]:
        while (record := self._next.pop(place, None) or next(self._rest[place], None)) is not None:
            if record.offset >= end:
                self._next[place] = record
                return
            yield record
