"""Paths of names alone are followed as JMESPath follows them; others are checked beforehand."""

import json

import jmespath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.messages.paths import PathError, parse_path

NAMES = st.sampled_from(["a", "b", "c", "_x1"])
ODD_NAMES = st.one_of(NAMES, st.sampled_from(["a-b", "a.b", "", "ü", 'quo"te', "null"]))
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text())
DOCUMENTS = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(ODD_NAMES, inner), max_leaves=12
)


@given(st.lists(NAMES, min_size=1, max_size=4), DOCUMENTS)
def test_a_plain_path_finds_what_jmespath_finds(keys, document):
    path = ".".join(keys)
    assert parse_path(path).find(document) == jmespath.search(path, document)


@given(st.lists(ODD_NAMES, min_size=1, max_size=4), DOCUMENTS)
def test_a_path_of_quoted_names_finds_what_jmespath_finds(keys, document):
    path = ".".join(map(json.dumps, keys))
    assert parse_path(path).keys == tuple(keys)
    assert parse_path(path).find(document) == jmespath.search(path, document)


@given(
    st.sampled_from(
        ["a == 'x'", "a[0].b", "{n: a, m: b.c}", "[a, b]", "a || b", "not_null(a, b)", "a[?b].c"]
    ),
    DOCUMENTS,
)
def test_an_expression_finds_what_jmespath_finds(expression, document):
    assert parse_path(expression).find(document) == jmespath.search(expression, document)


@given(
    st.sampled_from(["a == 'x'", "a != 'x'", "a.b == 'x'", 'b."a-b" != `"x"`', "a == `1`", "'x' == a"]),
    st.recursive(
        st.sampled_from([None, True, 1, 0, "x", "y", [], {}]),
        lambda inner: st.dictionaries(ODD_NAMES, inner, max_size=3),
        max_leaves=5,
    ),
)
def test_a_comparison_finds_what_jmespath_finds(expression, document):
    found = parse_path(expression).find(document)
    assert (type(found), found) == (bool, jmespath.search(expression, document))


OPERANDS = st.sampled_from(
    ["a", "b.c", "'x'", "`1`", "`0`", "`true`", "`null`", "`2.5`", "`[]`", "`[1]`", "''"]
)
CONDITIONS = st.recursive(
    OPERANDS
    | st.builds("{} {} {}".format, OPERANDS, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), OPERANDS),
    lambda inner: (
        st.builds("({}) {} ({})".format, inner, st.sampled_from(["&&", "||"]), inner)
        | inner.map("!({})".format)
    ),
    max_leaves=4,
)
VALUES = st.sampled_from(
    [None, True, False, 1, 0, 1.0, 0.0, 2, 2.5, "x", "y", "", [], [1], [True], {}, {"d": 1}]
)


def found(find, document):
    try:
        value = find(document)
    except (TypeError, PathError):
        return "failed"
    return type(value), value


@given(CONDITIONS, VALUES, VALUES)
def test_a_condition_is_what_it_is_for_jmespath(expression, a, c):
    document = {"a": a, "b": {"c": c}}
    expected = found(lambda each: jmespath.search(expression, each), document)
    assert found(parse_path(expression).find, document) == expected


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        ("a..b", "at character 3"),
        ("'open", "at character 1"),
        ("a ==", "at character"),
        ("a-b", "at character 2"),
        ("count(a)", "count()"),
        ("length()", "length()"),
        ("a[?foo(b)]", "foo()"),
    ],
)
def test_what_is_no_jmespath_is_refused_with_its_place(expression, complaint):
    with pytest.raises(PathError) as refused:
        parse_path(expression)
    assert complaint in str(refused.value)


@pytest.mark.parametrize(
    ("expression", "uses"),
    [
        ("a.b", {("a", "b")}),
        ('"a b".c', {("a b", "c")}),
        ("a.b == 'x'", {("a", "b")}),
        ("a || b.c", {("a",), ("b", "c")}),
        ("items[?price > `5`].name", {("items",)}),
        ("items[0].name", {("items",)}),
        ("sort_by(items, &price)[0]", {("items",), ("price",)}),
        ("a.b | length(@)", {("a", "b")}),
        ("{n: length(a), m: b}", {("a",), ("b",)}),
        ("to_string(@)", {()}),
        ("`null`", set()),
        ("a.*.b", {("a",)}),
    ],
)
def test_a_path_knows_the_fields_that_it_uses(expression, uses):
    assert parse_path(expression).uses == uses


def test_an_expression_that_fails_on_a_document_names_itself():
    with pytest.raises(PathError, match=r"length\(a\): .* length"):
        parse_path("length(a)").find({"a": 5})


EXPRESSIONS = (
    *("xs[1:]", "xs[:-1].n", "[0:2]", "a.xs[::2]", "xs[*].n", "xs[].n", "xs[?n > `1`].n", "xs[0]", "*.n"),
    *("xs | [0:1]", "{first: xs[:1]}", "[xs[0:1], a]", "length(xs[:2])", "xs[:1] && a", "!xs[1:]", "a.*"),
    *("max_by(xs, &n).n", "map(&n, xs[1:])", "not_null(b, a.n)", "sort_by(xs, &n)[:1].n", "xs[1:][0]", "@"),
)
"""Every kind of expression that JMESPath has, alone and with a slice in it."""


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_of_any_kind_finds_what_jmespath_finds(expression):
    document = {"xs": [{"n": 3}, {"n": 1}, {"n": 2}], "a": {"n": 5, "xs": [7, 8, 9]}}
    assert parse_path(expression).find(document) == jmespath.search(expression, document)


@pytest.mark.parametrize(
    ("expression", "uses"),
    [("xs[1:]", {("xs",)}), ("length(xs[:2]) > a.n", {("xs",), ("a", "n")}), ("[0:2]", {()})],
)
def test_a_slice_uses_what_it_is_taken_of(expression, uses):
    assert parse_path(expression).uses == uses
