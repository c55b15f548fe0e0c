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


@pytest.fixture
def chained(open_stream, monkeypatch):
    """A stream with increments behind a whole snapshot."""
    spread_snapshots(monkeypatch)
    monkeypatch.setattr("perceptron_core.formats.model_changes._MOST_RATIO", float("inf"))
    monkeypatch.setattr("service.loop.snapshots.INCREMENT_RATIO", float("inf"))
    monkeypatch.setattr("service.loop.snapshots.CHAIN_RATIO", float("inf"))
    monkeypatch.setattr("service.loop.snapshots.COMMIT_BYTES", 1 << 20)
    stream = open_stream(labels_topic="", max_batch_records=1, snapshots_kept=99)
    produce(stream, *LOG, *(event(f"e{n}", "win", n % 2 > 0) for n in range(12)))
    return stream.run(snapshot_interval_records=3)


def increments_of(stream):
    """Return where the increments lie, by the numbers of their batches."""
    headers = [(each.offset, dict(each.headers)) for each in stream.transport.read("checkpoints", 0)]
    found = {}
    for at, each in headers:
        if each["kind"] == b"increment":
            found.setdefault(int(each["sequence"]), []).append(at)
    return found


def test_increments_are_read_and_compared_with_their_batches(chained):
    assert len(increments_of(chained)) > 2
    report = chained.audit()
    assert report.is_proved
    assert report.snapshots > len(increments_of(chained))


def test_an_increment_that_is_gone_is_missed_by_the_one_that_goes_on_from_it(chained):
    places = increments_of(chained)
    gone, second, *_ = places

    def without_it(records):
        return [each for each in records if each.offset not in places[gone]]

    found = findings(chained.changed("checkpoints", without_it))
    first = places[second][0] - len(places[gone])
    assert (Fault.WRONG, f"checkpoints[0]@{first}", None) in found


def test_a_changed_byte_in_an_increment_is_named(chained):
    (first, *_), *_ = increments_of(chained).values()

    def changed(records):
        return [
            each._replace(value=each.value[:-1] + b"\xff") if each.offset == first else each
            for each in records
        ]

    found = findings(chained.changed("checkpoints", changed))
    assert (Fault.WRONG, f"checkpoints[0]@{first}", None) in found
