"""Numbers that a place decides."""

import math

import pytest

from perceptron_core.trees.trees import RATE, mixed, poisson

N = 4000


def test_weights_have_the_mean_and_the_variance_of_their_distribution():
    drawn = [poisson(place) for place in range(N)]
    mean = sum(drawn) / N
    variance = sum((each - mean) ** 2 for each in drawn) / N
    assert mean == pytest.approx(RATE, abs=5 * math.sqrt(RATE / N))
    assert variance == pytest.approx(RATE, rel=0.15)


def test_each_bit_of_a_mixed_number_is_set_half_of_the_time():
    drawn = [mixed(place) for place in range(N)]
    for bit in range(32):
        share = sum(each >> bit & 1 for each in drawn) / N
        assert share == pytest.approx(0.5, abs=5 * 0.5 / math.sqrt(N))


def test_the_upper_half_of_a_number_counts():
    assert len({mixed(place << 32) for place in range(N)}) > 0.99 * N
