"""Records and outputs in bulk are these, in order, however they are cut, joined and merged."""

from __future__ import annotations

import gc
from collections import Counter
from heapq import merge
from itertools import pairwise
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.files.rows import CutLine
from service.stream.batches import OutputBatch, RecordBatch, merge_by_time
from service.stream.protocol import Output, Record
from service.stream.records import RECORD_BYTES

_topics: Final = st.sampled_from(["events", "labels", "others"])
_bytes: Final = st.binary(max_size=40)
_maybe_bytes: Final = st.none() | _bytes | _bytes.map(CutLine)
_headers: Final = st.lists(st.tuples(st.text(max_size=3), st.binary(max_size=3)), max_size=2).map(tuple)

RECORDS: Final = st.lists(
    st.builds(
        Record,
        topic=_topics,
        partition=st.integers(0, 3),
        offset=st.integers(0, 2**62),
        timestamp_ms=st.integers(-1, 5) | st.integers(-(2**62), 2**62),
        key=_maybe_bytes,
        value=_maybe_bytes,
        headers=_headers,
    ),
    max_size=30,
)

OUTPUTS: Final = st.lists(
    st.builds(
        Output,
        topic=_topics,
        key=_maybe_bytes,
        value=_maybe_bytes,
        headers=_headers,
        partition=st.none() | st.integers(0, 3),
        timestamp_ms=st.none() | st.integers(0, 2**62),
    ),
    max_size=30,
)

_KINDS = {RecordBatch: RECORDS, OutputBatch: OUTPUTS}
_batches = st.one_of([st.tuples(st.just(kind), messages) for kind, messages in _KINDS.items()])
_two_batches = st.one_of([st.tuples(st.just(kind), messages, messages) for kind, messages in _KINDS.items()])


@given(_batches)
def test_batch_equals_the_sequence_of_its_records(made):
    kind, messages = made
    batch = kind(messages)
    assert list(batch) == messages
    assert batch == messages
    assert batch == kind(messages)
    assert len(batch) == len(messages)
    assert [batch[k] for k in range(-len(messages), len(messages))] == messages * 2
    assert batch.topics == list(dict.fromkeys(each.topic for each in messages))


@given(_two_batches)
def test_records_are_appended_in_order(made):
    kind, messages, more = made
    batch = kind(messages)
    batch += more
    batch.extend(kind(more))
    for each in more:
        batch.append(each)
    assert list(batch) == messages + more * 3


@given(_batches, st.slices(30))
def test_slice_is_a_batch_of_its_records(made, part):
    kind, messages = made
    found = kind(messages)[part]
    assert type(found) is kind
    assert list(found) == messages[part]


def test_slice_outlives_its_batch():
    batch = RecordBatch([Record("t", 0, n, n, b"k%d" % n, b"v" * n) for n in range(5000)])
    part = batch[4000:][990:]
    del batch
    gc.collect()
    assert [record.value for record in part] == [b"v" * n for n in range(4990, 5000)]


@pytest.mark.parametrize("place", [3, -4, 100])
@pytest.mark.parametrize(
    "batch", [RecordBatch([Record("t", 0, 0, 0, None, None)] * 3), OutputBatch([Output("t", None, None)] * 3)]
)
def test_position_without_a_message_is_an_index_error(batch, place):
    with pytest.raises(IndexError):
        batch[place]


@given(RECORDS)
def test_batch_counts_bytes_records_and_offsets_by_topic(records):
    batch = RecordBatch(records)
    sizes = [RECORD_BYTES + len(each.key or b"") + len(each.value or b"") for each in records]
    assert batch.size_bytes() == sum(sizes)
    assert batch.size_bytes(2, 5) == sum(sizes[2:5])
    assert batch.size_bytes(3) == sum(sizes[3:])
    assert batch.topics == list(dict.fromkeys(each.topic for each in records))
    assert batch.counts() == Counter(each[:2] for each in records)
    assert batch.next_offsets() == {each[:2]: each.offset + 1 for each in records}


@given(RECORDS)
def test_runs_split_a_batch_by_topic(records):
    batch = RecordBatch(records)
    runs = batch.runs()
    assert [record for _, run in runs for record in run] == records
    assert all({record.topic for record in run} == {topic} for topic, run in runs)
    assert all(before[0] != behind[0] for before, behind in pairwise(runs))
    assert batch.last_indices() == {record[:2]: place for place, record in enumerate(records)}


@given(RECORDS, st.integers(0, 40), st.integers(0, 10_000))
def test_fitting_returns_the_longest_prefix_within_bytes(records, most, max_bytes):
    batch = RecordBatch(records)
    count = batch.n_within(most, max_bytes)
    assert count <= min(most, len(records))
    assert batch.size_bytes(0, count) <= max_bytes
    if count < min(most, len(records)):
        assert batch.size_bytes(0, count + 1) > max_bytes


@given(st.tuples(RECORDS, RECORDS, RECORDS))
def test_batches_are_merged_by_event_time_and_keep_their_order(drawn):
    of_topics = zip(drawn, ("events", "labels", "others"), strict=True)
    parts = [[each._replace(topic=topic, partition=0) for each in part] for part, topic in of_topics]
    expected = list(merge(*parts, key=lambda record: record.timestamp_ms))
    assert list(merge_by_time(map(RecordBatch, parts))) == expected
