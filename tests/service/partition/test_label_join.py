import sys

import pytest

from perceptron_core.formats.packed import pack, unpack
from service.partition.examples import Example
from service.partition.label_join import EarlyLabel, LabelJoin


@pytest.fixture
def join():
    return LabelJoin(timeout_seconds=10, capacity=3)


def test_timeout_may_be_a_fraction_of_a_second():
    assert LabelJoin(0.5, 3).timeout_seconds == 0.5
    assert LabelJoin(1.25, 3).timeout_seconds == 1.25


def large(event_id, n_features=1000, name=int):
    return Example(event_id, {name(n): 1.0 / (n + 1) for n in range(n_features, 0, -1)}, False, -1.0, 0)


def test_memory_is_bounded_for_any_events_and_labels(join):
    for number in range(1000):
        join.keep(large(f"e{number}", 1))
        join.hold(f"l{number}", EarlyLabel(True, number))
    assert max(map(len, (join.examples, join.early, join._expired))) <= 3


@pytest.mark.parametrize("name", [int, str, "é{}".format])
def test_large_example_takes_half_the_memory_with_equal_features(join, name):
    loose = large("a", name=name)
    features = dict(loose.x)
    join.keep(loose)
    assert list(join.examples.get("a").x.items()) == list(features.items())
    assert join.size_bytes < (sys.getsizeof(features) + sum(map(sys.getsizeof, features))) / 2


def test_oldest_examples_are_evicted_when_bytes_are_short():
    one = LabelJoin(timeout_seconds=10, capacity=1)
    one.keep(large("x"))
    join = LabelJoin(timeout_seconds=10, capacity=100, max_bytes=3 * one.size_bytes)
    for name in "abcd":
        join.keep(large(name))
    assert join.examples.get("a") is None
    assert join.expired("a")
    assert all(join.examples.get(name) for name in "bcd")
    assert join.size_bytes == 3 * one.size_bytes
    join.keep(large("e", 3000))
    assert [name for name in "bcde" if join.examples.get(name)] == ["e"]


def test_newest_example_is_kept_at_any_size():
    join = LabelJoin(timeout_seconds=10, capacity=100, max_bytes=1)
    for name in "ab":
        join.keep(large(name))
    assert join.examples.get("a") is None
    assert join.examples.get("b")


@pytest.mark.parametrize("n_features", [2, 1000])
def test_restored_join_has_the_same_size_and_pending_events(n_features):
    join, restored = (LabelJoin(10, 3, truth_on_timeout=False, correction_seconds=5) for _ in range(2))
    for name in "abcd":
        join.keep(large(name, n_features))
    restored.restore(unpack(pack(join.state())))
    assert restored.size_bytes == join.size_bytes > 0
    assert [restored.examples.get(name).x for name in "bcd"] == [join.examples.get(name).x for name in "bcd"]
    assert restored.expired("a")
    for each in (join, restored):
        assert [late.event_id for late in each.overdue(60_000)] == [*"bcd"]
    for later in (0, 60_000):
        assert restored.advance(later) == join.advance(later)
    assert restored.size_bytes == join.size_bytes == 0
