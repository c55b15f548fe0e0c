"""`NamedValues` and `IndexedValues` are what the dictionary of them is, for readers and for learners."""

import copy
import gc
import pickle
import struct
from array import array
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perceptron_core import AROW, COMPILED, FeatureError, HashedClassifier, Perceptron, to_bytes
from perceptron_core.weights.values import IndexedValues, NamedValues, indexed_values
from tests.support.example_counts import n_examples
from tests.support.learners import LINEAR, TWO_CLASS, any_of

BITS = 6
NAMES = ["a", "b", "", "naïve", "語", "a" * 60]
KINDS = {NamedValues: lambda k: f"f{k}", IndexedValues: lambda k: 7 * k % 401}
"""How each is keyed."""
numbers = st.floats(-1e100, 1e100) | st.floats(-3, 3) | st.sampled_from([0.0, -0.0, 1.0])
shapes = st.lists(st.sampled_from(NAMES), unique=True, max_size=6).map(tuple)
SHAPES = [tuple(NAMES), ("b", "a"), ("a", "b", "c"), ()]
"""Several examples have the same tuple, as they have of one reader."""


@st.composite
def rows(draw, keys):
    """Draw (keys, numbers, whether they come as a dictionary, class)."""
    chosen = draw(keys)
    values = draw(st.lists(numbers, min_size=len(chosen), max_size=len(chosen)))
    return chosen, values, draw(st.booleans()), draw(st.booleans())


def bits(values):
    return [struct.pack("d", value) for value in values]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [0, 1, 16, 17, 400])
def test_packed_values_are_a_mapping_with_the_same_bits(kind, n):
    plain = {KINDS[kind](k): -0.0 if k % 3 else k / 7 for k in reversed(range(n))}
    made = kind(tuple(plain), plain.values())
    assert isinstance(made, Mapping)
    assert list(made) == list(made.keys()) == list(plain)
    assert bits(made.values()) == bits(value for _, value in made.items()) == bits(plain.values())
    assert type(made.as_dict()) is dict
    assert made.as_dict() == plain == made
    assert list(made.as_dict()) == list(plain)
    assert len(made) == n
    assert [made[key] for key in plain] == [*plain.values()]
    assert repr(made) == repr(plain)
    assert made.get("none") is None
    assert "none" not in made
    assert all(key in made for key in plain)
    with pytest.raises(KeyError):
        made["none"]
    with pytest.raises(TypeError, match="unhashable"):
        hash(made)


def test_named_values_equal_mappings_with_the_same_items():
    named = NamedValues(("a", "b"), (1, 2.5))
    assert named == {"b": 2.5, "a": 1.0} == named == NamedValues(("b", "a"), (2.5, 1.0))
    assert named != {"a": 1.0}
    assert named != NamedValues(("a", "b"), (1, 2))


def test_indexed_values_have_the_first_pairs_of_two_arrays():
    made = indexed_values(array("i", [5, 2, 9]), array("d", [1.0, 2.0, 3.0]), 2)
    assert list(made.items()) == [(5, 1.0), (2, 2.0)]
    assert indexed_values(array("i"), array("d"), 0) == {}


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])
@pytest.mark.parametrize(
    "made",
    [NamedValues(NAMES, range(6)), IndexedValues([9, 2**31 - 1, 0], [1.0, -0.0, 1e-300])],
    ids=["named", "indexed"],
)
def test_values_can_be_copied_and_pickled(made, again):
    copied = again(made)
    assert type(copied) is type(made)
    assert (list(copied), bits(copied.values())) == (list(made), bits(made.values()))


@pytest.mark.parametrize(
    ("kind", "keys", "values", "error"),
    [
        (NamedValues, ("a",), (), ValueError),
        (NamedValues, (), (1.0,), ValueError),
        (NamedValues, ("a", "a"), (1.0, 2.0), ValueError),
        (NamedValues, (1,), (1.0,), TypeError),
        (NamedValues, ("a",), ("x",), ValueError),
        (NamedValues, ("a",), (None,), TypeError),
        (IndexedValues, [1], [], ValueError),
        (IndexedValues, [1, 1], [1.0, 2.0], ValueError),
        *((IndexedValues, [index], [1.0], ValueError) for index in (-1, 2**31, True, "a")),
        (IndexedValues, [1], ["x"], ValueError),
    ],
)
def test_values_that_are_not_numbers_by_key_are_rejected(kind, keys, values, error):
    with pytest.raises(error):
        kind(keys, values)


