import json
import logging
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from perceptron_core.formats.packed import pack
from service.checkpoints.log import Address, read_log
from service.errors import CheckpointError, InputLost
from service.loop.context import Context
from service.loop.restore import restore
from service.loop.runner import Runner
from service.loop.snapshots import Snapshots
from service.loop.task import Task
from service.models.registry import BUILT_IN
from service.monitoring.metrics import Metrics
from service.partition.factory import make_processor
from service.stream.opening import open_transport
from service.stream.protocol import Output
from service.stream.sqlite.log import row_id_of
from tests.service.building import Changed, damaged, event, label, settings, without_final_snapshot
from tests.support.example_counts import n_examples
from tests.support.recreated_topic import recreate


def produce(stream, messages, topic="events"):
    stream.ensure_topics({topic: 1})
    stream.produce(
        [
            Output(topic, None, json.dumps(m).encode() if isinstance(m, dict) else m, (), 0, at * 1000)
            for at, m in messages
        ]
    )


def run(stream, **given):
    metrics = Metrics(CollectorRegistry())
    given = {"commit_interval_seconds": 0.001, "max_batch_records": 3} | given
    Runner(Context(stream, settings(**given), metrics)).run(exit_at_end=True)
    return metrics


def process(stream, messages=None, **given):
    """Produce messages, and let the service run to their end."""
    produce(stream, messages or MESSAGES)
    return run(stream, **given)


def state(processor):
    return pack(processor.state())


def restored(stream, **given):
    return restore(stream, settings(**given), 0)


def undisturbed(stream, topics=("events",), **given):
    processor = make_processor(settings(**given))
    for topic in topics:
        for record in stream.read(topic, 0):
            processor.process_batch([record])
    return processor


MESSAGES = [(n, event(f"e{n}", "win now" if n % 3 else "lose", label=n % 3 > 0, n=n % 5)) for n in range(20)]

texts = st.sampled_from(["win", "lose", "win lose", ""])
ids = st.sampled_from([f"e{n}" for n in range(8)])
messages = st.one_of(
    st.builds(event, ids, texts, st.sampled_from([None, True, False])),
    st.builds(
        lambda message, w: message | {"weight": w}, st.builds(event, ids, texts), st.sampled_from([0, 2.5])
    ),
    st.builds(lambda message, w: message | {"weight": w}, st.builds(label, ids, st.booleans()), st.just(3)),
    st.builds(label, ids, st.booleans()),
    st.just(b"junk"),
)


@given(st.lists(st.tuples(st.integers(0, 50), messages), max_size=40), st.sampled_from([1, 4, 10**6]))
@hypothesis_settings(max_examples=n_examples(30))
def test_restored_state_equals_an_undisturbed_run(log, snapshot_interval_records):
    with pytest.MonkeyPatch.context() as monkeypatch:
        without_final_snapshot(monkeypatch)
        stream = open_transport("memory://")
        given = {
            "label_timeout_seconds": 10,
            "max_pending": 3,
            "snapshot_interval_records": snapshot_interval_records,
        }
        produce(stream, log)
        run(stream, **given)
        found = restored(stream, **given)
        assert state(found.processor) == state(undisturbed(stream, **given))
        assert found.offsets["events", 0] == len(log)
        stream.close()


MOODY = """
class Moody:
    def __init__(self):
        self.seen = 0

    def predict_proba_one(self, x):
        return {self.seen % 2 == 0: 1.0}

    def learn_one(self, x, y):
        self.seen += 1
        if "text=worse" in x:
            raise RuntimeError("half done")
"""


def test_failing_event_replays_as_dead_letter(stream, monkeypatch, tmp_path):
    (tmp_path / "moody.py").write_text(MOODY, encoding="utf-8")
    given = {"model": f"{tmp_path}/moody.py:Moody", "checkpoint_key": "secret"}
    without_final_snapshot(monkeypatch)
    produce(stream, [(n, event(f"e{n}", "worse" if n % 3 == 0 else "fine", label=True)) for n in range(10)])
    first = run(stream, **given).last_published[0]
    assert first.counters.rejected == {"model_error": 4}
    found = restored(stream, **given)
    assert found.processor.counters == first.counters
    assert found.processor.learner.model.seen == first.learner.model.seen == 10
    assert len(list(stream.read("dead-letters", 0))) == 4


def is_progress(record):
    return ("kind", b"progress") in record.headers


def test_damaged_snapshot_is_rejected_and_the_previous_used(stream, caplog):
    process(stream, snapshot_interval_records=6)
    newest = read_log(stream.read("checkpoints", 0), settings().group).snapshots[-1].first_offset
    with caplog.at_level(logging.ERROR):
        found = restore(Changed(stream, lambda r: damaged(r) if r.offset == newest else r), settings(), 0)
    assert "snapshot rejected" in caplog.text
    assert "checksum" in caplog.text
    assert state(found.processor) == state(undisturbed(stream))


