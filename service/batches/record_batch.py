"""Records that were read. In: their keys, values and places. Out: a sequence of `Record`s.

Where there is a compiler, `record_batch.pyx` stands in for this module: it keeps bytes and numbers, and makes
a `Record` only when one is asked for.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from operator import attrgetter
from typing import Final

from service.batches.message_batch import MessageBatch
from service.records import RECORD_BYTES, Headers, Record

_topic: Final = attrgetter("topic")


class RecordBatch(MessageBatch[Record]):
    """Records of one or more topics, in the order in which they are to be processed.

    Parameters
    ----------
    records
        The first of them.

    """

    def size_bytes(self, start: int = 0, end: int | None = None) -> int:
        """Return what a part of the batch counts for: keys, values and `RECORD_BYTES` of each record."""
        return sum([_size_bytes(record) for record in self[start:end]])

    def value(self, place: int) -> bytes | None:
        """Return the value of a record; None if it has none."""
        return self[place].value

    def data(self, place: int) -> bytes:
        """Return the value of a record; empty if it has none."""
        return self.value(place) or b""

    def size(self, place: int) -> int:
        """Return the bytes of the value of a record; 0 if it has none."""
        return len(self.data(place))

    def timestamp_ms(self, place: int) -> int:
        """Return the event time of a record."""
        return self[place].timestamp_ms

    def headers(self, place: int) -> Headers:
        """Return the headers of a record."""
        return self[place].headers

    def counts(self) -> dict[str, int]:
        """Count the records by topic."""
        return dict(Counter(record.topic for record in self))

    def next_offsets(self) -> dict[str, int]:
        """Return the offset after the last record of each topic."""
        return {record.topic: record.offset + 1 for record in self}

    def last_places(self) -> dict[str, int]:
        """Return the place of the last record of each topic."""
        return {record.topic: place for place, record in enumerate(self)}

    def runs(self) -> list[tuple[str, RecordBatch]]:
        """Split the batch where the topic changes; return the (topic, part) pairs."""
        return [(topic, RecordBatch(run)) for topic, run in groupby(self, _topic)]

    def n_within(self, max_records: int, max_bytes: int) -> int:
        """Count the first records that fit: `max_records` at most, which count for `max_bytes` at most."""
        for count, record in enumerate(self[:max_records]):
            max_bytes -= _size_bytes(record)
            if max_bytes < 0:
                return count
        return min(len(self), max_records)


def _size_bytes(record: Record) -> int:
    return RECORD_BYTES + len(record.key or b"") + len(record.value or b"")
