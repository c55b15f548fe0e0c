"""Objects become names with dots, lists become categories, nulls nothing."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.mapping.feature_step import FeatureMap
from service.messages.rejection import Reason, Rejection

LARGE = 1 << 20
NAMES = st.text("abc", min_size=1, max_size=2)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.sampled_from(["x", "y", ""]))
OBJECTS = st.dictionaries(
    NAMES,
    st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner), max_leaves=8),
    max_size=4,
)


def made(document, *entries, left_out=(), limit=LARGE):
    return FeatureMap(entries, left_out, limit).make(document).values


def leaves(value, name="", *, in_list=False):
    """List what a document holds, another way: (name, scalar, whether below a list)."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from leaves(each, f"{name}.{key}" if name else key, in_list=in_list)
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each, name, in_list=True)
    elif value is not None:
        yield name, value, in_list


@given(OBJECTS)
def test_exactly_the_scalars_are_features(document):
    expected = {
        f"{name}={each if isinstance(each, str) else json.dumps(each)}" if in_list else name: (
            1.0 if in_list else each
        )
        for name, each, in_list in leaves(document)
    }
    assert made(document, "*") == expected


@given(OBJECTS)
def test_all_below_a_path_equals_the_object_alone(document):
    assert made({"after": document}, "after.*") == made(document, "*")


@given(OBJECTS, st.sets(NAMES))
def test_excluded_field_changes_nothing_else(document, names):
    kept = {key: value for key, value in document.items() if key not in names}
    assert made(document, "*", left_out={(name,) for name in names}) == made(kept, "*")


MADE = {
    "an element that occurs twice": ({"tags": ["a", "b", "a"]}, ["tags"], {"tags=a": 1.0, "tags=b": 1.0}),
    "objects in a list": (
        {"items": [{"sku": "A", "n": 2}, {"sku": "B", "n": 2, "gift": True}]},
        ["*"],
        dict.fromkeys(["items.sku=A", "items.n=2", "items.sku=B", "items.gift=true"], 1.0),
    ),
    "what no other uses": (
        {"items": [1, 2], "total": 5},
        ["length(items)", "*"],
        {"length(items)": 2, "total": 5},
    ),
    "an object of an expression": ({"items": [1, 2]}, ["{n_items: length(items)}"], {"n_items": 2}),
    "null and missing": ({"a": None}, ["a", "b"], {}),
    "quotes": ({"user id": {"x-y": 1}}, ['"user id"."x-y"'], {"user id.x-y": 1}),
}


@pytest.mark.parametrize("case", MADE)
def test_features_are_the_values_at_the_paths(case):
    document, entries, expected = MADE[case]
    assert made(document, *entries) == expected


@pytest.mark.parametrize(
    ("document", "entry", "left_out", "expected"),
    [
        ({"items": [{"sku": "A", "n": 2}]}, "*", {("items", "n")}, {"items.sku=A": 1.0}),
        ({"a": {"n": 1, "m": 2}}, "a.*", {("x", "n"), ("a", "m")}, {"n": 1}),
        ({"a": {"n": 1, "m": {"k": 2}}}, "a", {("a", "m"), ("a", "m", "k"), ("n",)}, {"a.n": 1}),
    ],
)
def test_field_of_objects_can_be_excluded_by_its_path(document, entry, left_out, expected):
    assert made(document, entry, left_out=left_out) == expected


def test_two_fields_of_one_name_and_different_values_are_rejected():
    with pytest.raises(Rejection, match=r"^invalid_type: a\.b: two fields"):
        made({"a": {"b": 1}, "a.b": 2}, "*")


def test_long_names_of_many_nested_fields_are_rejected():
    document = {"n" * 1000: {str(number): 1 for number in range(100)}}
    with pytest.raises(Rejection) as rejected:
        made(document, "*", limit=50_000)
    assert rejected.value.reason is Reason.TOO_LARGE


@pytest.mark.parametrize("value", [5, "x", [1]])
def test_wildcard_below_a_scalar_is_rejected(value):
    with pytest.raises(Rejection, match=r"after\.\* \(events.features\): expected an object"):
        made({"after": value}, "after.*")


def test_event_without_value_at_any_path_has_no_features():
    features = FeatureMap(["a", "b.*"], (), LARGE)
    assert not features.finds_anything({"c": 1})
    assert features.finds_anything({"b": {}})


@pytest.mark.parametrize(
    "entry", ["{amount: to_number(x)}", "{deep: {amount: x, n: y}}", "a.*", "a", "*", "b.*"]
)
def test_object_of_nulls_is_not_found(entry):
    features = FeatureMap([entry], [("id",), ("b", "id")], LARGE)
    assert not features.finds_anything({"id": 1, "x": None, "a": {"n": None}, "b": {"id": 5, "n": None}})


@pytest.mark.parametrize("value", [-9999, "", float("nan"), {"b": -9999.0}])
def test_missing_value_is_not_found(value):
    assert not FeatureMap(["a"], (), LARGE, frozenset({-9999, "", "NaN"})).finds_anything({"a": value})
    assert FeatureMap(["a"], (), LARGE).finds_anything({"a": value})


def test_feature_is_traced_to_its_path():
    features = FeatureMap(["after.*", "source.db"], (), LARGE)
    document = {"after": {"amount": 5}, "source": {"db": "x"}}
    assert [features.path_of(name, document) for name in ("amount", "source.db")] == [
        "after.amount",
        "source.db",
    ]
