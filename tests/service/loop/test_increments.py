"""Increments: snapshots of what changed since the one before."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core import DamagedError
from perceptron_core.formats import model_changes
from perceptron_core.formats.packed import pack, pack_around, unpack
from service.loop.restore import restore
from service.loop.task import Task
from service.models.registry import BUILT_IN
from service.partition import factory
from service.partition.parts.kinds import with_changes
from service.partition.processor import Processor
from tests.service.building import Changed, Feed, damaged, event, settings, spread_snapshots
from tests.service.loop.test_snapshots import (
    EVENTS,
    GIVEN,
    end,
    log_of,
    message,
    produce,
    restored,
    started,
    steps,
)

WINDOWED = {
    "events": {
        "text": "text",
        "windows": [{"by": "length(text)", "over": ["1h"], "of": {"@event": ["count"], "@label": ["rate"]}}],
    }
}


@pytest.fixture(autouse=True)
def of_any_size(monkeypatch):
    """Let states of any size have increments, whatever share of it changed."""
    spread_snapshots(monkeypatch)
    monkeypatch.setattr(model_changes, "_MAX_RATIO", float("inf"))
    monkeypatch.setattr("service.loop.snapshots.INCREMENT_RATIO", float("inf"))
    monkeypatch.setattr("service.loop.snapshots.CHAIN_RATIO", float("inf"))
    monkeypatch.setattr("service.loop.snapshots.COMMIT_BYTES", 1 << 20)


@pytest.fixture
def killed(monkeypatch):
    """Let processes end without a last snapshot."""
    monkeypatch.setattr(Task, "hand_over", lambda task, *_: task.close())


def run(stream, sequence, **given):
    """Let a process come to a batch, with a snapshot after every third, and end."""
    runner = started(stream, **{"snapshot_interval_records": 3, "snapshots_kept": 9} | given)
    steps(runner, lambda: log_of(stream).last_sequence() == sequence)
    end(runner)


def chain_of(stream):
    """Return which snapshot each continues from, by the numbers of their batches; None: it is whole."""
    return {each.sequence: each.before for each in log_of(stream).snapshots}


def as_it_was(stream, n, **given):
    """Return the state after the first n events."""
    feed = Feed(labels_topic="", snapshots_kept=2, **given)
    for record in itertools.islice(stream.read("events", 0), n):
        feed.processor.process_batch([record])
    return pack(feed.processor.state())


def test_increments_form_a_chain_and_restore_the_state_after_them(stream, killed):
    produce(stream, EVENTS)
    run(stream, 14)
    assert chain_of(stream) == {0: None, 3: 0, 6: 3, 9: 6, 12: 9}
    for stored in log_of(stream).snapshots:
        found = stored.read()
        assert pack(found.state) == as_it_was(stream, found.offsets["events", 0])
    assert restored(stream).snapshot_sequence == 12


def test_process_begins_with_a_whole_snapshot_and_continues_from_it(stream, killed):
    produce(stream, EVENTS)
    run(stream, 8)
    run(stream, 16)
    assert chain_of(stream) == {0: None, 3: 0, 6: 3, 11: None, 14: 11}
    assert pack(restored(stream).processor.state()) == as_it_was(stream, 16)


@pytest.mark.parametrize(
    ("limit", "value", "chain"),
    [
        ("CHAIN_RATIO", 0.01, {0: None, 3: 0, 6: None, 9: 6, 12: None}),
        ("MAX_INCREMENTS", 1, {0: None, 3: 0, 6: None, 9: 6, 12: None}),
        ("MAX_INCREMENTS", 0, {0: None, 3: None, 6: None, 9: None, 12: None}),
        ("INCREMENT_RATIO", 0, {0: None, 3: None, 6: None, 9: None, 12: None}),
    ],
)
def test_whole_snapshot_follows_a_too_large_or_long_chain(stream, killed, monkeypatch, limit, value, chain):
    monkeypatch.setattr(f"service.loop.snapshots.{limit}", value)
    produce(stream, EVENTS)
    run(stream, 14)
    assert chain_of(stream) == chain


def test_kept_whole_snapshots_keep_all_their_increments(stream, killed, monkeypatch):
    monkeypatch.setattr("service.loop.snapshots.MAX_INCREMENTS", 2)
    produce(stream, EVENTS)
    run(stream, 26, snapshots_kept=2)
    assert chain_of(stream) == {9: None, 12: 9, 15: 12, 18: None, 21: 18, 24: 21}
    for stored in log_of(stream).snapshots:
        stored.read()
    run(stream, 31, snapshots_kept=2)
    assert chain_of(stream) == {18: None, 21: 18, 24: 21, 29: None}, "the next process counts the same"


def test_hand_over_writes_an_increment_when_the_state_is_large(stream, monkeypatch):
    produce(stream, [event(f"e{n}", " ".join(f"w{n}-{k}" for k in range(9)), n % 2 > 0) for n in range(9)])
    runner = started(stream, snapshot_interval_records=7, max_pending=1)
    steps(runner, lambda: 7 in chain_of(stream))
    whole = log_of(stream).snapshots[-1].read()
    monkeypatch.setattr("service.loop.task.HAND_OVER_BYTES", len(pack(whole.state)))
    steps(runner, lambda: log_of(stream).last_sequence() == 9)
    end(runner)
    assert chain_of(stream) == {0: None, 7: None, 9: 7}


def is_increment(record, sequence):
    return {("kind", b"increment"), ("sequence", b"%d" % sequence)} <= {*record.headers}


@pytest.mark.parametrize("given", [{}, WINDOWED], ids=["plain", "with windows"])
@pytest.mark.parametrize("change", [lambda _: None, damaged], ids=["lacking", "damaged"])
def test_after_a_gap_the_newest_snapshot_before_it_is_used(stream, killed, change, given, caplog):
    produce(stream, EVENTS)
    run(stream, 14, **given)
    whole = restore(stream, settings(**GIVEN, **given), 0)
    assert (whole.snapshot_sequence, "windows" in whole.processor.state()) == (12, bool(given))
    hurt = Changed(stream, lambda record: change(record) if is_increment(record, 6) else record)
    found = restore(hurt, settings(**GIVEN, **given), 0)
    assert found.snapshot_sequence == 3
    assert pack(found.processor.state()) == as_it_was(stream, found.offsets["events", 0], **given)
    assert "snapshot rejected" in caplog.text


def test_increment_with_another_parent_is_rejected(stream, killed):
    produce(stream, EVENTS)
    run(stream, 8)
    first, second, third = log_of(stream).snapshots
    third.previous = first
    with pytest.raises(DamagedError, match="broken increment chain"):
        third.read()
    second.previous = None
    with pytest.raises(DamagedError, match="is missing"):
        second.read()


@given(st.lists(message | st.none(), max_size=20))
def test_increments_of_any_updates_restore_the_state_to_the_byte(given):
    for model, bits in itertools.product(BUILT_IN, (0, 10)):
        if "multiclass" in model:
            continue
        feed = Feed(model=model, hash_bits=bits, max_pending=5)
        states = []
        for each in [None, *given, None]:
            if each is not None:
                feed(each)
                continue
            changes = feed.processor.changes()
            if changes is None:
                states = []
                changes = feed.processor.state()
            states.append(unpack(b"".join(changes.iter_chunks())))
            found = with_changes(states) if len(states) > 1 else states[0]
            assert pack(found) == pack(feed.processor.state()), (model, bits)


@pytest.mark.parametrize("name", ["model", "join"])
def test_changes_of_another_form_are_rejected(stream, killed, monkeypatch, name):
    def changed(self):
        found = changes(self)
        return found and pack_around({**found, name: 5})

    produce(stream, EVENTS)
    changes = Processor.changes
    monkeypatch.setattr(factory, "Processor", type("Changed", (Processor,), {"changes": changed}))
    run(stream, 5)
    with pytest.raises(DamagedError, match="unreadable"):
        log_of(stream).snapshots[-1].read()
