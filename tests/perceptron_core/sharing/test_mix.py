"""A mix is a pure function of its contributions, in the order of the lanes."""

from __future__ import annotations

import pytest

from perceptron_core import DamagedError, MulticlassPerceptron, Perceptron
from perceptron_core.sharing.mix import mix
from perceptron_core.sharing.shared_model import SharedModel
from tests.perceptron_core.sharing.lanes import Learn, close, lanes_of, learn


def test_a_mix_weighs_shifts_by_their_updates():
    lanes = lanes_of("perceptron-no-intercept", 2)
    lanes[0].model.learn_one({"f1": 1.0}, True)
    lanes[1].model.learn_one({"f1": 1.0}, False)
    lanes[1].model.learn_one({"f1": 2.0, "f2": 4.0}, False)
    lanes[1].model.learn_one({"f1": 4.5, "f2": 1.0}, True)
    assert lanes[1].model.weights["f1"] == -1 + 4.5  # in two updates
    close(lanes)
    assert lanes[0].model.weights["f1"] == pytest.approx((1 * 2 + 3.5 * 3) / (1 + 3))


def test_whole_shifts_are_mixed_to_a_whole_one():
    lanes = lanes_of("perceptron-no-intercept", 2)
    for lane, shift in zip(lanes, (1.0, 2.0), strict=True):
        lane.model.learn_one({"f1": shift, "f2": shift / 2}, True)
    close(lanes)
    assert lanes[0].model.weights == {"f1": 2.0, "f2": 1.0}  # 6 / 3, 3 / 3
    for lane, shift in zip(lanes, (3.0, 1.0), strict=True):
        lane.model.learn_one({"f1": -shift, "f3": shift}, True)
        lane.model.learn_one({"f1": -shift, "f3": shift, "f4": -shift}, False)
    close(lanes)
    assert all(weight == int(weight) for weight in lanes[0].model.weights.values())


def test_a_coordinate_of_one_lane_keeps_its_shift():
    lanes = lanes_of("perceptron-no-intercept", 2)
    lanes[0].model.learn_one({"f1": 0.3}, True)
    close(lanes)
    assert lanes[0].model.weights == {"f1": 0.3}


def test_classes_come_in_the_order_of_the_lanes():
    lanes = [SharedModel(MulticlassPerceptron()) for _ in range(2)]
    lanes[0].model.learn_one({"x": 1.0}, "b")
    lanes[1].model.learn_one({"x": 1.0}, "c")
    lanes[1].model.learn_one({"x": 1.0}, "a")
    lanes[0].model.learn_one({"x": 1.0}, "d")
    close(lanes)
    assert lanes[0].model.labels == ["b", "d", "c", "a"]
    assert set(lanes[1].model.labels) == {"a", "b", "c", "d"}


def test_a_class_that_is_none_of_the_models_is_refused():
    lanes = [SharedModel(MulticlassPerceptron(["a", "b"])), SharedModel(MulticlassPerceptron(["a", "c"]))]
    for lane, label in zip(lanes, "bc", strict=True):
        lane.model.learn_one({"x": 1.0}, label)
    contributions = [lane.contribute() for lane in lanes]
    with pytest.raises(ValueError, match="label 'c' is none of"):
        lanes[0].apply(mix(contributions), contributions[0])


def test_no_contributions_make_no_mix():
    with pytest.raises(ValueError, match="at least one contribution"):
        mix([])


def test_contributions_to_different_bases_make_no_mix():
    one, other = lanes_of("perceptron", 2)
    close([one])
    with pytest.raises(ValueError, match="contribution 1 is to Perceptron after round 1"):
        mix([other.contribute(), one.contribute()])


def test_contributions_of_different_models_make_no_mix():
    with pytest.raises(ValueError, match="contribution 1 is to MulticlassPerceptron"):
        mix([SharedModel(Perceptron()).contribute(), SharedModel(MulticlassPerceptron()).contribute()])


def test_what_is_no_contribution_is_damaged():
    with pytest.raises(DamagedError, match="this is no perceptron-contribution"):
        mix([b"nothing"])


def test_a_mix_says_what_it_is_made_of():
    lanes = lanes_of("perceptron", 2)
    for lane, k in zip(lanes, (1, 2), strict=True):
        learn(lane.model, Learn(0, {k: 1.0, 3: 1.0}, 1))
    made = mix([lane.contribute() for lane in lanes])
    assert (made.n_updates, made.n_coordinates) == (2, 3)
    assert list(made.coordinates) == ["f1", "f3", "f2"]
