"""The curve of the error over a whole life, in bounded memory."""

from hypothesis import given
from hypothesis import strategies as st

from service.monitoring.history import RECENT, History, Point
from service.partition.parts.counters import Counters

CAPACITY = 16


def point(labelled):
    return Point(labelled, 0, 0, None, None)


@given(st.lists(st.integers(0, 50), max_size=300))
def test_history_is_bounded_ordered_and_complete(steps):
    history, labelled, added = History(CAPACITY), 0, []
    for step in steps:
        labelled += step
        history.add(point(labelled))
        added.append(labelled)
    shown = [each.labelled for each in history.points()]
    assert len(shown) <= CAPACITY + 1
    assert shown == sorted(set(shown))
    assert set(shown) <= set(added)
    assert shown[:1] == added[:1]
    assert shown[-1:] == added[-1:]


def test_point_has_the_lifetime_and_the_recent_error():
    counters = Counters()
    counters.score([True] * 10 + [False] * (RECENT - 4) + [True] * 4)
    assert Point.of(counters, 3) == Point(RECENT + 10, 14, 3, 14 / (RECENT + 10), 4 / RECENT)


def test_a_correction_changes_the_newest_point():
    counters, history = Counters(), History()
    counters.score([True])
    history.add(Point.of(counters, 1))
    counters.revised = -1
    history.add(Point.of(counters, 1))
    assert [(each.labelled, each.mistakes, each.error) for each in history.points()] == [(1, 0, 0.0)]
