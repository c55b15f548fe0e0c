"""The record batches of one partition in the answer to a fetch, read as `RecordBatch`es."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kafka.consumer.fetcher import Fetcher
from kafka.errors import CorruptRecordError
from kafka.protocol.consumer import IsolationLevel

from service.batches import RecordBatch
from service.transport.kafka.kafka_python.messages import as_record
from service.transport.kafka.kafka_python.reading.record_reader import RecordReader
from service.transport.kafka.kafka_python.reading.uncompressed import Uncompressed

_CURRENT_FORMAT: Final = 2
_ROOM: Final = 10_000
"""Records that are decoded at once where all are wanted."""


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
    """The answer to a fetch for one partition, decoded a batch at a time.

    kafka-python makes two objects of each record, in its own code, and counts its bytes. `_decode` follows
    `_unpack_records` there step by step. What `RecordReader` does not read, which are the formats 0 and 1 and
    records that are not well formed, is left to the library's batch, with its errors.

    It rests on attributes that kafka-python does not publish: `READING` in `private`.
    """

    next_fetch_offset: int

    def __init__(
        self,
        fetch_offset: int,
        tp: Any,  # noqa: ANN401 - kafka-python has no types
        records: Any,  # noqa: ANN401
        **options: object,
    ) -> None:
        super().__init__(fetch_offset, tp, records, **options)
        self.record_iterator = self._decode(records)
        self._room = _ROOM
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
            self.next_fetch_offset = taken.next_offset  # `_decode` has stopped at its batch
        return taken

    def _fill(self, taken: TakenRecords, n: int | None) -> None:
        while n is None or len(taken) < n:
            room = _ROOM if n is None else n - len(taken)
            if not self._left:
                self._room = room
                decoded = next(self.record_iterator, None)
                if decoded is None:
                    return
                self._left = decoded
            taken.add(self._left[:room])
            self._left = self._left[room:]

    def _decode(self, batches: Any) -> Iterator[RecordBatch]:  # noqa: ANN401 - kafka-python has no types
        last_batch = None
        while (batch := batches.next_batch()) is not None:
            last_batch = batch
            self._check(batch, "Record batch", batch.base_offset)
            if batch.magic == _CURRENT_FORMAT and self._is_passed_over(batch):
                self.next_fetch_offset = batch.next_offset
                continue
            self.bytes_read += batch.size_in_bytes
            for records in self._read(batch):
                yield records
                if records:
                    self.next_fetch_offset = records[-1].offset + 1
        # Compaction may have removed the last records of a batch, whose header says where it ended.
        if last_batch is not None and last_batch.magic == _CURRENT_FORMAT:
            self.next_fetch_offset = last_batch.next_offset
        self.drain()

    def _is_passed_over(self, batch: Any) -> bool:  # noqa: ANN401 - kafka-python has no types
        """Return whether a batch is a marker, or one of an aborted transaction."""
        self.leader_epoch = batch.leader_epoch
        if self.isolation_level == IsolationLevel.READ_COMMITTED and batch.has_producer_id():
            self._consume_aborted_transactions_up_to(batch.last_offset)
            if self._contains_abort_marker(batch):
                self.aborted_producer_ids.discard(batch.producer_id)
            elif self._is_batch_aborted(batch):
                return True
        return bool(batch.is_control_batch)

    def _read(self, batch: Any) -> Iterator[RecordBatch]:  # noqa: ANN401 - kafka-python has no types
        """Yield the records of a batch, as many as there is room for, and at last those before an error."""
        records = RecordBatch()
        if batch.magic == _CURRENT_FORMAT:
            left = batch.records_count
            uncompressed = Uncompressed(batch)
            while left > 0:
                reader = self._reader(batch, uncompressed)
                n_read = reader.read(records, min(left, self._room), self.fetch_offset)
                left -= n_read
                uncompressed.at = reader.at
                if records:
                    yield records
                    records = RecordBatch()
                if not n_read and not uncompressed.read_on():
                    break
            uncompressed.read_all()
            batch._next_record_index = batch.records_count - max(left, 0)  # noqa: SLF001
        try:
            for record in batch:
                self._check(record, "Record", record.offset)
                if record.offset >= self.fetch_offset:
                    records.append(as_record(record, self.topic_partition))
        finally:  # what precedes an error comes before it
            yield records

    def _reader(self, batch: Any, uncompressed: Uncompressed) -> RecordReader:  # noqa: ANN401 - as above
        has_append_time = batch.timestamp_type == batch.LOG_APPEND_TIME
        return RecordReader(
            uncompressed.data,
            uncompressed.at,
            *self.topic_partition,
            base_offset=batch.base_offset,
            timestamp_ms=batch.max_timestamp if has_append_time else batch.first_timestamp,
            has_append_time=has_append_time,
        )

    def _check(self, checked: Any, kind: str, offset: int) -> None:  # noqa: ANN401 - kafka-python has no types
        if self.check_crcs and not checked.validate_crc():
            raise CorruptRecordError(
                f"{kind} for partition {self.topic_partition} at offset {offset} failed crc check"
            )
