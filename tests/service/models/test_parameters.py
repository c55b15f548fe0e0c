"""A parameter of a built-in model that has another type is refused by its name."""

import inspect

import pytest

from service.errors import ConfigurationError
from service.models.registry import BUILT_IN, make_learner

PARAMETERS = [
    (model, name) for model, made in BUILT_IN.items() for name in inspect.signature(made).parameters
]


@pytest.mark.parametrize(
    ("model", "params", "said"),
    [
        ("arow", {"r": "abc"}, "r must be a number, not 'abc'"),
        ("arow", {"r": [1]}, r"r must be a number, not \[1\]"),
        ("perceptron", {"learning_rate": "fast"}, "learning_rate must be a number, not 'fast'"),
        ("perceptron", {"fit_intercept": "no"}, "fit_intercept must be true or false, not 'no'"),
        ("multiclass-arow", {"classes": "ham"}, "classes must be a list, not 'ham'"),
    ],
)
def test_the_error_says_what_is_expected(model, params, said):
    with pytest.raises(ConfigurationError, match=said):
        make_learner(model, params)


def test_no_parameter_takes_any_text(subtests):
    for model, name in PARAMETERS:
        with (
            subtests.test(model=model, parameter=name),
            pytest.raises(ConfigurationError, match=rf"{name}\b(?!.*not supported between)"),
        ):
            make_learner(model, {name: "abc"})


def test_every_default_is_taken(subtests):
    for model, name in PARAMETERS:
        with subtests.test(model=model, parameter=name):
            default = inspect.signature(BUILT_IN[model]).parameters[name].default
            make_learner(model, {name: default})
