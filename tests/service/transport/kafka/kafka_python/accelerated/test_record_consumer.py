"""Fetches are decoded as kafka-python itself decodes them: the same records, positions and errors."""

import gc
import struct
from itertools import accumulate
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kafka import KafkaConsumer
from kafka.consumer.fetcher import Fetcher
from kafka.consumer.subscription_state import SubscriptionState
from kafka.errors import CorruptRecordError
from kafka.protocol.consumer import IsolationLevel
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.legacy_records import LegacyRecordBatchBuilder
from kafka.record.memory_records import MemoryRecords
from kafka.record.util import calc_crc32c
from kafka.structs import OffsetAndMetadata, TopicPartition

from service.batches import RecordBatch
from service.errors import TransportError
from service.records import Record

pytest.importorskip("service.transport.kafka.kafka_python.accelerated.records", reason="it is compiled")

from service.transport.kafka.kafka_python.accelerated.records import RecordReader

from service.transport.kafka.kafka_python.accelerated import record_consumer, uncompressed
from service.transport.kafka.kafka_python.accelerated.record_consumer import (
    BatchConsumer,
    FetchedRecords,
    joined,
)

PLACE, OTHER = TopicPartition("events", 3), TopicPartition("events", 4)
NO_CODEC, GZIP = 0, 1
APPEND_TIME, CONTROL = 8, 32
ABORT, COMMIT = 0, 1
HEADER = DefaultRecordBatchBuilder.HEADER_STRUCT
EVERYTHING = -(2**63)
"""Before all offsets, even those that a changed byte makes of others."""


def batch(records, base_offset=0, codec=NO_CODEC, producer_id=-1, flags=0, n_compacted=0):
    """Write a batch of format 2 as a broker keeps it: `records` have their offsets within it."""
    builder = DefaultRecordBatchBuilder(2, codec, producer_id >= 0, producer_id, 0, 0, 1 << 30)
    for record in records:
        builder.append(*record)
    written = builder.build()
    fields = list(HEADER.unpack_from(written))
    fields[0], fields[2] = base_offset, 7  # and the leader's epoch
    fields[5] |= flags
    fields[6] += n_compacted
    HEADER.pack_into(written, 0, *fields)
    return bytes(with_crc(written))


def with_crc(written):
    """Set a batch's checksum to what it should be."""
    at = DefaultRecordBatchBuilder.CRC_OFFSET
    checksum = calc_crc32c(memoryview(written)[DefaultRecordBatchBuilder.ATTRIBUTES_OFFSET :])
    struct.pack_into(">I", written, at, checksum)
    return written


def marker(kind, base_offset, producer_id):
    control = (0, 5, struct.pack(">hh", 0, kind), b"\0\0\0\0\0\0", [])
    return batch([control], base_offset, producer_id=producer_id, flags=CONTROL)


def legacy_batch(magic, records, codec):
    builder = LegacyRecordBatchBuilder(magic, codec, 1 << 30)
    for offset, timestamp, key, value, _ in records:
        builder.append(offset, timestamp, key, value)
    return bytes(builder.build())


NULLABLE = st.none() | st.binary(max_size=70)
HEADERS = st.lists(st.tuples(st.text(max_size=5), NULLABLE), max_size=3)
TIMES = st.integers(-1, 2**42) | st.integers(1_700_000_000_000, 1_700_000_100_000)

KINDS = ["plain", "open", "abort", "commit", "old", "older"]


@st.composite
def rows(draw, max_size=3):
    """Draw records of a batch, some of whose neighbours were compacted away."""
    steps = draw(st.lists(st.integers(1, 3), max_size=max_size))
    offsets = accumulate(steps, initial=0)
    return [(each, draw(TIMES), draw(NULLABLE), draw(NULLABLE), draw(HEADERS)) for each in offsets]


@st.composite
def fetches(draw):
    """Draw what a broker may send: batches of all kinds in a row, and which transactions were aborted."""
    offset, sent, aborted = draw(st.integers(0, 2**40)), [], []
    first = offset
    for _ in range(draw(st.integers(1, 4))):
        records, kind = draw(rows()), draw(st.sampled_from(KINDS))
        codec, producer_id = draw(st.sampled_from([NO_CODEC, GZIP])), draw(st.integers(0, 1))
        n_compacted = draw(st.integers(0, 2))
        if kind in {"old", "older"}:
            shifted = [(offset + row[0], *row[1:]) for row in records]
            sent.append(legacy_batch(1 if kind == "old" else 0, shifted, NO_CODEC))
            offset = shifted[-1][0] + 1
            continue
        flags = draw(st.sampled_from([0, APPEND_TIME]))
        owner = -1 if kind == "plain" else producer_id
        sent.append(batch(records, offset, codec, owner, flags, n_compacted))
        began, offset = offset, offset + records[-1][0] + n_compacted + 1
        if kind in {"abort", "commit"}:
            sent.append(marker(ABORT if kind == "abort" else COMMIT, offset, producer_id))
            offset += 1
        if kind == "abort":
            aborted.append(SimpleNamespace(first_offset=began, producer_id=producer_id))
    return draw(st.integers(first, offset - 1)), b"".join(sent), aborted


