"""The types of records read from a stream, and of outputs written to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

Headers = tuple[tuple[str, bytes], ...]

TopicPartition = tuple[str, int]
"""A topic and the number of its partition."""

RECORD_BYTES: Final = 256
"""Bytes that a record counts for besides its key and value, for its objects and its prediction's."""

NOWHERE: Final[frozenset[TopicPartition]] = frozenset()


class Record(NamedTuple):
    """A record that was read."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    """Event time: milliseconds since the Unix epoch, set by the producer of the record."""
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


class RangeReader:
    """Reads the records of one topic partition, one range of offsets after another.

    Parameters
    ----------
    records
        The records in order.

    """

    def __init__(self, records: Iterator[Record]) -> None:
        self._records = records
        self._waiting: Record | None = None

    def until(self, end: int) -> Iterator[Record]:
        """Yield the records before offset `end` that have not been yielded."""
        record = self._waiting or next(self._records, None)
        while record is not None and record.offset < end:
            yield record
            record = next(self._records, None)
        self._waiting = record


class Output(NamedTuple):
    """A record to write. Without `partition`, `service.stream.partitioner` chooses one."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition: int | None = None
    timestamp_ms: int | None = None
    """Event time; None: the time of writing."""


class RecordLimit(NamedTuple):
    """How large a record of a topic may be, as `service.messages.dead_letter.record_bytes` counts it."""

    n_bytes: int
    """The largest record that is written, after compression."""
    uncompressed_bytes: int
    """The largest record before compression; equal to `n_bytes` if the stream does not compress."""


NO_LIMIT: Final = RecordLimit(2**63, 2**63)
