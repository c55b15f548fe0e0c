import json
import logging

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from perceptron_core.serialisation import pack
from service import recovery
from service.assembly import make_processor
from service.errors import CheckpointError, ConfigurationError, TooManyRejected
from service.health import Health
from service.labels import LabelJoin
from service.metrics import Metrics
from service.models import BUILT_IN
from service.recovery import restore
from service.runner import Runner
from service.transport import open_transport
from service.transport.base import Output
from tests.service.building import event, label, settings


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
    Runner(stream, settings(**given), metrics=metrics, health=Health()).run(exit_at_end=True)
    return metrics


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


def without_final_snapshot(monkeypatch):
    """Let the service end as if killed: nothing is left behind on hand-over."""
    monkeypatch.setattr("service.task.Task.hand_over", lambda task: task.close())


MESSAGES = [(n, event(f"e{n}", "win now" if n % 3 else "lose it", label=n % 3 > 0)) for n in range(20)]

texts = st.sampled_from(["win", "lose", "win lose", ""])
ids = st.sampled_from([f"e{n}" for n in range(8)])
messages = st.one_of(
    st.builds(event, ids, texts, st.sampled_from([None, True, False])),
    st.builds(label, ids, st.booleans()),
    st.just(b"junk"),
)


@given(st.lists(st.tuples(st.integers(0, 50), messages), max_size=40), st.sampled_from([1, 4, 10**6]))
@hypothesis_settings(max_examples=30)
def test_the_restored_state_is_that_of_an_undisturbed_run(log, snapshot_interval_records):
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
        assert found.offsets["events"] == len(log)
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


def test_what_a_model_raised_at_is_a_dead_letter_again_and_leaves_the_same_model(
    stream, monkeypatch, tmp_path
):
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


def test_too_many_errors_of_a_model_stop_the_service_before_they_are_committed(stream, tmp_path):
    (tmp_path / "moody.py").write_text(MOODY, encoding="utf-8")
    produce(stream, [(n, event(f"e{n}", "worse", label=True)) for n in range(30)])
    with pytest.raises(TooManyRejected, match="model_error: RuntimeError: half done"):
        run(
            stream,
            model=f"{tmp_path}/moody.py:Moody",
            checkpoint_key="secret",
            max_rejected_ratio=0.5,
            rejected_window=10,
        )
    assert len(list(stream.read("dead-letters", 0))) < 10


def test_counts_go_on_after_a_restart(stream, monkeypatch):
    without_final_snapshot(monkeypatch)
    produce(stream, MESSAGES[:10])
    first = run(stream).last_published[0]
    produce(stream, MESSAGES[10:])
    second = run(stream).last_published[0]
    assert (first.counters.predictions, second.counters.predictions) == (10, 20)
    assert second.counters == undisturbed(stream).counters
    assert second.updates == undisturbed(stream).learner.updates


def test_labels_of_a_topic_of_their_own_are_learned_again_in_the_recorded_order(stream, monkeypatch):
    without_final_snapshot(monkeypatch)
    produce(stream, [(n, event(f"e{n}", "win")) for n in range(4)])
    run(stream)
    produce(stream, [(9, label(f"e{n}", n % 2 == 0)) for n in range(4)], topic="labels")
    run(stream)
    produce(stream, [(n, event(f"e{n}", "win")) for n in range(4, 8)])
    last = run(stream).last_published[0]
    found = restored(stream)
    assert found.offsets == {"events": 8, "labels": 4}
    assert found.processor.counters == last.counters
    assert found.processor.learner.model.weights == last.learner.model.weights


def test_a_handed_over_task_leaves_nothing_to_learn_again(stream):
    produce(stream, MESSAGES)
    run(stream)
    found = restored(stream)
    assert found.snapshot_sequence == found.sequence > 1
    assert state(found.processor) == state(undisturbed(stream))


def test_only_the_newest_snapshots_are_kept(stream):
    produce(stream, MESSAGES)
    run(stream, snapshot_interval_records=3, snapshots_kept=2)
    found = restored(stream)
    assert len(found.snapshot_offsets) == 2
    assert 0 < stream.bounds("checkpoints", 0)[0] <= found.snapshot_offsets[0]


