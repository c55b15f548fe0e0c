"""Each function of expressions does what the guide says."""

import math
from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.expressions import compile_expression

RECORD = {
    "at": "2026-03-01T23:30:00-01:00",
    "then": 1772413200,
    "url": "https://ann@www.Shop.example.com:80/a/b?q#f",
    "mail": "Ann <ann@Mail.example.com>",
    "tags": ["a", "b"],
    "n": 2,
}


def value(text, record=RECORD):
    return compile_expression(text).evaluate({}, record)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("number(' 2.5 ')", 2.5),
        ("number(n)", 2),
        ("default(number('x'), 5)", 5),
        ("default(number('1_0'), 5)", 5),
        ("default(number('٣'), 5)", 5),
        ("log(n)", math.log(2)),
        ("log1p(n)", math.log(3)),
        ("abs(-n)", 2),
        ("min(n, 1, 3)", 1),
        ("max(n, 3)", 3),
        ("length(tags) + length('abc')", 5),
        ("lower('ÄB')", "äb"),
        ("contains(tags, 'a')", True),
        ("contains('abc', 'bc')", True),
        ("contains(tags, 'c')", False),
        ("hour(at)", 0),
        ("weekday(at)", 0),
        ("day(at)", 2),
        ("seconds_between(then, at)", -1800),
        ("host(url)", "www.shop.example.com"),
        ("host('//[::1]:80/x')", "[::1]"),
        ("domain(url)", "example.com"),
        ("domain(mail)", "mail.example.com"),
        ("path(url)", "/a/b"),
        ("path('/x?y')", "/x"),
        ("bucket(n, 1, 2, 5)", "2..5"),
        ("bucket(n, 3)", "<3"),
        ("bucket(n, 1)", ">=1"),
        ("cross('a', n, n > 1)", "a×2×1"),
    ],
)
def test_function_returns_its_documented_value(text, expected):
    assert value(text) == (pytest.approx(expected) if isinstance(expected, float) else expected)


@pytest.mark.parametrize(
    "text", ["hour(lower('soon'))", "bucket(n, n, 1)", "contains('a', n)", "cross(tags, 'a')", "length(n)"]
)
def test_invalid_argument_of_a_function_raises_an_error(text):
    with pytest.raises((TypeError, ValueError)):
        value(text)


def test_overlong_crossed_category_is_rejected():
    with pytest.raises(ValueError, match="at most 1,000 characters, got 1,003"):
        value("cross(a, a)", {"a": "x" * 501})


@given(st.datetimes(timezones=st.just(UTC)))
def test_parts_of_a_time_are_in_utc(time):
    parts = [value(f"{name}(t)", {"t": time.isoformat()}) for name in ("hour", "weekday", "day")]
    assert parts == [time.hour, time.weekday(), time.day]


@given(st.floats(-1e6, 1e6), st.lists(st.integers(-1000, 1000), min_size=1, max_size=5, unique=True))
def test_number_is_in_its_bucket(number, edges):
    edges.sort()
    found = value(f"bucket(n, {', '.join(map(str, edges))})", {"n": number})
    if found.startswith("<"):
        assert number < edges[0]
    elif found.startswith(">="):
        assert number >= edges[-1]
    else:
        low, high = map(float, found.split(".."))
        assert low <= number < high
