"""Batches in step. In: the records of several topics. Out: one batch, in the order of their event times.

Where there is a compiler, `in_step.pyx` stands in for this module.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import merge
from operator import attrgetter
from typing import Final

from service.batches.record_batch import RecordBatch

_event_time: Final = attrgetter("timestamp_ms")


def in_step(batches: Iterable[RecordBatch]) -> RecordBatch:
    """Merge batches by event time; each keeps its own order, and at equal times earlier batches come first.

    Any first records of the result, split by topic and merged again, have the same order: so recovery learns
    a batch in the order in which it was learned first.
    """
    return RecordBatch(merge(*batches, key=_event_time))
