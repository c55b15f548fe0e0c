"""Snapshots that are written with the batches that follow them."""

import itertools
import json
import threading
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from perceptron_core.formats.packed import pack
from service.checkpoints.log import read_log
from service.loop.context import Context
from service.loop.restore import restore
from service.loop.runner import Runner
from service.loop.snapshots import Packing, Snapshots
from service.loop.task import Task
from service.models.registry import BUILT_IN
from service.monitoring.metrics import Metrics
from service.partition.factory import make_processor
from service.stream.protocol import Output
from tests.service.building import AtOncePacking, Feed, event, label, settings, spread_snapshots
from tests.support.speed import patience

KEPT = 2
GIVEN = {"commit_interval_seconds": 0.001, "max_batch_records": 1, "labels_topic": "", "snapshots_kept": KEPT}
EVENTS = [event(f"e{n}", f"win now {n}", label=n % 3 > 0) for n in range(40)]


@pytest.fixture(autouse=True)
def spread(monkeypatch):
    spread_snapshots(monkeypatch)


def produce(stream, messages):
    stream.ensure_topics({"events": 1})
    stream.produce([Output("events", m["id"].encode(), json.dumps(m).encode()) for m in messages])


def started(stream, **given):
    return Runner(Context(stream, settings(**GIVEN | given), Metrics(CollectorRegistry())))


def steps(runner, is_enough):
    """Let a runner continue until it is enough."""
    for _ in range(1000):
        if is_enough():
            return
        runner.step()
    pytest.fail("it does not come to this")


def end(runner):
    runner.stop()
    runner.close()


def log_of(stream):
    return read_log(stream.read("checkpoints", 0), settings().group)


def kinds_of(stream):
    """Return of each record in the log P, or the number of the batch that a snapshot is of."""
    headers = [dict(record.headers) for record in stream.read("checkpoints", 0)]
    return [int(each["sequence"]) if each["kind"] == b"snapshot" else "P" for each in headers]


def undisturbed(stream):
    processor = make_processor(settings(**GIVEN))
    for record in stream.read("events", 0):
        processor.process_batch([record])
    return pack(processor.state())


def restored(stream):
    return restore(stream, settings(**GIVEN), 0)


def test_snapshot_chunked_over_later_batches_has_the_first_state(stream):
    produce(stream, EVENTS)
    runner = started(stream, snapshot_interval_records=10)
    steps(runner, lambda: len(log_of(stream).snapshots) == KEPT and 10 in kinds_of(stream))
    runner.stop()
    kinds = kinds_of(stream)
    first, last = kinds.index(10), len(kinds) - kinds[::-1].index(10)
    assert "P" in kinds[first:last], kinds
    newest = log_of(stream).snapshots[-1].read()
    assert newest.sequence == 10
    assert newest.offsets == {("events", 0): 10}
    found = restored(stream)
    assert found.snapshot_sequence == 10 < found.sequence
    processor = make_processor(settings(**GIVEN))
    for record in itertools.islice(stream.read("events", 0), found.offsets["events", 0]):
        processor.process_batch([record])
    assert pack(found.processor.state()) == pack(processor.state())
    runner.close()


def test_rest_of_a_snapshot_is_committed_without_a_batch(stream):
    produce(stream, EVENTS[:11])
    runner = started(stream, snapshot_interval_records=10)
    steps(runner, lambda: len(log_of(stream).snapshots) == KEPT)
    assert log_of(stream).progress[-1].sequence == 11
    assert kinds_of(stream).count(10) > 3
    end(runner)


def test_abandoned_snapshot_is_ignored(stream, monkeypatch):
    monkeypatch.setattr(Task, "hand_over", lambda task, *_: task.close())
    produce(stream, EVENTS)
    for n in (1, 2, 3):
        runner = started(stream, snapshot_interval_records=5)
        steps(runner, lambda n=n: len(set(kinds_of(stream)) - {"P", 0}) == n)
        end(runner)
    assert [each.sequence for each in log_of(stream).snapshots] == [0]
    runner = started(stream, snapshot_interval_records=5)
    steps(runner, lambda: len(log_of(stream).snapshots) == KEPT and log_of(stream).snapshots[0].sequence)
    steps(runner, lambda: log_of(stream).progress[-1].offsets == {("events", 0): len(EVENTS)})
    runner.close()
    assert pack(restored(stream).processor.state()) == undisturbed(stream)


