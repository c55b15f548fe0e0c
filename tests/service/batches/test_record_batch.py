"""Records in bulk are counted, cut by topic and measured."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from service.batches.record_batch import RecordBatch
from service.records import RECORD_BYTES
from service.stream import Record
from tests.service.batches.strategies import RECORDS


@given(RECORDS)
def test_it_counts_bytes_records_and_offsets_by_topic(records: list[Record]) -> None:
    batch = RecordBatch(records)
    sizes = [RECORD_BYTES + len(each.key or b"") + len(each.value or b"") for each in records]
    assert batch.size_bytes() == sum(sizes)
    assert batch.size_bytes(2, 5) == sum(sizes[2:5])
    assert batch.size_bytes(3) == sum(sizes[3:])
    assert batch.topics == list(dict.fromkeys(each.topic for each in records))
    assert batch.counts() == {t: sum(each.topic == t for each in records) for t in batch.topics}
    assert batch.next_offsets() == {each.topic: each.offset + 1 for each in records}


@given(RECORDS)
def test_runs_are_the_parts_of_one_topic_each(records: list[Record]) -> None:
    batch = RecordBatch(records)
    runs = batch.runs()
    assert [record for _, run in runs for record in run] == records
    assert all({record.topic for record in run} == {topic} for topic, run in runs)
    assert all(before[0] != behind[0] for before, behind in pairwise(runs))
    assert batch.last_places() == {record.topic: place for place, record in enumerate(records)}


@given(RECORDS, st.integers(0, 40), st.integers(0, 10_000))
def test_what_fits_is_the_most_that_takes_no_more_bytes(
    records: list[Record], most: int, most_bytes: int
) -> None:
    batch = RecordBatch(records)
    count = batch.n_within(most, most_bytes)
    assert count <= min(most, len(records))
    assert batch.size_bytes(0, count) <= most_bytes
    if count < min(most, len(records)):
        assert batch.size_bytes(0, count + 1) > most_bytes
