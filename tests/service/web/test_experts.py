"""The experts' curves as the page gets them."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from perceptron_core.mixing.mixture import ExpertStatus
from service.models.auto import MixtureStatus
from service.monitoring.history import Point
from service.web.views import POINTS_SHOWN, experts_shown, thinned

WORDS = ExpertStatus("words: SCW", 0.25, 7, 1.0, 4.0)
GRAMS = ExpertStatus("grams: SCW", -0.123456, 3, 0.0, 0.0)


def point(labelled, *experts):
    return Point(labelled, 0, 0, None, None, MixtureStatus("mixture", experts) if experts else None)


@given(st.integers(0, 500))
def test_at_most_so_many_points_are_shown_evenly_spaced_up_to_the_newest(n):
    shown = thinned([*range(n)])
    assert len(shown) <= POINTS_SHOWN
    assert len(shown) >= min(n, POINTS_SHOWN // 2)
    assert len({after - before for before, after in itertools.pairwise(shown)}) <= 1
    assert shown[-1:] == [*range(n)][-1:]


def test_the_curve_of_an_expert_that_joined_later_has_gaps_before_it_and_before_its_first_label():
    now = MixtureStatus("mixture", [WORDS, GRAMS])
    shown = experts_shown(now, [point(0), point(1, WORDS), point(2, GRAMS, WORDS)])
    assert shown["labelled"] == [1, 2]
    assert shown["experts"][1]["weights"] == [None, -0.1235]
    assert shown["experts"][1]["errors"] == [None, None]
