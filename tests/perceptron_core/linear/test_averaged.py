from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from river.optim.schedulers import InverseScaling

from perceptron_core import AveragedPerceptron, Perceptron
from tests.support.learners import learn, streams

NAMES = "abcde"


def iterates(stream, **parameters):
    """Yield the plain perceptron's (bias, weights) after each example, as lists of exact numbers."""
    model = Perceptron(**parameters)
    for x, y in stream:
        model.learn_one(x, y)
        yield [Fraction(value) for value in (model.bias, *(model.weights.get(name, 0.0) for name in NAMES))]


def vector(model):
    return [model.bias, *(model.weights.get(name, 0.0) for name in NAMES)]


@given(streams, st.booleans())
def test_averaged_weights_are_the_exact_mean_of_iterates(stream, fit_intercept):
    model = learn(AveragedPerceptron(fit_intercept=fit_intercept), stream)
    trail = list(iterates(stream, fit_intercept=fit_intercept))
    means = [float(sum(column) / len(trail)) for column in zip(*trail, strict=True)]
    assert vector(model) == (means or [0.0] * 6)


@given(streams, st.sampled_from([0.01, 0.3, 0.9, 0.999]))
def test_decaying_mean_follows_its_recursion(stream, decay):
    model, total, mass = AveragedPerceptron(decay=decay), [0.0] * 6, 0.0
    for (x, y), iterate in zip(stream, iterates(stream), strict=True):
        model.learn_one(x, y)
        total = [decay * t + float(w) for t, w in zip(total, iterate, strict=True)]
        mass = decay * mass + 1
        assert vector(model) == pytest.approx([t / mass for t in total], rel=1e-9, abs=1e-9)


def test_decaying_mean_stays_exact_over_a_long_stream():
    model, mean = AveragedPerceptron(decay=0.5), 0.0
    plain = Perceptron()
    for number in range(3000):
        example = ({"a": 1.0 + number % 3}, number % 7 < 3)
        learn(model, [example])
        learn(plain, [example])
        mean = 0.5 * mean + 0.5 * plain.weights.get("a", 0.0)
    assert model.weights["a"] == pytest.approx(mean, rel=1e-9)


@given(streams, st.sampled_from([1.0, 0.5]))
def test_learner_updates_on_mistakes_of_its_last_weights(stream, decay):
    model, plain = learn(AveragedPerceptron(decay=decay), stream), learn(Perceptron(), stream)
    assert (model.current_weights, model.current_bias) == (plain.weights, plain.bias)
    assert (model.n_updates, model.n_examples) == (plain.n_updates, len(stream))


def test_schedule_sets_the_step_of_each_update():
    model = AveragedPerceptron(learning_rate=InverseScaling(1.0, power=1.0))
    assert [model.update_one({}, y) for y in (True, False, False, True)] == [1.0, -0.5, -1 / 3, 0.0]
