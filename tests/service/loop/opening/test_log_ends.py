"""The ends of many logs take one question."""

import pytest

from service.errors import TransportUnavailable
from service.loop.opening.log_ends import LogEnds


class Logs:
    """Three logs, and what was asked about them."""

    def __init__(self):
        self.ends = {0: 10, 1: 11, 2: 12}
        self.asked = []

    def bounds_of(self, places):
        self.asked.append(sorted(places))
        return {each: (0, self.ends[each[1]]) for each in places}

    def bounds(self, topic, partition):
        return self.bounds_of([(topic, partition)])[topic, partition]


@pytest.fixture
def logs():
    return Logs()


@pytest.fixture
def ends(logs):
    made = LogEnds(logs, "checkpoints")
    made.ask([0, 1])
    return made


def test_what_was_asked_together_is_not_asked_again(ends, logs):
    assert [ends.bounds("checkpoints", each) for each in (0, 1)] == [(0, 10), (0, 11)]
    assert logs.asked == [[("checkpoints", 0), ("checkpoints", 1)]]


def test_an_answer_is_used_once(ends, logs):
    ends.bounds("checkpoints", 0)
    logs.ends[0] = 20
    assert ends.bounds("checkpoints", 0) == (0, 20)


def test_what_nobody_has_used_is_forgotten_when_a_partition_is_opened(ends, logs):
    logs.ends[1] = 20
    ends.forget(1)
    assert ends.bounds("checkpoints", 1) == (0, 20)


def test_where_nobody_answers_each_is_asked_about_alone(ends, logs, monkeypatch):
    def away(*_):
        raise TransportUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(Logs, "bounds_of", away)
        ends.ask([0])
    logs.ends[0] = 20
    assert ends.bounds("checkpoints", 0) == (0, 20)


def test_other_topics_and_partitions_are_asked_about_alone(ends, logs):
    assert (ends.bounds("events", 0), ends.bounds("checkpoints", 2)) == ((0, 10), (0, 12))
    assert logs.asked[1:] == [[("events", 0)], [("checkpoints", 2)]]
