"""Records and outputs in bulk are the records and outputs, in order, however they are cut and joined."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.batches.output_batch import OutputBatch
from service.batches.record_batch import RecordBatch
from service.stream import Output, Record
from tests.service.batches.strategies import OUTPUTS, RECORDS

_KINDS = {RecordBatch: RECORDS, OutputBatch: OUTPUTS}
_batches = st.one_of([st.tuples(st.just(kind), messages) for kind, messages in _KINDS.items()])
_two_batches = st.one_of([st.tuples(st.just(kind), messages, messages) for kind, messages in _KINDS.items()])


@given(_batches)
def test_a_batch_is_the_sequence_that_it_was_made_of(made: tuple[Any, list[Any]]) -> None:
    kind, messages = made
    batch = kind(messages)
    assert list(batch) == messages
    assert batch == messages
    assert batch == kind(messages)
    assert len(batch) == len(messages)
    assert [batch[k] for k in range(-len(messages), len(messages))] == messages * 2
    assert batch.topics == list(dict.fromkeys(each.topic for each in messages))


@given(_batches)
def test_batches_with_other_contents_differ(made: tuple[Any, list[Any]]) -> None:
    kind, messages = made
    batch = kind(messages)
    assert batch != [*messages, None]
    assert batch != [*messages[:-1], None]
    assert batch != 5


@given(_two_batches)
def test_more_are_added_at_the_end(made: tuple[Any, list[Any], list[Any]]) -> None:
    kind, messages, more = made
    batch = kind(messages)
    batch += more
    batch.extend(kind(more))
    for each in more:
        batch.append(each)
    assert list(batch) == messages + more * 3


@given(_batches)
def test_a_batch_can_be_added_to_itself(made: tuple[Any, list[Any]]) -> None:
    kind, messages = made
    batch = kind(messages)
    batch.extend(batch)
    assert list(batch) == messages * 2


@given(_batches, st.slices(30))
def test_a_slice_is_a_batch_of_what_is_there(made: tuple[Any, list[Any]], part: slice) -> None:
    kind, messages = made
    found = kind(messages)[part]
    assert type(found) is kind
    assert list(found) == messages[part]


def test_a_part_outlives_the_batch() -> None:
    batch = RecordBatch([Record("t", 0, n, n, b"k%d" % n, b"v" * n) for n in range(5000)])
    part = batch[4000:][990:]
    del batch
    gc.collect()
    assert [record.value for record in part] == [b"v" * n for n in range(4990, 5000)]


@pytest.mark.parametrize("place", [3, -4, 100])
@pytest.mark.parametrize(
    "batch", [RecordBatch([Record("t", 0, 0, 0, None, None)] * 3), OutputBatch([Output("t", None, None)] * 3)]
)
def test_a_place_without_a_message_is_an_index_error(batch: RecordBatch | OutputBatch, place: int) -> None:
    with pytest.raises(IndexError):
        batch[place]
