"""Partitions that share a model, through the loop itself."""

import pytest

from perceptron_core import from_bytes, to_bytes
from service.dead_letters.temporary_member import TemporaryMember
from service.errors import CheckpointError, ConfigurationError, OwnershipLost
from service.loop.recovery import restore
from service.loop.reset import reset
from service.loop.task import Task
from service.partition.factory import make_processor
from service.sharing import participant
from service.sharing.budget import Budget
from service.sharing.contribution import Contribution, as_output
from service.sharing.lanes import Lanes
from service.sharing.participant import Participant
from service.sharing.rounds import Rounds
from service.transport.topics import input_topics
from tests.service.building import SetClock, settings
from tests.service.sharing.streams import (
    SHARED,
    Party,
    bases,
    contributions,
    events,
    feed,
    progress,
    run,
    told,
)

N = 4
of_each_kind = pytest.mark.parametrize("model", ["perceptron", "auto"])
"""Of one learner, and of many."""


class StubLanes:
    """Rounds that are complete, of one lane."""

    newest_start = 1

    def __init__(self, values):
        self._values = values
        self.budget = Budget(SetClock())

    def latest(self, lane):
        return None

    def complete(self, start, number, n_lanes):
        return [Contribution(0, start, number, 1, 0, each) for each in self._values.get(number, ())]

    def mix_of(self, contributions):
        return None


@pytest.fixture(autouse=True)
def time_for_rounds(monkeypatch):
    """Let rounds follow each other as fast as they can, however busy the machine is."""
    monkeypatch.setattr("service.sharing.budget.SHARE", 1e9)


@pytest.fixture
def killed(monkeypatch):
    """Let a service leave no snapshot behind."""
    monkeypatch.setattr(Task, "hand_over", Task.close)


def models(stream, **given):
    made = settings(**(SHARED | given))
    return [restore(stream, made, each).processor.learner.model for each in range(N)]


def mistakes(metrics):
    return sum(state.counters.mistakes for state in metrics.last_published.values())


@of_each_kind
def test_all_partitions_have_the_same_base_after_each_round(stream, model):
    feed(stream, events(2000), N)
    run(stream, model=model)
    found = bases(stream)
    assert len(found) > 5
    assert all(len(each) == 1 for each in found.values())


def test_partitions_that_share_their_model_make_fewer_mistakes(stream):
    feed(stream, events(3000), N)
    shared = mistakes(run(stream))
    alone = mistakes(
        run(stream, share_model=False, group="alone", checkpoints_topic="c", predictions_topic="p")
    )
    assert shared < 0.9 * alone


@of_each_kind
def test_a_partition_without_events_holds_nobody_up(stream, model):
    feed(stream, events(600), N, only=2)
    run(stream, model=model)
    assert min(each["round"] for each in told(stream)) > 3
    assert all(len(each) == 1 for each in bases(stream).values())


def test_a_model_that_saw_no_event_is_the_base(stream):
    feed(stream, events(600), N, only=2)
    run(stream)
    idle, learned = models(stream)[0], models(stream)[2]
    assert idle.n_updates == 0
    assert idle.weights.keys() & learned.weights.keys()


def test_one_partition_writes_nothing_but_the_opening(stream):
    feed(stream, events(500), 1)
    run(stream)
    assert [each.value for each in contributions(stream, 0)] == [b""]


@of_each_kind
def test_after_a_kill_the_rounds_are_lived_again(stream, killed, model):
    feed(stream, events(1500), N)
    run(stream, model=model)
    before = told(stream)
    assert [
        dict(restore(stream, settings(**SHARED, model=model), p).processor.rounds.progress())
        for p in range(N)
    ] == before


@of_each_kind
def test_a_service_goes_on_with_the_rounds_where_it_was_killed(stream, killed, model):
    feed(stream, events(800), N)
    run(stream, model=model)
    last = max(each["round"] for each in told(stream))
    feed(stream, events(800, seed=1, prefix="f"), N)
    run(stream, model=model)
    assert min(each["round"] for each in told(stream)) > last
    assert {each["start"] for each in told(stream)} == {1}
    assert all(len(each) == 1 for each in bases(stream).values())


def test_where_it_is_turned_on_later_what_was_learned_before_is_shared(stream):
    before = [{**each, "features": {f"old {n}": 1 for n in each["features"]}} for each in events(200)]
    feed(stream, before, N, only=3)
    run(stream, share_model=False)
    learned = models(stream, share_model=False)[3].weights
    feed(stream, events(400, seed=1, prefix="f"), N, only=1)
    run(stream)
    found = models(stream)[0].weights
    assert learned == {name: found[name] for name in learned}
    assert all(len(each) == 1 for each in bases(stream).values())


def test_where_it_is_turned_off_each_partition_keeps_its_model(stream):
    feed(stream, events(600), N)
    run(stream)
    before = [model.weights for model in models(stream)]
    run(stream, share_model=False)
    assert [model.weights for model in models(stream, share_model=False)] == before
    assert "rounds" not in restore(stream, settings(), 0).processor.state()


