"""Read fetched record batches as `RecordBatch`es, a batch at a time.

kafka-python makes two objects of each record, in its own code, and counts its bytes. Here it is given, in the
place of the records of a batch, runs of them that compiled code has read.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from kafka.consumer.fetcher import Fetcher
from kafka.record.default_records import DefaultRecordBatch
from kafka.structs import TopicPartition

from service.batches import RecordBatch
from service.transport.kafka.kafka_python.accelerated.records import (  # type: ignore[import-not-found] # compiled
    RecordReader,
)
from service.transport.kafka.kafka_python.accelerated.uncompressed import Uncompressed
from service.transport.kafka.kafka_python.record_consumer import RecordConsumer, as_record

_ROOM: Final = 10_000
"""Records that are decoded at once where all are wanted."""


class BatchConsumer(RecordConsumer):
    """A consumer that makes no object of a record."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self._fetcher.PartitionRecords = FetchedRecords

    def _batches(self, **options: object) -> dict[TopicPartition, RecordBatch]:
        return {place: joined(parts) for place, parts in self.poll(**options).items()}

    def known_position(self, place: TopicPartition) -> int | None:
        """Return the next offset, without a look at all partitions."""
        state = self._subscription.assignment[place]
        return None if state.position is None else int(state.position.offset)

    def may_have_fetched(self) -> bool:
        """Return whether there is something to deliver, without asking."""
        fetcher = self._fetcher
        return bool(
            fetcher._completed_fetches  # noqa: SLF001
            or fetcher._next_partition_records  # noqa: SLF001
            or fetcher._paused_partition_records  # noqa: SLF001
        )


def joined(parts: list[RecordBatch]) -> RecordBatch:
    """Return batches as one; a single one as it is."""
    if len(parts) == 1:
        return parts[0]
    whole = RecordBatch()
    for part in parts:
        whole.extend(part)
    return whole


class TakenRecords:
    """Batches of records, for kafka-python to put into a list, which counts the records.

    kafka-python's fetcher extends a list with the records of a partition, and uses its length to compute
    how many more are wanted.
    """

    def __init__(self) -> None:
        self._parts: list[RecordBatch] = []
        self._n_records = 0

    def add(self, part: RecordBatch) -> None:
        """Add a batch, unless it is empty."""
        if part:
            self._parts.append(part)
            self._n_records += len(part)

    def __len__(self) -> int:
        return self._n_records

    def __iter__(self) -> Iterator[RecordBatch]:
        return iter(self._parts)

    @property
    def next_offset(self) -> int:
        """The offset after the last record, of which there must be one."""
        return self._parts[-1][-1].offset + 1


class FetchedRecords(Fetcher.PartitionRecords):  # type: ignore[misc] # kafka-python has no types
    """The answer to a fetch for one partition; what it yields as a record is a run of records.

    kafka-python itself checks the batches, and passes over markers and what was aborted.
    """

    next_fetch_offset: int

    def __init__(self, fetch_offset: int, tp: TopicPartition, records: Any, **options: object) -> None:  # noqa: ANN401 - kafka-python has no types
        super().__init__(fetch_offset, tp, _Batches(records, self), **options)
        self.room = _ROOM
        """How many records are wanted: no more are decoded."""
        self._left = RecordBatch()
        """Records that were decoded and not returned yet."""

    def take(self, n: int | None = None) -> TakenRecords:
        """Return the next records, `n` at most.

        After an error, each further call raises it again. The library's own returns nothing then, and its
        fetcher asks again without end.
        """
        taken = TakenRecords()
        try:
            self._maybe_raise_next_inline_exception()
            self._fill(taken, n)
        except Exception as error:
            self._next_inline_exception = error
            if not taken:
                raise
        if taken and self and self._next_inline_exception is None:
            self.next_fetch_offset = taken.next_offset  # the library has stopped at its run
        return taken

    def _fill(self, taken: TakenRecords, n: int | None) -> None:
        while n is None or len(taken) < n:
            self.room = _ROOM if n is None else n - len(taken)
            if not self._left:
                found = next(self.record_iterator, None)
                if found is None:
                    return
                self._left = found.value if type(found.value) is RecordBatch else self._one(found)
            taken.add(self._left[: self.room])
            self._left = self._left[self.room :]

    def _one(self, found: Any) -> RecordBatch:  # noqa: ANN401 - kafka-python has no types
        """Return a record that the library has read: in format 0 or 1, or behind one that is malformed."""
        return RecordBatch([as_record(found, self.topic_partition)])


class _Batches:
    """The record batches of a fetch, for the library to go through."""

    def __init__(self, batches: Any, fetched: FetchedRecords) -> None:  # noqa: ANN401 - kafka-python has no types
        self._batches, self._fetched = batches, fetched

    def next_batch(self) -> Any:  # noqa: ANN401
        batch = self._batches.next_batch()
        is_other = type(batch) is not DefaultRecordBatch or batch.is_control_batch
        return batch if is_other else _Batch(batch, self._fetched)


class _Run:
    """Records in a row, which seem to be one, the last of them."""

    key = timestamp = timestamp_type = checksum = None
    headers = ()
    size_in_bytes = 0

    def __init__(self, value: RecordBatch) -> None:
        self.value = value
        self.offset = value[-1].offset

    def validate_crc(self) -> bool:
        return True


class _Batch(DefaultRecordBatch):  # type: ignore[misc] # kafka-python has no types
    """A record batch in format 2 whose records come in runs.

    What `RecordReader` does not read, as it is not well formed, comes as it does from the library, with its
    errors.
    """

    def __init__(self, batch: DefaultRecordBatch, fetched: FetchedRecords) -> None:
        for name in DefaultRecordBatch.__slots__:
            setattr(self, name, getattr(batch, name))
        self._fetched = fetched

    def __iter__(self) -> Iterator[Any]:
        fetched, left = self._fetched, self.records_count
        fetched.bytes_read += self.size_in_bytes
        has_append_time = self.timestamp_type == self.LOG_APPEND_TIME
        timestamp_ms = self.max_timestamp if has_append_time else self.first_timestamp
        uncompressed = Uncompressed(self)
        while left > 0:
            records = RecordBatch()
            reader = RecordReader(
                uncompressed.data,
                uncompressed.at,
                *fetched.topic_partition,
                base_offset=self.base_offset,
                timestamp_ms=timestamp_ms,
                has_append_time=has_append_time,
            )
            n_read = reader.read(records, min(left, fetched.room), fetched.fetch_offset)
            left -= n_read
            uncompressed.at = reader.at
            if records:
                yield _Run(records)
            if not n_read and not uncompressed.read_on():
                break
        uncompressed.read_all()
        self._next_record_index = self.records_count - max(left, 0)
        yield from iter(partial(next, self, None), None)
