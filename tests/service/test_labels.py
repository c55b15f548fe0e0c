import pytest

from service.labels import EarlyLabel, Example, LabelJoin


def example(timestamp_ms=0, truth=None):
    return Example({"a": 1.0}, False, -1.0, timestamp_ms, truth)


@pytest.fixture
def join():
    return LabelJoin(timeout_seconds=10, capacity=3)


def test_an_example_is_kept_until_event_time_has_passed_its_timeout(join):
    join.keep("a", example(0))
    join.advance(10_000)
    assert join.example("a")
    join.advance(10_001)
    assert join.example("a") is None
    assert join.expired("a")


def test_event_time_never_runs_backwards(join):
    join.advance(60_000)
    join.advance(0)
    join.keep("a", example(50_000))
    join.advance(60_001)
    assert join.example("a") is None or join.example("a").timestamp_ms == 50_000


def test_the_oldest_example_gives_way_when_there_is_no_room(join):
    for name in "abcd":
        join.keep(name, example())
    assert join.example("a") is None
    assert join.expired("a")
    assert all(join.example(name) for name in "bcd")


def test_pending_counts_the_unlabelled_ones_only(join):
    first = example()
    join.keep("a", first)
    join.keep("b", example(truth=True))
    assert join.n_pending == 1
    first.truth = True
    join.stop_waiting()
    assert join.n_pending == 0
    for name in "cdef":
        join.keep(name, example())
    assert join.n_pending == 3


def test_a_labelled_example_that_leaves_is_not_remembered_as_unlabelled(join):
    join.keep("a", example(truth=True))
    join.advance(99_999)
    assert not join.expired("a")


def test_an_early_label_waits_until_its_event_has_come(join):
    join.hold("a", EarlyLabel(True, 0))
    assert join.early_label("a").truth is True
    join.drop_early_label("a")
    assert join.early_label("a") is None


def test_early_labels_whose_event_never_came_are_counted_when_they_leave(join):
    for name in "abc":
        assert not join.hold(name, EarlyLabel(True, 0))
    assert join.hold("d", EarlyLabel(True, 0))
    assert join.advance(10_001) == 3


def test_a_label_held_again_pushes_nobody_out(join):
    for name in "abca":
        assert not join.hold(name, EarlyLabel(True, 0))


def test_memory_is_bounded_whatever_comes(join):
    for number in range(1000):
        join.keep(f"e{number}", example(number))
        join.hold(f"l{number}", EarlyLabel(True, number))
    assert max(map(len, (join._examples, join._early, join._expired))) <= 3
