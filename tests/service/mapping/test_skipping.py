"""Places as a tree."""

from hypothesis import given
from hypothesis import strategies as st

from service.mapping.skipping import first_other, skipping

KEYS = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(tuple)


def contains(tree, keys):
    for key in keys:
        if key not in tree:
            return False
        tree = tree[key]
        if tree is None:
            return True
    return False


@given(st.sets(KEYS), KEYS)
def test_a_place_is_skipped_if_it_or_one_above_it_is_among_the_places(places, keys):
    above = {keys[:n] for n in range(1, len(keys) + 1)}
    assert contains(skipping(places), keys) == bool(above & places)


@given(st.sets(KEYS), KEYS, KEYS)
def test_below_a_place_only_what_lies_there_is_skipped(places, below, keys):
    inside = {place for place in places if len(place) > len(below)}
    assert contains(skipping(places, below), keys) == contains(skipping(inside), below + keys)


def test_a_field_below_a_list_is_named_by_its_names():
    assert first_other({"items": [{"sku": 1}, {"color": 2}]}, {"items": {"sku": None}}) == "items.color"


def test_what_is_known_as_a_whole_may_hold_anything():
    assert first_other({"a": {"b": [1]}, "c": 2}, {"a": None, "c": None}) == ""
