"""Each kind of number is mixed by its rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core.sharing.kinds import KINDS

shifts = st.floats(-1e6, 1e6)
weights = st.floats(1e-3, 1e6)


@pytest.mark.parametrize("kind", [kind for name, kind in KINDS.items() if name != "maximum"])
@given(shift=shifts, weight=weights)
def test_what_one_lane_contributes_comes_out_to_the_bit(kind, shift, weight):
    assert kind.mixed(shift, weight * shift, weight, 3.0, 10.0) == shift


@given(shifts, shifts, st.integers(1, 9), st.integers(1, 9))
def test_a_mean_weighs_by_one_more_than_the_updates(s, t, c, d):
    mixed = KINDS["mean"].mixed(s + t, s * c + t * d, c + d, 1.0, 1.0)
    assert mixed == pytest.approx((s * (1 + c) + t * (1 + d)) / (1 + c + d), rel=1e-9, abs=1e-6)


@given(shifts, shifts, st.integers(1, 9), st.integers(1, 9), st.floats(1, 100), st.floats(0, 1e6))
def test_a_confident_mean_is_between_sum_and_mean_by_the_gain(s, t, c, d, p, gain):
    total, weighted = s + t, s * c + t * d
    theta = p / (p + 10 * gain)
    mixed = KINDS["confident mean"].mixed(total, weighted, c + d, p, gain)
    expected = theta * total + (1 - theta) * weighted / (c + d)
    assert mixed == pytest.approx(expected, rel=1e-6, abs=1e-6)


@given(shifts, shifts)
def test_gains_of_learners_that_forget_are_averaged(one, other):
    assert KINDS["mean precision"].mixed(one + other, one + other, 2.0, 1.0, 0.0) == pytest.approx(
        (one + other) / 2
    )


@given(st.floats(1e-6, 1), st.floats(-1e9, 1e9))
def test_a_variance_is_at_most_1(variance, mixed):
    base = KINDS["precision"].rebased(0.0, mixed)
    assert 0 < KINDS["precision"].moved(variance, 0.0, base, 0.0) <= 1


def test_precisions_add():
    base = KINDS["precision"].rebased(
        0.0, KINDS["precision"].shift(0.5, 0.0) + KINDS["precision"].shift(0.25, 0.0)
    )
    assert 1 / KINDS["precision"].moved(1.0, 0.0, base, 0.0) == 1 + 1 + 3


@given(shifts, shifts)
def test_a_maximum_is_the_largest_seen(one, other):
    assert (
        KINDS["maximum"].rebased(one, KINDS["maximum"].total(0.0, other)) == max(one, other, 0.0) or one < 0
    )


def test_an_amount_is_never_negative():
    assert KINDS["amount"].rebased(1.0, -2.0) == 0.0
    assert KINDS["amount"].moved(0.5, 1.0, 0.0, 0.0) == 0.0


def test_an_average_is_taken_over_by_lanes_that_did_not_contribute():
    assert KINDS["average"].moved(5.0, 1.0, 2.0, KINDS["average"].absent(5.0)) == 2.0
