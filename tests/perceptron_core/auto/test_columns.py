"""The mean and deviation by which columns of numbers are standardised."""

import random
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core import HoeffdingForest
from tests.perceptron_core.auto.laws import check_it_goes_on_from_bytes


def taught(values):
    model = HoeffdingForest()
    for value in values:
        model.learn_one({"a": value}, value > 0)
    return model


def deviation(values):
    """Return the deviation that a column with these values has in the end."""
    state = taught(values).maps.columns.get_state()
    return sqrt(state["squares"][0] / state["counts"][0])


def drawn(n, seed=1, scale=1.0):
    draw = random.Random(seed)
    return [draw.gauss(0, scale) for _ in range(n)]


@given(st.integers(0, 15), st.floats(1e3, 1e100), st.booleans())
def test_early_wrong_value_does_not_spoil_its_column(at, wrong, is_negative):
    values = drawn(200)
    values[at] = -wrong if is_negative else wrong
    assert deviation(values) < 1.5


@pytest.mark.parametrize(("share", "most"), [(0.01, 1.5), (0.03, 2.5)])
def test_repeated_wrong_value_does_not_spoil_its_column(share, most):
    draw = random.Random(2)
    assert deviation(-9999.0 if draw.random() < share else value for value in drawn(5000)) < most


def test_scale_that_changes_is_followed():
    assert deviation([*drawn(500), *drawn(500, 2, 1000.0)]) > 500


def test_column_that_is_mostly_zero_keeps_its_deviation():
    draw = random.Random(3)
    values = [draw.uniform(2, 6) if draw.random() < 0.01 else 0.0 for _ in range(5000)]
    mean = sum(values) / len(values)
    exact = sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    assert deviation(values) == pytest.approx(exact, rel=0.1)


@pytest.mark.parametrize("n", [3, 15, 16, 40])
def test_columns_from_bytes_continue_unchanged(n):
    values = [1e6, *drawn(n - 1)]
    check_it_goes_on_from_bytes(
        taught(values), (({"a": v}, v > 0) for v in [*drawn(20, 2), *[50.0] * 5, 0.0])
    )