class Damaging:
    """A stream whose checkpoint records are read with damage."""

    def __init__(self, stream, damage):
        self._stream = stream
        self._damage = damage

    def __getattr__(self, name):
        return getattr(self._stream, name)

    def read(self, topic, *where):
        records = self._stream.read(topic, *where)
        return (self._damage(record) for record in records) if topic == "checkpoints" else records


def damage_snapshots(offsets):
    def damage(record):
        if record.offset in offsets and dict(record.headers)["kind"] == b"snapshot":
            return record._replace(value=record.value[:-1] + b"\xff")
        return record

    return damage


def test_a_damaged_snapshot_is_refused_and_the_one_before_used(stream, caplog):
    produce(stream, MESSAGES)
    run(stream, snapshot_interval_records=6)
    newest = restored(stream).snapshot_offsets[-1]
    with caplog.at_level(logging.ERROR):
        found = restore(Damaging(stream, damage_snapshots({newest})), settings(), 0)
    assert "snapshot refused" in caplog.text
    assert "checksum" in caplog.text
    assert state(found.processor) == state(undisturbed(stream))


def test_without_any_sound_snapshot_it_says_what_to_do(stream):
    produce(stream, MESSAGES)
    run(stream)
    damaged = Damaging(stream, damage_snapshots(set(range(1000))))
    with pytest.raises(CheckpointError, match="none of 2 snapshots") as refused:
        restore(damaged, settings(), 0)
    assert "checkpoint import" in refused.value.hint


@pytest.mark.parametrize(
    "changed",
    [
        {"model_params": {"threshold": 1.0}},
        {"hash_bits": 10},
        {"ngrams": "1-2"},
        {"text": "chars"},
    ],
)
def test_a_model_made_under_other_settings_is_refused_by_name(stream, changed):
    produce(stream, MESSAGES)
    run(stream)
    with pytest.raises(CheckpointError, match=next(iter(changed))):
        restored(stream, **changed)


def test_a_setting_of_the_stream_may_change_once_nothing_is_to_be_learned_again(stream, monkeypatch):
    produce(stream, MESSAGES[:10])
    run(stream)
    assert restored(stream, max_pending=7)
    without_final_snapshot(monkeypatch)
    produce(stream, MESSAGES[10:])
    run(stream)
    with pytest.raises(CheckpointError, match="max_pending"):
        restored(stream, max_pending=7)


def test_a_setting_of_the_stream_that_has_changed_holds_for_what_is_learned_again_from_then_on(
    stream, monkeypatch
):
    produce(stream, MESSAGES[:10])
    run(stream)
    without_final_snapshot(monkeypatch)
    produce(stream, MESSAGES[10:])
    run(stream, max_pending=7)
    assert restored(stream, max_pending=7)


LARGE = [(n, event(f"e{n}", " ".join(f"{n}-{m}" for m in range(2000)))) for n in range(40)]
"""Examples of which a mebibyte holds some thirty."""


def of_the_release_before(monkeypatch):
    """Write snapshots that do not name the byte limit, and know none."""
    settings_of_snapshots = recovery.identity

    def identity(settings):
        return {
            name: value
            for name, value in settings_of_snapshots(settings).items()
            if name != "max_pending_bytes"
        }

    monkeypatch.setattr("service.task.identity", identity)
    monkeypatch.setattr("service.assembly.LabelJoin", lambda seconds, most, _: LabelJoin(seconds, most))


def test_batches_learned_before_there_was_a_byte_limit_are_learned_again_without_it(stream, monkeypatch):
    without_final_snapshot(monkeypatch)
    with monkeypatch.context() as before:
        of_the_release_before(before)
        produce(stream, LARGE[:38])
        run(stream)
    assert restored(stream, max_pending_bytes=1 << 20).processor.join.n_pending == 38
    produce(stream, LARGE[38:])
    run(stream, max_pending_bytes=1 << 20)
    assert restored(stream, max_pending_bytes=1 << 20).processor.join.n_pending < 38


def test_two_classes_may_get_names_later(stream):
    produce(stream, MESSAGES)
    run(stream)
    produce(stream, [(30, event("named", "win now", label="spam"))])
    run(stream, classes="ham,spam")
    *_, last = stream.read("predictions", 0)
    assert json.loads(last.value)["truth"] == "spam"


