"""Write outputs as uncompressed Kafka batches in format 2, for each partition.

The compiled form is `record_writer.pyx`, which makes no Python object of a record. The format is described
under "Message Format" in Apache Kafka's documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from kafka.errors import MessageSizeTooLargeError, UnknownTopicOrPartitionError

from service.partitioner import partition_for_key
from service.records import Headers, Output, Place

_FAR: Final = 1 << 61
"""Timestamps from here on are refused: the differences of smaller ones fit in 63 bits when written."""
_LENGTH_BYTES: Final = 10
_ROOM: Final = 64
_HEADER_BYTES: Final = 61
"""Size of a batch's header."""
_FRAME_BYTES: Final = 21
"""Largest size of a record's length, attributes, timestamp and offset."""
_NO_HEADERS: Final = b"\0"


def written_batches(
    outputs: Iterable[Output],
    n_partitions: Callable[[str], int],
    *,
    batch_bytes: int,
    most_bytes: int,
    now_ms: int,
) -> list[tuple[Place, RecordWriter]]:
    """Write outputs into batches, in order within each partition.

    Parameters
    ----------
    outputs
        The records; `partition_for_key` chooses the partitions of those that have none.
    n_partitions
        Counts a topic's partitions.
    batch_bytes, most_bytes, now_ms
        As `RecordWriter` takes them.

    Returns
    -------
    list
        (partition, writer) of each batch, in the order in which the batches began.

    Raises
    ------
    MessageSizeTooLargeError, OverflowError
        As `RecordWriter.write`.
    UnknownTopicOrPartitionError
        An output names a partition that its topic does not have.

    """
    counts: dict[str, int] = {}
    open_writers: dict[Place, RecordWriter] = {}
    written = []
    for topic, key, value, headers, partition, timestamp_ms in outputs:
        if topic not in counts:
            counts[topic] = n_partitions(topic)
        chosen = partition_for_key(key, counts[topic]) if partition is None else partition
        if not 0 <= chosen < counts[topic]:
            raise UnknownTopicOrPartitionError(f"{topic} has no partition {chosen}")
        place = (topic, chosen)
        writer = open_writers.get(place)
        if writer is None or not writer.write(key, value, headers, timestamp_ms):
            writer = open_writers[place] = RecordWriter(batch_bytes, most_bytes, now_ms)
            writer.write(key, value, headers, timestamp_ms)
            written.append((place, writer))
    return written


class RecordWriter:
    """Writes the records of one batch.

    Parameters
    ----------
    batch_bytes
        Largest size of a batch of several records.
    most_bytes
        Largest size of a batch of one record.
    now_ms
        Timestamp of records that have none.

    Attributes
    ----------
    buffer : bytearray
        Space for the batch's header, then the records.
    n_records, first_timestamp, max_timestamp : int
        Values for the header.

    """

    def __init__(self, batch_bytes: int, most_bytes: int, now_ms: int) -> None:
        self.buffer = bytearray(_HEADER_BYTES)
        self.n_records = 0
        self.first_timestamp = 0
        self.max_timestamp = 0
        self._batch_bytes = batch_bytes
        self._most_bytes = most_bytes
        self._now_ms = now_ms
        self._owner = bytearray(_ROOM)
        self._numbers = self._owner
        """A record's numbers: its length, which ends at `_LENGTH_BYTES`, then the others in their order."""

    def write(
        self, key: bytes | None, value: bytes | None, headers: Headers, timestamp_ms: int | None
    ) -> bool:
        """Write a record; return False if the batch has no room for it.

        Raises
        ------
        MessageSizeTooLargeError
            It is too large for a batch of its own.
        OverflowError
            Its timestamp is out of range.

        """
        timestamp = self._now_ms if timestamp_ms is None else timestamp_ms
        if not -_FAR < timestamp < _FAR:
            raise OverflowError(f"a record's time is {timestamp} ms")
        if not self.n_records:
            self.first_timestamp = self.max_timestamp = timestamp
        n_key, n_value = 0 if key is None else len(key), 0 if value is None else len(value)
        tail = self._headers(headers) if headers else _NO_HEADERS

        self._numbers[_LENGTH_BYTES] = 0  # attributes, of which there are none
        at = self._put(_LENGTH_BYTES + 1, timestamp - self.first_timestamp)
        frame = self._put(at, self.n_records)
        front = self._put(frame, -1 if key is None else n_key)
        middle = self._put(front, -1 if value is None else n_value)
        contents = middle - frame + n_key + n_value + len(tail)
        if _HEADER_BYTES + _FRAME_BYTES + contents > self._most_bytes:
            raise MessageSizeTooLargeError(f"more than {self._most_bytes} bytes")
        length = frame - _LENGTH_BYTES + contents
        begin = _LENGTH_BYTES - (self._put(middle, length) - middle)
        if self.n_records and len(self.buffer) + length + _LENGTH_BYTES - begin > self._batch_bytes:
            return False
        self._put(begin, length)

        self.buffer += self._numbers[begin:front]
        if key is not None:
            self.buffer += key
        self.buffer += self._numbers[front:middle]
        if value is not None:
            self.buffer += value
        self.buffer += tail
        self.n_records += 1
        self.max_timestamp = max(self.max_timestamp, timestamp)
        return True

    def _headers(self, headers: Headers) -> bytes:
        written = bytearray()
        written += self._numbers[: self._put(0, len(headers))]
        for name, value in headers:
            encoded = name.encode()
            written += self._numbers[: self._put(0, len(encoded))]
            written += encoded
            written += self._numbers[: self._put(0, len(value))]
            written += value
        return bytes(written)

    def _put(self, at: int, number: int) -> int:
        """Write an integer as a zigzag-encoded varint; return the position after it."""
        left = 2 * number if number >= 0 else -2 * number - 1
        while left >= 0x80:  # noqa: PLR2004 - seven bits a byte
            self._numbers[at] = left & 0x7F | 0x80
            left >>= 7
            at += 1
        self._numbers[at] = left
        return at + 1
