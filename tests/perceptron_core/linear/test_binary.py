"""What every two-class learner keeps to, whatever its rule."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perceptron_core import FeatureError, LabelError, to_bytes
from tests.support.example_counts import n_examples
from tests.support.learners import TWO_CLASS, any_of, examples, learn, streams, variants

LEARNED = [({"a": 1.0, "b": 1.0}, True), ({"a": 1.0, "c": -2.0}, False), ({"b": 3.0}, False)]
HUGE = [1e100, -1e100, 1e-100, 5e-324, 1.0, 1e50, 0.0, 3.7]


@pytest.fixture(params=[name for name in TWO_CLASS if "(" not in name])
def models(request):
    """Return a learner with all the parameters that it is tested with."""
    return [*variants(TWO_CLASS, request.param)]


def state(model):
    return to_bytes(model)


def numbers(value):
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from numbers(part)
    elif isinstance(value, float):
        yield value


def test_log_odds_score_estimates_the_share_of_a_biased_coin():
    for name, learner in TWO_CLASS.items():
        if learner.has_log_odds and name != "mixture(of any)":  # whose experts have none
            model = learn(learner.clone(), [({"a": 1.0}, k % 5 != 2) for k in range(1000)])
            assert model.predict_proba_one({"a": 1.0})[True] == pytest.approx(0.8, abs=0.05), name


def test_value_that_is_not_finite_is_rejected_without_change(models):
    for model in models:
        before = state(learn(model, LEARNED))
        for value in (math.nan, math.inf, -math.inf, 1e101, "12", None, 1j, [1.0], np.nan):
            x = {"a": 1.0, "b": value}
            for call in (model.score_one, model.predict_one, model.predict_proba_one, model.debug_one):
                with pytest.raises(FeatureError, match="'b'"):
                    call(x)
            with pytest.raises(FeatureError, match="'b'"):
                model.learn_one(x, False)
        assert state(model) == before


def test_integer_beyond_double_range_is_not_reported_as_infinite(models):
    for model in models:
        for value in (10**400, 10**5000):  # of more digits than Python writes
            with pytest.raises(FeatureError, match="'b' is beyond the range of a double"):
                model.score_one({"a": 1.0, "b": value})


@pytest.mark.parametrize("x", [None, [1.0], "win"])
def test_event_of_another_type_is_rejected_by_type(models, x):
    for model in models:
        for call in (model.score_one, model.predict_one, lambda x: model.learn_one(x, True)):  # noqa: B023
            with pytest.raises(TypeError, match=f"x: expected a dictionary .*, got {type(x).__name__}"):
                call(x)


def test_unknown_label_is_rejected_and_nothing_changes(models):
    for model in models:
        before = state(learn(model, LEARNED))
        for label in ("spam", 2, 0.5, None, math.nan, []):
            with pytest.raises(LabelError):
                model.learn_one({"a": 1.0}, label)
        assert state(model) == before


def test_invalid_example_weight_is_rejected_without_change(models):
    for model in models:
        before = state(learn(model, LEARNED))
        for w in (-1.0, math.nan, math.inf, 1e26):
            with pytest.raises(ValueError, match="weight of an example"):
                model.learn_one({"a": 1.0}, True, w=w)
        assert state(model) == before


@given(
    model=any_of(TWO_CLASS),
    stream=st.lists(
        st.tuples(
            st.dictionaries(
                st.sampled_from("abcd"), st.sampled_from(HUGE) | st.floats(-1e100, 1e100), max_size=4
            ),
            st.booleans(),
            st.sampled_from([1.0, 1e25, 1e-300, 0.5]),
        ),
        max_size=40,
    ),
)
@settings(max_examples=n_examples(600))
def test_valid_values_never_overflow(model, stream):
    learn(model, stream)
    assert all(map(math.isfinite, numbers(model._get_state())))
    assert all(math.isfinite(model.score_one(x)) for x, _, _ in stream)
    assert math.isfinite(model.score_one(dict.fromkeys("abcd", 1e100)))


@given(model=any_of(TWO_CLASS), stream=streams)
@settings(max_examples=n_examples(300))
def test_n_mistakes_counts_wrong_predictions_of_predict_one(model, stream):
    mistakes = 0
    for x, y in stream:
        mistakes += model.predict_one(x) != y
        model.learn_one(x, y)
    assert model.n_mistakes == mistakes


@given(model=any_of(TWO_CLASS), stream=streams)
@settings(max_examples=n_examples(300))
def test_predict_learn_equals_score_one_then_update_one(model, stream):
    one, other = model, model.clone()
    for x, y in stream:
        assert one.predict_learn(x, y) == (other.score_one(x), other.update_one(x, y))
    assert state(one) == state(other)


def test_predict_learn_rejects_what_learn_one_rejects_without_change(models):
    for model in models:
        before = state(model)
        for x, y, w in (({"a": math.nan}, True, 1.0), ({"a": 1.0}, "spam", 1.0), ({"a": 1.0}, True, -1.0)):
            with pytest.raises(ValueError):  # noqa: PT011  FeatureError and LabelError are of that kind
                model.predict_learn(x, y, w)
        model.predict_learn({"a": 1.0}, True, 0.0)
        assert state(model) == before


@given(model=any_of(TWO_CLASS), stream=streams, last=examples)
@settings(max_examples=n_examples(300))
def test_step_moves_towards_the_truth_exactly_on_updates(model, stream, last):
    learn(model, stream)
    before = model.n_updates
    step = model.update_one(*last)
    assert model.n_updates - before == (step != 0)
    assert step >= 0 if last[1] else step <= 0


@given(model=any_of(TWO_CLASS), stream=streams)
@settings(max_examples=n_examples(300))
def test_feature_without_update_is_not_stored(model, stream):
    for number, (x, y) in enumerate(stream):
        step = model.update_one(x | {f"only-{number}-here": 1.0}, y)
        assert step or f"only-{number}-here".encode() not in state(model)


def test_update_does_not_store_zero_features(models):
    for model in models:
        learn(model, [({"a": 1.0, "zero": 0.0}, True), ({"a": 1.0, "zero": 0.0}, False)])
        assert model.n_updates > 0
        assert b"zero" not in state(model)


def test_probability_is_on_the_side_of_the_prediction(models):
    for model in models:
        learn(model, LEARNED)
        for x in ({"a": 5.0}, {"c": 9.0}, {"b": -4.0}, {}):
            p = model.predict_proba_one(x)
            assert p[False] + p[True] == 1
            assert p[True] >= 0.5 if model.predict_one(x) else p[True] <= 0.5


def test_debug_one_contributions_add_up_to_the_score(models):
    for model in models:
        learn(model, LEARNED)
        x = {"a": 2, "b": True, "c": 0.5, "unknown": 1.0}
        header, *rows = model.debug_one(x, decimals=8).splitlines()
        assert header.split() == ["Name", "Value", "Weight", "Contribution"]
        contributions = [float(row.split()[-1].replace(",", "")) for row in rows]
        assert sum(contributions) == pytest.approx(model.score_one(x), abs=1e-6)
        assert contributions == sorted(contributions, reverse=True)
