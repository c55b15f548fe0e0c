"""Records and outputs of any kind, for Hypothesis."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from service.datasets.rows import CutLine
from service.stream import Output, Record

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