def test_a_process_that_does_not_share_warns_of_partitions_that_did(stream, caplog):
    feed(stream, events(200), N)
    run(stream)
    assert "share_model is off" not in caplog.text
    run(stream, share_model=False)
    assert "partition 3: it shared its model and does not any more: share_model is off" in caplog.text


@of_each_kind
def test_where_it_is_turned_on_again_a_new_share_begins(stream, model):
    feed(stream, events(400), N)
    run(stream, model=model)
    run(stream, model=model, share_model=False)
    feed(stream, events(400, seed=1, prefix="f"), N)
    run(stream, model=model)
    (start,) = {each["start"] for each in told(stream)}
    assert start > 1
    assert all(len(each) == 1 for each in bases(stream).values())


def test_the_setting_may_not_change_while_batches_have_to_be_learned_again(stream, killed):
    feed(stream, events(200), N)
    run(stream)
    with pytest.raises(CheckpointError, match="share_model: the checkpoint was made with True"):
        run(stream, share_model=False)


@of_each_kind
def test_partitions_that_are_added_take_part_and_begin_with_the_base(stream, model):
    feed(stream, events(600), 2)
    run(stream, model=model)
    stream.add_partitions({"events": N})
    feed(stream, events(600, seed=1, prefix="f"), N)
    run(stream, model=model)
    assert {each["start"] for each in told(stream)} == {1}
    assert contributions(stream, 3)[-1].round > 3
    assert all(len(each) == 1 for each in bases(stream).values())


def test_a_round_whose_contributions_were_deleted_is_refused(stream, monkeypatch):
    feed(stream, events(100), N)
    with monkeypatch.context() as patch:
        patch.setattr(Lanes, "complete", lambda *_: None)
        run(stream)
    for lane in range(N):
        stream.delete_before("mixes", lane, stream.bounds("mixes", lane)[1])
    feed(stream, events(100, seed=1, prefix="f"), N)
    with pytest.raises(CheckpointError, match=r"mixes\[0\]: the contribution to round 1 is gone"):
        run(stream)


def test_lanes_that_were_made_again_are_refused_after_a_kill(stream, killed):
    feed(stream, events(600), N)
    run(stream, snapshot_interval_records=10**6)
    with pytest.raises(CheckpointError, match=r"made-again\[\d\]: the contribution to round \d+ is gone"):
        run(stream, mixes_topic="made-again", snapshot_interval_records=10**6)


def test_another_mixes_topic_is_refused_before_anything_is_committed(stream):
    feed(stream, events(600), N)
    run(stream)
    before = told(stream)
    feed(stream, events(100, seed=1, prefix="f"), N)
    with pytest.raises(CheckpointError, match=r"other\[\d\]: .* round \d+ is gone") as caught:
        run(stream, mixes_topic="other")
    assert "--mixes-topic" in caught.value.hint
    assert told(stream) == before
    run(stream)
    assert {each["start"] for each in told(stream)} == {1}


def test_checkpoints_that_are_older_than_the_lane_are_refused(stream):
    feed(stream, events(600), N)
    run(stream)
    latest = contributions(stream, 2)[-1]
    stream.produce([as_output(latest._replace(round=latest.round + 3), "mixes", "online-perceptron")])
    with pytest.raises(CheckpointError, match=r"mixes\[2\]: .* they are older than the lane"):
        run(stream)


def test_what_a_partition_learned_while_others_shared_is_dropped_with_a_warning(party, caplog):
    party.take_part(0, 1, 2)
    alone = party.feeds[2].processor.rounds = make_processor(settings(**SHARED)).rounds
    alone.shared.model.learn_one({"alone": 1.0}, y=True)
    party.members[2] = party.open(2, find_base=party.members[0].rounds.state)
    party.take_part(2)
    assert alone.start == party.members[0].rounds.start
    assert "partition 2: it goes on with what others have learned; 1 updates are dropped" in caplog.text


def test_contributions_that_no_snapshot_needs_are_deleted(stream):
    feed(stream, events(3000), N)
    run(stream, snapshot_interval_records=50, snapshots_kept=1)
    assert all(stream.bounds("mixes", lane)[0] > 3 for lane in range(N))
    feed(stream, events(800, seed=1, prefix="f"), N)
    run(stream)
    assert all(len(each) == 1 for each in bases(stream).values())


@of_each_kind
def test_a_partition_that_lost_its_state_begins_with_the_base_of_the_others(stream, model):
    feed(stream, events(800), N)
    run(stream, model=model)
    made = settings(**SHARED, model=model)
    with TemporaryMember(stream, made.group, input_topics(made), 5) as visitor:
        visitor.wait_for(range(N), hint="")
        reset(stream, made, 2, visitor.consumer, "committed")
    feed(stream, events(800, seed=1, prefix="f"), N)
    run(stream, model=model)
    assert {each["start"] for each in told(stream)} == {1}
    assert all(len(each) == 1 for each in bases(stream).values())


def test_a_model_that_cannot_be_mixed_is_refused_by_name(stream):
    with pytest.raises(ConfigurationError, match="share_model: VotedPerceptron"):
        run(stream, model="voted-perceptron")


