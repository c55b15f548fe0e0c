"""Batches of records that were read, and of outputs to write.

When compiled, `batches.pyx` replaces this module: keys and values lie in blocks of memory that batches share,
and a `Record` or `Output` is made only on access.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from heapq import merge
from itertools import groupby, islice
from operator import attrgetter, itemgetter
from typing import Final, Self, SupportsIndex, TypeVar, overload

from service.stream.records import RECORD_BYTES, Headers, Output, Record, TopicPartition

_M = TypeVar("_M", bound=Record | Output)

_topic: Final = attrgetter("topic")
_place: Final = itemgetter(slice(2))
_event_time: Final = attrgetter("timestamp_ms")


class MessageBatch(list[_M]):
    """Records or outputs in order.

    Parameters
    ----------
    messages
        The initial contents.

    """

    @property
    def topics(self) -> list[str]:
        """The topics of the messages, in order of first appearance."""
        return list(dict.fromkeys(map(_topic, self)))

    @overload
    def __getitem__(self, index: SupportsIndex) -> _M: ...

    @overload
    def __getitem__(self, index: slice) -> Self: ...

    def __getitem__(self, index: SupportsIndex | slice) -> _M | Self:
        """Return a record or an output, or a slice of the batch."""
        if isinstance(index, slice):
            return type(self)(super().__getitem__(index))
        return super().__getitem__(index)


class RecordBatch(MessageBatch[Record]):
    """Records of one or more topics, in the order of processing.

    Parameters
    ----------
    records
        The initial contents.

    """

    def add(
        self,
        at: TopicPartition,
        offset: int,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
    ) -> None:
        """Add a record of a topic partition; faster than `append` when compiled."""
        self.append(Record(*at, offset, timestamp_ms, key, value, headers))

    def size_bytes(self, start: int = 0, end: int | None = None) -> int:
        """Return the size of a slice: the keys, the values, and `RECORD_BYTES` for each record."""
        return sum(map(_size_bytes, islice(self, start, end)))

    def value(self, index: int) -> bytes | None:
        """Return the value of a record; None if it has none."""
        return self[index].value

    def data(self, index: int) -> bytes:
        """Return the value of a record; empty if it has none."""
        return self.value(index) or b""

    def size(self, index: int) -> int:
        """Return the bytes of the value of a record; 0 if it has none."""
        return len(self.data(index))

    def timestamp_ms(self, index: int) -> int:
        """Return the event time of a record."""
        return self[index].timestamp_ms

    def counts(self) -> dict[TopicPartition, int]:
        """Count the records by topic and partition."""
        return dict(Counter(map(_place, self)))

    def next_offsets(self) -> dict[TopicPartition, int]:
        """Return the offset after the last record of each topic and partition."""
        return {record[:2]: record.offset + 1 for record in self}

    def last_indices(self) -> dict[TopicPartition, int]:
        """Return the position in the batch of the last record of each topic and partition."""
        return {record[:2]: index for index, record in enumerate(self)}

    def runs(self) -> list[tuple[str, RecordBatch]]:
        """Split the batch where the topic changes; return the (topic, part) pairs."""
        return [(topic, RecordBatch(run)) for topic, run in groupby(self, _topic)]

    def n_within(self, max_records: int, max_bytes: int) -> int:
        """Count the first records that fit into `max_records` and `max_bytes`."""
        for count, record in enumerate(islice(self, max_records)):
            max_bytes -= _size_bytes(record)
            if max_bytes < 0:
                return count
        return min(len(self), max_records)


class OutputBatch(MessageBatch[Output]):
    """Records to write, in order.

    Parameters
    ----------
    outputs
        The initial contents.

    """

    def fields(self, index: int) -> Output:
        """Return the fields of an output; faster than making the output when compiled."""
        return self[index]

    def add(self, topic: str, key: bytes, value: bytes, headers: Headers) -> None:
        """Add an output whose partition and time the writer chooses; faster than `append` when compiled."""
        self.append(Output(topic, key, value, headers))


def merge_by_time(batches: Iterable[RecordBatch]) -> RecordBatch:
    """Merge batches by event time; each keeps its own order, and at equal times earlier batches come first.

    Any prefix of the result, split by topic and merged again, has the same order: so recovery replays a batch
    in its original order.
    """
    return RecordBatch(merge(*batches, key=_event_time))


def _size_bytes(record: Record) -> int:
    return RECORD_BYTES + len(record.key or b"") + len(record.value or b"")
