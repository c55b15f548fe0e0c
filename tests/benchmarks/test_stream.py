"""How the benchmarks watch a group commit, without a broker."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from benchmarks.measures import stream
from benchmarks.measures.stream import Stream


@pytest.fixture
def answers(monkeypatch):
    """What the broker says to one question after the other: offsets, or an error's code."""
    given = []

    class Observer:
        def __init__(self, options):
            pass

        def committed(self, places, seconds):
            match given.pop(0):
                case int(code):
                    raise KafkaException(KafkaError(code))
                case offsets:
                    return [TopicPartition("events", n, offset) for n, offset in enumerate(offsets)]

        def close(self):
            pass

    monkeypatch.setattr(stream, "Consumer", Observer)
    return given


def watch(count):
    with Stream("127.0.0.1:1", Path()).progress("group", "events", 2) as progress:
        return [progress() for _ in range(count)]


def test_what_partitions_have_committed_is_added_up(answers):
    answers += [[-1001, -1001], [3, -1001], [3, 4]]
    assert watch(3) == [0, 3, 7]


def test_a_broker_that_is_not_ready_for_a_group_has_no_commits_of_it(answers):
    answers += [KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS, [3, 4]]
    assert watch(3) == [0, 0, 7]


@pytest.fixture
def described(monkeypatch):
    """What the broker says of a group's members, one time after the other: shares, or an error's code."""
    given = []

    class Described:
        def result(self):
            match given.pop(0):
                case int(code):
                    raise KafkaException(KafkaError(code))
                case shares:
                    return SimpleNamespace(members=[member(share) for share in shares])

    def member(share):
        return SimpleNamespace(assignment=SimpleNamespace(topic_partitions=range(share)))

    class Admin:
        def __init__(self, options):
            pass

        def describe_consumer_groups(self, groups):
            return dict.fromkeys(groups, Described())

    monkeypatch.setattr(stream, "AdminClient", Admin)
    return given


def test_a_broker_that_is_not_ready_for_a_group_has_no_members_of_it(described):
    described += [KafkaError.COORDINATOR_LOAD_IN_PROGRESS, [2, 2]]
    watched = Stream("127.0.0.1:1", Path())
    assert [watched.shares("group") for _ in range(2)] == [[], [2, 2]]


def test_another_error_ends_the_measure(answers):
    answers.append(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(KafkaException):
        watch(1)
