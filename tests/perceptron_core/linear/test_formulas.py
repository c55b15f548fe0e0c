"""Two-class learners against their formulas in plain algebra; the intercept is the weight of None."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import datasets, linear_model

from perceptron_core import (
    BayesianLogistic,
    CoinBetting,
    LogisticRegression,
    MulticlassNormalizedAdaGrad,
    NormalizedAdaGrad,
)

NAMES = [*"abcd", None]
sizes = st.sampled_from([-9.0, -2.5, -1.0, 0.0, 0.5, 1.0, 4.0, 30.0])
xs = st.dictionaries(st.sampled_from("abcd"), sizes, max_size=4)
streams = st.lists(st.tuples(xs, st.booleans(), st.sampled_from([1.0, 0.5, 3.0])), max_size=30)


def zeros():
    return dict.fromkeys(NAMES, 0.0)


def logistic(a):
    """Compute 1/(1 + e⁻ᵃ), of numbers whose exponential is too large as well."""
    return 1 / (1 + math.exp(-a)) if a > 0 else math.exp(a) / (1 + math.exp(a))


class Logistic:
    def __init__(self, rate):
        self.rate, self.weight = rate, zeros()

    def score(self, x):
        return math.fsum(self.weight[name] * value for name, value in x.items())

    def learn(self, x, y, w):
        p = logistic(self.score(x))
        for name, value in x.items():
            self.weight[name] += self.rate * w * (y - p) * value


class Bayesian(Logistic):
    def __init__(self, forgetting, intercept_forgetting):
        self.weight, self.variance = zeros(), dict.fromkeys(NAMES, 1.0)
        self.forgetting = dict.fromkeys(NAMES, forgetting) | {None: intercept_forgetting}

    def forgotten(self, x):
        return {name: min(1.0, self.variance[name] / self.forgetting[name]) for name in x}

    def score(self, x):
        variance = self.forgotten(x)
        v = math.fsum(variance[name] * value**2 for name, value in x.items())
        return super().score(x) / math.sqrt(1 + math.pi * v / 8)

    def learn(self, x, y, w):
        p = logistic(self.score(x))
        self.variance |= self.forgotten(x)
        v = math.fsum(self.variance[name] * value**2 for name, value in x.items())
        q = w * p * (1 - p)
        c = 1 / (1 + q * v)
        for name, value in x.items():
            gain = self.variance[name] * value
            self.weight[name] += c * w * (y - p) * gain
            self.variance[name] -= c * q * gain**2


class Betting(Logistic):
    def __init__(self):
        self.bound, self.size, self.reward, self.total, self.weight = (zeros() for _ in range(5))

    def learn(self, x, y, w):
        sign = 1 if y else -1
        slope = -sign * w * logistic(-sign * self.score(x))
        for name, value in x.items():
            if value:
                g = slope * value
                self.bound[name] = max(self.bound[name], abs(value) * w)
                self.size[name] += abs(g)
                self.reward[name] = max(self.reward[name] - g * self.weight[name], 0.0)
                self.total[name] -= g
                bound = self.bound[name]
                share = self.total[name] / (bound * (self.size[name] + bound))
                self.weight[name] = share * (bound / 2 + self.reward[name])


class AdaGrad(Logistic):
    """The weights themselves, multiplied by old over new Lᵢ."""

    def __init__(self, eta, loss, epsilon):
        self.eta, self.is_logistic = eta, loss == "logistic"
        self.scale, self.weight, self.square = zeros(), zeros(), dict.fromkeys(NAMES, epsilon)
        self.t, self.total = 0, 0.0

    def score(self, x):
        shrunk = (self.scale[n] / abs(v) if abs(v) > self.scale[n] else 1.0 for n, v in x.items())
        return math.fsum(self.weight[n] * by * v for by, (n, v) in zip(shrunk, x.items(), strict=True))

    def learn(self, x, y, w):
        for name, value in x.items():
            if abs(value) > self.scale[name]:
                self.weight[name] *= self.scale[name] / abs(value)
                self.scale[name] = abs(value)
        self.t += 1
        self.total += sum((v / self.scale[n]) ** 2 for n, v in x.items() if v)
        sign = 1 if y else -1
        a = self.score(x)
        slope = -sign * w * logistic(-sign * a) if self.is_logistic else -sign * w
        rate = self.eta * math.sqrt(self.t / self.total)
        for name, value in x.items():
            if value:
                gradient = slope * value / self.scale[name]
                self.square[name] += gradient**2
                self.weight[name] -= rate * gradient / (self.scale[name] * math.sqrt(self.square[name]))


@pytest.mark.parametrize(
    ("learner", "formula", "parameters"),
    [
        (LogisticRegression, Logistic, (0.01,)),
        (LogisticRegression, Logistic, (0.5,)),
        (BayesianLogistic, Bayesian, (1.0, 1.0)),
        (BayesianLogistic, Bayesian, (0.9, 0.5)),
        (CoinBetting, Betting, ()),
        (NormalizedAdaGrad, AdaGrad, (0.7, "logistic", 0.0)),
        (NormalizedAdaGrad, AdaGrad, (0.7, "hinge", 0.01)),
        (NormalizedAdaGrad, AdaGrad, (0.7, "logistic", 0.01)),
    ],
)
@given(stream=streams)
def test_each_learner_computes_its_documented_formula(learner, formula, parameters, stream):
    margin = {"margin": math.inf} if learner is NormalizedAdaGrad else {}
    model, expected = learner(*parameters, **margin), formula(*parameters)
    for x, y, w in stream:
        entries = {**x, None: 1.0}
        assert model.score_one(x) == pytest.approx(expected.score(entries), rel=1e-9, abs=1e-9)
        model.learn_one(x, y, w)
        expected.learn(entries, y, w)
    weights = {None: model.bias, **model.weights}
    assert zeros() | weights == pytest.approx(expected.weight, rel=1e-9, abs=1e-9)
    if learner is BayesianLogistic:
        variances = dict.fromkeys(NAMES, 1.0) | model.variances | {None: model.bias_variance}
        assert variances == pytest.approx(expected.variance, rel=1e-9)


def test_logistic_regression_makes_the_probabilities_of_rivers():
    ours, rivers = LogisticRegression(), linear_model.LogisticRegression()
    for x, y in datasets.Phishing():
        assert ours.predict_proba_one(x)[True] == pytest.approx(rivers.predict_proba_one(x)[True], rel=1e-9)
        ours.learn_one(x, y)
        rivers.learn_one(x, y)


@given(stream=streams, factor=st.sampled_from([2.0**-40, 0.25, 2.0**60]))
def test_scaling_a_feature_by_two_keeps_adagrad_scores(stream, factor):
    model, scaled = NormalizedAdaGrad(), NormalizedAdaGrad()
    for x, y, w in stream:
        other = {name: value * factor if name == "a" else value for name, value in x.items()}
        assert scaled.predict_learn(other, y, w) == model.predict_learn(x, y, w)


def test_weight_of_adagrad_shrinks_as_its_scale_grows():
    model = NormalizedAdaGrad(margin=1e-9, epsilon=0.0)
    model.learn_one({"a": 2.0}, True)
    before = model.weights["a"]
    model.learn_one({"a": 8.0, "new": 5.0}, True)  # no update: the margin is exceeded
    assert model.n_updates == 1
    assert (model.scales, model.weights) == ({"a": 8.0}, {"a": before / 4})


@given(stream=streams)
def test_two_class_softmax_equals_logistic_adagrad_at_twice_the_rate(stream):
    binary = NormalizedAdaGrad(2.0, epsilon=0.0)
    several = MulticlassNormalizedAdaGrad([False, True], epsilon=0.0)
    for x, y, _ in stream:
        scores = several.scores_one(x)
        assert scores[True] - scores[False] == pytest.approx(binary.score_one(x), rel=1e-6, abs=1e-6)
        if abs(abs(binary.score_one(x)) - 4.0) < 1e-6:
            return  # rounding decides on an update
        binary.learn_one(x, y)
        several.learn_one(x, y)
