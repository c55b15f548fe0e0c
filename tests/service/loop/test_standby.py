"""The states of partitions that others own are kept, and restored from, as from the log itself."""

import json
import threading

import pytest
from hypothesis import given as drawn
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from perceptron_core.formats.packed import pack
from service.errors import TransportUnavailable
from service.loop import read_ahead, standby
from service.loop.context import Context
from service.loop.read_ahead import ReadAhead
from service.loop.restore import restore
from service.loop.runner import Runner
from service.loop.standby import Standby
from service.loop.task import Task
from service.monitoring.metrics import Metrics
from service.settings.topics import ensure_topics
from service.stream.batches import merge_by_time
from service.stream.opening import open_transport
from service.stream.protocol import Output
from tests.service.building import SetClock, event, settings, spread_snapshots
from tests.support.example_counts import n_examples
from tests.support.speed import patience

GIVEN = {"labels_topic": "", "max_batch_records": 3, "commit_interval_seconds": 0.001, "standby": True}


class Group:
    """A stream, a process that owns its partitions now and then, and another one that stands by."""

    def __init__(self, path, partitions=1):
        self.stream = open_transport(f"memory://{path}")
        self.settings = settings(partitions=partitions, **GIVEN)
        self.clock = SetClock()
        ensure_topics(self.stream, self.settings)
        self.standby = self.another()
        self._n_events = 0

    def another(self):
        context = Context(self.stream, self.settings, Metrics(CollectorRegistry()), clock=self.clock)
        return Standby(context, lambda: False)

    def work(self, n_events, **given):
        """Let the owner process so many events, and leave."""
        for n in range(self._n_events, self._n_events + n_events):
            value = json.dumps(event(f"{n}", label=n % 3 == 0)).encode()
            self.stream.produce([Output("events", None, value, partition=n % self.settings.partitions)])
        self._n_events += n_events
        changed = self.settings.model_copy(update=given)
        Runner(Context(self.stream, changed, Metrics(CollectorRegistry()))).run(exit_at_end=True)

    def advance(self, *partitions):
        self.clock.seconds += standby.RETRY_SECONDS
        self.standby.advance(partitions or [0])

    def taken(self, partition=0):
        """Restore a partition as its new owner does: what was restored, and whether from what was kept."""
        ahead = ReadAhead(self.stream, self.settings, [partition], self.standby.take([partition]))
        kept = ahead.kept.get(partition)
        restored = restore(
            ahead, self.settings, partition, log=ahead.logs.get(partition), point=kept and kept.point
        )
        return restored, kept is not None

    def assert_restored_alike(self, partition=0):
        """Restored from what was kept, it is what the log alone leads to; return whether any was kept."""
        restored, was_kept = self.taken(partition)
        anew = restore(self.stream, self.settings, partition)
        assert pack(restored.processor.state()) == pack(anew.processor.state())
        assert (restored.sequence, restored.offsets) == (anew.sequence, anew.offsets)
        assert restored.snapshot_sequence == anew.snapshot_sequence
        return was_kept


@pytest.fixture
def group(tmp_path):
    made = Group(tmp_path)
    yield made
    made.stream.close()


@pytest.fixture
def killed(monkeypatch):
    """Let every process end without a snapshot."""
    monkeypatch.setattr(Task, "hand_over", lambda *_: 0)


@pytest.fixture
def learned(monkeypatch):
    """Return the records that are learned again from now on."""
    counted = []

    def count(batches):
        found = merge_by_time(batches)
        counted.extend(found)
        return found

    monkeypatch.setattr("service.loop.restore.merge_by_time", count)
    return counted


@pytest.mark.usefixtures("killed")
def test_only_batches_committed_since_are_replayed(group, learned):
    group.work(20)
    group.advance()
    group.work(7)
    group.advance()
    learned.clear()
    restored, _ = group.taken()
    assert not learned
    assert restored.processor.counters.predictions == 27


@hypothesis_settings(max_examples=n_examples(30))
@drawn(
    steps=st.lists(st.tuples(st.sampled_from(["work", "advance", "take"]), st.integers(1, 12)), max_size=12)
)
def test_standby_state_equals_the_log_after_any_changes(tmp_path_factory, steps):
    with pytest.MonkeyPatch.context() as patch:
        spread_snapshots(patch)
        group = Group(tmp_path_factory.mktemp("law"))
        group.work(3)
        for what, n_events in steps:
            if what == "work":
                group.work(n_events, snapshot_interval_records=1 + n_events)
            elif what == "advance":
                group.advance()
            else:
                group.assert_restored_alike()
        group.assert_restored_alike()
        group.stream.close()


def test_standby_keeps_no_partition_learned_under_other_settings(group):
    group.work(10)
    group.advance()
    group.work(10, label_timeout_seconds=5.0)
    group.advance()
    assert not len(group.standby)


def test_replaced_model_is_restored_from_its_snapshot(group):
    group.work(10)
    group.advance()
    kept = group.standby.take([0])[0]
    dumped = kept.point.processor.learner.dump()
    group.standby = group.another()
    group.advance()
    replaced = Runner(Context(group.stream, group.settings, Metrics(CollectorRegistry())))
    while not replaced._tasks.running:
        replaced.step()
    replaced._tasks.running[0].replace_model(dumped)
    replaced.close()
    group.work(4)
    assert not group.assert_restored_alike()


def test_standby_state_is_discarded_if_the_log_was_emptied(group):
    group.work(10)
    group.advance()
    group.stream.delete_before("checkpoints", 0, group.stream.bounds("checkpoints", 0)[1])
    kept = group.standby.take([0])
    assert kept
    assert not ReadAhead(group.stream, group.settings, [0], kept).kept


@pytest.mark.parametrize(("unanswered", "n_kept"), [("ReadAhead", 1), ("restore", 0)])
def test_standby_states_survive_an_unavailable_stream_unless_half_updated(
    group, monkeypatch, unanswered, n_kept
):
    group.work(10)
    group.advance()

    def away(*_, **__):
        raise TransportUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(standby, unanswered, away)
        group.advance()
    assert len(group.standby) == n_kept
    assert group.standby.is_due is False
    assert group.assert_restored_alike() is bool(n_kept)


def test_states_of_unlisted_partitions_are_dropped(tmp_path):
    group = Group(tmp_path, partitions=3)
    group.work(30)
    group.advance(0, 1, 2)
    assert len(group.standby) == 3
    group.advance(1)
    assert len(group.standby) == 1
    assert group.assert_restored_alike(1)
    group.stream.close()


def test_chunks_of_snapshots_are_not_kept(group):
    group.work(10)
    group.advance()
    group.work(10)
    group.advance()
    (kept,) = group.standby.take([0]).values()
    assert [each.size_bytes for each in kept.log.snapshots] == [0, 0]
    assert len(kept.log.progress) == 1


def test_taking_a_state_waits_for_its_update(group, monkeypatch):
    group.work(10)
    working, go = threading.Event(), threading.Event()
    of = read_ahead.KeptState.of

    def wait(*given):
        working.set()
        assert go.wait(patience(20))
        return of(*given)

    monkeypatch.setattr(read_ahead.KeptState, "of", wait)
    threading.Thread(target=group.advance).start()
    assert working.wait(patience(20))
    found = []
    taker = threading.Thread(target=lambda: found.append(group.standby.take([0])))
    taker.start()
    taker.join(0.1)
    assert taker.is_alive()
    go.set()
    taker.join(patience(20))
    assert found[0].keys() == {0}