def libraries(records):
    """Return kafka-python's records as ours."""
    return [
        Record(
            each.topic,
            each.partition,
            each.offset,
            -1 if each.timestamp is None else each.timestamp,
            each.key,
            each.value,
            tuple((name, value or b"") for name, value in each.headers),
        )
        for each in records
    ]


def taken(kind, fetch, n, **options):
    """Take `n` records again and again; return what was there each time, and the error that ended it."""
    fetch_offset, sent, aborted = fetch
    options = {"isolation_level": IsolationLevel.READ_COMMITTED, **options}
    found = kind(fetch_offset, PLACE, MemoryRecords(sent), aborted_transactions=aborted, **options)
    seen = []
    while found:
        try:
            records = found.take(n)
        except Exception as error:  # noqa: BLE001 - whatever the library raises
            return [*(each[0] for each in seen), type(error), str(error)]
        ours = joined([*records]) if kind is FetchedRecords else libraries(records)
        seen.append((ours, found.next_fetch_offset, found.leader_epoch, found.bytes_read > 0))
    return seen


def both(fetch, n, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uncompressed, "_PIECE_BYTES", 16)
        return taken(FetchedRecords, fetch, n, **options), taken(
            Fetcher.PartitionRecords, fetch, n, **options
        )


@given(fetch=fetches(), n=st.integers(1, 6), isolation=st.sampled_from(list(IsolationLevel)))
def test_a_fetch_is_decoded_as_the_library_does(fetch, n, isolation):
    ours, librarys = both(fetch, n, isolation_level=isolation)
    assert ours == librarys


@given(fetch=fetches(), n=st.integers(1, 6), at=st.integers(0), byte=st.integers(1, 255))
def test_a_changed_byte_gives_the_librarys_error(fetch, n, at, byte):
    _, sent, aborted = fetch
    changed = bytearray(sent)
    changed[at % len(changed)] ^= byte
    ours, librarys = both((EVERYTHING, bytes(changed), aborted), n)
    assert ours == librarys


SAMPLE = bytearray(
    batch(
        [
            (0, 1_700_000_000_000, b"m-1", b'{"id": "m-1"}', []),
            (1, 1_699_999_999_000, None, None, [("source", b"x"), ("empty", None)]),
            (2, 1_700_000_000_007, b"", b"" * 300, [("näm", b"")]),
        ]
    )
)
RECORDS_AT = HEADER.size


@given(
    edits=st.lists(st.tuples(st.integers(RECORDS_AT, len(SAMPLE) - 1), st.integers(0, 255)), max_size=4),
    cut=st.integers(0, 20),
    n=st.integers(1, 4),
)
@example(edits=[(RECORDS_AT, 0x7E)], cut=0, n=9)
def test_of_bytes_that_are_no_records_the_library_says_so_though_x(edits, cut, n):
    changed = bytearray(SAMPLE)
    for at, byte in edits:
        changed[at] = byte
    del changed[max(RECORDS_AT, len(changed) - cut) :]
    struct.pack_into(">i", changed, 8, len(changed) - 12)
    ours, librarys = both((EVERYTHING, bytes(with_crc(changed)), []), n)
    assert ours == librarys


@given(
    field=st.sampled_from([0, 6, 7, 8, 12]),
    value=st.integers(-(2**63), 2**63 - 1),
    flags=st.sampled_from([0, APPEND_TIME]),
)
@example(field=0, value=2**63 - 1, flags=0)
@example(field=7, value=-(2**63), flags=0)
@example(field=8, value=-1, flags=APPEND_TIME)
def test_a_header_of_any_numbers_means_what_it_means_to_the_library(field, value, flags):
    fields = list(HEADER.unpack_from(SAMPLE))
    fields[5] |= flags
    fields[field] = value if field in {0, 7, 8} else value % 2**32 - 2**31
    changed = bytearray(SAMPLE)
    HEADER.pack_into(changed, 0, *fields)
    ours, librarys = both((EVERYTHING, bytes(with_crc(changed)), []), 2)
    found = [record for each in librarys if type(each) is tuple for record in each[0]]
    if not all(-(2**63) <= record[2] < 2**63 for record in found):
        assert ours[-2] is CorruptRecordError
    elif not all(-(2**63) <= record[3] < 2**63 for record in found):
        times = [record[3] for each in ours if type(each) is tuple for record in each[0]]
        assert times == [(record[3] + 2**63) % 2**64 - 2**63 for record in found]
    else:
        assert ours == librarys


@given(data=st.binary(max_size=60), at=st.integers(0, 60), count=st.integers(-1, 5))
def test_a_reader_stays_within_its_bytes(data, at, count):
    found = RecordReader(data, at, "events", 0, base_offset=0, timestamp_ms=0, has_append_time=False)
    n_read = found.read(RecordBatch(), count, 0)
    assert n_read <= count
    assert found.at == at or at < found.at <= len(data)


