"""A model that learns in one thread and predicts in others."""

import itertools
import json
import threading
import time

import pytest
from prometheus_client import CollectorRegistry

from service.errors import NoSuchModel, TransactionFailed
from service.loop.context import Context
from service.loop.runner import Runner
from service.monitoring.live_models import LiveModels, Turns
from service.monitoring.metrics import Metrics
from service.partition.processor import yield_to_threads
from service.stream.batches import RecordBatch
from service.stream.opening import open_transport
from service.stream.protocol import Output
from tests.service.building import Feed, change_writers, event, observing, settings
from tests.service.web.stage import Stage


def question(live, message):
    return live.questions.read(json.dumps(message).encode())


def test_prediction_never_runs_during_an_update():
    """Both weights of an event move in one update: they are never seen to differ."""
    stage, asked_enough = Stage(), threading.Event()
    asked = question(stage.live, event("q", "left right"))
    model = stage.live.get()

    def learn():
        for n in itertools.count():
            if asked_enough.is_set():
                return
            stage(event(f"l-{n}", "left right", label=n % 2 == 0))

    loop = threading.Thread(target=learn)
    loop.start()
    try:
        for _ in range(100):
            one, other = model.explain(asked)["contributions"]
            assert one["contribution"] == other["contribution"]
    finally:
        asked_enough.set()
        loop.join()


@pytest.mark.parametrize(("share", "seen"), [(1e9, 2), (1e-9, 1)])
def test_summary_of_weights_is_renewed_more_rarely_for_large_models(monkeypatch, share, seen):
    monkeypatch.setattr("service.monitoring.live_models._SHARE_FOR_SUMMARIES", share)
    stage = Stage()
    (model,) = stage.models.values()
    stage(event("a", "win", label=True))
    assert model.summary().weights.nonzero == 1
    stage(event("b", "see", label=False))
    assert model.summary().weights.nonzero == seen


def test_opening_model_is_not_shown():
    stage = Stage()
    live = LiveModels(stage.settings)
    model = live.open(0, stage.feeds[0].processor)
    assert live.partitions() == []
    with pytest.raises(NoSuchModel):
        live.get(0)
    model.committed(stage.metrics.state_of(0, stage.feeds[0].processor))
    assert live.get(0) is model


@pytest.fixture
def stream():
    transport = open_transport("memory://")
    transport.ensure_topics({"events": 2})
    messages = [json.dumps(event(f"e-{n}", "win", label=n % 3 > 0)).encode() for n in range(40)]
    transport.produce([Output("events", None, m, partition=n % 2) for n, m in enumerate(messages)])
    yield transport
    transport.close()


def run(stream, live, observe):
    metrics = observing(Metrics(CollectorRegistry()), observe)
    given = settings(max_batch_records=10, commit_interval_seconds=0.001)
    Runner(Context(stream, given, metrics, live=live)).run(exit_at_end=True)
    return metrics


def test_loop_holds_the_lock_only_while_learning(stream):
    live, held, free = LiveModels(settings()), [], []

    def look(_):
        if len(live.partitions()) < 2:  # one has yet to commit its first snapshot
            return
        held.append(sum(live.get(p).learning.locked() for p in live.partitions()))
        free.append(sum(not live.get(p).learning.locked() for p in live.partitions()))

    run(stream, live, look)
    assert set(held) == {1}
    assert 1 in free


def test_loop_shows_its_models_and_their_histories(stream):
    live, seen = LiveModels(settings(http="127.0.0.1:0", http_show_events="yes")), set()
    metrics = run(stream, live, lambda _: seen.update(live.partitions()))
    assert seen == {0, 1}
    assert live.n_partitions == 2
    assert live.partitions() == []
    with pytest.raises(NoSuchModel):
        live.get()
    for partition in seen:
        assert live.histories[partition].points()[-1].labelled == 20
        assert metrics.last_published[partition].counters.labelled == 20


def test_curve_continues_after_a_failed_commit(stream, monkeypatch):
    live, failures = LiveModels(settings()), [TransactionFailed("not this time")]

    def change(writer):
        begin = writer.begin

        def begin_or_fail(outputs, offsets, **how):
            if failures and any(offsets.values()):
                raise failures.pop()
            begin(outputs, offsets, **how)

        writer.begin = begin_or_fail

    change_writers(stream, monkeypatch, change)
    run(stream, live, lambda _: None)
    assert not failures
    for partition in (0, 1):
        shown = [point.labelled for point in live.histories[partition].points()]
        assert shown == sorted(set(shown))
        assert shown[-1] == 20


def test_waiting_thread_gets_the_lock_within_a_batch():
    turns, got = Turns(), []

    def ask():
        if turns.acquire(10.0):
            got.append("asked")
            turns.release()

    asking = threading.Thread(target=ask)
    with turns:
        asking.start()
        while not got:
            yield_to_threads()
        assert turns.locked()
        assert not turns.acquire(0)
        assert not turns.acquire(0.01)
        got.append("learned")
    asking.join()
    assert got == ["asked", "learned"]


def test_waiting_thread_runs_in_the_middle_of_a_batch():
    feed, turns, is_over = Feed(), [], threading.Event()

    def take_turns():
        while not is_over.wait(0.0001):
            turns.append(time.perf_counter())

    other = threading.Thread(target=take_turns)
    other.start()
    try:
        for _ in range(50):
            events = [event(str(number), "win", label=True) for number in range(5000)]
            batch = RecordBatch([feed.record(each) for each in events])
            began = time.perf_counter()
            feed.processor.process_batch(batch)
            third = (time.perf_counter() - began) / 3
            if any(began + third < turn < began + 2 * third for turn in turns):
                return
        raise AssertionError("no turn in the middle of any batch")
    finally:
        is_over.set()
        other.join()