def check_learning(ours, theirs, kind, stream):
    for keys, values, is_plain, truth in stream:
        plain = dict(zip(keys, values, strict=True))
        x = plain if is_plain else kind(keys, values)
        assert bits([ours.score_one(x)]) == bits([theirs.score_one(plain)])
        assert bits(ours.predict_learn(x, truth)) == bits(theirs.predict_learn(plain, truth))
        assert bits([ours.update_one(x, not truth)]) == bits([theirs.update_one(plain, not truth)])
    assert to_bytes(ours) == to_bytes(theirs)


@pytest.mark.skipif(not COMPILED, reason="both forms are dictionaries there")
@settings(max_examples=n_examples(300))
@given(learner=any_of(TWO_CLASS), stream=st.lists(rows(st.sampled_from(SHAPES) | shapes), max_size=12))
def test_names_teach_the_same_as_a_dictionary(learner, stream):
    check_learning(learner, learner.clone(), NamedValues, stream)


@pytest.mark.skipif(not COMPILED, reason="both forms are dictionaries there")
@settings(max_examples=n_examples(300))
@given(
    learner=any_of(LINEAR),
    stream=st.lists(rows(st.lists(st.integers(0, 2**BITS - 1), unique=True, max_size=40)), max_size=12),
)
def test_indices_teach_the_same_as_a_dictionary(learner, stream):
    check_learning(HashedClassifier(learner, BITS), HashedClassifier(learner, BITS), IndexedValues, stream)


@pytest.mark.parametrize(
    ("model", "kind", "key"),
    [(Perceptron(), NamedValues, "a"), (HashedClassifier(AROW(), BITS), IndexedValues, 1)],
)
@pytest.mark.parametrize("value", [1.1e100, -2e100, float("nan"), float("inf"), float("-inf")])
def test_invalid_value_is_rejected_as_in_a_dictionary(model, kind, key, value):
    model, other = model.clone(), KINDS[kind](5)
    model.learn_one(kind((key, other), (1.0, 2.0)), True)
    before = to_bytes(model)
    with pytest.raises(FeatureError) as rejection:
        model.learn_one({key: 1.0, other: value}, False)
    with pytest.raises(FeatureError) as ours:
        model.learn_one(kind((key, other), (1.0, value)), False)
    assert str(ours.value) == str(rejection.value)
    assert to_bytes(model) == before


def test_index_beyond_the_slots_is_rejected():
    with pytest.raises(FeatureError, match="feature 64 is not an integer"):
        HashedClassifier(AROW(), BITS).learn_one(IndexedValues([1, 64], [1.0, 1.0]), True)


def test_names_with_removed_and_restored_weights_are_found():
    model, names = Perceptron(), ("a", "b")
    one = NamedValues(names, (1.0, 1.0))
    for truth in (True, False, True):
        model.update_one(one, truth)
        model.undo_one(one, 1.0 if truth else -1.0)
        assert model.weights == {}
        assert model.score_one(one) == model.bias
    model.weights = {"b": 7.0}
    assert model.score_one(one) == model.bias + 7.0
    model.weights = {"x": 1.0, "a": 3.0}
    assert model.score_one(one) == model.bias + 3.0


@pytest.mark.skipif(not COMPILED, reason="interpreted, they are objects like others")
def test_garbage_collector_does_not_visit_names():
    assert not gc.is_tracked(NamedValues(("a", "b"), (1.0, 2.0)))


def test_name_based_learner_treats_indices_as_names():
    ours, theirs = Perceptron(), Perceptron()
    ours.learn_one(IndexedValues([3, 1], [1.0, -2.0]), True)
    theirs.learn_one({3: 1.0, 1: -2.0}, True)
    assert to_bytes(ours) == to_bytes(theirs)
