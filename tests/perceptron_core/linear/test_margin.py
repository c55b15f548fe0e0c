from hypothesis import given
from hypothesis import strategies as st

from perceptron_core import MarginPerceptron, Perceptron
from tests.support.learners import examples, learn, streams


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