def test_a_reader_that_is_garbage_lets_go_of_its_data():
    data = bytearray(b"nothing of a record")
    made = [RecordReader(data, 0, "events", 0, base_offset=0, timestamp_ms=0, has_append_time=False)]
    made.append(made)
    del made
    gc.collect()
    data.append(1)  # a BufferError as long as somebody reads it


def test_a_record_that_does_not_end_within_the_limit_is_an_error_that_names_it(monkeypatch):
    monkeypatch.setattr(uncompressed, "_MOST_BYTES", 100_000)
    sent = batch([(0, 0, None, b"before", []), (1, 0, None, bytes(1_000_000), [])], codec=GZIP)
    found = FetchedRecords(0, PLACE, MemoryRecords(sent))
    assert joined([*found.take(9)]).value(0) == b"before"
    with pytest.raises(TransportError, match="batch at offset 0 is longer than 100000 bytes"):
        found.take(9)


def test_as_many_records_of_a_batch_are_decoded_as_are_asked_for(monkeypatch):
    asked = []

    class Counting:
        def __init__(self, *given, **options):
            self._reader = RecordReader(*given, **options)

        def read(self, records, count, first_offset):
            asked.append(count)
            return self._reader.read(records, count, first_offset)

        @property
        def at(self):
            return self._reader.at

    monkeypatch.setattr(record_consumer, "RecordReader", Counting)
    found = FetchedRecords(0, PLACE, MemoryRecords(batch([(n, 0, None, b"x", []) for n in range(20)])))
    assert [len(found.take(n)) for n in (3, 5, 1)] == asked == [3, 5, 1]


def test_an_error_is_raised_again_at_each_call():
    damaged = bytearray(SAMPLE)
    damaged[-1] ^= 1
    found = FetchedRecords(0, PLACE, MemoryRecords(bytes(SAMPLE) + damaged))
    assert len(found.take(9)) == 3
    for _ in range(2):
        with pytest.raises(CorruptRecordError, match="at offset 0 failed crc check"):
            found.take(9)


def test_what_was_fetched_before_the_position_is_not_delivered():
    found = FetchedRecords(1, PLACE, MemoryRecords(bytes(SAMPLE)))
    assert [record.offset for record in joined([*found.take(1)])] == [1]
    assert [record.offset for record in joined([*found.take()])] == [2]


class Assignment:
    """What the client knows of the partitions that it was assigned."""

    def __init__(self, offset):
        self.assignment = {PLACE: SimpleNamespace(position=OffsetAndMetadata(offset, "", -1), highwater=9)}

    def is_paused(self, _):
        return False

    def is_fetchable(self, _):
        return True

    def is_assigned(self, _):
        return True


@pytest.fixture
def fetcher():
    """A fetcher of kafka-python with a fetch of two record batches, six records, in line."""
    second = batch([(0, 0, None, b"4", []), (1, 0, None, b"5", []), (2, 0, None, b"6", [])], base_offset=3)
    made = Fetcher(SimpleNamespace(_manager=SimpleNamespace(_net=None)), Assignment(0), metrics=None)
    made._next_partition_records = FetchedRecords(0, PLACE, MemoryRecords(bytes(SAMPLE) + second))
    return made


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 9])
def test_the_clients_fetcher_hands_batches_on_counts_their_records_and_moves_its_position(fetcher, n):
    offsets = []
    while len(offsets) < 6:
        found, _ = fetcher.fetched_records(n)
        records = joined(found[PLACE])
        assert all(type(part) is RecordBatch for part in found[PLACE])
        assert len(records) == min(n, 6 - len(offsets))
        offsets += [record.offset for record in records]
        assert fetcher._subscriptions.assignment[PLACE].position.offset == offsets[-1] + 1
    assert offsets == [*range(6)]
    assert fetcher.fetched_records(n) == ({}, False)


@pytest.mark.parametrize("at", [None, 7])
def test_the_position_is_that_of_the_client_without_a_look_at_all_partitions(at):
    consumer = object.__new__(BatchConsumer)
    consumer._subscription = SubscriptionState()
    consumer._subscription.assign_from_user([PLACE])
    if at is not None:
        consumer._subscription.seek(PLACE, at)
    assert consumer.known_position(PLACE) == at


def test_a_poll_returns_one_batch_of_each_partition(monkeypatch):
    parts = [RecordBatch([Record("events", 3, offset, 0, None, None)]) for offset in range(3)]
    monkeypatch.setattr(KafkaConsumer, "poll", lambda *_, **__: {PLACE: parts, OTHER: parts[:1]})
    found = object.__new__(BatchConsumer)._batches(timeout_ms=0)
    assert [record.offset for record in found[PLACE]] == [0, 1, 2]
    assert found[OTHER] is parts[0]
    assert len(parts[0]) == 1