def test_without_any_valid_snapshot_the_error_has_a_hint(stream):
    process(stream)
    with pytest.raises(CheckpointError, match="all 2 snapshots") as rejected:
        restore(Changed(stream, lambda r: r if is_progress(r) else damaged(r)), settings(), 0)
    assert "checkpoint import" in rejected.value.hint


def test_model_made_under_other_settings_is_rejected_by_name(stream):
    process(stream)
    with pytest.raises(CheckpointError, match="model_params"):
        restored(stream, model_params={"threshold": 1.0})


KEYED = {"events": {"id": "id", "text": "text", "label": "label", "tenant": "id"}, "hash_bits": 12}
KEY = "a secret of some length"


@pytest.mark.parametrize(("made_with", "changed_to"), [(KEY, KEY + "!"), (KEY, ""), ("", KEY)])
def test_model_of_another_hash_key_is_rejected_without_the_key(stream, made_with, changed_to):
    process(stream, hash_key=made_with, **KEYED)
    with pytest.raises(CheckpointError, match=r"hash_key: expected .* as in the checkpoint") as rejected:
        restored(stream, hash_key=changed_to, **KEYED)
    assert KEY not in str(rejected.value)
    assert restored(stream, hash_key=made_with, **KEYED)
    assert not any(KEY.encode() in (record.value or b"") for record in stream.read("checkpoints", 0))


def test_changed_stream_setting_applies_to_replay_from_then_on(stream, monkeypatch):
    process(stream, MESSAGES[:10])
    without_final_snapshot(monkeypatch)
    process(stream, MESSAGES[10:], max_pending=7)
    assert restored(stream, max_pending=7)


def test_loaded_snapshots_time_is_shown_until_the_first_own(stream):
    process(stream)
    metrics = Metrics(CollectorRegistry())
    Snapshots(Context(stream, settings(), metrics), Address("checkpoints", 0, "group"), restored(stream))
    shown = metrics.registry.get_sample_value(
        "perceptron_checkpoint_last_success_timestamp_seconds", {"partition": "0"}
    )
    written = [r for r in stream.read("checkpoints", 0) if dict(r.headers)["kind"] == b"snapshot"]
    assert shown == written[-1].timestamp_ms / 1000


@pytest.mark.parametrize(
    ("made_with", "changed_to"),
    [("ham,spam", "spam,ham"), ("ham,spam", "ham,junk"), ("ham,spam", ""), ("", "a,b,c")],
)
@pytest.mark.parametrize("crashes", [False, True])
def test_other_classes_are_rejected_by_name(stream, monkeypatch, made_with, changed_to, crashes):
    """`spam,ham` would invert the model, `ham,junk` would reject every label."""
    if crashes:
        without_final_snapshot(monkeypatch)
    produce(stream, [(n, event(f"e{n}", "win", label=True)) for n in range(5)])
    run(stream, classes=made_with)
    with pytest.raises(CheckpointError, match=r"classes: expected .* as in the checkpoint"):
        run(stream, classes=changed_to)


def test_new_class_names_are_rejected_while_batches_need_replay(stream, monkeypatch):
    """A label that is a name now was rejected then."""
    without_final_snapshot(monkeypatch)
    process(stream)
    with pytest.raises(CheckpointError, match="classes") as rejected:
        run(stream, classes="ham,spam")
    assert "run `serve --exit-at-end` once" in rejected.value.hint
    monkeypatch.undo()
    run(stream)
    produce(stream, [(30, event("named", "win now", label="spam"))])
    run(stream, classes="ham,spam")
    *_, last = stream.read("predictions", 0)
    assert json.loads(last.value)["truth"] == "spam"


@pytest.mark.parametrize("setting", ["events_topic", "labels_topic"])
def test_input_topic_unknown_to_the_model_is_named(stream, caplog, setting):
    process(stream)
    assert restored(stream)
    assert "has read nothing" not in caplog.text
    stream.ensure_topics({"evnets": 1})
    assert restored(stream, **{setting: "evnets"})
    assert (
        "the checkpoint has no offset for evnets: starting to read it; its offsets are in events, labels"
        in caplog.text
    )


def lost(metrics, topic="events"):
    return metrics.registry.get_sample_value("perceptron_events_lost_total", {"topic": topic})


def predictions(stream):
    return [json.loads(record.value)["id"] for record in stream.read("predictions", 0)]


