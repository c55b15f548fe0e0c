"""The mistake bound holds, and says so where it does not; the losses are what the books define."""

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from perceptron_core import (
    Hyperplane,
    OnlineMistakeBound,
    Perceptron,
    hinge_loss,
    linear_separability,
    mistake_bound,
    perceptron_criterion,
    perceptron_train,
)

integers = st.integers(-8, 8)
points = st.dictionaries(st.sampled_from("abc"), integers, max_size=3)
examples = st.lists(st.tuples(points, st.booleans()), min_size=1, max_size=12)
TINY = 1e-9


@given(examples, st.booleans(), st.booleans(), st.booleans(), st.sampled_from([1.0, 0.5, 4.0]))
def test_separable_data_costs_at_most_the_bound(data, fit_intercept, tie, update_on_tie, rate):
    bound = mistake_bound(data, fit_intercept=fit_intercept)
    assume(bound.updates < 2_000)
    learner = Perceptron(0.0, tie, update_on_tie, rate, fit_intercept)
    training = perceptron_train(data, 2_001, learner=learner, order="constant")
    assert training.converged
    assert training.updates <= bound.updates * (1 + TINY)


@given(examples, st.booleans())
def test_bound_exists_exactly_when_a_separator_exists(data, fit_intercept):
    bound = mistake_bound(data, fit_intercept=fit_intercept)
    separable = linear_separability(data, fit_intercept=fit_intercept).separable
    assert math.isfinite(bound.updates) == separable
    assert (bound.reason == "") == separable


@given(examples)
def test_every_separator_gives_a_bound_and_the_default_the_best(data):
    result = linear_separability(data)
    assume(result.separable)
    given_one = mistake_bound(data, result.separator)
    assert mistake_bound(data).updates <= given_one.updates * (1 + 1e-5)
    assert given_one.margin > 0


@pytest.mark.parametrize(
    ("separator", "reason"),
    [
        (Hyperplane({"x": -1.0}), "does not separate"),
        (Hyperplane(), "all weights of the separator are 0"),
        (Hyperplane({"x": 1.0}, bias=-0.5), "has a bias"),
    ],
)
def test_unsuitable_separator_gives_a_reason_instead_of_a_bound(separator, reason):
    bound = mistake_bound([({"x": 1.0}, True)], separator, fit_intercept=False)
    assert bound.updates == math.inf
    assert reason in bound.reason


def test_empty_set_has_a_bound_of_zero():
    assert mistake_bound([]).updates == 0


@given(examples, points, integers)
def test_perceptron_criterion_is_zero_exactly_without_mistakes(data, weights, bias):
    plane = Hyperplane(weights, bias)
    signed = [plane.score_one(x) if y else -plane.score_one(x) for x, y in data]
    assert perceptron_criterion(plane, data) == sum(-s for s in signed if s < 0)
    assert hinge_loss(plane, data) == sum(1 - s for s in signed if s < 1)


def test_threshold_is_subtracted_from_the_score():
    assert perceptron_criterion(Perceptron(threshold=2.0), [({}, True)]) == 2


def slope(weights, bias, example, name):
    """Compute ∂J_p by a difference quotient, exact in integers; at the kink the whole step of one side."""
    h = Fraction(1, 64)

    def criterion(step):
        moved = dict(weights)
        if name is not None:
            moved[name] = moved.get(name, 0) + float(step)
        return perceptron_criterion(Hyperplane(moved, bias + (float(step) if name is None else 0)), [example])

    at_kink = Hyperplane(weights, bias).score_one(example[0]) == 0
    return (criterion(h) - criterion(-h)) / (2 * h) * (2 if at_kink else 1)


@given(st.lists(st.tuples(points, st.booleans()), max_size=15))
def test_perceptron_follows_gradient_descent_on_the_criterion(stream):
    model, weights, bias = Perceptron(), {}, 0.0
    for example in stream:
        steps = {name: slope(weights, bias, example, name) for name in (*example[0], None)}
        bias -= float(steps.pop(None))
        for name, step in steps.items():
            weights[name] = weights.get(name, 0.0) - float(step)
        model.learn_one(*example)
        assert (model.weights, model.bias) == ({n: w for n, w in weights.items() if w}, bias)


@given(st.lists(st.tuples(points, st.booleans()), max_size=30), st.booleans(), st.integers(1, 3))
def test_online_bound_covers_examples_since_the_last_update(stream, fit_intercept, enough):
    model = Perceptron(fit_intercept=fit_intercept)
    online = OnlineMistakeBound(enough, fit_intercept=fit_intercept)
    clean = []
    for x, y in stream:
        updates, score = model.n_updates, model.score_one(x)
        model.learn_one(x, y)
        online.observe(x, y, score, model.n_updates)
        clean = [*clean, (x, y)] if model.n_updates == updates else []
        assert online.n_examples == len(clean)
        value = online.value(model)
        if len(clean) < enough:
            assert value.updates == math.inf
            assert value.reason
        else:
            expected = mistake_bound(clean, model, fit_intercept=fit_intercept)
            assert value.updates == pytest.approx(expected.updates)
            assert value.updates >= 1 - TINY


def test_online_bound_excludes_ties():
    model, online = Perceptron(update_on_tie=False), OnlineMistakeBound(1)
    online.observe({}, False, 0.0, model.n_updates)
    assert online.n_examples == 0


def test_online_bound_without_examples_is_undefined():
    with pytest.raises(ValueError, match="min_examples"):
        OnlineMistakeBound(0)


def test_tiny_margin_gives_a_reason_instead_of_a_bound():
    bound = mistake_bound([({"x": 1e-12}, True), ({"x": 2e-12}, False)])
    assert bound.updates == math.inf
    assert "double precision" in bound.reason
