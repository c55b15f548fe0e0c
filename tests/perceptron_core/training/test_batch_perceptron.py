"""The batch perceptron, step by step as in the book, and what it promises when it has converged."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from perceptron_core import (
    BatchPerceptron,
    FeatureError,
    Hyperplane,
    LabelError,
    from_bytes,
    linear_separability,
    mistake_bound,
    perceptron_criterion,
    to_bytes,
)

points = st.dictionaries(st.sampled_from("abc"), st.integers(-8, 8), max_size=3)
examples = st.lists(st.tuples(points, st.booleans()), min_size=1, max_size=10)
LINE = [{"x": 3.0}, {"x": 2.0}, {"x": -1.0}]
LABELS = [True, True, False]


def split(data):
    return [x for x, _ in data], [y for _, y in data]


@given(examples, st.sampled_from([0.0, 0.5, 3.0]), st.booleans())
def test_converges_on_separable_data_and_satisfies_its_margin(data, margin, fit_intercept):
    bound = mistake_bound(data, fit_intercept=fit_intercept)
    assume(bound.updates < 200)
    model = BatchPerceptron(margin=margin, max_iter=100_000, fit_intercept=fit_intercept).fit(*split(data))
    assert model.converged
    assert all((1 if y else -1) * model.score_one(x) > margin for x, y in data)
    assert all(model.predict_one(x) == y for x, y in data)
    assert perceptron_criterion(model, data) == 0


@given(examples)
def test_inseparable_examples_are_never_reported_separable(data):
    assume(not linear_separability(data).separable)
    model = BatchPerceptron(max_iter=50).fit(*split(data))
    assert not model.converged
    assert model.n_violations > 0


@given(examples, points, st.integers(-3, 3), st.sampled_from([0.25, 1.0]))
def test_step_is_down_the_gradient_of_the_criterion(data, weights, bias, rate):
    plane = Hyperplane(weights, bias)
    signed = [(x, 1 if y else -1) for x, y in data]
    wrong = [(x, sign) for x, sign in signed if sign * plane.score_one(x) <= 0]
    model = BatchPerceptron(learning_rate=rate, max_iter=1).fit(*split(data), start=plane)
    for name in "abc":
        expected = weights.get(name, 0) + rate * sum(sign * x.get(name, 0) for x, sign in wrong)
        assert model.weights.get(name, 0) == expected
    assert model.bias == bias + rate * sum(sign for _, sign in wrong)


def test_schedule_is_called_for_each_k_from_one():
    asked = []

    def rate(k):
        asked.append(k)
        return 1 / k

    contradiction = [{"x": 1.0}, {"x": 1.0}, {"x": 2.0}], [True, False, True]
    model = BatchPerceptron(learning_rate=rate, max_iter=5).fit(*contradiction)
    assert asked == list(range(1, model.n_iterations + 1))


def test_training_ends_when_the_step_is_below_the_criterion():
    model = BatchPerceptron(criterion=1e-3).fit([{"x": 1.0}, {"x": 1.0}], [True, False])
    assert (model.n_iterations, model.n_violations, model.converged) == (1, 2, False)


def test_each_fit_starts_untrained_or_at_the_given_hyperplane():
    model = BatchPerceptron().fit(LINE, LABELS)
    first = (dict(model.weights), model.bias)
    model.fit(LINE, LABELS)
    assert (model.weights, model.bias) == first
    model.fit(LINE, LABELS, start=Hyperplane({"x": 9.0}))
    assert (model.weights, model.bias, model.n_iterations) == ({"x": 9.0}, 0.0, 1)


def test_without_intercept_there_is_no_bias():
    assert BatchPerceptron(fit_intercept=False).fit(LINE, LABELS, start=Hyperplane(bias=5.0)).bias == 0


def test_invalid_examples_are_rejected_without_change():
    model = BatchPerceptron().fit(LINE, LABELS)
    before = (dict(model.weights), model.bias)
    with pytest.raises(FeatureError):
        model.fit([{"x": math.inf}], [True])
    with pytest.raises(LabelError):
        model.fit([{"x": 1.0}], ["spam"])
    with pytest.raises(ValueError, match="no examples"):
        model.fit([], [])
    with pytest.raises(ValueError, match="zip"):
        model.fit(LINE, [True])
    assert (model.weights, model.bias) == before


def test_model_round_trips_unless_its_schedule_is_a_function():
    model = BatchPerceptron(learning_rate=0.1, margin=1.0).fit(LINE, LABELS)
    assert vars(from_bytes(to_bytes(model))) == vars(model)
    with pytest.raises(TypeError):
        to_bytes(BatchPerceptron(learning_rate=lambda k: 1 / k))
