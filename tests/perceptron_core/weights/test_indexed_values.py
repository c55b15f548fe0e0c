"""Indices and numbers are what the dictionary of them is, for who reads them and for learners."""

import copy
import pickle
import struct
from array import array
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perceptron_core import AROW, COMPILED, FeatureError, HashedClassifier, Perceptron, to_bytes
from perceptron_core.weights.values import IndexedValues, indexed_values
from tests.support.example_counts import n_examples
from tests.support.learners import LINEAR, any_of

BITS = 6
numbers = st.floats(-1e100, 1e100) | st.floats(-3, 3) | st.sampled_from([0.0, -0.0, 1.0])
rows = st.tuples(
    st.dictionaries(st.integers(0, 2**BITS - 1), numbers, max_size=40),
    st.booleans(),  # whether they come as a dictionary
    st.booleans(),  # the class
)


def as_arrays(plain):
    return IndexedValues(plain.keys(), plain.values())


def bits(values):
    return [struct.pack("d", value) for value in values]


@pytest.mark.parametrize("n", [0, 1, 16, 400])
def test_it_is_a_mapping_of_the_same_indices_and_bits_in_the_same_order(n):
    plain = {7 * k % 401: -0.0 if k % 3 else k / 7 for k in reversed(range(n))}
    indexed = as_arrays(plain)
    assert isinstance(indexed, Mapping)
    assert list(indexed) == list(indexed.keys()) == list(plain)
    assert bits(indexed.values()) == bits(value for _, value in indexed.items()) == bits(plain.values())
    assert type(indexed.as_dict()) is dict
    assert indexed.as_dict() == plain == indexed
    assert list(indexed.as_dict()) == list(plain)
    assert len(indexed) == n
    assert repr(indexed) == repr(plain)
    assert indexed.get(-1) is None
    assert -1 not in indexed
    with pytest.raises(KeyError):
        indexed[-1]
    with pytest.raises(TypeError, match="unhashable"):
        hash(indexed)


def test_the_first_of_two_arrays_are_taken():
    made = indexed_values(array("i", [5, 2, 9]), array("d", [1.0, 2.0, 3.0]), 2)
    assert list(made.items()) == [(5, 1.0), (2, 2.0)]
    assert indexed_values(array("i"), array("d"), 0) == {}


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])
def test_it_can_be_copied_and_pickled(again):
    indexed = IndexedValues([9, 2**31 - 1, 0], [1.0, -0.0, 1e-300])
    made = again(indexed)
    assert type(made) is IndexedValues
    assert list(made) == list(indexed)
    assert bits(made.values()) == bits(indexed.values())


@pytest.mark.parametrize(
    ("indices", "values", "error"),
    [
        ([1], [], ValueError),
        ([], [1.0], ValueError),
        ([1, 1], [1.0, 2.0], ValueError),
        ([-1], [1.0], ValueError),
        ([2**31], [1.0], ValueError),
        ([True], [1.0], ValueError),
        (["a"], [1.0], ValueError),
        ([1], ["x"], ValueError),
        ([1], [None], TypeError),
    ],
)
def test_what_is_no_number_for_each_index_is_refused(indices, values, error):
    with pytest.raises(error):
        IndexedValues(indices, values)


@pytest.mark.skipif(not COMPILED, reason="both forms are dictionaries there")
@settings(max_examples=n_examples(300))
@given(learner=any_of(LINEAR), stream=st.lists(rows, max_size=12))
def test_learners_learn_from_it_what_they_learn_from_a_dictionary(learner, stream):
    ours, theirs = (HashedClassifier(learner, BITS) for _ in range(2))
    for plain, is_plain, truth in stream:
        x = plain if is_plain else as_arrays(plain)
        assert bits([ours.score_one(x)]) == bits([theirs.score_one(plain)])
        assert bits(ours.predict_learn(x, truth)) == bits(theirs.predict_learn(plain, truth))
        assert bits([ours.update_one(x, not truth)]) == bits([theirs.update_one(plain, not truth)])
    assert to_bytes(ours) == to_bytes(theirs)


@pytest.mark.parametrize("plain", [{1: 1.0, 2: 1.1e100}, {1: 1.0, 2: float("nan")}, {1: 1.0, 64: 1.0}])
def test_what_no_learner_takes_is_refused_as_in_a_dictionary(plain):
    model = HashedClassifier(AROW(), BITS)
    model.learn_one({1: 1.0}, True)
    before = to_bytes(model)
    with pytest.raises(FeatureError) as refusal:
        model.learn_one(plain, False)
    with pytest.raises(FeatureError) as ours:
        model.learn_one(as_arrays(plain), False)
    assert str(ours.value) == str(refusal.value)
    assert to_bytes(model) == before


def test_a_learner_that_keeps_names_takes_indices_as_names():
    ours, theirs = Perceptron(), Perceptron()
    ours.learn_one(IndexedValues([3, 1], [1.0, -2.0]), True)
    theirs.learn_one({3: 1.0, 1: -2.0}, True)
    assert to_bytes(ours) == to_bytes(theirs)
