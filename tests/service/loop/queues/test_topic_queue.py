"""A topic's records wait in order, in whatever parts they come and go."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from service.loop.queues import PlaceQueue
from service.stream.batches import RecordBatch
from service.stream.protocol import Record

_steps = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 20)), max_size=12)


@given(_steps)
def test_records_are_dropped_in_the_order_in_which_they_came(steps):
    queue = PlaceQueue()
    expected = []
    for n_added, n_dropped in steps:
        first = len(expected)
        part = [Record("events", 0, first + k, k, None, b"v" * k) for k in range(n_added)]
        queue.add(RecordBatch(part))
        expected += part
        n_taken = min(n_dropped, len(expected))
        assert list(queue.first(n_dropped)) == expected[:n_dropped]
        queue.drop(n_taken)
        expected = expected[n_taken:]
        assert len(queue) == len(expected)
        assert queue.n_bytes == RecordBatch(expected).size_bytes()
        assert list(queue.first(100)) == expected[:100]
        assert not expected or queue.first_record == expected[0]
