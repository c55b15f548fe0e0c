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
    """Merge batches by event time, each in its own order; of equal times, batches in theirs.

    Whatever part of it begins where it begins, taken apart and merged again, is itself: so recovery takes
    a batch in the order in which it was learned.
    """
    return RecordBatch(merge(*batches, key=_event_time))