def test_the_restored_mixture_is_the_one_that_was_committed(stream, killed, monkeypatch):
    committed, progress_of = set(), Rounds.progress

    def progress_noted(rounds):
        """Return what a progress record says; the model is as it is committed then."""
        committed.add(to_bytes(rounds.shared.model))
        return progress_of(rounds)

    monkeypatch.setattr(Rounds, "progress", progress_noted)
    feed(stream, events(700), N)
    run(stream, model="auto", snapshot_interval_records=10**6)
    before = frozenset(committed)  # learning again tells it as well
    assert {to_bytes(model) for model in models(stream, model="auto")} <= before


def test_progress_names_the_rounds_before_and_after_a_batch(stream):
    feed(stream, events(400), N)
    run(stream)
    for each in progress(stream, 1):
        if each.rounds:
            assert 0 <= each.rounds["sent"] - each.rounds["round"] <= 1


def test_no_more_bytes_than_agreed_are_contributed(stream, monkeypatch):
    monkeypatch.setattr("service.sharing.rounds.MOST_BYTES", 150)
    feed(stream, events(2000), N)
    run(stream)
    values = [each.value for lane in range(N) for each in contributions(stream, lane)]
    assert max(map(len, values)) <= 150
    assert all(len(each) == 1 for each in bases(stream).values())


def test_updates_open_a_round_and_nothing_less(stream, monkeypatch):
    monkeypatch.setattr(participant, "OPENING_UPDATES", 10**9)
    feed(stream, events(800), N)
    run(stream)
    assert {each["round"] for each in told(stream)} == {1}


def test_the_restored_model_is_the_one_that_was_committed(stream, killed):
    feed(stream, events(700), N)
    run(stream, snapshot_interval_records=10**6)
    again = [from_bytes(restore(stream, settings(**SHARED), p).processor.learner.dump()) for p in range(N)]
    assert [each.weights for each in again] == [each.weights for each in models(stream)]


def test_a_process_that_was_frozen_learns_from_the_lanes_that_its_partition_has_another_owner():
    """It applies nothing that it has not contributed to."""
    rounds = make_processor(settings(**SHARED)).rounds
    rounds.open(1)
    lanes = StubLanes({1: [b""], 2: [b"of the new owner"]})
    frozen = Participant(
        0,
        rounds,
        lanes,
        find_base=lambda: None,
        count_lanes=lambda: 1,
        transport=None,
        settings=settings(**SHARED),
        clock=SetClock(),
    )
    with pytest.raises(OwnershipLost, match="another process has contributed to round 2"):
        frozen.prepare()
    assert rounds.round == 1


@pytest.fixture
def party(stream):
    party = Party.of_three(stream)
    yield party
    party.close()


def test_it_names_the_partitions_that_a_round_waits_for_and_since_when(party):
    party.take_part(0)
    first, second, _ = party.members
    assert list(first.waits_for) == [1, 2]
    assert list(second.waits_for) == []
    party.clock.seconds += 30
    party.take_part(1)
    assert list(first.waits_for) == [2]
    assert 30 < first.waited_seconds() < 31
    assert second.waited_seconds() < 1


def test_it_waits_for_nobody_once_the_round_is_mixed(party):
    party.take_part(0, 1)
    party.take_part(0, 1, 2)
    party.clock.seconds += 30
    assert [each.waited_seconds() for each in party.members] == [0, 0, 0]
    assert {each.rounds.round for each in party.members} == {2}


def test_one_that_was_opened_again_waits_for_the_others_from_then_on(party):
    party.take_part(0)
    party.members[0] = party.open(0)
    party.take_part(0)
    party.clock.seconds += 5
    assert list(party.members[0].waits_for) == [1, 2]
    assert 5 < party.members[0].waited_seconds() < 6


def test_the_distance_is_the_length_of_what_was_not_contributed_yet(party):
    first, second, _ = party.members
    first.measure_distance()
    second.measure_distance()
    assert first.distance == pytest.approx(first.rounds.shared.distance())
    assert first.distance > 1
    assert second.distance == 0


def test_a_distance_that_takes_long_to_find_is_kept_for_a_while_longer_the_more_lanes_there_are(
    party, monkeypatch
):
    rounds = party.members[0].rounds

    def find_slowly():
        party.clock.seconds += 1
        return party.clock.seconds

    monkeypatch.setattr(rounds.shared, "distance", find_slowly)
    assert rounds.n_lanes == 3
    party.members[0].measure_distance()
    found = party.members[0].distance
    party.clock.seconds += 120
    party.members[0].measure_distance()
    assert party.members[0].distance == found
    party.clock.seconds += 40
    party.members[0].measure_distance()
    assert party.members[0].distance > found


def test_bytes_are_counted_where_they_are_written_and_where_they_are_read(party):
    party.take_part(0, 1, 2)
    lanes = party.lanes
    written = sum(len(each.value) for lane in range(3) for each in contributions(party.stream, lane))
    assert lanes.n_bytes_written == lanes.n_bytes_read == written > 0
