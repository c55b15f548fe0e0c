"""Weights in arrays where features are hashed: the same answers, whatever happens on the way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.models.registry import make_learner
from tests.support.learners import LINEAR

BITS = 6
NAMES = [name for name in LINEAR if "(" not in name]
examples = st.lists(
    st.tuples(st.dictionaries(st.integers(0, 2**BITS - 1), st.floats(-9, 9), max_size=5), st.booleans()),
    max_size=30,
)


@pytest.mark.parametrize("name", NAMES)
@given(stream=examples)
def test_a_learner_in_arrays_answers_and_counts_as_one_with_names(name, stream):
    named, hashed = make_learner(name, {}), make_learner(name, {}, hash_bits=BITS)
    for x, truth in stream:
        assert hashed.assess(x) == named.assess(x)
        assert hashed.learn(x, truth) == named.learn(x, truth)
    assert hashed.updates == named.updates
    assert hashed.weights() == named.weights()


@pytest.mark.parametrize("name", NAMES)
@given(stream=examples)
def test_written_down_and_read_it_is_the_same_learner(name, stream):
    learner, copy = (make_learner(name, {}, hash_bits=BITS) for _ in range(2))
    for x, truth in stream:
        learner.learn(x, truth)
    copy.load(learner.dump())
    assert copy.dump() == learner.dump()
    assert all(copy.assess(x) == learner.assess(x) for x, _ in stream)


@pytest.mark.parametrize("name", ["perceptron", "passive-aggressive", "logistic-regression"])
def test_an_update_is_taken_back_there_too(name):
    learner = make_learner(name, {}, hash_bits=BITS)
    assert learner.undo({3: 2.0}, learner.learn({3: 2.0}, truth=True))
    assert learner.weights() == ({}, 0.0)


def test_a_model_that_was_trained_with_names_may_take_the_place_of_one_in_arrays():
    trained, learner = make_learner("perceptron", {}), make_learner("perceptron", {}, hash_bits=BITS)
    trained.learn({3: 2.0}, truth=True)
    learner.load(trained.dump())
    assert learner.assess({3: 1.0}) == trained.assess({3: 1.0})


@pytest.mark.parametrize(("name", "bits"), [("voted-perceptron", 9), ("kernel-perceptron", 9), ("arow", 30)])
def test_what_does_not_fit_in_arrays_keeps_its_names(name, bits):
    learner = make_learner(name, {}, hash_bits=bits)
    learner.learn({2**bits - 1: 1.0}, truth=True)
    assert type(learner.model) is type(make_learner(name, {}).model)
