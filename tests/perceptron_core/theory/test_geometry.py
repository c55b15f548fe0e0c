"""Distances, margin and radius, on numbers that can be checked by hand and on any."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from perceptron_core import FeatureError, Hyperplane, LabelError, Perceptron, margin, radius, signed_distances

integers = st.integers(-8, 8)
vectors = st.dictionaries(st.sampled_from("abc"), integers, max_size=3)
examples = st.lists(st.tuples(vectors, st.booleans()), max_size=10)


def test_distances_are_signed_by_the_label():
    plane = Hyperplane({"x": 3.0, "y": 4.0}, bias=5.0)
    data = [({"x": 5.0}, True), ({"x": 5.0}, False), ({}, 1), ({"y": -5.0}, -1)]
    assert signed_distances(plane, data) == [4.0, -4.0, 1.0, 3.0]


def test_threshold_moves_the_hyperplane_as_a_negative_bias_does():
    model = Perceptron(threshold=2.0)
    model.weights = {"x": 1.0}
    assert signed_distances(model, [({"x": 5.0}, True)]) == [3.0]


@given(vectors, integers, examples)
def test_margin_is_positive_exactly_where_the_model_separates(weights, bias, data):
    assume(any(weights.values()))
    plane = Hyperplane(weights, bias)
    separates = all((plane.score_one(x) > 0) if y else (plane.score_one(x) < 0) for x, y in data)
    assert (margin(plane, data) > 0) == separates


def test_distance_without_weights_is_undefined():
    with pytest.raises(ValueError, match="all weights are 0"):
        margin(Perceptron(), [({"x": 1.0}, True)])


def test_radius_counts_the_constant_feature_of_an_intercept():
    data = [({"x": 3.0, "y": 4.0}, True), ({"x": -1.0}, False)]
    assert radius(data) == 5
    assert radius(data, fit_intercept=True) == math.sqrt(26)


def test_invalid_examples_are_rejected():
    with pytest.raises(FeatureError):
        margin(Hyperplane({"x": 1.0}), [({"x": math.nan}, True)])
    with pytest.raises(LabelError):
        margin(Hyperplane({"x": 1.0}), [({"x": 1.0}, "spam")])
