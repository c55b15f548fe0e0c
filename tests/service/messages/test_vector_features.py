"""Vectors behind an event's other features: a mapping of both, without a dictionary of their numbers."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.messages.vector_features import VectorFeatures, VectorNames, joined_values, listed_values

NUMBERS = st.floats(-1e100, 1e100) | st.integers(-(10**100), 10**100)


def test_it_is_the_mapping_of_features_and_numbers_in_their_order():
    names = VectorNames(["e[0]", "f[0]", "f[1]"])
    vectors = listed_values(("e[0]",), [0.5]), listed_values(("f[0]", "f[1]"), [-0.0, 7])
    features = VectorFeatures({"lang": "en", "n": 3}, names, vectors)
    assert [*features.items()] == [("lang", "en"), ("n", 3), ("e[0]", 0.5), ("f[0]", 0.0), ("f[1]", 7.0)]
    assert len(features) == 5


@given(st.lists(NUMBERS, max_size=5))
def test_numbers_of_a_list_are_those_that_python_makes_of_them(values):
    found = listed_values(tuple(map(str, range(len(values)))), values)
    assert [struct.pack("d", each) for each in found.values()] == [struct.pack("d", each) for each in values]


@pytest.mark.parametrize("value", [True, None, "1", [1.0], float("nan"), float("inf"), 1.1e100, 10**400])
def test_a_list_with_anything_else_is_left_to_others(value):
    assert listed_values(("a", "b"), [1.0, value]) is None
    assert listed_values(("a", "b"), [1.0]) is None


def test_events_of_the_same_features_share_their_names():
    names = VectorNames(["e[0]"])
    first = names.behind({"a": 1.0, "b": 2.0})
    assert first == ("a", "b", "e[0]")
    assert names.behind({"a": 3.0, "b": 4.0}) is first
    assert names.behind({"b": 1.0, "a": 2.0}) == ("b", "a", "e[0]")
    assert names.behind({"e[0]": 1.0}) is None


def test_names_of_many_kinds_of_events_are_not_all_kept():
    names = VectorNames(["e[0]"])
    first = names.behind({"f": 1.0})
    for n in range(100):
        names.behind({f"lang={n}": 1.0})
    assert names.behind({"f": 1.0}) is not first
    assert names.behind({"f": 1.0}) == first


def test_joined_values_are_those_of_all():
    others = listed_values(("c",), [3.0]), listed_values(("d", "e"), [4.0, 5.0])
    joined = joined_values(tuple("abcdef"), {"a": 1.0, "b": 2.0}, others, {"f": 6.0}, False)
    assert [*joined.items()] == [*zip("abcdef", (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), strict=True)]
