"""Each kind of number is mixed by its rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core.sharing.kinds import (
    AMOUNT,
    AVERAGE,
    CONFIDENT_MEAN,
    MAXIMUM,
    MEAN,
    PRECISION,
    SUM,
    kappa_of,
)

shifts = st.floats(-1e6, 1e6)
weights = st.floats(1e-3, 1e6)


@pytest.mark.parametrize("kind", [SUM, AMOUNT, MEAN, CONFIDENT_MEAN, PRECISION, AVERAGE])
@given(shift=shifts, weight=weights)
def test_what_one_lane_contributes_comes_out_to_the_bit(kind, shift, weight):
    assert kind.mixed(shift, weight * shift, weight, 3.0, 10.0) == shift


@given(shifts, shifts, st.integers(1, 9), st.integers(1, 9))
def test_a_mean_weighs_by_one_more_than_the_updates(s, t, c, d):
    mixed = MEAN.mixed(s + t, s * c + t * d, c + d, 1.0, 1.0)
    assert mixed == pytest.approx((s * (1 + c) + t * (1 + d)) / (1 + c + d), rel=1e-9, abs=1e-6)


@given(shifts, shifts, weights, weights, st.floats(1, 100), st.floats(1, 20))
def test_a_confident_mean_weighs_by_precisions(s, t, g, h, p, kappa):
    mixed = CONFIDENT_MEAN.mixed(s + t, s * g + t * h, g + h, p, kappa)
    assert mixed == pytest.approx(
        (s * (p + kappa * g) + t * (p + kappa * h)) / (p + kappa * (g + h)), rel=1e-6, abs=1e-6
    )


def test_the_product_of_normal_distributions_is_that_with_kappa_1():
    precision, means, precisions = 2.0, [1.0, 4.0], [3.0, 5.0]  # of the base at 0, and of two lanes
    gains = [p - precision for p in precisions]
    product = sum(m * p for m, p in zip(means, precisions, strict=True)) / (precision + sum(gains))
    weighted = sum(m * g for m, g in zip(means, gains, strict=True))
    assert CONFIDENT_MEAN.mixed(sum(means), weighted, sum(gains), precision, 1.0) == pytest.approx(product)


@given(st.floats(1e-6, 1), st.floats(-1e9, 1e9))
def test_a_variance_is_at_most_1(variance, mixed):
    base = PRECISION.rebased(0.0, mixed)
    assert 0 < PRECISION.moved(variance, 0.0, base, 0.0) <= 1


def test_precisions_add():
    base = PRECISION.rebased(0.0, PRECISION.shift(0.5, 0.0) + PRECISION.shift(0.25, 0.0))
    assert 1 / PRECISION.moved(1.0, 0.0, base, 0.0) == 1 + 1 + 3


@given(shifts, shifts)
def test_a_maximum_is_the_largest_seen(one, other):
    assert MAXIMUM.rebased(one, MAXIMUM.total(0.0, other)) == max(one, other, 0.0) or one < 0


def test_an_amount_is_never_negative():
    assert AMOUNT.rebased(1.0, -2.0) == 0.0
    assert AMOUNT.moved(0.5, 1.0, 0.0, 0.0) == 0.0


def test_an_average_is_taken_over_by_lanes_that_did_not_contribute():
    assert AVERAGE.moved(5.0, 1.0, 2.0, AVERAGE.absent(5.0)) == 2.0


def test_kappa_grows_with_the_features_of_an_example():
    assert kappa_of(10) == pytest.approx(7.0)
    assert kappa_of(0) == 1.0
