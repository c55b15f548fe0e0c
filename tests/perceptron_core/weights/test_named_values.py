"""`NamedValues` equal the dictionary of the same names and numbers, for readers and for learners."""

import copy
import gc
import pickle
import struct
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perceptron_core import COMPILED, FeatureError, Perceptron, to_bytes
from perceptron_core.weights.values import NamedValues
from tests.support.example_counts import n_examples
from tests.support.learners import TWO_CLASS, any_of

NAMES = ["a", "b", "", "naïve", "語", "a" * 60]
numbers = st.floats(-1e100, 1e100) | st.floats(-3, 3) | st.sampled_from([0.0, -0.0, 1.0])
shapes = st.lists(st.sampled_from(NAMES), unique=True, max_size=6).map(tuple)
SHAPES = [tuple(NAMES), ("b", "a"), ("a", "b", "c"), ()]
"""Several examples have the same tuple, as they have of one reader."""


@st.composite
def rows(draw):
    """Draw (names, numbers, whether they come as a dictionary, class)."""
    names = draw(st.sampled_from(SHAPES) | shapes)
    values = draw(st.lists(numbers, min_size=len(names), max_size=len(names)))
    return names, values, draw(st.booleans()), draw(st.booleans())


def bits(values):
    return [struct.pack("d", value) for value in values]


@pytest.mark.parametrize("n", [0, 1, 16, 17, 400])
def test_it_is_a_mapping_of_the_same_names_and_bits_in_the_same_order(n):
    names, values = tuple(f"f{k}" for k in reversed(range(n))), [-0.0 if k % 3 else k / 7 for k in range(n)]
    named, plain = NamedValues(names, values), dict(zip(names, values, strict=True))
    assert isinstance(named, Mapping)
    assert named.names is names
    assert list(named) == list(named.keys()) == list(plain)
    assert bits(named.values()) == bits(value for _, value in named.items()) == bits(values)
    assert type(named.as_dict()) is dict
    assert named.as_dict() == plain
    assert list(named.as_dict()) == list(plain)
    assert len(named) == n
    assert [named[name] for name in names] == values
    assert repr(named) == repr(plain)
    assert named.get("none") is None
    assert "none" not in named
    assert all(name in named for name in names)
    with pytest.raises(KeyError):
        named["none"]


def test_it_equals_what_holds_the_same():
    named = NamedValues(("a", "b"), (1, 2.5))
    assert named == {"b": 2.5, "a": 1.0} == named == NamedValues(("b", "a"), (2.5, 1.0))
    assert named != {"a": 1.0}
    assert named != NamedValues(("a", "b"), (1, 2))
    with pytest.raises(TypeError, match="unhashable"):
        hash(named)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda named: pickle.loads(pickle.dumps(named))])
def test_it_can_be_copied_and_pickled(again):
    named = NamedValues(NAMES, range(6))
    made = again(named)
    assert type(made) is NamedValues
    assert (made.names, bits(made.values())) == (named.names, bits(named.values()))


@pytest.mark.parametrize(
    ("names", "values", "error"),
    [
        (("a",), (), ValueError),
        ((), (1.0,), ValueError),
        (("a", "a"), (1.0, 2.0), ValueError),
        ((1,), (1.0,), TypeError),
        (("a",), ("x",), ValueError),
        (("a",), (None,), TypeError),
    ],
)
def test_what_is_no_number_for_each_name_is_refused(names, values, error):
    with pytest.raises(error):
        NamedValues(names, values)


@pytest.mark.skipif(not COMPILED, reason="both forms are dictionaries there")
@settings(max_examples=n_examples(300))
@given(ours=any_of(TWO_CLASS), stream=st.lists(rows(), max_size=12))
def test_learners_learn_from_it_what_they_learn_from_a_dictionary(ours, stream):
    theirs = ours.clone()
    for names, values, is_plain, truth in stream:
        plain = dict(zip(names, values, strict=True))
        x = plain if is_plain else NamedValues(names, values)
        assert bits([ours.score_one(x)]) == bits([theirs.score_one(plain)])
        assert bits(ours.predict_learn(x, truth)) == bits(theirs.predict_learn(plain, truth))
        assert bits([ours.update_one(x, not truth)]) == bits([theirs.update_one(plain, not truth)])
    assert to_bytes(ours) == to_bytes(theirs)


@pytest.mark.parametrize("value", [1.1e100, -2e100, float("nan"), float("inf"), float("-inf")])
def test_a_value_that_no_learner_takes_is_refused_as_in_a_dictionary(value):
    model, names = Perceptron(), ("a", "b", "c")
    model.learn_one(NamedValues(names, (1.0, 2.0, 3.0)), True)
    before = to_bytes(model)
    with pytest.raises(FeatureError) as refusal:
        model.learn_one({"a": 1.0, "b": value, "c": value}, False)
    with pytest.raises(FeatureError) as ours:
        model.learn_one(NamedValues(names, (1.0, value, value)), False)
    assert str(ours.value) == str(refusal.value)
    assert to_bytes(model) == before
    assert model.score_one(NamedValues(names, (1.0, 0.0, 0.0))) == 1.0 + 1.0


def test_names_whose_weights_went_and_came_again_are_found():
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
def test_the_garbage_collector_does_not_visit_them():
    assert not gc.is_tracked(NamedValues(("a", "b"), (1.0, 2.0)))
