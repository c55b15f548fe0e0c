"""Outputs in bulk are the outputs, in order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.batches.output_batch import OutputBatch
from service.stream import Output

_maybe_bytes = st.none() | st.binary(max_size=40)
_headers = st.lists(st.tuples(st.text(max_size=3), st.binary(max_size=3)), max_size=2).map(tuple)
_outputs = st.lists(
    st.builds(
        Output,
        topic=st.sampled_from(["predictions", "letters"]),
        key=_maybe_bytes,
        value=_maybe_bytes,
        headers=_headers,
        partition=st.none() | st.integers(0, 3),
        timestamp_ms=st.none() | st.integers(0, 2**62),
    ),
    max_size=30,
)


@given(_outputs)
def test_a_batch_has_the_outputs_that_it_was_given(outputs: list[Output]) -> None:
    batch = OutputBatch(outputs)
    assert list(batch) == outputs
    assert batch == outputs
    assert [batch[k] for k in range(-len(outputs), len(outputs))] == outputs * 2
    assert batch.topics == list(dict.fromkeys(each.topic for each in outputs))


@given(_outputs, _outputs)
def test_more_are_added_at_the_end(outputs: list[Output], more: list[Output]) -> None:
    batch = OutputBatch(outputs)
    batch += more
    batch.extend(OutputBatch(more))
    for each in more:
        batch.append(each)
    assert list(batch) == outputs + more * 3


@given(_outputs, st.slices(30))
def test_a_slice_is_a_batch_of_the_outputs_there(outputs: list[Output], part: slice) -> None:
    found = OutputBatch(outputs)[part]
    assert isinstance(found, OutputBatch)
    assert list(found) == outputs[part]


@pytest.mark.parametrize("place", [3, -4, 100])
def test_a_place_without_an_output_is_an_index_error(place: int) -> None:
    with pytest.raises(IndexError):
        OutputBatch([Output("t", None, None)] * 3)[place]
