"""Logistic regression against its formula, and against River's."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import datasets, linear_model

from perceptron_core import LogisticRegression
from tests.support.learners import examples, learn, streams

NAMES = "abcd"
xs = st.dictionaries(st.sampled_from(NAMES), st.sampled_from([-9.0, -1.0, 0.0, 0.5, 2.0]), max_size=4)
weighted = st.lists(st.tuples(xs, st.booleans(), st.sampled_from([0.5, 1.0, 3.0])), max_size=30)


def formula(stream, rate):
    """Return the weights of the formula, that of the constant feature under None."""
    weight = dict.fromkeys([*NAMES, None], 0.0)
    for x, y, w in stream:
        entries = {**x, None: 1.0}
        p = 1 / (1 + math.exp(-math.fsum(weight[name] * value for name, value in entries.items())))
        for name, value in entries.items():
            weight[name] += rate * w * (y - p) * value
    return weight


@pytest.mark.parametrize("rate", [0.01, 0.5])
@given(stream=weighted)
def test_logistic_regression_is_the_formula(rate, stream):
    model = learn(LogisticRegression(rate), stream)
    expected = formula(stream, rate)
    for name in NAMES:
        assert model.weights.get(name, 0.0) == pytest.approx(expected[name], rel=1e-9, abs=1e-9)
    assert model.bias == pytest.approx(expected[None], rel=1e-9, abs=1e-9)


def test_the_first_step_worked_by_hand():
    model = LogisticRegression(0.5)
    assert model.update_one({"a": 2.0}, True) == 0.25  # p = 1/2
    assert (model.weights, model.bias) == ({"a": 0.5}, 0.25)


def test_it_makes_the_probabilities_of_rivers():
    ours, rivers = LogisticRegression(), linear_model.LogisticRegression()
    for x, y in datasets.Phishing():
        assert ours.predict_proba_one(x)[True] == pytest.approx(rivers.predict_proba_one(x)[True], rel=1e-9)
        ours.learn_one(x, y)
        rivers.learn_one(x, y)


@given(streams, examples)
def test_an_undone_update_is_gone(stream, extra):
    model = learn(LogisticRegression(), stream)
    before, bias = model.weights, model.bias
    model.undo_one(extra[0], model.update_one(*extra))
    assert model.bias == pytest.approx(bias, abs=1e-12)
    for name in model.weights | before:
        assert model.weights.get(name, 0.0) == pytest.approx(before.get(name, 0.0), abs=1e-12)
