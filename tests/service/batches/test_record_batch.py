"""Records in bulk are the records, in order, however they are cut, joined and merged."""

from __future__ import annotations

import gc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.batches.record_batch import RecordBatch
from service.stream import Record

_maybe_bytes = st.none() | st.binary(max_size=40)
_headers = st.lists(st.tuples(st.text(max_size=3), st.binary(max_size=3)), max_size=2).map(tuple)
_records = st.lists(
    st.builds(
        Record,
        topic=st.sampled_from(["events", "labels", "others"]),
        partition=st.integers(0, 3),
        offset=st.integers(0, 2**62),
        timestamp_ms=st.integers(-1, 5) | st.integers(-(2**62), 2**62),
        key=_maybe_bytes,
        value=_maybe_bytes,
        headers=_headers,
    ),
    max_size=30,
)


@given(_records)
def test_a_batch_has_the_records_that_it_was_given(records: list[Record]) -> None:
    batch = RecordBatch(records)
    assert list(batch) == records
    assert batch == records
    assert [batch[k] for k in range(-len(records), len(records))] == records * 2
    assert len(batch) == len(records)


@given(_records, st.slices(30))
def test_a_slice_is_a_batch_of_the_records_there(records: list[Record], part: slice) -> None:
    found = RecordBatch(records)[part]
    assert isinstance(found, RecordBatch)
    assert list(found) == records[part]
    assert found.n_bytes == RecordBatch(records[part]).n_bytes


@given(st.lists(_records, max_size=4))
def test_batches_are_joined(parts: list[list[Record]]) -> None:
    joined = RecordBatch()
    for part in parts:
        joined.extend(RecordBatch(part))
        joined.extend(part)
    assert list(joined) == [record for part in parts for record in part * 2]


@given(_records)
def test_it_counts_bytes_records_and_offsets_by_topic(records: list[Record]) -> None:
    batch = RecordBatch(records)
    assert batch.n_bytes == sum(len(each.key or b"") + len(each.value or b"") for each in records)
    assert batch.topics == list(dict.fromkeys(each.topic for each in records))
    assert batch.counts() == {t: sum(each.topic == t for each in records) for t in batch.topics}
    assert batch.next_offsets() == {each.topic: each.offset + 1 for each in records}


@given(_records)
def test_runs_are_the_parts_of_one_topic_each(records: list[Record]) -> None:
    batch = RecordBatch(records)
    runs = batch.runs()
    assert [record for _, run in runs for record in run] == records
    assert all({record.topic for record in run} == {topic} for topic, run in runs)
    assert all(before[0] != behind[0] for before, behind in pairwise(runs))
    assert batch.last_places() == {record.topic: place for place, record in enumerate(records)}


@given(_records, st.integers(0, 40), st.integers(0, 500), st.integers(0, 30))
def test_what_fits_is_the_most_that_takes_no_more_bytes(
    records: list[Record], most: int, most_bytes: int, each_bytes: int
) -> None:
    batch = RecordBatch(records)
    count = batch.n_within(most, most_bytes, each_bytes)
    assert count <= min(most, len(records))
    assert batch[:count].n_bytes + count * each_bytes <= most_bytes
    if count < min(most, len(records)):
        assert batch[: count + 1].n_bytes + (count + 1) * each_bytes > most_bytes


def test_a_part_outlives_the_batch() -> None:
    batch = RecordBatch([Record("t", 0, n, n, b"k%d" % n, b"v" * n) for n in range(5000)])
    part = batch[4990:]
    del batch
    gc.collect()
    assert [record.value for record in part] == [b"v" * n for n in range(4990, 5000)]


@pytest.mark.parametrize("place", [3, -4, 100])
def test_a_place_without_a_record_is_an_index_error(place: int) -> None:
    with pytest.raises(IndexError):
        RecordBatch([Record("t", 0, n, 0, None, None) for n in range(3)])[place]
