"""The textbook's claims about `Perceptron`, and River's."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from river import compose, datasets, linear_model, preprocessing

from perceptron_core import FeatureError, LabelError, LearnerError, MarginPerceptron, Perceptron
from tests.support.learners import examples, integers, learn, streams

RULES = [
    pytest.param({"tie": tie, "update_on_tie": update_on_tie}, id=f"tie={tie},update_on_tie={update_on_tie}")
    for tie in (False, True)
    for update_on_tie in (False, True)
]


def test_worked_example_of_gormley_makes_its_three_mistakes_and_ends_at_3_1():
    model = Perceptron(tie=True, update_on_tie=False, fit_intercept=False)
    stream = [
        ((-1, 2), False),
        ((1, 0), True),
        ((1, 1), True),
        ((-1, 0), False),
        ((-1, -2), False),
        ((1, -1), True),
    ]
    trail, mistakes = [], []
    for number, ((x1, x2), y) in enumerate(stream, start=1):
        x = {1: x1, 2: x2}
        if model.predict_one(x) != y:
            mistakes.append(number)
        model.learn_one(x, y)
        trail.append((model.weights.get(1, 0), model.weights.get(2, 0)))
    assert mistakes == [1, 3, 5]
    assert trail == [(1, -2), (1, -2), (2, -1), (2, -1), (3, 1), (3, 1)]
    assert model.n_mistakes == model.n_updates == 3


@pytest.mark.parametrize(
    ("tie", "y", "mistake"), [(False, True, 1), (False, False, 0), (True, False, 1), (True, True, 0)]
)
def test_tie_decides_what_is_predicted_at_the_threshold(tie, y, mistake):
    model = Perceptron(tie=tie, threshold=2.0)
    model.bias = 2.0
    assert model.predict_one({}) is tie
    model.learn_one({}, y)
    assert model.n_mistakes == mistake


def test_a_tie_updates_without_a_mistake_only_if_asked_to():
    sen, gormley = Perceptron(), Perceptron(update_on_tie=False)
    for model in (sen, gormley):
        model.learn_one({"a": 1.0}, False)
    assert (sen.n_mistakes, sen.n_updates, sen.weights) == (0, 1, {"a": -1.0})
    assert (gormley.n_mistakes, gormley.n_updates, gormley.weights) == (0, 0, {})


def test_the_sign_of_a_tiny_score_decides_where_a_sigmoid_would_not():
    model = Perceptron()
    model.bias = 1e-17
    assert model.predict_one({}) is True
    assert model.predict_proba_one({})[True] == 0.5


@given(streams, examples, st.booleans(), st.sampled_from([1.0, 0.5, 4.0]))
def test_an_update_raises_the_signed_score_by_rate_times_squared_norm_plus_one(
    stream, last, fit_intercept, rate
):
    model = learn(Perceptron(fit_intercept=fit_intercept, learning_rate=rate), stream)
    x, y = last
    sign = 1 if y else -1
    before, updates = sign * model.score_one(x), model.n_updates
    model.learn_one(x, y)
    gain = rate * (sum(v * v for v in x.values()) + fit_intercept)
    assert sign * model.score_one(x) - before == (gain if model.n_updates > updates else 0)


@given(streams)
def test_nothing_is_written_on_a_correct_prediction(stream):
    model = Perceptron(update_on_tie=False)
    for x, y in stream:
        before = pickle.dumps(model)
        correct = model.predict_one(x) == y
        model.learn_one(x, y)
        assert (pickle.dumps(model) == before) == correct


@given(streams, st.booleans(), st.booleans())
def test_folding_the_bias_into_a_constant_feature_changes_nothing(stream, tie, update_on_tie):
    rule = {"tie": tie, "update_on_tie": update_on_tie}
    plain = learn(Perceptron(**rule), stream)
    folded = learn(Perceptron(**rule, fit_intercept=False), [({"x0": 1} | x, y) for x, y in stream])
    assert folded.weights.get("x0", 0.0) == plain.bias
    assert {name: w for name, w in folded.weights.items() if name != "x0"} == plain.weights
    assert (folded.n_mistakes, folded.n_updates) == (plain.n_mistakes, plain.n_updates)


@given(streams, st.integers(-5, 5))
def test_a_threshold_is_an_initial_bias_of_its_negative(stream, threshold):
    fired_above = learn(Perceptron(threshold=threshold), stream)
    biased = Perceptron()
    biased.bias = float(-threshold)
    learn(biased, stream)
    assert fired_above.weights == biased.weights
    assert fired_above.bias - threshold == biased.bias


@given(streams)
def test_the_weights_are_the_sum_of_the_examples_it_erred_on(stream):
    model = Perceptron(update_on_tie=False)
    dual = {}
    for x, y in stream:
        if model.predict_one(x) != y:
            for name, value in x.items():
                dual[name] = dual.get(name, 0) + (value if y else -value)
        model.learn_one(x, y)
    assert model.weights == {name: value for name, value in dual.items() if value}


@given(streams)
def test_the_learning_rate_scales_the_weights_and_changes_no_prediction(stream):
    one, eight = Perceptron(), Perceptron(learning_rate=8.0)
    for x, y in stream:
        assert one.predict_one(x) == eight.predict_one(x)
        one.learn_one(x, y)
        eight.learn_one(x, y)
    assert {name: 8 * w for name, w in one.weights.items()} == eight.weights


@given(
    st.lists(st.tuples(integers, integers, integers), min_size=1, max_size=15),
    st.tuples(integers, integers, integers),
)
@example([(1, 0, 0)], (1, 0, 0))
def test_separable_data_costs_at_most_r_over_gamma_squared_updates(points, separator):
    margins = [sum(p * s for p, s in zip(point, separator, strict=True)) for point in points]
    assume(all(margins))
    stream = [(dict(enumerate(point)), m > 0) for point, m in zip(points, margins, strict=True)]
    squared_radius = max(sum(p * p for p in point) for point in points)
    squared_gamma = Fraction(min(abs(m) for m in margins) ** 2, sum(s * s for s in separator))
    bound = squared_radius / squared_gamma
    model = Perceptron(fit_intercept=False)
    for _ in range(math.floor(bound) + 1):  # one more epoch than it can have epochs with a mistake
        learn(model, stream)
    assert model.n_updates <= bound
    assert all(model.predict_one(x) == y for x, y in stream)


@given(streams, examples)
def test_an_undone_update_leaves_exact_weights_as_if_it_had_not_been(stream, extra):
    model = learn(Perceptron(), stream)
    before = (dict(model.weights), model.bias)
    step = model.update_one(*extra)
    model.undo_one(extra[0], step)
    assert (model.weights, model.bias) == before


@given(streams)
def test_no_weight_of_zero_is_stored(stream):
    model = learn(Perceptron(), stream)
    assert all(model.weights.values())


@pytest.mark.parametrize(
    ("label", "bias"),
    [(True, 1), (1, 1), (np.True_, 1), (np.int64(1), 1), (False, -1), (0, -1), (-1, -1), (np.int8(-1), -1)],
)
def test_labels_may_be_booleans_bits_or_signs(label, bias):
    assert learn(Perceptron(), [({}, label)]).bias == bias


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32, np.bool_])
def test_numpys_scalars_count_as_doubles(kind):
    ours, plain = Perceptron(), Perceptron()
    stream = [({"a": kind(number % 3), "b": kind(0.1 * number)}, number % 2 == 0) for number in range(50)]
    for x, y in stream:
        ours.learn_one(x, y)
        plain.learn_one({name: float(value) for name, value in x.items()}, y)
        assert type(ours.score_one(x)) is float
    assert (ours.weights, ours.bias) == (plain.weights, plain.bias)


def test_makes_the_predictions_of_rivers_perceptron_wherever_the_score_is_no_tie():
    ours, rivers = Perceptron(update_on_tie=True), linear_model.Perceptron()
    for x, y in datasets.Phishing():
        score = ours.score_one(x)
        if score:
            assert ours.predict_one(x) == rivers.predict_one(x)
        ours.learn_one(x, y)
        rivers.learn_one(x, y)
        # River's hinge also steps at a = 0; both walk the same path.
    assert ours.bias == pytest.approx(rivers.intercept)


def test_works_at_the_end_of_a_river_pipeline():
    model = compose.Pipeline(preprocessing.StandardScaler(), Perceptron())
    correct = 0
    for x, y in datasets.Phishing():
        correct += model.predict_one(x) == y
        model.learn_one(x, y)
    assert correct / 1250 > 0.84


def test_every_refusal_is_a_value_error():
    assert issubclass(LearnerError, ValueError)
    assert issubclass(FeatureError, LearnerError)
    assert issubclass(LabelError, LearnerError)


@given(streams, st.booleans(), st.sampled_from([0.0, 0.5]), st.booleans())
def test_with_margin_zero_it_is_the_perceptron_that_updates_on_ties(stream, tie, threshold, fit_intercept):
    rule = {"tie": tie, "threshold": threshold, "fit_intercept": fit_intercept}
    plain, wide = learn(Perceptron(**rule), stream), learn(MarginPerceptron(margin=0.0, **rule), stream)
    assert plain._get_state() == wide._get_state()


@given(streams, examples, st.integers(0, 50))
def test_it_updates_just_when_the_signed_score_is_at_most_the_margin(stream, last, margin):
    model = learn(MarginPerceptron(margin=margin), stream)
    x, y = last
    signed, updates = (1 if y else -1) * model.score_one(x), model.n_updates
    model.learn_one(x, y)
    assert (model.n_updates > updates) == (signed <= margin)


def test_a_correct_guess_too_close_is_an_update_but_no_mistake():
    model = MarginPerceptron(margin=1.0)
    for _ in range(3):
        model.learn_one({"a": 0.5}, True)
    assert (model.n_mistakes, model.n_updates) == (1, 1)
    model.learn_one({}, True)
    assert (model.n_mistakes, model.n_updates) == (1, 2)


def test_on_separable_data_it_ends_with_the_margin_it_asks_for():
    stream = [({"a": a, "b": b}, a + b > 0) for a in range(-3, 4) for b in range(-3, 4) if a + b]
    model = MarginPerceptron(margin=5.0)
    for _ in range(100):
        learn(model, stream)
    assert all((1 if y else -1) * model.score_one(x) > 5.0 for x, y in stream)
