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
def test_a_learner_in_arrays_answers_and_counts_as_with_names(name, stream):
    named, hashed = make_learner(name, {}), make_learner(name, {}, hash_bits=BITS)
    for x, truth in stream:
        assert hashed.assess(x) == named.assess(x)
        assert hashed.learn(x, truth) == named.learn(x, truth)
    assert hashed.updates == named.updates
    assert hashed.weights() == named.weights()


@pytest.mark.parametrize(("name", "bits"), [("voted-perceptron", 9), ("kernel-perceptron", 9), ("arow", 30)])
def test_what_does_not_fit_in_arrays_keeps_its_names(name, bits):
    learner = make_learner(name, {}, hash_bits=bits)
    learner.learn({2**bits - 1: 1.0}, truth=True)
    assert type(learner.model) is type(make_learner(name, {}).model)
