"""Read each record of a partition once, and find offsets that are missing between others."""

from __future__ import annotations

from collections.abc import Iterator

from service.audit.findings import Fault, Findings, Place
from service.stream import Record, Transport


class Reader:
    """Reads partitions, and reports offsets without a record where the stream has a record at each.

    Parameters
    ----------
    transport
        The stream.
    findings
        Receives the records that are missing.

    """

    def __init__(self, transport: Transport, findings: Findings) -> None:
        self._transport = transport
        self._findings = findings

    def read(self, topic: str, partition: int, start: int = 0, end: int | None = None) -> Iterator[Record]:
        """Yield the records from `start` to `end` (exclusive; the present end if None)."""
        if not self._transport.offsets_are_dense:
            yield from self._transport.read(topic, partition, start, end)
            return
        first, last = self._transport.bounds(topic, partition)
        due, end = max(start, first), last if end is None else min(end, last)
        for record in self._transport.read(topic, partition, due, end):
            if record.offset > due:
                self._report(topic, partition, due, record.offset)
            yield record
            due = record.offset + 1
        if due < end:
            self._report(topic, partition, due, end)

    def _report(self, topic: str, partition: int, due: int, end: int) -> None:
        """Report the offsets from `due` to `end` that were not deleted from the beginning on meanwhile."""
        due = max(due, self._transport.bounds(topic, partition)[0])
        if due < end:
            which = f"record {due} is" if end == due + 1 else f"records {due}-{end - 1} are"
            message = f"{which} not there: this stream leaves no offset out, and deletes the oldest only"
            self._findings.add(Fault.MISSING, Place(topic, partition, due), message)
