"""Read the uncompressed records of a Kafka batch in format 2 into a `RecordBatch`.

The compiled form is `record_reader.pyx`, which makes no Python object of a record. The format is described
under "Message Format" in Apache Kafka's documentation; malformed records are left to kafka-python's reader.
"""

from __future__ import annotations

from typing import Final

from typing_extensions import Buffer

from service.batches import RecordBatch
from service.records import Headers, Record

_FAR: Final = 1 << 62
"""Offsets and timestamps from here on are left to kafka-python: sums of smaller ones fit in 64 bits."""
_VARINT_BITS: Final = 63

_new = tuple.__new__


class RecordReader:
    """Reads the records of one batch, up to the first malformed one.

    Parameters
    ----------
    data
        The bytes of the batch.
    at
        Position of the first record.
    topic, partition
        The partition that the batch was read from.
    base_offset
        The offset that those of the records are relative to.
    timestamp_ms, has_append_time
        The timestamp that those of the records are relative to; with `has_append_time`, the broker's one,
        which all records have.

    Attributes
    ----------
    at : int
        Position of the next record.

    """

    def __init__(
        self,
        data: Buffer,
        at: int,
        topic: str,
        partition: int,
        *,
        base_offset: int,
        timestamp_ms: int,
        has_append_time: bool,
    ) -> None:
        is_near = abs(base_offset) < _FAR and abs(timestamp_ms) < _FAR
        self._data = bytes(data)
        self._end = len(self._data) if is_near else 0
        self.at = at
        self._topic = topic
        self._partition = partition
        self._base_offset = base_offset if is_near else 0
        self._timestamp_ms = timestamp_ms if is_near else 0
        self._has_append_time = has_append_time

    def read(self, records: RecordBatch, count: int, first_offset: int) -> int:
        """Read up to `count` records, and append those from `first_offset` on; return how many were read.

        They are fewer if one is malformed: `at` is then its position.
        """
        for n_read in range(count):
            at = self.at
            end = self._varint()
            end += self.at
            try:
                record = self._record(first_offset)
            except UnicodeDecodeError:
                end = -1
            if self.at != end or end > self._end:
                self.at = at
                return n_read
            if record is not None:
                records.append(record)
        return count

    def _record(self, first_offset: int) -> Record | None:
        """Read the record after its length; None before `first_offset`. `at` is past the end if it is."""
        self._varint()  # attributes, of which there are none yet
        timestamp = self._varint()
        timestamp = self._timestamp_ms if self._has_append_time else self._timestamp_ms + timestamp
        offset = self._varint() + self._base_offset
        key = self._nullable_bytes()
        value = self._nullable_bytes()
        n_headers = self._varint()
        headers = self._headers(n_headers) if n_headers else ()
        if offset < first_offset:
            return None
        fields = (self._topic, self._partition, offset, timestamp, key, value, headers)
        return _new(Record, fields)

    def _headers(self, count: int) -> Headers:
        if count < 0:
            self.at = self._end + 1
        headers = []
        while count > 0 and self.at < self._end:
            length = self._varint()
            if not 0 <= length <= self._end - self.at:
                self.at = self._end + 1
                break
            name = self._data[self.at : self.at + length].decode("utf-8")
            self.at += length
            headers.append((name, self._nullable_bytes() or b""))
            count -= 1
        if count > 0:
            self.at = self._end + 1
        return tuple(headers)

    def _nullable_bytes(self) -> bytes | None:
        length = self._varint()
        if length < 0:
            return None
        if length > self._end - self.at:
            self.at = self._end + 1
            return None
        found = self._data[self.at : self.at + length]
        self.at += length
        return found

    def _varint(self) -> int:
        """Read a zigzag-encoded integer of at most 63 bits; return -1 past the end."""
        result = shift = 0
        while self.at < self._end and shift < _VARINT_BITS:
            byte = self._data[self.at]
            self.at += 1
            result |= (byte & 0x7F) << shift
            if byte < 0x80:  # noqa: PLR2004 - the last one
                return (result >> 1) ^ -(result & 1)
            shift += 7
        self.at = self._end + 1
        return -1