def compact(stream, offset, topic="events"):
    """Take one record out of the middle."""
    with stream._database.writing() as connection:
        (log,) = connection.execute("SELECT id FROM logs WHERE topic = ?", (topic,)).fetchone()
        connection.execute("DELETE FROM records WHERE row_id = ?", (log << 40 | offset,))


@pytest.mark.parametrize(
    ("lose", "found"),
    [
        (
            lambda stream: stream.delete_before("events", 0, 5),
            "5 of the records 0 to 19, which restoring the model needs",
        ),
        (lambda stream: compact(stream, 7), r"1 of the records 0 to 19.*compacted"),
    ],
    ids=["deleted", "compacted"],
)
def test_deleted_or_compacted_input_stops_the_restore(stream, monkeypatch, lose, found):
    without_final_snapshot(monkeypatch)
    process(stream)
    lose(stream)
    with pytest.raises(InputLost, match=rf"events\[0\]: {found}") as rejected:
        restored(stream)
    assert "on_data_loss" in rejected.value.hint


@pytest.mark.parametrize("n_left", [1, 2, 3])
@pytest.mark.parametrize("is_stopped", [True, False], ids=["stopped", "killed"])
def test_compacted_checkpoint_log_is_not_mistaken_for_empty(stream, monkeypatch, is_stopped, n_left):
    """All records of a group have one key: compaction leaves the last ones."""
    if not is_stopped:
        without_final_snapshot(monkeypatch)
    process(stream)
    undisturbed = restored(stream)
    for record in [*stream.read("checkpoints", 0)][:-n_left]:
        compact(stream, record.offset, "checkpoints")
    try:
        found = restored(stream)
    except CheckpointError as rejected:
        assert "checkpoint" in f"{rejected} {rejected.hint}"  # noqa: PT017
    else:
        assert is_stopped, "only a final snapshot does without what came before"
        assert found.processor.learner.dump() == undisturbed.processor.learner.dump()


def test_unprocessed_deleted_input_is_not_skipped(stream):
    """But where the settings say so."""
    process(stream, MESSAGES[:10])
    produce(stream, MESSAGES[10:])
    stream.delete_before("events", 0, 15)
    with pytest.raises(InputLost, match=r"events\[0\]: the records 10 to 14 were deleted before"):
        run(stream)
    assert len(predictions(stream)) == 10
    assert lost(run(stream, on_data_loss="continue")) == 5
    assert predictions(stream) == [f"e{n}" for n in range(20) if not 10 <= n < 15]
    assert run(stream).last_published[0].counters.predictions == 15


def test_input_deleted_while_running_is_skipped_only_if_allowed(stream, monkeypatch):
    produce(stream, MESSAGES)
    process = Task.process

    def and_lose(task, records):
        process(task, records)
        stream.delete_before("events", 0, 8)

    monkeypatch.setattr(Task, "process", and_lose)
    monkeypatch.setattr("service.clock.Backoff.next_seconds", lambda _: 0.0)
    with pytest.raises(InputLost, match=r"events\[0\]: the records 3 to 7 were deleted before"):
        run(stream)
    assert predictions(stream) == ["e0", "e1", "e2"]
    metrics = run(stream, on_data_loss="continue")
    # three to restore the model, which had no snapshot, and five that were not yet processed
    assert lost(metrics) == 3 + 5
    assert predictions(stream) == [f"e{n}" for n in range(20) if not 3 <= n < 8]
    assert metrics.last_published[0].counters.predictions == 15


def test_topic_that_ends_before_the_committed_offset_is_not_finished(stream, monkeypatch):
    process(stream)
    recreate(stream)
    monkeypatch.setattr(type(stream), "topic_id", lambda *_: "")  # as brokers before 2.8
    with pytest.raises(InputLost, match=r"it was processed up to 20, but ends at 0"):
        run(stream)


def test_model_that_skipped_lost_input_is_restored_to_the_bit(stream, monkeypatch):
    without_final_snapshot(monkeypatch)
    process(stream)
    compact(stream, 7)
    first = run(stream, on_data_loss="continue").last_published[0]
    assert first.counters.predictions == 20
    again = restored(stream)
    assert state(again.processor) == state(restored(stream).processor)
    assert again.processor.learner.model.weights == first.learner.model.weights
    produce(stream, [(30, event("next", "win now", label=True))])
    second = run(stream).last_published[0]
    assert second.counters.predictions == 21
    assert restored(stream).processor.learner.model.weights == second.learner.model.weights


def test_model_that_replays_differently_is_detected(stream, monkeypatch):
    without_final_snapshot(monkeypatch)
    process(stream)
    reversed_decision = "perceptron_core.linear.perceptron.Perceptron.decide"
    monkeypatch.setattr(reversed_decision, lambda _, score: score < 0)
    with pytest.raises(CheckpointError, match="replay diverged"):
        restored(stream)


