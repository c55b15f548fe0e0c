import itertools
import json
import time
from types import SimpleNamespace

import pytest
from prometheus_client import CollectorRegistry

from service.clock import Backoff
from service.errors import (
    AccessDenied,
    MessageTooLarge,
    RegistryUnavailable,
    StorageFull,
    TransactionFailed,
    TransportUnavailable,
)
from service.loop.context import Context
from service.loop.runner import Runner
from service.loop.task import Task
from service.loop.topics import EndOfInput
from service.monitoring.health import Health, State
from service.monitoring.metrics import Metrics
from service.stream.protocol import NO_LIMIT, Output
from tests.service.building import AtOnce, SetClock, change_writers, event, label, observing, settings
from tests.support.recreated_topic import recreate


@pytest.fixture(autouse=True)
def _opens_at_once(monkeypatch):
    monkeypatch.setattr("service.loop.restorer.Background", AtOnce)


def produce(stream, *messages, topic="events", partition=None):
    stream.ensure_topics({topic: 1})
    stream.produce(
        [
            Output(
                topic,
                m["id"].encode() if isinstance(m, dict) else None,
                json.dumps(m).encode() if isinstance(m, dict) else m,
                partition=partition,
            )
            for m in messages
        ]
    )


def produce_timed(stream, timed, topic="events"):
    stream.ensure_topics({topic: 1})
    stream.produce(
        [Output(topic, m["id"].encode(), json.dumps(m).encode(), (), None, time_ms) for time_ms, m in timed]
    )


def test_models_of_partitions_that_are_gone_are_named(stream, caplog):
    stream.ensure_topics({"events": 2})
    produce(stream, event("a"), partition=1)
    run(stream, labels_topic="")
    recreate(stream, partitions=1)
    run(stream, labels_topic="", on_data_loss="continue")
    assert "unused models, as events lacks their partitions: checkpoints[1]" in caplog.messages


def run(stream, **given):
    metrics, health = Metrics(CollectorRegistry()), Health()
    runner = Runner(Context(stream, settings(commit_interval_seconds=0.001, **given), metrics, health))
    runner.run(exit_at_end=True)
    return metrics, health


def predictions(stream, topic="predictions"):
    count = stream.partition_count(topic)
    return [json.loads(record.value) for p in range(count) for record in stream.read(topic, p)]


def test_events_become_predictions_or_dead_letters_in_order(stream):
    produce(stream, event("a", "win", label=True), b"junk", event("b", "win"))
    metrics, health = run(stream)
    assert [(a["id"], a["label"]) for a in predictions(stream)] == [("a", False), ("b", True)]
    (letter,) = stream.read("dead-letters", 0)
    assert (letter.value, dict(letter.headers)["source.offset"]) == (b"junk", b"1")
    assert metrics.last_published[0].counters.mistakes == 1
    assert metrics.registry.get_sample_value("perceptron_process_duration_seconds_count") == 3
    assert health.state is State.STOPPED


def test_settings_without_a_matching_event_give_a_warning_at_end(stream, caplog):
    produce(stream, event("a"), event("b"))
    run(stream, events={"text": ["text"], "exclude": ["labl"]})
    assert "events.exclude: labl: not found in the first 2 records: check the spelling" in caplog.messages


def test_stream_without_known_ends_is_unavailable_until_it_answers(stream, monkeypatch):
    produce(stream, event("a"))
    stream.ensure_topics({"labels": 1})
    health = Health()
    runner, _ = made_runner(stream, health, max_batch_records=1)
    runner._clock.seconds = time.time()
    runner.step()

    def reject(_):
        raise TransportUnavailable("no one answers")

    with monkeypatch.context() as patch:
        patch.setattr(runner._consumer, "remaining", reject)
        for _ in range(3):
            runner.step()
            assert (health.state, health.condition[1]) == (State.UNAVAILABLE, "no one answers")
        assert predictions(stream) == []
    runner._clock.seconds += 2
    while not predictions(stream):
        runner.step()
    assert health.state is State.READY
    runner.close()


