"""Bayesian logistic regression against its formula in plain algebra."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core import BayesianLogistic
from perceptron_core.elementary import logistic

NAMES = "abcd"
xs = st.dictionaries(st.sampled_from(NAMES), st.sampled_from([-9.0, -1.0, 0.0, 0.5, 2.0]), max_size=4)
streams = st.lists(st.tuples(xs, st.booleans(), st.sampled_from([1.0, 0.5, 3.0])), max_size=30)


class Formula:
    """The formula as it is written; the intercept is the weight of the feature None."""

    def __init__(self, forgetting, intercept_forgetting):
        self.mean = dict.fromkeys([*NAMES, None], 0.0)
        self.variance = dict.fromkeys(self.mean, 1.0)
        self.forgetting = dict.fromkeys(self.mean, forgetting) | {None: intercept_forgetting}

    def forgotten(self, entries):
        return {name: min(1.0, self.variance[name] / self.forgetting[name]) for name in entries}

    def score(self, entries):
        variance = self.forgotten(entries)
        v = math.fsum(variance[name] * value**2 for name, value in entries.items())
        a = math.fsum(self.mean[name] * value for name, value in entries.items())
        return a / math.sqrt(1 + math.pi * v / 8)

    def learn(self, entries, y, w):
        p = 1 / (1 + math.exp(-self.score(entries)))
        self.variance |= self.forgotten(entries)
        v = math.fsum(self.variance[name] * value**2 for name, value in entries.items())
        q = w * p * (1 - p)
        c = 1 / (1 + q * v)
        for name, value in entries.items():
            gain = self.variance[name] * value
            self.mean[name] += c * w * (y - p) * gain
            self.variance[name] -= c * q * gain**2


@pytest.mark.parametrize("forgetting", [(1.0, 1.0), (0.9, 0.5)])
@given(stream=streams)
def test_bayesian_logistic_is_the_formula(forgetting, stream):
    model, formula = BayesianLogistic(*forgetting), Formula(*forgetting)
    for x, y, w in stream:
        entries = {**x, None: 1.0}
        assert model.score_one(x) == pytest.approx(formula.score(entries), rel=1e-9, abs=1e-9)
        model.learn_one(x, y, w)
        formula.learn(entries, y, w)
    for name in NAMES:
        assert model.weights.get(name, 0.0) == pytest.approx(formula.mean[name], rel=1e-9, abs=1e-9)
        assert model.variances.get(name, 1.0) == pytest.approx(formula.variance[name], rel=1e-9)
    assert model.bias == pytest.approx(formula.mean[None], rel=1e-9, abs=1e-9)
    assert model.bias_variance == pytest.approx(formula.variance[None], rel=1e-9)


def test_an_unknown_feature_draws_the_probability_towards_a_half():
    model = BayesianLogistic()
    for _ in range(20):
        model.learn_one({"a": 1.0}, True)
    known, unsure = (model.predict_proba_one(x)[True] for x in ({"a": 1.0}, {"a": 1.0, "new": 3.0}))
    assert known > unsure > 0.5


@given(st.floats(-1e300, 1e300))
def test_the_logistic_function_neither_overflows_nor_loses_its_symmetry(z):
    assert 0 <= logistic(z) <= 1
    assert logistic(z) + logistic(-z) == pytest.approx(1.0, abs=1e-15)
