"""Normalised AdaGrad against its formula in plain algebra, and the laws of its scales."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core import MulticlassNormalizedAdaGrad, NormalizedAdaGrad
from tests.support.learners import learn

NAMES = "abcd"
sizes = st.sampled_from([-9.0, -2.5, -1.0, 0.0, 0.5, 1.0, 4.0, 30.0])
xs = st.dictionaries(st.sampled_from(NAMES), sizes, max_size=4)
streams = st.lists(st.tuples(xs, st.booleans(), st.sampled_from([1.0, 0.5, 3.0])), max_size=30)


class Formula:
    """The formula as it is written: the weights themselves, multiplied by old over new Lᵢ."""

    def __init__(self, eta, is_logistic, epsilon, margin):
        self.eta, self.is_logistic, self.margin = eta, is_logistic, margin
        self.scale = dict.fromkeys([*NAMES, None], 0.0)
        self.square = dict.fromkeys(self.scale, epsilon)
        self.weight = dict.fromkeys(self.scale, 0.0)
        self.t, self.total = 0, 0.0

    def score(self, x):
        weights = {
            n: self.weight[n] * (self.scale[n] / abs(v) if abs(v) > self.scale[n] else 1.0)
            for n, v in x.items()
        }
        return math.fsum(weights[n] * v for n, v in x.items())

    def learn(self, x, y, w):
        for name, value in x.items():
            if abs(value) > self.scale[name]:
                self.weight[name] *= self.scale[name] / abs(value)
                self.scale[name] = abs(value)
        self.t += 1
        self.total += sum((v / self.scale[n]) ** 2 for n, v in x.items() if v)
        sign = 1 if y else -1
        a = self.score(x)
        if sign * a >= self.margin:
            return
        slope = -sign * w / (1 + math.exp(sign * a)) if self.is_logistic else -sign * w
        rate = self.eta * math.sqrt(self.t / self.total)
        for name, value in x.items():
            if value:
                gradient = slope * value / self.scale[name]
                self.square[name] += gradient**2
                self.weight[name] -= rate * gradient / (self.scale[name] * math.sqrt(self.square[name]))


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("epsilon", [0.0, 0.01])
@given(stream=streams)
def test_normalized_adagrad_is_the_formula(loss, epsilon, stream):
    model = NormalizedAdaGrad(0.7, loss, epsilon, math.inf)
    formula = Formula(0.7, loss == "logistic", epsilon, math.inf)
    for x, y, w in stream:
        full = {**x, None: 1.0}
        assert model.score_one(x) == pytest.approx(formula.score(full), rel=1e-9, abs=1e-9)
        model.learn_one(x, y, w)
        formula.learn(full, y, w)
    expected = {name: weight for name, weight in formula.weight.items() if weight and name}
    assert model.weights == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert model.bias == pytest.approx(formula.weight[None], rel=1e-9, abs=1e-12)


@given(stream=streams, factor=st.sampled_from([2.0**-40, 0.25, 2.0**60]))
def test_a_feature_multiplied_by_a_power_of_two_changes_no_score(stream, factor):
    model, scaled = NormalizedAdaGrad(), NormalizedAdaGrad()
    for x, y, w in stream:
        other = {name: value * factor if name == "a" else value for name, value in x.items()}
        assert scaled.predict_learn(other, y, w) == model.predict_learn(x, y, w)


def test_a_weight_shrinks_as_its_scale_grows():
    model = NormalizedAdaGrad(margin=1e-9, epsilon=0.0)
    learn(model, [({"a": 2.0}, True)])
    before = model.weights["a"]
    model.learn_one({"a": 8.0}, True)  # no update: the margin is exceeded
    assert model.n_updates == 1
    assert (model.scales["a"], model.weights["a"]) == (8.0, before / 4)


def test_beyond_the_margin_nothing_is_stored_and_nothing_moves():
    model = learn(NormalizedAdaGrad(margin=0.5), [({"a": 1.0}, True)] * 3)
    weights, updates = model.weights, model.n_updates
    assert model.update_one({"a": 1.0, "new": 5.0}, True) == 0.0
    assert (model.weights, model.n_updates) == (weights, updates)
    assert "new" not in model.scales


@given(stream=st.lists(st.tuples(xs, st.booleans()), max_size=30))
def test_of_two_classes_softmax_moves_both_alike(stream):
    model = MulticlassNormalizedAdaGrad([False, True], epsilon=0.0)
    for x, y in stream:
        model.learn_one(x, y)
    for name in NAMES:
        lower, upper = (model.weights[kind].get(name, 0.0) for kind in (False, True))
        assert lower == pytest.approx(-upper, rel=1e-9)
    assert model.bias[False] == pytest.approx(-model.bias[True], rel=1e-9)


@given(stream=st.lists(st.tuples(xs, st.booleans()), max_size=30))
def test_of_two_classes_softmax_is_the_logistic_one_at_twice_the_rate(stream):
    binary = NormalizedAdaGrad(2.0, epsilon=0.0)
    several = MulticlassNormalizedAdaGrad([False, True], epsilon=0.0)
    for x, y in stream:
        scores = several.scores_one(x)
        assert scores[True] - scores[False] == pytest.approx(binary.score_one(x), rel=1e-6, abs=1e-6)
        if abs(abs(binary.score_one(x)) - 4.0) < 1e-6:
            return  # rounding decides on an update
        binary.learn_one(x, y)
        several.learn_one(x, y)