def test_silent_stream_is_queried_for_all_partitions_in_turn(stream, monkeypatch):
    stream.ensure_topics({"events": 40})
    (runner, _), asked = made_runner(stream), []
    while len(runner._tasks.running) < 40:
        runner.step()
    monkeypatch.setattr(
        runner._consumer, "remaining", lambda places: asked.append({each for _, each in places})
    )
    for _ in range(3):
        runner._clock.seconds += 2
        runner.step()
    assert set.union(*asked) == {*range(40)}
    assert max(map(len, asked)) <= 16
    runner.close()


def test_loop_waiting_for_topic_metadata_is_not_ready(stream, monkeypatch):
    stream.ensure_topics({"events": 1})
    clock = SetClock()
    health, seen = Health(ready_timeout_seconds=3.0, clock=clock), []
    runner, _ = made_runner(stream, health, clock=clock)
    for _ in range(3):
        runner.step()
    assert health.state is State.READY
    count = stream.partition_count

    def count_slowly(topic):
        clock.seconds += 5
        seen.append(health.condition)
        return count(topic)

    monkeypatch.setattr(stream, "partition_count", count_slowly)
    clock.seconds += 10
    runner.step()
    assert (State.UNAVAILABLE, "the look-up of topics has been under way for 5 s") in seen
    assert health.state is State.READY
    runner.close()


def test_outputs_have_the_time_of_writing(stream):
    before = time.time_ns() // 1_000_000
    ten_days_ago, ahead = before - 10 * 86_400_000, before + 3 * 3_600_000
    produce_timed(
        stream, [(ten_days_ago, event("a")), (ahead, event("b")), (ten_days_ago + 1, label("a", True))]
    )
    run(stream)
    written = [*stream.read("predictions", 0), *stream.read("dead-letters", 0)]
    assert all(before <= record.timestamp_ms <= before + 60_000 for record in written)
    assert [a["event_time_ms"] for a in predictions(stream)] == [ten_days_ago] * 2
    assert int(dict(written[-1].headers)["source.timestamp"]) == ahead


def take_less_than_it_says(monkeypatch, stream, max_record_bytes):
    limit = stream.record_limit("events")
    monkeypatch.setattr(stream, "record_limit", lambda _: limit)
    monkeypatch.setattr(stream, "_max_record_bytes", max_record_bytes)


def test_unexpectedly_rejected_dead_letters_are_cut(stream, monkeypatch):
    monkeypatch.setattr(stream, "record_limit", lambda _: NO_LIMIT)
    take_less_than_it_says(monkeypatch, stream, 60_000)
    produce(stream, b"x" * 59_990, event("a"))
    run(stream)
    (letter,) = stream.read("dead-letters", 0)
    assert 15_000 < len(letter.value) < 16_384
    assert [a["id"] for a in predictions(stream)] == ["a"]


def test_output_rejected_by_its_topic_ends_the_loop_with_message(stream, monkeypatch):
    produce(stream, event("\x01" * 256))
    take_less_than_it_says(monkeypatch, stream, 1400)
    with pytest.raises(MessageTooLarge, match=r"predictions\[0\]"):
        run(stream)


def fail_first_commit(stream, monkeypatch, error, *, of_batch):
    """Let the commit number `of_batch` (0: the empty snapshot) raise, having written nothing."""
    commits = itertools.count()

    def change(writer):
        begin, finish, failures = writer.begin, writer.finish, []

        def failing(*given, **options):
            if next(commits) == of_batch:
                failures.append(error)
            else:
                begin(*given, **options)

        def tell():
            finish()
            if failures:
                raise failures.pop()

        writer.begin, writer.finish = failing, tell

    change_writers(stream, monkeypatch, change)


@pytest.mark.parametrize("error", [TransactionFailed("as if"), TransportUnavailable("as if")])
@pytest.mark.parametrize("of_batch", [0, 1])
def test_failed_batch_is_reprocessed_from_the_previous_state(stream, monkeypatch, error, of_batch):
    produce(stream, event("a", "win", label=True), event("b", "win"), event("c", "lose", label=True))
    fail_first_commit(stream, monkeypatch, error, of_batch=of_batch)
    metrics, _ = run(stream, max_batch_records=1)
    assert [(a["id"], a["updates"]) for a in predictions(stream)] == [("a", 0), ("b", 1), ("c", 1)]
    assert metrics.last_published[0].counters.predictions == 3


