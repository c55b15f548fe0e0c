"""Batches are merged by event time."""

from __future__ import annotations

from heapq import merge

from hypothesis import given
from hypothesis import strategies as st

from service.batches.in_step import in_step
from service.batches.record_batch import RecordBatch
from service.stream import Record

_batches = st.sampled_from(["events", "labels", "others"]).flatmap(
    lambda topic: st.lists(
        st.builds(
            Record,
            topic=st.just(topic),
            partition=st.just(0),
            offset=st.integers(0, 2**62),
            timestamp_ms=st.integers(-1, 5),
            key=st.none() | st.binary(max_size=3),
            value=st.none() | st.binary(max_size=3),
        ),
        max_size=30,
    )
)


@given(st.lists(_batches, max_size=3))
def test_batches_are_merged_by_event_time_and_each_keeps_its_order(parts: list[list[Record]]) -> None:
    expected = list(merge(*parts, key=lambda record: record.timestamp_ms))
    assert list(in_step(map(RecordBatch, parts))) == expected
