"""Coin betting against its formula in plain algebra."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core import CoinBetting, from_bytes, to_bytes

NAMES = "abcd"
xs = st.dictionaries(st.sampled_from(NAMES), st.sampled_from([-9.0, -1.0, 0.0, 0.5, 2.0]), max_size=4)
streams = st.lists(st.tuples(xs, st.booleans()), max_size=30)


def formula(stream):
    """Return the weights of the formula, that of the constant feature under None."""
    start = dict.fromkeys([*NAMES, None], 0.0)
    bound, size, reward, total, weight = (dict(start) for _ in range(5))
    for x, y in stream:
        entries = {**x, None: 1.0}
        sign = 1 if y else -1
        a = math.fsum(weight[name] * value for name, value in entries.items())
        slope = -sign / (1 + math.exp(sign * a))
        for name, value in entries.items():
            if value:
                g = slope * value
                bound[name] = max(bound[name], abs(value))
                size[name] += abs(g)
                reward[name] = max(reward[name] - g * weight[name], 0.0)
                total[name] -= g
                share = total[name] / (bound[name] * (size[name] + bound[name]))
                weight[name] = share * (bound[name] / 2 + reward[name])
    return weight


@given(stream=streams)
def test_coin_betting_is_the_formula(stream):
    model = CoinBetting()
    for x, y in stream:
        model.learn_one(x, y)
    expected = formula(stream)
    for name in NAMES:
        assert model.weights.get(name, 0.0) == pytest.approx(expected[name], rel=1e-9, abs=1e-12)
    assert model.bias == pytest.approx(expected[None], rel=1e-9, abs=1e-12)


@given(stream=streams)
def test_weights_that_are_not_written_down_come_back_to_the_bit(stream):
    model = CoinBetting()
    for x, y in stream:
        model.learn_one(x, y)
    restored = from_bytes(to_bytes(model))
    assert (restored.weights, restored.bias) == (model.weights, model.bias)


def test_the_first_bet_worked_by_hand():
    model = CoinBetting(fit_intercept=False)
    model.learn_one({"a": 2.0}, True)  # g = −1/2, so gᵢ = −1: L = 2, G = 1, R = 0, T = 1
    assert model.weights == {"a": 1 / (2 * (1 + 2)) * (2 / 2 + 0)}
