"""Logs in which the chunks of snapshots lie between the batches that follow them."""

import json

import pytest

from service.audit.findings import Fault
from tests.service.audit.audited_stream import LOG, findings, produce, with_fields, without
from tests.service.building import event, spread_snapshots


@pytest.fixture
def spread(open_stream, monkeypatch):
    """A stream on which snapshots lie between the batches that follow them."""
    spread_snapshots(monkeypatch)
    stream = open_stream(labels_topic="", max_batch_records=1, snapshots_kept=99)
    produce(stream, *LOG, *(event(f"e{n}", "win", n % 2 > 0) for n in range(12)))
    return stream.run(snapshot_interval_records=4)


def chunks_of(stream, sequence):
    records = stream.transport.read("checkpoints", 0)
    headers = ((each.offset, dict(each.headers)) for each in records)
    return [
        at for at, each in headers if (each["kind"], each.get("sequence")) == (b"snapshot", b"%d" % sequence)
    ]


def test_snapshots_that_lie_between_later_batches_are_read(spread):
    chunks = chunks_of(spread, 4)
    assert len(chunks) < chunks[-1] - chunks[0], "batches lie between"
    report = spread.audit()
    assert report.is_proved
    assert report.snapshots > 2


def test_a_snapshot_without_its_last_chunks_is_no_fault_and_counts_for_nothing(spread):
    n_snapshots = spread.audit().snapshots
    last = chunks_of(spread, 4)[-1]
    report = spread.changed("checkpoints", without(last)).audit()
    assert report.is_proved
    assert report.snapshots == n_snapshots - 1


@pytest.mark.parametrize("place", [1, -2])
def test_a_snapshot_that_lacks_another_chunk_is_named(spread, place):
    first, *_ = chunks = chunks_of(spread, 4)
    found = findings(spread.changed("checkpoints", without(chunks[place])))
    assert (Fault.WRONG, f"checkpoints[0]@{first}", None) in found


def test_a_snapshot_that_follows_later_batches_is_compared_with_its_own(spread):
    first, *_ = chunks_of(spread, 4)
    progress = next(
        each.offset
        for each in spread.transport.read("checkpoints", 0)
        if dict(each.headers)["kind"] == b"progress" and json.loads(each.value)["sequence"] == 4
    )
    assert progress < first
    counts = json.loads([*spread.transport.read("checkpoints", 0)][progress].value)["counts"]
    changed = with_fields(progress, counts=counts | {"labelled": counts["labelled"] - 1})
    assert any(fault is Fault.WRONG for fault, *_ in findings(spread.changed("checkpoints", changed)))
