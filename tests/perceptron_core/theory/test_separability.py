"""Every result is proven: the separator separates, the certificate certifies, the shortest is shortest."""

import math
from fractions import Fraction

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from perceptron_core import FeatureError, LabelError, linear_separability, minimum_length_solution

points = st.dictionaries(st.sampled_from("abc"), st.integers(-8, 8), max_size=3)
examples = st.lists(st.tuples(points, st.booleans()), min_size=1, max_size=12)
XOR = [({"a": a, "b": b}, a != b) for a in (0, 1) for b in (0, 1)]
NAMES = "abc\0"


def normalised(data, fit_intercept):
    """Return y·(x, 1) over `NAMES`, the last being the constant."""
    signed = [(x | ({"\0": 1} if fit_intercept else {}), 1 if y else -1) for x, y in data]
    return [[sign * x.get(name, 0) for name in NAMES] for x, sign in signed]


def vector(plane):
    return [plane.weights.get(name, 0.0) for name in NAMES[:-1]] + [plane.bias]


def dot(z, a):
    return sum(Fraction(p) * Fraction(q) for p, q in zip(z, a, strict=True))


@given(examples, st.booleans())
@example(XOR, True)
@example([({}, True)], False)
@example([({"a": 1}, True), ({"a": 1}, False)], True)
@example([({"a": 8, "b": 7}, True), ({"a": 7, "b": 6}, False), ({"a": 6, "b": 5}, True)], True)
def test_separability_is_returned_with_its_proof(data, fit_intercept):
    result = linear_separability(data, fit_intercept=fit_intercept)
    samples = normalised(data, fit_intercept)
    if result.separable:
        a = vector(result.separator)
        assert all(dot(z, a) > 0 for z in samples)  # in exact arithmetic
        assert all(result.separator.predict_one(x) == y for x, y in data)
    else:
        assert len(result.multipliers) == len(data)
        assert min(result.multipliers) >= 0
        assert sum(result.multipliers) == pytest.approx(1)
        for column in zip(*samples, strict=True):
            assert float(dot(column, result.multipliers)) == pytest.approx(0, abs=1e-8)


@given(st.lists(points, min_size=1, max_size=12), points, st.integers(-8, 8))
@example([{}, {"c": 1, "a": -1}, {"a": 0, "b": -8}, {"a": 1, "b": -1, "c": -7}, {"b": 4, "a": -2}], {}, 1)
def test_examples_labelled_by_a_hyperplane_are_separable(xs, weights, bias):
    scores = [sum(weights.get(name, 0) * value for name, value in x.items()) + bias for x in xs]
    assume(all(scores))
    data = [(x, score > 0) for x, score in zip(xs, scores, strict=True)]
    assert linear_separability(data).separable
    assert minimum_length_solution(data) is not None


def test_xor_is_proved_inseparable():
    result = linear_separability(XOR)
    assert result.separator is None
    assert result.multipliers == pytest.approx([0.25] * 4)


def test_separability_is_found_at_very_different_scales():
    data = [({"a": n * 1e-12, "b": n * 1e12}, n > 3) for n in range(8)]
    assert linear_separability(data).separable
    assert not linear_separability([*data, ({"a": 5e-12, "b": 5e12}, False)]).separable


def test_empty_set_is_separable():
    assert linear_separability([]).separable
    assert vector(minimum_length_solution([])) == [0, 0, 0, 0]


@given(examples, st.booleans(), st.sampled_from([1.0, 0.25, 10.0]))
@example([({"a": 3}, True), ({"a": 1}, False)], True, 1.0)
def test_minimum_length_solution_satisfies_its_kkt_conditions(data, fit_intercept, margin):
    solution = minimum_length_solution(data, margin, fit_intercept=fit_intercept)
    if solution is None:
        assert not linear_separability(data, fit_intercept=fit_intercept).separable
        return
    samples = normalised(data, fit_intercept)
    a = vector(solution)
    slack = [float(dot(z, a)) - margin for z in samples]
    assert min(slack) >= -1e-6 * margin  # primal feasibility
    assert min(solution.multipliers) >= 0  # dual feasibility
    for column, component in zip(zip(*samples, strict=True), a, strict=True):  # stationarity
        assert float(dot(column, solution.multipliers)) == pytest.approx(
            component, rel=1e-6, abs=1e-6 * margin
        )
    largest = max(solution.multipliers)
    for multiplier, s in zip(solution.multipliers, slack, strict=True):  # complementary slackness
        assert multiplier <= 1e-6 * largest or s <= 1e-6 * margin


@given(examples)
def test_minimum_length_solution_has_the_largest_margin(data):
    result = linear_separability(data)
    assume(result.separable)
    separator, best = vector(result.separator), vector(minimum_length_solution(data))
    samples = normalised(data, fit_intercept=True)

    def margin(a):
        return min(float(dot(z, a)) for z in samples) / math.hypot(*a)

    assert margin(best) >= margin(separator) * (1 - 1e-6)


def test_margin_scales_the_minimum_length_solution():
    data = [({"x": 3.0}, True), ({"x": 1.0}, False)]
    solution = minimum_length_solution(data, margin=5.0)
    assert (solution.weights["x"], solution.bias) == (pytest.approx(5.0), pytest.approx(-10.0))


@pytest.mark.parametrize("margin", [0.0, -1.0, math.nan, math.inf])
def test_non_positive_margin_is_rejected(margin):
    with pytest.raises(ValueError, match="margin"):
        minimum_length_solution([], margin)


@pytest.mark.parametrize("solve", [linear_separability, minimum_length_solution])
def test_invalid_examples_are_rejected(solve):
    with pytest.raises(FeatureError):
        solve([({"x": math.inf}, True)])
    with pytest.raises(LabelError):
        solve([({"x": 1.0}, "spam")])
