import pytest

from perceptron_core.base.search_space import Span
from service.lab.search import draw_trials
from service.models.registry import BUILT_IN, make_learner

SEARCHED = {name: kind.SEARCHED for name, kind in BUILT_IN.items() if hasattr(kind, "SEARCHED")}


def test_the_first_trial_has_the_defaults_and_the_others_lie_in_the_space():
    first, *others = draw_trials({"r": Span(0.01, 100.0), "loss": ("a", "b")}, 500, 0)
    assert first == {}
    assert all(0.01 <= each["r"] <= 100 for each in others)
    assert {each["loss"] for each in others} == {"a", "b"}
    assert 200 < sum(each["r"] < 1 for each in others) < 300


@pytest.mark.parametrize("name", SEARCHED)
def test_every_model_can_be_made_with_what_is_drawn(name):
    classes = ("a", "b", "c") if "multiclass" in name else ()
    for params in draw_trials(SEARCHED[name], 50, 0):
        make_learner(name, params, classes)
