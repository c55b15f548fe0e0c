"""Read each record of a partition once: in any topic, and in that of the predictions beside the events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet

from service.audit.findings import Fault, Findings, Place
from service.audit.matching.outputs import read_output
from service.audit.matching.shared_ids import find_shared
from service.formats.answers import answer_reader
from service.messages.labels import Vocabulary
from service.settings.load import Settings
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


class PredictionsReader:
    """Reads the predictions topic up to its end as of the last check.

    Parameters
    ----------
    transport, reader, settings
        What to read.
    take
        Receives each record, its value in JSON.

    """

    def __init__(
        self, transport: Transport, reader: Reader, settings: Settings, take: Callable[[Record], None]
    ) -> None:
        self._transport = transport
        self._reader = reader
        self.topic = topic = settings.predictions_topic
        self._vocabulary = Vocabulary(settings.classes)
        self._plain = answer_reader(settings.predictions_format)
        self._receive = take
        self.partitions = range(transport.partition_count(topic))
        bounds = {q: transport.bounds(topic, q) for q in self.partitions}
        self.first = {q: first for q, (first, _) in bounds.items()}
        self._ends = {q: end for q, (_, end) in bounds.items()}
        self._rest: dict[int, Iterator[Record]] = {}

    def read_until(self, partition: int, is_enough: Callable[[], bool]) -> None:
        """Read on in a partition until there is enough, or nothing more."""
        if partition not in self.partitions:
            return
        rest = self._rest_of(partition)
        while not is_enough() and (record := next(rest, None)) is not None:
            self._handle(record)

    def read_all(self) -> None:
        """Read on to the end of each partition."""
        for partition in self.partitions:
            self.read_until(partition, lambda: False)

    def read_new(self) -> None:
        """Read what has been written since."""
        for partition, end in self._ends.items():
            present = self._transport.bounds(self.topic, partition)[1]
            self._ends[partition] = present
            for record in self._reader.read(self.topic, partition, end, present):
                self._handle(record)

    def find_scattered(self) -> AbstractSet[str]:
        """Return the ids whose predictions lie in several partitions; read them all once more for that.

        An id that came again after partitions were added has them: which was first is not known.
        """
        return find_shared(self._ids, len(self.partitions))

    def _ids(self) -> Iterator[tuple[str, int]]:
        """Yield the id and the partition of each prediction."""
        for partition in self.partitions:
            for record in self._transport.read(self.topic, partition):
                found = read_output(record._replace(value=self._plain(record.value)), self._vocabulary)
                if found is not None and found.delay_seconds is None:
                    yield found.event_id, partition

    def _handle(self, record: Record) -> None:
        self._receive(record._replace(value=self._plain(record.value)))

    def _rest_of(self, partition: int) -> Iterator[Record]:
        if partition not in self._rest:
            end = self._ends[partition]
            self._rest[partition] = self._reader.read(self.topic, partition, 0, end)
        return self._rest[partition]