def test_batches_with_other_arithmetic_are_not_replayed(stream, monkeypatch):
    with monkeypatch.context() as before:
        before.setattr("service.partition.processor.ARITHMETIC", 0)
        produce(stream, MESSAGES[:10])
        run(stream)  # leaves a snapshot
        assert restored(stream).settings_changed
        without_final_snapshot(before)
        produce(stream, MESSAGES[10:])
        run(stream)
    with pytest.raises(CheckpointError, match="different arithmetic") as rejected:
        restored(stream)
    assert "--exit-at-end" in rejected.value.hint


RIVER = "river.linear_model:LogisticRegression"


def test_river_model_is_never_unpickled_with_another_key(stream):
    process(stream, model=RIVER, checkpoint_key="secret")
    with pytest.raises(CheckpointError, match="signature"):
        restored(stream, model=RIVER, checkpoint_key="guess")


@pytest.mark.parametrize("model", BUILT_IN)
def test_every_built_in_model_is_restored_bit_for_bit(stream, monkeypatch, model):
    produce(stream, MESSAGES[:10])
    run(stream, model=model)  # leaves a snapshot
    without_final_snapshot(monkeypatch)
    process(stream, MESSAGES[10:], model=model)
    found = restored(stream, model=model)
    assert found.processor.learner.updates > 0
    assert state(found.processor) == state(undisturbed(stream, model=model))


def empty_the_checkpoints(stream):
    stream.delete_before("checkpoints", 0, stream.bounds("checkpoints", 0)[1])


def test_emptied_checkpoints_topic_is_not_a_fresh_start(stream):
    process(stream)
    empty_the_checkpoints(stream)
    with pytest.raises(
        CheckpointError, match=r"checkpoints\[0\]: checkpoint missing.* events.0.@20"
    ) as rejected:
        run(stream)
    assert "checkpoint reset --from committed" in rejected.value.hint
    assert len(list(stream.read("predictions", 0))) == len(MESSAGES)


def test_missing_input_is_named_when_the_checkpoints_topic_is_new(stream):
    run(stream)
    produce(stream, MESSAGES)
    stream.delete_before("events", 0, 5)
    new = settings(checkpoints_topic="new")
    stream.ensure_topics({"new": 1})
    with pytest.raises(InputLost, match=r"events\[0\]: the records 0 to 4 were deleted"):
        restore(stream, new, 0, {("events", 0): 0})


def test_log_with_missing_records_is_not_a_fresh_start(tmp_path):
    path = tmp_path / "s.db"
    with closing(open_transport(f"sqlite:///{path}")) as stream:
        produce(stream, MESSAGES)
        run(stream)
        checkpoints = stream.log("checkpoints", 0)
        with stream._database.writing() as connection:
            connection.execute("DELETE FROM committed")
            row_ids = row_id_of(checkpoints, 0), row_id_of(checkpoints + 1, 0)
            connection.execute("DELETE FROM records WHERE row_id >= ? AND row_id < ?", row_ids)
        with pytest.raises(CheckpointError, match=r"checkpoints\[0\]: .* the topic has held \d+ records"):
            run(stream)


def test_predictions_without_checkpoints_give_a_warning(stream, caplog):
    process(stream)
    assert not caplog.messages
    run(stream, group="other", checkpoints_topic="lost", predictions_topic="predictions")
    (warning,) = caplog.messages
    assert "lost: starting with an untrained model, as the group 'other' has neither" in warning
    assert "predictions[0] has held predictions" in warning


def test_truncated_checkpoint_log_is_rejected(stream, monkeypatch):
    without_final_snapshot(monkeypatch)
    process(stream)
    last = stream.bounds("checkpoints", 0)[1] - 1
    shorter = Changed(stream, lambda record: record if record.offset < last else None)
    with pytest.raises(CheckpointError, match=r"ends at events.0.@1[78]\b.* has committed events.0.@20"):
        restore(shorter, settings(), 0, {("events", 0): 20})


def test_reset_offsets_do_not_undo_a_checkpoint(stream, caplog):
    process(stream)
    assert restore(stream, settings(), 0, {("events", 0): 7}).offsets["events", 0] == 20
    (warning,) = caplog.messages
    assert "to events[0]@7" in warning
    assert "events[0]@20" in warning


def test_group_without_commits_starts_at_the_first_existing_record(stream):
    produce(stream, MESSAGES)
    stream.delete_before("events", 0, 5)
    assert run(stream).last_published[0].counters.predictions == 15
