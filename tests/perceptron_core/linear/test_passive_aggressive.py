import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from river import datasets, linear_model

from perceptron_core import PassiveAggressive
from tests.support.learners import TWO_CLASS, any_of, examples, learn, streams

variants = st.sampled_from(["PA", "PA-I", "PA-II"])
UNDOABLE = {name: model for name, model in TWO_CLASS.items() if hasattr(model, "undo_one")}
prices = st.sampled_from([0.01, 0.5, 1.0, 100.0])


def signed(model, x, y):
    return (1 if y else -1) * model.score_one(x)


def squared_norm(x, fit_intercept):
    return sum(value * value for value in x.values()) + fit_intercept


@given(streams, examples, st.booleans())
def test_after_an_unconstrained_step_the_signed_score_is_one(stream, last, fit_intercept):
    model = learn(PassiveAggressive(variant="PA", fit_intercept=fit_intercept), stream)
    x, y = last
    assume(signed(model, x, y) < 1 and squared_norm(x, fit_intercept))
    model.learn_one(x, y)
    assert signed(model, x, y) == pytest.approx(1.0, rel=1e-9)


@given(streams, examples, st.booleans(), variants, prices, st.sampled_from([1.0, 0.25, 3.0]))
def test_step_equals_the_formula_of_the_paper(stream, last, fit_intercept, variant, price, w):
    model = learn(PassiveAggressive(C=price, variant=variant, fit_intercept=fit_intercept), stream)
    x, y = last
    norm = squared_norm(x, fit_intercept)
    loss = max(0.0, 1.0 - signed(model, x, y))
    assume(norm)
    tau = {
        "PA": loss / norm,
        "PA-I": min(price * w, loss / norm),
        "PA-II": loss / (norm + 1 / (2 * price * w)),
    }[variant]
    before = {name: model.weights.get(name, 0.0) for name in x} | {"bias": model.bias}
    step = model.update_one(x, y, w)
    assert step == pytest.approx(tau if y else -tau, rel=1e-12)
    for name, value in x.items():
        assert model.weights.get(name, 0.0) == pytest.approx(before[name] + step * value, abs=1e-12)
    assert model.bias == pytest.approx(before["bias"] + step * fit_intercept)


@given(any_of(UNDOABLE), streams, examples)
def test_undo_removes_an_update(model, stream, extra):
    learn(model, stream)
    before = (dict(model.weights), model.bias)
    model.undo_one(extra[0], model.update_one(*extra))
    assert model.bias == pytest.approx(before[1], abs=1e-12)
    for name in model.weights | before[0]:
        assert model.weights.get(name, 0.0) == pytest.approx(before[0].get(name, 0.0), abs=1e-12)


def test_scores_without_intercept_equal_river():
    ours = PassiveAggressive(C=0.1, fit_intercept=False)
    rivers = linear_model.PAClassifier(C=0.1, learn_intercept=False)
    for x, y in datasets.Phishing():
        ours.learn_one(x, y)
        rivers.learn_one(x, y)
    assert ours.weights == pytest.approx(dict(rivers.weights))
