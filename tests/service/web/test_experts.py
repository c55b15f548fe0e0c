"""The experts' curves as the page gets them."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from perceptron_core.mixing.status import ExpertStatus
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


def test_a_model_that_is_no_mixture_has_no_experts_to_show():
    assert experts_shown(None, [point(1)]) is None


def test_an_expert_is_shown_as_it_is_now_and_as_it_was():
    shown = experts_shown(MixtureStatus("mixture", [WORDS]), [point(1, WORDS), point(2, WORDS)])
    assert (shown["leader"], shown["labelled"]) == ("mixture", [1, 2])
    assert shown["experts"] == [
        {
            "name": "words: SCW",
            "weight": 0.25,
            "mistakes": 7,
            "recent_error": 0.25,
            "weights": [0.25, 0.25],
            "errors": [0.25, 0.25],
        }
    ]


def test_before_the_first_event_of_a_mixture_there_is_no_point():
    assert experts_shown(MixtureStatus("mixture", [WORDS]), [point(0), point(1, WORDS)])["labelled"] == [1]


def test_the_curve_of_an_expert_that_joined_later_has_a_gap_before_it():
    now = MixtureStatus("mixture", [WORDS, GRAMS])
    shown = experts_shown(now, [point(1, WORDS), point(2, GRAMS, WORDS)])
    assert shown["experts"][1]["weights"] == [None, -0.1235]


def test_an_expert_that_was_not_judged_yet_has_no_error():
    shown = experts_shown(MixtureStatus("mixture", [GRAMS]), [point(1, GRAMS)])
    assert shown["experts"][0]["errors"] == [None]