def test_input_that_is_gone_is_said_to_be_gone(stream, monkeypatch):
    without_final_snapshot(monkeypatch)
    produce(stream, MESSAGES)
    run(stream)
    stream.delete_before("events", 0, 5)
    with pytest.raises(CheckpointError, match=r"events\[0\]: records 0 to 4 are needed"):
        restored(stream)


def test_a_model_that_does_not_learn_the_same_twice_is_caught(stream, monkeypatch):
    without_final_snapshot(monkeypatch)
    produce(stream, MESSAGES)
    run(stream)
    reversed_decision = "perceptron_core.perceptron.Perceptron.decide"
    monkeypatch.setattr(reversed_decision, lambda _, score: score < 0)
    with pytest.raises(CheckpointError, match="does not learn the same twice"):
        restored(stream)


RIVER = "river.linear_model:LogisticRegression"


def test_a_river_model_is_restored_from_its_signed_pickle(stream):
    produce(stream, MESSAGES)
    given = {"model": RIVER, "checkpoint_key": "secret"}
    run(stream, **given)
    found = restored(stream, **given)
    assert found.processor.learner.model.weights == undisturbed(stream, **given).learner.model.weights


def test_a_river_model_is_never_unpickled_with_another_key(stream):
    produce(stream, MESSAGES)
    run(stream, model=RIVER, checkpoint_key="secret")
    with pytest.raises(CheckpointError, match="signature"):
        restored(stream, model=RIVER, checkpoint_key="guess")


def test_a_river_model_does_not_start_without_a_key(stream):
    produce(stream, MESSAGES)
    with pytest.raises(ConfigurationError, match="checkpoint_key"):
        run(stream, model=RIVER)


def test_too_many_bad_messages_stop_before_anything_of_the_batch_is_committed(stream):
    produce(stream, [*MESSAGES, *[(30, b"junk")] * 20])
    given = {"max_rejected_ratio": 0.5, "rejected_window": 10, "max_batch_records": 5}
    with pytest.raises(TooManyRejected, match=r"events\[0\]@2\d: invalid_json"):
        run(stream, **given)
    assert len(list(stream.read("dead-letters", 0))) == 5
    found = restored(stream)
    assert found.offsets["events"] == 25
    assert found.processor.counters.rejected.total() == 5


@pytest.mark.parametrize("model", BUILT_IN)
def test_every_built_in_model_is_restored_bit_for_bit(stream, monkeypatch, model):
    produce(stream, MESSAGES[:10])
    run(stream, model=model)  # leaves a snapshot
    without_final_snapshot(monkeypatch)
    produce(stream, MESSAGES[10:])
    run(stream, model=model)
    found = restored(stream, model=model)
    assert found.processor.learner.updates > 0
    assert state(found.processor) == state(undisturbed(stream, model=model))


def empty_the_checkpoints(stream):
    stream.delete_before("checkpoints", 0, stream.bounds("checkpoints", 0)[1])


def test_an_emptied_checkpoints_topic_is_no_fresh_start(stream):
    produce(stream, MESSAGES)
    run(stream)
    empty_the_checkpoints(stream)
    with pytest.raises(
        CheckpointError, match=r"checkpoints\[0\]: there is no checkpoint.* events@20"
    ) as refused:
        run(stream)
    assert "checkpoint reset --from committed" in refused.value.hint
    assert len(list(stream.read("predictions", 0))) == len(MESSAGES)


def test_a_checkpoint_log_that_lost_its_end_is_refused(stream, monkeypatch):
    without_final_snapshot(monkeypatch)
    produce(stream, MESSAGES)
    run(stream)
    last = stream.bounds("checkpoints", 0)[1] - 1
    read = type(stream).read

    def shorter(self, topic, partition, start=0, end=None):
        records = read(self, topic, partition, start, end)
        return (record for record in records if topic != "checkpoints" or record.offset < last)

    monkeypatch.setattr(type(stream), "read", shorter)
    with pytest.raises(CheckpointError, match=r"ends at events@18.* has committed events@20"):
        run(stream)


def test_a_group_that_has_committed_nothing_starts_at_the_first_record_there_is(stream):
    produce(stream, MESSAGES)
    stream.delete_before("events", 0, 5)
    assert run(stream).last_published[0].counters.predictions == 15
