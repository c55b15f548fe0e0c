"""An event that is predicted and then learned is scored once, with the results of scoring it again."""

from array import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core import AutoClassifier, to_bytes
from perceptron_core.elementary import log
from perceptron_core.mixing.mixer import RATES, LabelHistory
from tests.perceptron_core.auto.test_auto_classifier import mixed_stream


def learned(between=None, n=60):
    """Learn a stream, each event predicted before if something is to happen in between."""
    model = AutoClassifier()
    for x, y in mixed_stream(n):
        if between is not None and model.labels:
            model.predict_one(x)
            between(model, x)
        model.learn_one(x, y)
    return to_bytes(model)


def set_another_value(model, x):
    x["note"], x["a"] = "changed", 7.0
    model.predict_one(x)
    x["a"] = 1.0


def put_in_another_order(model, x):
    x["colour"] = x.pop("colour")


@pytest.mark.parametrize(
    "between",
    [
        pytest.param(lambda model, x: None, id="nothing"),
        pytest.param(lambda model, x: model.predict_proba_one(x), id="its probabilities"),
        pytest.param(lambda model, x: model.explain(x, 1), id="its explanation"),
        pytest.param(lambda model, x: model.predict_one({"a": 3.0}), id="another prediction"),
        pytest.param(lambda model, x: model.learn_one(x, True, 0.0), id="its label of weight 0"),
    ],
)
def test_events_between_prediction_and_label_change_nothing(between):
    assert learned(between) == learned()


@pytest.mark.parametrize("change", [set_another_value, put_in_another_order])
def test_event_that_changed_since_its_prediction_is_scored_again(change):
    scored, fresh = AutoClassifier(), AutoClassifier()
    for x, y in mixed_stream(60):
        scored.predict_one(x)
        change(scored, x)
        scored.learn_one(x, y)
        fresh.learn_one(dict(x), y)
    assert to_bytes(scored) == to_bytes(fresh)


def test_value_that_changed_in_place_is_read_again():
    value = np.array(1.0)
    scored, fresh = AutoClassifier(), AutoClassifier()
    for k in range(40):
        value[...] = k % 5
        scored.predict_one({"a": value, "b": 1.0 * k})
        value[...] = k % 7
        scored.learn_one({"a": value, "b": 1.0 * k}, k % 2 == 0)
        fresh.learn_one({"a": float(value), "b": 1.0 * k}, k % 2 == 0)
    assert to_bytes(scored) == to_bytes(fresh)


labels = st.lists(st.booleans(), max_size=60)


def after(stream, history=None):
    history = history or LabelHistory()
    for label in stream:
        history.count(label)
    return history


def inputs(history):
    shown = array("d", [0.0] * len(RATES))
    history.write_log_odds(shown)
    return shown.tolist()


@given(stream=labels)
def test_history_inputs_are_clipped_log_odds_of_class_shares(stream):
    expected = []
    for rate in RATES:
        share = 0.5 * rate ** len(stream)
        for age, label in enumerate(reversed(stream)):
            share += label * (1 - rate) * rate**age
        expected.append(8.0 if share >= 1 else max(-8.0, min(log(share / (1 - share)), 8.0)))
    assert inputs(after(stream)) == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_endless_labels_of_one_class_never_overflow():
    assert inputs(after([True] * 20_000)) == pytest.approx([8.0] * 4)
    assert inputs(after([False] * 20_000)) == pytest.approx([-8.0] * 4)


@given(n=st.integers(0, 40), n_of_class=st.integers(0, 40))
def test_information_of_a_label_is_its_variance(n, n_of_class):
    found = after([True] * n_of_class + [False] * n).information()
    assert 0.0 < found <= 1.0
    assert (found == 1.0) == (n == n_of_class)
    p = (n_of_class + 1) / (n + n_of_class + 2)
    assert found == pytest.approx(4 * p * (1 - p))
