"""The last labels as inputs of a mixer, and how much a label tells."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core.elementary import log
from perceptron_core.mixing.mixer import RATES, LabelHistory

labels = st.lists(st.booleans(), max_size=60)


def after(stream, history=None):
    history = history or LabelHistory()
    for label in stream:
        history.count(label)
    return history


def inputs(history):
    shown = array("d", [0.0] * len(RATES))
    history.show(shown)
    return shown.tolist()


@given(stream=labels)
def test_inputs_are_log_odds_of_discounted_shares_cut_at_8(stream):
    expected = []
    for rate in RATES:
        share = 0.5 * rate ** len(stream)
        for age, label in enumerate(reversed(stream)):
            share += label * (1 - rate) * rate**age
        expected.append(8.0 if share >= 1 else max(-8.0, min(log(share / (1 - share)), 8.0)))
    assert inputs(after(stream)) == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_labels_without_end_of_one_class_overflow_nothing():
    assert inputs(after([True] * 20_000)) == pytest.approx([8.0] * 4)
    assert inputs(after([False] * 20_000)) == pytest.approx([-8.0] * 4)


@given(n=st.integers(0, 40), n_of_class=st.integers(0, 40))
def test_a_label_tells_as_much_as_its_variance(n, n_of_class):
    found = after([True] * n_of_class + [False] * n).information()
    assert 0.0 < found <= 1.0
    assert (found == 1.0) == (n == n_of_class)
    p = (n_of_class + 1) / (n + n_of_class + 2)
    assert found == pytest.approx(4 * p * (1 - p))
