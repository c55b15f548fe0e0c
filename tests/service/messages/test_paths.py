"""Paths of names alone are followed as JMESPath follows them; numbers of any unit and ISO 8601 are times."""

import json
from datetime import UTC, datetime, timedelta, timezone

import jmespath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.messages.paths import PathError, event_time_ms, parse_path

NAMES = st.sampled_from(["a", "b", "c", "_x1"])
ODD_NAMES = st.one_of(NAMES, st.sampled_from(["a-b", "a.b", "", "ü", 'quo"te', "null"]))
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text())
DOCUMENTS = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(ODD_NAMES, inner), max_leaves=12
)


@given(st.lists(NAMES, min_size=1, max_size=4), DOCUMENTS)
def test_plain_path_equals_jmespath(keys, document):
    path = ".".join(keys)
    assert parse_path(path).find(document) == jmespath.search(path, document)


@given(st.lists(ODD_NAMES, min_size=1, max_size=4), DOCUMENTS)
def test_path_of_quoted_names_equals_jmespath(keys, document):
    path = ".".join(map(json.dumps, keys))
    assert parse_path(path).keys == tuple(keys)
    assert parse_path(path).find(document) == jmespath.search(path, document)


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
        pytest.param("[" * 3000, "nested too deeply", id="brackets"),
        pytest.param("!" * 3000 + "a", "nested too deeply", id="negations"),
        pytest.param(".".join("a" * 300), "nested too deeply", id="names"),
    ],
)
def test_invalid_path_is_rejected_with_its_position(expression, complaint):
    with pytest.raises(PathError) as rejected:
        parse_path(expression)
    assert complaint in str(rejected.value)


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
        ("xs[1:]", {("xs",)}),
        ("length(xs[:2]) > a.n", {("xs",), ("a", "n")}),
        ("[0:2]", {()}),
    ],
)
def test_path_lists_the_fields_it_uses(expression, uses):
    assert parse_path(expression).uses == uses


def test_expression_that_fails_on_a_document_names_itself():
    with pytest.raises(PathError, match=r"length\(a\): length\(\): expected"):
        parse_path("length(a)").find({"a": 5})


EXPRESSIONS = (
    *("xs[1:]", "xs[:-1].n", "[0:2]", "a.xs[::2]", "xs[*].n", "xs[].n", "xs[?n > `1`].n", "xs[0]", "*.n"),
    *("xs | [0:1]", "{first: xs[:1]}", "[xs[0:1], a]", "length(xs[:2])", "xs[:1] && a", "!xs[1:]", "a.*"),
    *("max_by(xs, &n).n", "map(&n, xs[1:])", "not_null(b, a.n)", "sort_by(xs, &n)[:1].n", "xs[1:][0]", "@"),
)
"""Every kind of expression that JMESPath has, alone and with a slice in it."""


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression_of_any_kind_equals_jmespath(expression):
    document = {"xs": [{"n": 3}, {"n": 1}, {"n": 2}], "a": {"n": 5, "xs": [7, 8, 9]}}
    assert parse_path(expression).find(document) == jmespath.search(expression, document)


MODERN = st.integers(1_000_000_000_000, 4_000_000_000_000)
"""Milliseconds: 2001 to 2096."""


@given(MODERN, st.sampled_from([(1, 1), (1000, 1), (1_000_000, 1)]))
def test_milliseconds_microseconds_and_nanoseconds_are_distinguished(time_ms, unit):
    times, per = unit
    assert event_time_ms(time_ms * times // per) == time_ms


@given(st.integers(0, 4_000_000_000))
def test_small_numbers_are_seconds(seconds):
    assert event_time_ms(seconds) == 1000 * seconds


@given(
    st.datetimes(datetime(1970, 1, 2), datetime(2100, 1, 1)),  # noqa: DTZ001 - the zone comes below
    st.integers(-12, 14),
)
def test_iso_8601_is_parsed_to_its_time(time, hours):
    time = time.replace(tzinfo=timezone(timedelta(hours=hours)))
    expected = (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    assert event_time_ms(time.isoformat()) == expected


def test_z_is_the_zone_of_greenwich():
    assert event_time_ms("1970-01-01T00:00:01Z") == event_time_ms("1970-01-01t00:00:01z") == 1000


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("2023-11-14T23:13:20", "expected a time zone"),
        ("yesterday", "expected ISO 8601"),
        ("1700000000", r"numbers as strings to_number\(PATH\)"),
        ("2026-03-01T24:00:00Z", "hours 00 to 23"),
        ("2026-06-30T23:59:60Z", "seconds 00 to 59"),
        (True, "expected seconds"),
        ([1700000000], "expected seconds"),
        (float("nan"), "expected a time, got nan"),
        (float("inf"), "expected a time, got inf"),
    ],
)
def test_invalid_time_is_rejected(value, complaint):
    with pytest.raises(ValueError, match=complaint):
        event_time_ms(value)
