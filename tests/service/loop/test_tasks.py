"""Partitions are opened next to the loop, and handed over together."""

import json
import threading
from types import SimpleNamespace
from unittest import mock

import pytest
from prometheus_client import CollectorRegistry

from service.errors import CheckpointError
from service.loop import restorer
from service.loop.context import Context
from service.loop.runner import Runner
from service.monitoring.health import Health, State
from service.monitoring.metrics import Metrics
from service.stream.opening import open_transport
from service.stream.protocol import Output
from tests.service.building import AtOnce, SetClock, event, settings, step_until

SECONDS = 20.0


@pytest.fixture
def stream(tmp_path):
    transport = open_transport(f"memory://{tmp_path}")
    transport.ensure_topics({"events": 3})
    yield transport
    transport.close()


@pytest.fixture
def held(monkeypatch):
    """Let the restoring of partition 1 wait to be let go; returns what lets it."""
    go, waiting = threading.Event(), threading.Event()
    restore = restorer.restore

    def wait_for_it(stream, given, partition, *rest, **more):
        if partition == 1:
            waiting.set()
            assert go.wait(SECONDS)
        return restore(stream, given, partition, *rest, **more)

    monkeypatch.setattr(restorer, "restore", wait_for_it)
    yield SimpleNamespace(go=go, waiting=waiting)
    go.set()


@pytest.fixture
def runner(stream):
    made = Runner(Context(stream, settings(commit_interval_seconds=0.001), Metrics(CollectorRegistry())))
    yield made
    made.close()


def produce(stream, *ids):
    outputs = [
        Output("events", None, json.dumps(event(each)).encode(), partition=int(each[0])) for each in ids
    ]
    stream.produce(outputs)


def predicted_ids(stream):
    return {json.loads(r.value)["id"] for p in range(3) for r in stream.read("predictions", p)}


def test_other_partitions_are_predicted_during_a_restore(stream, held, runner):
    produce(stream, "0a", "1a")
    step_until(runner, lambda: "0a" in predicted_ids(stream))
    produce(stream, "0b")
    step_until(runner, lambda: "0b" in predicted_ids(stream))
    assert predicted_ids(stream) == {"0a", "0b"}
    assert runner._health.state is State.STARTING
    held.go.set()
    step_until(runner, lambda: runner._health.state is State.READY)
    step_until(runner, lambda: predicted_ids(stream) == {"0a", "0b", "1a"})


def test_endless_opening_makes_a_service_unready(stream, held):
    clock = SetClock()
    health = Health(ready_timeout_seconds=30, clock=clock)
    runner = Runner(Context(stream, settings(), Metrics(CollectorRegistry()), health, clock=clock))
    step_until(runner, lambda: runner._tasks.running.keys() == {0} and held.waiting.is_set())
    waiting = "the opening of partition 1 and 1 more has been under way for"
    assert health.condition == (State.STARTING, f"{waiting} 0 s")
    health.become(State.READY)
    assert health.state is State.READY
    clock.seconds += 31
    assert health.condition == (State.UNAVAILABLE, f"{waiting} 31 s")
    held.go.set()
    step_until(runner, lambda: health.state is State.READY)
    runner.close()


def test_restored_state_of_a_partition_revoked_meanwhile_is_discarded(stream, held, runner):
    step_until(runner, held.waiting.is_set)
    runner._tasks.partitions_revoked(frozenset({1}))
    held.go.set()
    threads = runner._tasks._restorer._background._threads
    step_until(runner, lambda: not any(each.is_alive() for each in threads))
    runner.step()
    assert runner._tasks.running.keys() == {0, 2}
    assert not runner._tasks.is_waiting


def test_loop_raises_the_error_of_the_restoring_thread(runner, monkeypatch):
    def reject(*_, **__):
        raise CheckpointError("damaged", hint="mend it")

    monkeypatch.setattr(restorer, "restore", reject)
    with pytest.raises(CheckpointError, match=r"^damaged$") as raised:
        step_until(runner, lambda: False)
    assert raised.value.hint == "mend it"


def test_ending_loop_restores_no_further_partitions(stream, held):
    runner = Runner(Context(stream, settings(), Metrics(CollectorRegistry())))
    step_until(runner, held.waiting.is_set)
    threading.Timer(0.2, held.go.set).start()
    with mock.patch.object(restorer.Restorer, "_restored") as restored:
        runner.close()
    assert not restored.called
    assert not any(each.is_alive() for each in runner._tasks._restorer._background._threads)


def counting_transactions(stream):
    """Count the transactions of the consumers that join."""
    sent = []
    join = stream.join

    def counted(*given):
        consumer = join(*given)
        send = consumer._transactions.send

        def send_and_count():
            sent.append(len(consumer._transactions._added))
            send()

        consumer._transactions.send = send_and_count
        return consumer

    stream.join = counted
    return sent


@pytest.mark.parametrize(("hand_over_bytes", "last"), [(10**6, [3]), (1, [1, 1, 1])])
def test_first_and_small_last_snapshots_share_a_transaction(stream, monkeypatch, hand_over_bytes, last):
    monkeypatch.setattr("service.loop.tasks.HAND_OVER_BYTES", hand_over_bytes)
    monkeypatch.setattr(restorer, "Background", AtOnce)
    sent = counting_transactions(stream)
    runner = Runner(Context(stream, settings(), Metrics(CollectorRegistry())))
    step_until(runner, lambda: len(runner._tasks.running) == 3)
    assert [n for n in sent if n] == [3]
    produce(stream, "0a", "1a", "2a")
    step_until(runner, lambda: len(predicted_ids(stream)) == 3)
    del sent[:]
    runner.close()
    assert [n for n in sent if n] == last