def test_large_state_is_handed_over_without_a_snapshot(stream, monkeypatch):
    monkeypatch.setattr("service.loop.task.HAND_OVER_BYTES", 0)
    produce(stream, EVENTS[:20])
    runner = started(stream)
    steps(runner, lambda: log_of(stream).last_sequence() == 20)
    end(runner)
    assert [each.sequence for each in log_of(stream).snapshots] == [0]
    assert pack(restored(stream).processor.state()) == undisturbed(stream)
    produce(stream, EVENTS[20:])
    runner = started(stream, snapshot_interval_seconds=1e-9)
    steps(runner, lambda: len(log_of(stream).snapshots) == KEPT)
    end(runner)


def test_snapshot_of_any_size_is_made_at_the_inputs_end(stream, monkeypatch):
    monkeypatch.setattr("service.loop.task.HAND_OVER_BYTES", 0)
    produce(stream, EVENTS)
    Runner(Context(stream, settings(**GIVEN), Metrics(CollectorRegistry()))).run(exit_at_end=True)
    found = restored(stream)
    assert found.snapshot_sequence == found.sequence > 0


def test_loop_continues_while_a_snapshot_is_packed(stream, monkeypatch):
    may_end = threading.Event()

    class Waiting(AtOncePacking):
        def is_done(self):
            return may_end.is_set()

    spread_snapshots(monkeypatch, Waiting)
    produce(stream, EVENTS)
    runner = started(stream, snapshot_interval_records=1)
    steps(runner, lambda: log_of(stream).last_sequence() == len(EVENTS))
    assert [each.sequence for each in log_of(stream).snapshots] == [0]
    may_end.set()
    steps(runner, lambda: len(log_of(stream).snapshots) == KEPT)
    end(runner)
    assert restored(stream).snapshot_sequence >= 1


def test_predictions_do_not_wait_for_copying_a_large_state(stream, monkeypatch):
    begin, commits = Snapshots.begin, []

    def noted(self, *given, **more):
        commits.extend(task.is_committing for task in runner._tasks.running.values())
        begin(self, *given, **more)

    monkeypatch.setattr(Snapshots, "begin", noted)
    produce(stream, EVENTS)
    runner = started(stream, snapshot_interval_records=10)
    steps(runner, lambda: log_of(stream).last_sequence() == len(EVENTS))
    runner.stop()
    assert set(commits) == {True}
    runner.close()


texts = st.sampled_from(["win", "lose", "win lose", "", "now"])
ids = st.sampled_from([f"e{n}" for n in range(8)])
labelled = st.builds(event, ids, texts, st.sampled_from([None, True, False]))
message = labelled | st.builds(label, ids, st.booleans())
messages = st.lists(message, max_size=20)


@given(messages, messages)
def test_copied_state_is_packed_as_copied_despite_later_events(before, after):
    for model, bits in itertools.product(BUILT_IN, (0, 10)):
        classes = ("a", "b", "c") if "multiclass" in model else ()
        feed = Feed(model=model, hash_bits=bits, classes=classes, max_pending=5)
        for message in _in_classes(before, classes):
            feed(message)
        copied, state = feed.processor.state(), pack(feed.processor.state())
        for message in _in_classes(after, classes):
            feed(message)
        assert b"".join(copied.iter_chunks()) == state, (model, bits)


def _in_classes(given, classes):
    return [
        each | {"label": classes[each["label"]]} if classes and "label" in each else each for each in given
    ]


def test_packed_records_are_available_when_packing_is_done():
    may_end = threading.Event()

    def pack():
        may_end.wait(patience(10))
        return ["record"]

    packing = Packing(pack)
    assert not packing.is_done()
    assert not Packing.is_free(), "one is packed at a time"
    may_end.set()
    assert packing.records() == ["record"]
    assert packing.is_done()
    assert Packing.is_free()


def test_error_in_packing_is_raised_when_records_are_requested():
    def pack():
        raise MemoryError("no room")

    packing = Packing(pack)
    for _ in range(2):
        with pytest.raises(MemoryError, match="no room"):
            packing.records()
    assert Packing.is_free()


def test_packed_state_is_released_when_done():
    class State:
        def pack(self):
            return ["record"]

    state = State()
    is_there, packing = weakref.ref(state), Packing(state.pack)
    del state
    assert packing.records() == ["record"]
    assert is_there() is None
