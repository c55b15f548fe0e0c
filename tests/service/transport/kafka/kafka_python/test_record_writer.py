"""Records are written as kafka-python itself writes them: the same bytes, batches and limits."""

import importlib.util
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.errors import MessageSizeTooLargeError
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.memory_records import MemoryRecords, MemoryRecordsBuilder
from kafka.structs import TopicPartition

from service.records import Record
from service.transport.kafka.kafka_python import record_writer
from service.transport.kafka.kafka_python.fetched_records import FetchedRecords
from service.transport.kafka.kafka_python.written_batch import builder_of

NO_CODEC, GZIP = 0, 1
NOW_MS = 1_700_000_000_000
NO_LIMIT = 1 << 30


def _interpreted():
    path = Path(record_writer.__file__).with_name("record_writer.py")
    spec = importlib.util.spec_from_file_location("interpreted_record_writer", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.RecordWriter


WRITERS = pytest.mark.parametrize(
    "kind",
    [
        pytest.param(record_writer.RecordWriter, id="as-built"),
        pytest.param(_interpreted(), id="interpreted"),
    ],
)
NULLABLE = st.none() | st.binary(max_size=150)
HEADERS = st.lists(st.tuples(st.text(max_size=5), st.binary(max_size=150)), max_size=3).map(tuple)
TIMES = st.none() | st.integers(-(2**61) + 1, 2**61 - 1) | st.integers(NOW_MS - 100_000, NOW_MS + 100_000)
ROWS = st.lists(st.tuples(NULLABLE, NULLABLE, HEADERS, TIMES), min_size=1, max_size=8)


def written(kind, rows, batch_bytes=NO_LIMIT):
    """Write what fits into one batch."""
    writer = kind(batch_bytes, NO_LIMIT, NOW_MS)
    for row in rows:
        if not writer.write(*row):
            break
    return writer


def librarys(rows, codec=NO_CODEC, batch_bytes=NO_LIMIT):
    """Return kafka-python's batch of what fits into it."""
    records = MemoryRecordsBuilder(2, codec, batch_bytes)
    for key, value, headers, timestamp_ms in rows:
        time_ms = NOW_MS if timestamp_ms is None else timestamp_ms
        if records.append(time_ms, key, value, list(headers)) is None:
            break
    return records


def closed(records, *state):
    records.set_producer_state(*state)
    records.close()
    return bytes(records.buffer())


@WRITERS
@given(
    rows=ROWS,
    batch_bytes=st.integers(0, 1500),
    state=st.sampled_from([(-1, -1, -1, False), (7, 2, 1000, True), (7, 0, 2**31 - 1, False)]),
)
def test_a_batch_has_the_bytes_that_the_library_would_write(kind, rows, batch_bytes, state):
    ours = builder_of(
        written(kind, rows, batch_bytes), {"compression_attrs": NO_CODEC, "batch_size": batch_bytes}
    )
    expected = librarys(rows, batch_bytes=batch_bytes)
    assert ours.is_full() == expected.is_full()
    assert ours.next_offset() == expected.next_offset()
    assert closed(ours, *state) == closed(expected, *state)


@WRITERS
@given(rows=ROWS, codec=st.sampled_from([NO_CODEC, GZIP]))
def test_what_is_written_is_read_back(kind, rows, codec):
    records = builder_of(written(kind, rows), {"compression_attrs": codec, "batch_size": NO_LIMIT})
    found = FetchedRecords(0, TopicPartition("events", 3), MemoryRecords(closed(records, -1, -1, -1, False)))
    assert found.take() == [
        Record("events", 3, offset, NOW_MS if time_ms is None else time_ms, key, value, headers)
        for offset, (key, value, headers, time_ms) in enumerate(rows)
    ]


@WRITERS
@given(row=st.tuples(NULLABLE, NULLABLE, HEADERS, TIMES), more=st.integers(-3, 3))
def test_a_record_is_too_large_where_the_library_says_so(kind, row, more):
    key, value, headers, _ = row
    size = DefaultRecordBatchBuilder.estimate_size_in_bytes(key, value, list(headers))
    writer = kind(NO_LIMIT, size + more, NOW_MS)
    if more >= 0:
        assert writer.write(*row)
    else:
        with pytest.raises(MessageSizeTooLargeError, match=f"more than {size + more} bytes"):
            writer.write(*row)
        assert not writer.n_records


@WRITERS
@pytest.mark.parametrize("time_ms", [2**61, -(2**61), 2**70])
def test_a_time_beyond_all_clocks_is_refused(kind, time_ms):
    with pytest.raises(OverflowError):
        kind(NO_LIMIT, NO_LIMIT, NOW_MS).write(b"k", b"v", (), time_ms)


@WRITERS
@pytest.mark.parametrize(
    "row", [("k", b"v", (), None), (b"k", "v", (), None), (b"k", b"v", (("n", "v"),), None)]
)
def test_text_is_no_key_no_value_and_no_header(kind, row):
    writer = kind(NO_LIMIT, NO_LIMIT, NOW_MS)
    with pytest.raises(TypeError):
        writer.write(*row)
    assert not writer.n_records
