"""The ends of many logs take one question."""

import pytest

from service.loop.opening.log_ends import LogEnds


class Logs:
    """Three logs, and what was asked about them."""

    def __init__(self):
        self.ends = {0: 10, 1: 11, 2: 12}
        self.asked = []

    def bounds_of(self, topic, partitions):
        self.asked.append((topic, sorted(partitions)))
        return {each: (0, self.ends[each]) for each in partitions}

    def bounds(self, topic, partition):
        return self.bounds_of(topic, [partition])[partition]


@pytest.fixture
def logs():
    return Logs()


@pytest.fixture
def ends(logs):
    made = LogEnds(logs, "checkpoints")
    for partition in (0, 1):
        made.open(partition)
    return made


def test_all_open_partitions_are_asked_about_at_once(ends, logs):
    assert [ends.bounds("checkpoints", each) for each in (0, 1)] == [(0, 10), (0, 11)]
    assert logs.asked == [("checkpoints", [0, 1])]


def test_an_answer_is_used_once(ends, logs):
    ends.bounds("checkpoints", 0)
    logs.ends[0] = 20
    assert ends.bounds("checkpoints", 0) == (0, 20)


def test_a_partition_that_is_opened_again_is_asked_about_again(ends, logs):
    ends.bounds("checkpoints", 0)
    logs.ends[1] = 5  # another topic of this name
    ends.open(1)
    assert ends.bounds("checkpoints", 1) == (0, 5)


def test_other_topics_and_partitions_are_asked_about_alone(ends, logs):
    assert (ends.bounds("events", 0), ends.bounds("checkpoints", 2)) == ((0, 10), (0, 12))
    assert logs.asked == [("events", [0]), ("checkpoints", [2])]
