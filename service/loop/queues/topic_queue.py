"""The records of one topic of a partition that wait. In: what was polled. Out: the first of them."""

from __future__ import annotations

from collections import deque

from service.batches.record_batch import RecordBatch
from service.stream import Record

_RECORD_BYTES = 256
"""What a record counts for besides its key and value: it takes memory of its own, and so does its answer."""


def size_bytes(records: RecordBatch) -> int:
    """Return what records count for: their keys and values, and what any record takes."""
    return records.n_bytes + _RECORD_BYTES * len(records)


def n_within(records: RecordBatch, max_records: int, max_bytes: int) -> int:
    """Count the first records that are at most so many and count for so much."""
    return records.n_within(max_records, max_bytes, _RECORD_BYTES)


class TopicQueue:
    """Records in the parts in which they were polled, so that the memory of each is free once it is taken.

    Attributes
    ----------
    n_bytes
        What they count for, all together.

    """

    def __init__(self) -> None:
        self._parts: deque[RecordBatch] = deque()
        self._n = 0
        self.n_bytes = 0

    def __len__(self) -> int:
        """Count the records."""
        return self._n

    @property
    def first_record(self) -> Record:
        """The first one, which must be there."""
        return self._parts[0][0]

    def add(self, records: RecordBatch) -> None:
        """Take the next records."""
        if records:
            self._parts.append(records)
            self._n += len(records)
            self.n_bytes += size_bytes(records)

    def first(self, max_records: int) -> RecordBatch:
        """Return the first records, which stay here."""
        found = RecordBatch()
        for part in self._parts:
            if len(found) >= max_records:
                break
            found.extend(part[: max_records - len(found)])
        return found

    def drop(self, count: int) -> None:
        """Drop the first records, of which there are as many."""
        self._n -= count
        while count:
            part = self._parts.popleft()
            dropped = part[:count]
            self.n_bytes -= size_bytes(dropped)
            count -= len(dropped)
            if rest := part[len(dropped) :]:
                self._parts.appendleft(rest)