@pytest.mark.parametrize("kind", [AccessDenied, StorageFull])
def test_permanent_error_ends_the_loop(stream, monkeypatch, kind):
    produce(stream, event("a", label=True))
    fail_first_commit(stream, monkeypatch, kind("as if"), of_batch=1)
    metrics, health = Metrics(CollectorRegistry()), Health()
    with pytest.raises(kind):
        Runner(Context(stream, settings(), metrics, health)).run(exit_at_end=True)
    assert predictions(stream) == []
    assert metrics.last_published[0].counters.predictions == 0
    assert not health.is_live


@pytest.mark.parametrize(("error", "tried"), [(TransportUnavailable, 1), (TransactionFailed, 2)])
def test_partitions_are_handed_over_until_the_stream_is_found_unavailable(stream, monkeypatch, error, tried):
    stream.ensure_topics({"events": 2})
    for partition in range(2):
        produce(stream, event(f"event-{partition}"), partition=partition)
    left, closed = [], []
    close = Task.close

    def fail(task):
        left.append(task)
        raise error("no")

    monkeypatch.setattr(Task, "hand_over", fail)
    monkeypatch.setattr(Task, "close", lambda task: (closed.append(task), close(task)))
    run(stream)
    assert len(left) == tried
    assert len(closed) == 2


def test_first_event_after_a_pause_is_committed_at_once(stream):
    produce_timed(stream, [(0, event("a"))])
    runner, _ = made_runner(stream, commit_interval_seconds=0.1)
    clock = runner._clock
    runner.step()  # opens the task
    runner.step()
    assert [a["id"] for a in predictions(stream)] == ["a"]
    produce_timed(stream, [(0, event("b"))])
    pass_time_while_records_wait(runner, clock)
    runner.step()
    runner.close()
    assert [a["id"] for a in predictions(stream)] == ["a", "b"]
    assert clock.seconds == pytest.approx(0.1)


def pass_time_while_records_wait(runner, clock):
    """Let polls take the time they are given, on a clock that stands still otherwise."""
    receive = runner._receive

    def pass_time(wait_seconds):
        clock.seconds += wait_seconds if runner._queues else 0.0
        receive(0.0)

    runner._receive = pass_time


def test_commit_is_published_when_it_ends_before_the_next_batch(stream):
    produce_timed(stream, [(0, event(name, label=True)) for name in "abc"])
    runner, metrics = made_runner(stream, max_batch_records=2, commit_interval_seconds=3600)
    runner.step()  # opens the task
    assert not runner.step()
    assert 0 not in metrics.published or metrics.published[0].counters.predictions == 0
    pass_time_while_records_wait(runner, runner._clock)
    assert not runner.step()
    assert metrics.published[0].counters.predictions == 2
    assert len(runner._queues) == 1
    runner.close()


def test_last_records_are_committed_without_waiting_for_an_interval(stream):
    produce_timed(stream, [(0, event(name)) for name in "abc"])
    runner, _ = made_runner(stream, max_batch_records=2, commit_interval_seconds=3600)
    assert runner.run(exit_at_end=True)  # on a clock that stands still
    assert [a["id"] for a in predictions(stream)] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("seconds_each", "expected"),
    [(0.00099, [16, 32, 64, 101, 101]), (0.15, [16, 8, 4, 2, 1, 1]), (0, [16, 32, 64, 128, 256])],
)
def test_slow_model_gets_small_batches_from_a_backlog(stream, seconds_each, expected):
    clock, sizes = SetClock(), []

    def take_time(steps):
        clock.seconds += seconds_each * len(steps)
        sizes.append(len(steps))

    produce_timed(stream, [(0, event(f"m-{n}", label=True)) for n in range(600)])
    runner, metrics = made_runner(stream, clock=clock)
    observing(metrics, take_time)
    runner.run(exit_at_end=True)
    assert sizes[: len(expected)] == expected


