"""Records are written as kafka-python itself writes them: the same bytes, batches and limits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.errors import MessageSizeTooLargeError, StaleMetadata
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.memory_records import MemoryRecords, MemoryRecordsBuilder
from kafka.structs import TopicPartition

from service.batches import OutputBatch
from service.partitioner import partition_for_key
from service.records import Output, Record

pytest.importorskip("service.transport.kafka.kafka_python.accelerated.records", reason="it is compiled")

from service.transport.kafka.kafka_python.accelerated.records import written_batches

from service.transport.kafka.kafka_python.accelerated.producer import builder_of
from service.transport.kafka.kafka_python.accelerated.record_consumer import FetchedRecords, joined

NO_CODEC, GZIP = 0, 1
NOW_MS = 1_700_000_000_000
NO_LIMIT = 1 << 30


NULLABLE = st.none() | st.binary(max_size=150)
HEADERS = st.lists(st.tuples(st.text(max_size=5), st.binary(max_size=150)), max_size=3).map(tuple)
TIMES = st.none() | st.integers(-(2**61) + 1, 2**61 - 1) | st.integers(NOW_MS - 100_000, NOW_MS + 100_000)
ROWS = st.lists(st.tuples(NULLABLE, NULLABLE, HEADERS, TIMES), min_size=1, max_size=8)


def written(rows, batch_bytes=NO_LIMIT, most_bytes=NO_LIMIT):
    """Write batches of one partition."""
    outputs = [Output("events", key, value, headers, 0, time_ms) for key, value, headers, time_ms in rows]
    batches = written_batches(
        outputs, lambda _: 1, batch_bytes=batch_bytes, most_bytes=most_bytes, now_ms=NOW_MS
    )
    assert all(place == ("events", 0) for place, _ in batches)
    return [writer for _, writer in batches]


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


@given(
    rows=ROWS,
    batch_bytes=st.integers(0, 1500),
    state=st.sampled_from([(-1, -1, -1, False), (7, 2, 1000, True), (7, 0, 2**31 - 1, False)]),
)
def test_batches_have_the_bytes_that_the_library_would_write(rows, batch_bytes, state):
    left = rows
    for writer in written(rows, batch_bytes):
        ours = builder_of(writer, {"compression_attrs": NO_CODEC, "batch_size": batch_bytes})
        expected = librarys(left, batch_bytes=batch_bytes)
        assert ours.is_full() == expected.is_full()
        assert ours.next_offset() == expected.next_offset()
        assert closed(ours, *state) == closed(expected, *state)
        left = left[writer.n_records :]
    assert not left


def read_back(place, writer, codec=NO_CODEC):
    """Read what was written of a batch with the code that reads what a broker sends."""
    records = builder_of(writer, {"compression_attrs": codec, "batch_size": NO_LIMIT})
    found = FetchedRecords(0, place, MemoryRecords(closed(records, -1, -1, -1, False)))
    return [*joined([*found.take()])]


@given(rows=ROWS, codec=st.sampled_from([NO_CODEC, GZIP]))
def test_what_is_written_is_read_back(rows, codec):
    (writer,) = written(rows)
    assert read_back(TopicPartition("events", 0), writer, codec) == [
        Record("events", 0, offset, NOW_MS if time_ms is None else time_ms, key, value, headers)
        for offset, (key, value, headers, time_ms) in enumerate(rows)
    ]


COUNTS = {"predictions": 3, "dead-letters": 1}


@given(
    outputs=st.lists(
        st.sampled_from(["predictions", "dead-letters"]).flatmap(
            lambda topic: st.builds(
                Output,
                st.just(topic),
                NULLABLE,
                NULLABLE,
                HEADERS,
                st.none() | st.integers(0, COUNTS[topic] - 1),
                st.none() | st.just(NOW_MS),
            )
        ),
        max_size=30,
    ),
    batch_bytes=st.integers(0, 1500),
    as_batch=st.booleans(),
)
def test_each_output_goes_to_its_partition_and_none_overtakes_another(outputs, batch_bytes, as_batch):
    given_as = OutputBatch(outputs) if as_batch else outputs
    batches = written_batches(
        given_as, COUNTS.__getitem__, batch_bytes=batch_bytes, most_bytes=NO_LIMIT, now_ms=NOW_MS
    )
    expected = {}
    for output in outputs:
        chosen = output.partition
        if chosen is None:
            chosen = partition_for_key(output.key, COUNTS[output.topic])
        expected.setdefault((output.topic, chosen), []).append(output[1:4])
    found = {}
    for place, writer in batches:
        records = read_back(TopicPartition(*place), writer)
        found.setdefault(place, []).extend((each.key, each.value, each.headers) for each in records)
    assert found == expected
    assert [*found] == [*expected]


@pytest.mark.parametrize("partition", [3, 2**31 - 1])
def test_a_partition_that_a_topic_does_not_have_is_named(partition):
    with pytest.raises(StaleMetadata, match=f"events has no partition {partition}"):
        written_batches(
            [Output("events", b"k", b"v", (), partition)],
            lambda _: 3,
            batch_bytes=NO_LIMIT,
            most_bytes=NO_LIMIT,
            now_ms=NOW_MS,
        )


@given(row=st.tuples(NULLABLE, NULLABLE, HEADERS, TIMES), more=st.integers(-3, 3))
def test_a_record_is_too_large_where_the_library_says_so(row, more):
    key, value, headers, _ = row
    size = DefaultRecordBatchBuilder.estimate_size_in_bytes(key, value, list(headers))
    if more >= 0:
        assert written([row], most_bytes=size + more)
    else:
        with pytest.raises(MessageSizeTooLargeError, match=f"more than {size + more} bytes"):
            written([row], most_bytes=size + more)


def test_a_batch_grows_with_its_records():
    rows = [(b"%d" % number, bytes(number), (), None) for number in range(1000)]
    (writer,) = written(rows)
    read = read_back(TopicPartition("events", 0), writer)
    assert [(record.key, record.value) for record in read] == [row[:2] for row in rows]


@pytest.mark.parametrize("time_ms", [2**61, -(2**61), 2**70])
def test_a_time_beyond_all_clocks_is_refused(time_ms):
    with pytest.raises(OverflowError):
        written([(b"k", b"v", (), time_ms)])


@pytest.mark.parametrize(
    "row", [("k", b"v", (), None), (b"k", "v", (), None), (b"k", b"v", (("n", "v"),), None)]
)
def test_text_is_no_key_no_value_and_no_header(row):
    with pytest.raises(TypeError):
        written([row])
