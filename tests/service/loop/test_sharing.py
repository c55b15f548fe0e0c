"""One model over all partitions: one task that takes their records in the order of their times."""

import itertools
import json
import random
from contextlib import closing

import pytest
from prometheus_client import CollectorRegistry

from service.checkpoints.log import read_log
from service.checkpoints.status import partition_statuses
from service.errors import ConfigurationError
from service.loop.context import Context
from service.loop.restore import restore
from service.loop.runner import Runner
from service.monitoring.live_models import LiveModels
from service.monitoring.metrics import Metrics
from service.stream.opening import open_transport
from service.stream.protocol import Output
from tests.service.building import event, label, settings, step_until, without_final_snapshot

N_PARTITIONS = 4
_names = itertools.count()


@pytest.fixture
def stream():
    with closing(open_transport(f"memory://sharing-{next(_names)}")) as transport:
        transport.ensure_topics({"events": N_PARTITIONS, "labels": N_PARTITIONS})
        yield transport


def shared(**given):
    return settings(**{"share_model": True, "commit_interval_seconds": 0.001, "max_batch_records": 7} | given)


def messages(n_events):
    """Yield events, and labels that come a little later, in the order of their times, no two alike."""
    chance = random.Random(5)
    found = []
    for n in range(n_events):
        words = " ".join(f"w{chance.randrange(12)}" for _ in range(5))
        found.append((1000 * n, "events", event(str(n), words)))
        found.append((1000 * (n + chance.randrange(1, 9)) + n + 1, "labels", label(str(n), "w1 " in words)))
    return sorted(found, key=lambda each: each[:2])


def produce(stream, found, n_partitions=N_PARTITIONS):
    """Append messages, each to any partition."""
    chance = random.Random(6)
    stream.produce(
        [
            Output(topic, None, json.dumps(message).encode(), (), chance.randrange(n_partitions), 1000 + at)
            for at, topic, message in found
        ]
    )


def run(stream, given):
    metrics = Metrics(CollectorRegistry())
    Runner(Context(stream, given, metrics)).run(exit_at_end=True)
    return metrics


def predictions(stream):
    n_partitions = stream.partition_count("predictions")
    found = [json.loads(r.value) for p in range(n_partitions) for r in stream.read("predictions", p)]
    return sorted(found, key=lambda each: (int(each["id"]), "score" not in each))


def started(stream, given):
    return Runner(Context(stream, given, Metrics(CollectorRegistry())))


@pytest.mark.parametrize("model", ["perceptron", "arow", "auto"])
def test_shared_model_predicts_as_with_one_partition(stream, model):
    found = messages(150)
    produce(stream, found)
    run(stream, shared(model=model))
    with closing(open_transport("memory://")) as alone:
        alone.ensure_topics({"events": 1, "labels": 1})
        produce(alone, found, n_partitions=1)
        run(alone, settings(model=model))
        one, other = (restore(each, given, 0).processor for each, given in (
            (stream, shared(model=model)), (alone, settings(model=model))
        ))  # fmt: skip
        assert predictions(stream) == predictions(alone)
        assert one.counters.mistakes == other.counters.mistakes > 0
        assert one.learner.dump() == other.learner.dump()


def test_label_finds_its_event_in_any_partition(stream):
    stream.produce(
        [
            Output("events", None, json.dumps(event("a", "win")).encode(), (), 1, 1000),
            Output("labels", None, json.dumps(label("a", True)).encode(), (), 3, 2000),
        ]
    )
    metrics = run(stream, shared())
    assert metrics.last_published.keys() == {0}
    assert metrics.last_published[0].counters.labels == {"matched": 1}


def test_replay_after_a_crash_repeats_the_processed_order(stream, monkeypatch):
    without_final_snapshot(monkeypatch)
    found = messages(80)
    given = shared(snapshot_interval_records=10**6)
    produce(stream, found[:100])
    run(stream, given)
    produce(stream, found[100:])
    run(stream, given)
    log = read_log(stream.read("checkpoints", 0), given.group)
    assert stream.partition_count("checkpoints") == 1
    assert log.progress_after(log.snapshots[-1].sequence)
    restored = restore(stream, given, 0)
    assert restored.processor.counters.predictions == 80
    assert {partition for _, partition in restored.offsets} == {*range(N_PARTITIONS)}


def test_added_partitions_join_between_two_batches(stream, monkeypatch):
    without_final_snapshot(monkeypatch)
    found, given = messages(60), shared()
    runner = started(stream, given)
    produce(stream, found[:60])
    step_until(runner, lambda: len(predictions(stream)) >= 25)
    stream.add_partitions({"events": 6, "labels": 6})
    runner._growth.check_at = 0.0
    runner.step()
    produce(stream, found[60:], n_partitions=6)
    step_until(runner, lambda: runner._tasks.partitions == {*range(6)})
    runner.close()
    run(stream, given)
    assert restore(stream, given, 0).processor.counters.predictions == 60


@pytest.mark.parametrize("grown", ["events", "labels"])
def test_partitions_missing_in_another_topic_wait(stream, grown):
    stream.ensure_topics({"checkpoints": 1, "predictions": N_PARTITIONS})
    stream.add_partitions({grown: N_PARTITIONS + 2})
    restored = restore(stream, shared(), 0)
    assert {partition for _, partition in restored.offsets} == {*range(N_PARTITIONS)}


def test_one_model_predicts_for_all_partitions(stream):
    given = shared()
    live = LiveModels(given)
    runner = Runner(Context(stream, given, Metrics(CollectorRegistry()), live=live))
    step_until(runner, lambda: bool(live.partitions()))
    assert live.partitions() == [0]
    assert {live.get(event_id=str(n)).partition for n in range(20)} == {0}
    assert all(live.intakes.get(each) is not None for each in range(N_PARTITIONS))
    runner.close()
    assert not live.intakes


def test_status_shows_one_model_with_lag_of_all_partitions(stream):
    produce(stream, messages(20))
    given = shared()
    run(stream, given)
    produce(stream, messages(3))
    (found,) = partition_statuses(stream, "checkpoints", given.group, ("events", "labels"))
    assert (found.partition, found.lag) == (0, {"events": 3, "labels": 3})
    assert found.counts["predictions"] == 20


def test_checkpoints_topic_of_several_models_is_rejected(stream):
    stream.ensure_topics({"checkpoints": 2})
    with pytest.raises(ConfigurationError, match="share_model needs one"):
        run(stream, shared())
