"""The textbook's claims about `Perceptron`, and River's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core import MarginPerceptron, Perceptron
from tests.support.learners import examples, learn, streams


def test_worked_example_of_gormley_ends_at_3_1():
    model = Perceptron(tie=True, update_on_tie=False, fit_intercept=False)
    stream = [
        ((-1, 2), False),
        ((1, 0), True),
        ((1, 1), True),
        ((-1, 0), False),
        ((-1, -2), False),
        ((1, -1), True),
    ]
    trail, mistakes = [], []
    for number, ((x1, x2), y) in enumerate(stream, start=1):
        x = {1: x1, 2: x2}
        if model.predict_one(x) != y:
            mistakes.append(number)
        model.learn_one(x, y)
        trail.append((model.weights.get(1, 0), model.weights.get(2, 0)))
    assert mistakes == [1, 3, 5]
    assert trail == [(1, -2), (1, -2), (2, -1), (2, -1), (3, 1), (3, 1)]
    assert model.n_mistakes == model.n_updates == 3


@pytest.mark.parametrize(
    ("tie", "y", "mistake"), [(False, True, 1), (False, False, 0), (True, False, 1), (True, True, 0)]
)
def test_tie_decides_the_class_at_the_threshold(tie, y, mistake):
    model = Perceptron(tie=tie, threshold=2.0)
    model.bias = 2.0
    assert model.predict_one({}) is tie
    model.learn_one({}, y)
    assert model.n_mistakes == mistake


def test_tie_updates_without_a_mistake_only_if_configured():
    sen, gormley = Perceptron(), Perceptron(update_on_tie=False)
    for model in (sen, gormley):
        model.learn_one({"a": 1.0}, False)
    assert (sen.n_mistakes, sen.n_updates, sen.weights) == (0, 1, {"a": -1.0})
    assert (gormley.n_mistakes, gormley.n_updates, gormley.weights) == (0, 0, {})


def test_sign_of_a_tiny_score_decides():
    model = Perceptron()
    model.bias = 1e-17
    assert model.predict_one({}) is True
    assert model.predict_proba_one({})[True] == 0.5


@given(streams, examples, st.booleans(), st.sampled_from([1.0, 0.5, 4.0]))
def test_update_raises_the_score_by_rate_times_squared_norm(stream, last, fit_intercept, rate):
    model = learn(Perceptron(fit_intercept=fit_intercept, learning_rate=rate), stream)
    x, y = last
    sign = 1 if y else -1
    before, updates = sign * model.score_one(x), model.n_updates
    model.learn_one(x, y)
    gain = rate * (sum(v * v for v in x.values()) + fit_intercept)
    assert sign * model.score_one(x) - before == (gain if model.n_updates > updates else 0)


@given(streams)
def test_weights_are_the_sum_of_the_mistaken_examples(stream):
    model = Perceptron(update_on_tie=False)
    dual = {}
    for x, y in stream:
        if model.predict_one(x) != y:
            for name, value in x.items():
                dual[name] = dual.get(name, 0) + (value if y else -value)
        model.learn_one(x, y)
    assert model.weights == {name: value for name, value in dual.items() if value}


@pytest.mark.parametrize(
    ("label", "bias"),
    [(True, 1), (1, 1), (np.True_, 1), (np.int64(1), 1), (False, -1), (0, -1), (-1, -1), (np.int8(-1), -1)],
)
def test_labels_may_be_booleans_bits_or_signs(label, bias):
    assert learn(Perceptron(), [({}, label)]).bias == bias


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32, np.bool_])
def test_numpy_scalars_equal_doubles(kind):
    ours, plain = Perceptron(), Perceptron()
    stream = [({"a": kind(number % 3), "b": kind(0.1 * number)}, number % 2 == 0) for number in range(50)]
    for x, y in stream:
        ours.learn_one(x, y)
        plain.learn_one({name: float(value) for name, value in x.items()}, y)
        assert type(ours.score_one(x)) is float
    assert (ours.weights, ours.bias) == (plain.weights, plain.bias)


@given(streams, st.booleans(), st.sampled_from([0.0, 0.5]), st.booleans())
def test_margin_zero_equals_the_perceptron_with_ties(stream, tie, threshold, fit_intercept):
    rule = {"tie": tie, "threshold": threshold, "fit_intercept": fit_intercept}
    plain, wide = learn(Perceptron(**rule), stream), learn(MarginPerceptron(margin=0.0, **rule), stream)
    assert plain._get_state() == wide._get_state()


@given(streams, examples, st.integers(0, 50))
def test_updates_exactly_when_the_score_is_within_the_margin(stream, last, margin):
    model = learn(MarginPerceptron(margin=margin), stream)
    x, y = last
    signed, updates = (1 if y else -1) * model.score_one(x), model.n_updates
    model.learn_one(x, y)
    assert (model.n_updates > updates) == (signed <= margin)