def note_commits(stream, monkeypatch, seen):
    """Note when commits are begun and finished."""

    def change(writer):
        begin, finish = writer.begin, writer.finish

        def begin_and_note(outputs, offsets, **how):
            begin(outputs, offsets, **how)
            seen.append(f"begun {offsets['events']}")

        def finish_and_note():
            finish()
            seen.append("finished")

        writer.begin, writer.finish = begin_and_note, finish_and_note

    change_writers(stream, monkeypatch, change)


def made_runner(stream, health=None, clock=None, **given):
    metrics = Metrics(CollectorRegistry())
    health, clock = health or Health(), clock or SetClock()
    return Runner(Context(stream, settings(**given), metrics, health, clock=clock)), metrics


def test_next_batch_is_processed_during_the_commit_if_records_wait(stream, monkeypatch):
    seen = []
    produce_timed(stream, [(0, event(str(n), label=True)) for n in range(3)])
    note_commits(stream, monkeypatch, seen)
    runner, metrics = made_runner(stream, max_batch_records=1)
    observing(metrics, lambda learned: seen.append(f"learned {len(learned)}"))
    runner.step()
    runner._tasks.finish_commits()
    del seen[:]  # the empty snapshot
    for _ in range(3):
        runner.step()
    assert seen == [
        *("learned 1", "begun 1"),
        *("learned 1", "finished", "begun 2"),
        *("learned 1", "finished", "begun 3", "finished"),
    ]
    assert metrics.published[0].counters.predictions == 3
    runner.close()


def test_commit_ends_before_its_partition_waits_for_a_registry(stream, monkeypatch):
    produce_timed(stream, [(0, event(str(n))) for n in range(3)])
    runner, metrics = made_runner(stream, max_batch_records=1)
    runner.step()
    runner.step()

    def reject(*_):
        raise RegistryUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(Task, "_find_schemas", reject)
        runner.step()
    assert metrics.published[0].counters.predictions == 1
    runner._clock.seconds += 60
    while not runner.step() or len(predictions(stream)) < 3:
        pass
    assert [each["id"] for each in predictions(stream)] == ["0", "1", "2"]
    runner.close()


def test_commit_that_exceeds_the_bound_makes_it_not_ready(stream, monkeypatch):
    produce(stream, event("a"))
    clock, seen = SetClock(), []
    health = Health(ready_timeout_seconds=3, clock=clock)

    def change(writer):
        finish = writer.finish

        def slow():
            clock.seconds += 4
            seen.append(health.condition)
            finish()

        writer.finish = slow

    change_writers(stream, monkeypatch, change)
    runner, _ = made_runner(stream, health, clock=clock, commit_interval_seconds=0.001)
    runner.run(exit_at_end=True)
    assert (State.UNAVAILABLE, "a commit has been under way for 4 s") in seen


def test_retry_delay_doubles_up_to_ten_seconds():
    backoff = Backoff()
    for failures in range(2000):
        longest = min(10.0, 0.1 * 2 ** min(failures, 9))
        assert longest / 2 <= backoff.next_seconds() <= longest
    backoff.reset()
    assert backoff.next_seconds() <= 0.1


@pytest.mark.parametrize(
    ("committed", "first", "is_reached"), [({"events": 3}, 0, True), ({"events": 2}, 0, False), ({}, 3, True)]
)
def test_end_is_reached_once_other_members_have_committed_theirs(
    stream, monkeypatch, committed, first, is_reached
):
    stream.ensure_topics({"events": 2})
    stream.produce([Output("events", b"key", b"{}", partition=1) for _ in range(3)])
    stream.delete_before("events", 1, first)
    monkeypatch.setattr(stream, "committed", lambda *_: committed)
    context = Context(stream, settings(labels_topic="", group="group"), None, clock=SetClock())
    consumer, growth = SimpleNamespace(at_end=lambda: True), SimpleNamespace(n_partitions=2)
    assert EndOfInput(context, consumer, growth).is_reached([0]) is is_reached
