import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core import DamagedError
from service.checkpoint import Address, Progress, progress_record, read_log, snapshot_records
from service.errors import CheckpointError
from service.snapshot import Snapshot, from_chunks, to_chunks
from service.transport.base import Record

ADDRESS = Address("checkpoints", 2, "g")
SNAPSHOT = Snapshot(4, {"events": 9}, {"model": "perceptron"}, {"model": b"m", "counters": {}})


def stored(*outputs):
    return [
        Record(o.topic, o.partition, offset, 5, o.key, o.value, o.headers) for offset, o in enumerate(outputs)
    ]


def progress(sequence):
    return progress_record(Progress(sequence, {"events": sequence}, {"mistakes": sequence}), ADDRESS)


def test_what_was_written_is_read():
    log = read_log(stored(*snapshot_records(SNAPSHOT, ADDRESS), progress(5), progress(6)), "g")
    assert log.snapshots[0].read() == SNAPSHOT
    assert log.progress == [
        Progress(5, {"events": 5}, {"mistakes": 5}),
        Progress(6, {"events": 6}, {"mistakes": 6}),
    ]
    assert log.last_sequence() == 6


def test_everything_goes_to_the_tasks_own_partition_under_the_groups_name():
    for output in (progress(1), *snapshot_records(SNAPSHOT, ADDRESS)):
        assert (output.topic, output.partition, output.key) == ("checkpoints", 2, b"g")


@given(st.integers(0, 3_000_000))
def test_a_snapshot_of_any_size_is_cut_into_pieces_below_any_brokers_limit(size):
    snapshot = SNAPSHOT._replace(state={"model": b"x" * size})
    chunks = to_chunks(snapshot)
    assert max(map(len, chunks)) <= 600_000
    assert from_chunks(chunks) == snapshot


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_snapshot_with_a_chunk_missing_is_refused(missing):
    records = stored(*snapshot_records(SNAPSHOT._replace(state={"model": b"x" * 1_200_000}), ADDRESS))
    assert len(records) == 3
    del records[missing]
    with pytest.raises(DamagedError, match="2 of its 3 chunks"):
        read_log(records, "g").snapshots[-1].read()


def test_a_changed_byte_in_a_snapshot_is_refused():
    (record,) = stored(*snapshot_records(SNAPSHOT, ADDRESS))
    damaged = record._replace(value=record.value[:-1] + b"\x00")
    with pytest.raises(DamagedError, match="damaged"):
        read_log([damaged], "g").snapshots[0].read()


def test_a_missing_batch_is_noticed():
    log = read_log(stored(progress(5), progress(7)), "g")
    with pytest.raises(CheckpointError, match="batch 6 is missing"):
        log.progress_after(4)


def test_a_log_of_another_group_is_refused():
    with pytest.raises(CheckpointError, match=r"checkpoints\[2\]@0: written by the group 'g', not 'other'"):
        read_log(stored(progress(1)), "other")


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (b"{", "cannot be read"),
        (b"[]", "cannot be read"),
        (b'{"version":1}', "cannot be read"),
        (b'{"version":2}', "of version 2"),
    ],
)
def test_progress_that_is_none_is_refused_with_its_place(value, complaint):
    (record,) = stored(progress(1))
    with pytest.raises(CheckpointError, match=rf"checkpoints\[2\]@0: .*{complaint}"):
        read_log([record._replace(value=value)], "g")


def test_a_foreign_record_is_refused():
    with pytest.raises(CheckpointError, match="no checkpoint record"):
        read_log([Record("checkpoints", 2, 0, 5, b"g", b"hello")], "g")
