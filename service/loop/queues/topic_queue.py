"""The queued records of one topic of a partition."""

from __future__ import annotations

from collections import deque

from service.batches import RecordBatch
from service.stream import Record


class TopicQueue:
    """Records in the parts in which they were polled, so that the memory of each is free once it is taken.

    Attributes
    ----------
    n_bytes
        What they count for, all together, as `RecordBatch.size_bytes` counts.

    """

    def __init__(self) -> None:
        self._parts: deque[RecordBatch] = deque()
        self._n_dropped = 0
        """Records of the first part that are not here any more."""
        self._n = 0
        self.n_bytes = 0

    def __len__(self) -> int:
        """Count the records."""
        return self._n

    @property
    def first_record(self) -> Record:
        """The first one, which must be there."""
        return self._parts[0][self._n_dropped]

    def add(self, records: RecordBatch) -> None:
        """Take the next records."""
        if records:
            self._parts.append(records)
            self._n += len(records)
            self.n_bytes += records.size_bytes()

    def first(self, max_records: int) -> RecordBatch:
        """Return the first records, which stay here."""
        found, start = RecordBatch(), self._n_dropped
        for part in self._parts:
            if len(found) >= max_records:
                break
            found.extend(part[start : start + max_records - len(found)])
            start = 0
        return found

    def drop(self, count: int) -> None:
        """Drop the first records, of which there are as many."""
        self._n -= count
        while count:
            part, start = self._parts[0], self._n_dropped
            end = min(start + count, len(part))
            self.n_bytes -= part.size_bytes(start, end)
            count -= end - start
            if end == len(part):
                self._parts.popleft()
                end = 0
            self._n_dropped = end
