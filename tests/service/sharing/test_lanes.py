import pytest

from perceptron_core import Perceptron
from perceptron_core.sharing.shared_model import SharedModel
from service.errors import CheckpointError, ConfigurationError
from service.sharing.contribution import Contribution, as_output
from service.sharing.lanes import Lanes
from service.stream import RecordLimit
from tests.service.building import settings
from tests.service.sharing.streams import events, feed, run

GROUP = "online-perceptron"


def value(name="x"):
    model = SharedModel(Perceptron())
    model.model.learn_one({name: 1.0}, y=True)
    return model.contribute()


def write(stream, *contributions):
    stream.ensure_topics({"mixes": 3})
    stream.produce([as_output(each, "mixes", GROUP) for each in contributions])


def part(lane, number, *, start=1, kept=0, of=b""):
    return Contribution(lane, start, number, 3, kept, of)


@pytest.fixture
def lanes(stream):
    stream.ensure_topics({"mixes": 3})
    found = Lanes(stream, settings(share_model=True))
    yield found
    found.close()


def test_a_round_is_complete_when_each_of_its_lanes_has_contributed(stream, lanes):
    write(stream, part(0, 2), part(2, 2))
    lanes.poll()
    assert lanes.complete(1, 2, 3) is None
    assert lanes.waits_for(1, 2, 3) == [1]
    write(stream, part(1, 2))
    lanes.poll()
    assert [each.lane for each in lanes.complete(1, 2, 3)] == [0, 1, 2]


def test_the_first_contribution_of_a_lane_to_a_round_counts(stream, lanes):
    write(stream, part(0, 2, of=b"first"), part(0, 2, of=b"again"))
    lanes.poll()
    assert [each.value for each in lanes.complete(1, 2, 1)] == [b"first"]


def test_a_mix_is_computed_once(stream, lanes):
    write(stream, part(0, 2, of=value("a")), part(1, 2, of=value("b")))
    lanes.poll()
    found = lanes.complete(1, 2, 2)
    assert lanes.mix_of(found) is lanes.mix_of(found)


def test_the_round_that_opens_a_share_is_no_mix(stream, lanes):
    write(stream, part(0, 1))
    lanes.poll()
    assert lanes.mix_of(lanes.complete(1, 1, 1)) is None


def test_contributions_that_cannot_be_read_are_refused_with_their_round(stream, lanes):
    write(stream, part(0, 2, of=b"junk"))
    lanes.poll()
    with pytest.raises(CheckpointError, match="mixes: the contributions to round 2 cannot be mixed"):
        lanes.mix_of(lanes.complete(1, 2, 1))


def test_contributions_to_a_complete_round_that_are_not_there_are_gone(stream, lanes):
    write(stream, part(0, 2), part(1, 3))
    with pytest.raises(CheckpointError, match=r"mixes\[1\]: the contribution to round 2 is gone"):
        lanes.committed_round(1, 2, 2)
    with pytest.raises(CheckpointError, match=r"mixes\[0\]: the contribution to round 4 is gone") as caught:
        lanes.committed_round(1, 4, 2)
    assert "--mixes-topic" in caught.value.hint


def test_contributions_to_an_emptied_topic_are_gone(stream, lanes):
    write(stream, part(0, 2), part(1, 2))
    for lane in range(3):
        stream.delete_before("mixes", lane, stream.bounds("mixes", lane)[1])
    with pytest.raises(CheckpointError, match=r"mixes\[0\]: the contribution to round 2 is gone"):
        lanes.committed_round(1, 2, 2)


def test_a_lane_that_contributed_later_has_lost_its_contribution(stream, lanes):
    write(stream, part(0, 2), part(1, 3))
    lanes.poll()
    assert lanes.lost(1, 2, 3) == [1]
    assert lanes.lost(1, 3, 3) == []


def test_rounds_are_followed_as_far_as_they_are_complete(stream, lanes):
    write(stream, part(0, 2), part(0, 3), part(1, 3), part(2, 3), part(0, 4), part(2, 4))
    lanes.poll()
    assert lanes.reach(1, 1, 1) == (3, 3)
    assert lanes.reach(1, 3, 3) == (3, 3)
    assert lanes.reach(1, 1, 3) == (1, 3)


def test_a_contribution_is_looked_for_to_the_end_of_its_lane(stream, lanes):
    lanes.poll()
    write(stream, part(1, 2, of=b"late"))
    assert lanes.find(1, 1, 2).value == b"late"
    assert lanes.find(0, 1, 2) is None


def test_lanes_that_were_added_are_followed(stream, lanes):
    lanes.poll()
    stream.add_partitions({"mixes": 5})
    stream.produce([as_output(part(4, 2), "mixes", GROUP)])
    lanes.poll()
    assert lanes.latest(4) is None
    lanes.grow(5)
    lanes.poll()
    assert lanes.latest(4).round == 2


def test_rounds_that_no_partition_needs_are_forgotten_but_the_last_of_each_lane_stays(stream, lanes):
    write(stream, *(part(lane, number, kept=number - 1) for number in (2, 3, 4) for lane in (0, 1)))
    lanes.poll()
    assert lanes.forget(2) == 3
    assert lanes.complete(1, 3, 2) is None
    assert lanes.complete(1, 4, 2)
    assert lanes.end_of(0, 3) == 2
    assert lanes.end_of(0, 99) == 2


def test_nothing_is_forgotten_while_a_lane_has_not_said_what_it_needs(stream, lanes):
    write(stream, part(0, 2, kept=1))
    lanes.poll()
    assert lanes.forget(2) == -1
    assert lanes.complete(1, 2, 1)


def test_a_topic_that_takes_no_large_contributions_is_refused_before_anything_is_written(stream, monkeypatch):
    feed(stream, events(50), 2)
    limit = stream.record_limit
    small = {"mixes": RecordLimit(20_000, 20_000)}
    monkeypatch.setattr(stream, "record_limit", lambda topic: small.get(topic) or limit(topic))
    with pytest.raises(ConfigurationError, match="topic 'mixes' takes records of 20000 bytes") as refused:
        run(stream)
    assert "max.message.bytes" in refused.value.hint
    assert stream.bounds("predictions", 0) == stream.bounds("mixes", 0) == (0, 0)
