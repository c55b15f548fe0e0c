"""Expressions mean what they say; one that says anything else is rejected with its place marked."""

import math
import operator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.expressions import FUNCTIONS, ExpressionError, NoValue, compile_expression

NOTHING = (NoValue, ArithmeticError)


def value(text, document=None, **found):
    return compile_expression(text).evaluate(found, document or {})


NUMBERS = st.floats(-1e9, 1e9)


@given(NUMBERS, NUMBERS)
def test_arithmetic_and_comparison_follow_doubles(a, b):
    for sign, operate in {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": operator.truediv,
        "<": operator.lt,
        ">=": operator.ge,
        "==": operator.eq,
    }.items():
        if sign == "/" and not b:
            continue
        assert value(f"a {sign} b", a=a, b=b) == operate(a, b)
    assert value("-(a)", a=a) == -a


def test_name_refers_to_a_feature_before_a_path():
    document = {"order": {"total": 9, "a-b": 2}, "x": 1}
    assert value("order.total / field('order.a-b')", document) == 4.5
    assert value("x", document, x=7.0) == 7
    made = compile_expression("x + y", earlier=["x"])
    assert made.uses == {("y",)}
    with pytest.raises(NoValue):
        made.evaluate({"y": 1.0}, document)


@pytest.mark.parametrize("text", ["a / 0", "a % 0", "missing + 1", "none > 1", "log(0)", "log1p(-1)"])
def test_null_and_division_by_zero_give_null(text):
    with pytest.raises(NOTHING):
        value(text, {"a": 1, "none": None})
    assert value(f"default({text}, 5)", {"a": 1, "none": None}) == 5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 < a and not a > 1", False),
        ("a == 2 or missing", True),
        ("flag == true", True),
        ("s < 'b'", True),
        ("7 // a + 7 % a", 4),
    ],
)
def test_conditions_can_be_combined(text, expected):
    assert value(text, {"a": 2, "flag": True, "s": "a"}) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "a +", "a b", "(a", "a = 1", "import os", "a; b", "f(", "class"),
        *("a ** 9", "a @ b", "a | b", "~a", "a[0]", "[a]", "{a}", "lambda: a", "a if b else c", "(a := 1)"),
        *("[x for x in a]", "f'{a}'", "b'a'", "1j", "None", "...", "a is b", "a in b", "*a", "await a"),
        *("open('x')", "a.b()", "__import__('os')", "log(a, base=2)", "log()", "min(a)", "().__class__"),
        *("'a' * 9", "'%9d' % a", "lower(a) + 1", "log('x')", "lower(1)", "a\x00", "1" * 1001, "(" * 300),
    ],
)
def test_invalid_expression_is_rejected(text):
    with pytest.raises(ExpressionError):
        compile_expression(text)


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("ä + foo(b)", "at character 5: 'foo(b)'"),
        ("a / ", "at character 4 of 'a /'"),
        ("a + (b ** 2)", "at character 6: 'b ** 2'"),
        ("not 1 < a < 3", "expected one comparison (`and` joins several), at character 5: '1 < a < 3'"),
        ("1 + hour('soon')", "at character 5: \"hour('soon')\""),
    ],
)
def test_position_of_an_error_is_marked(text, marked):
    with pytest.raises(ExpressionError) as rejected:
        compile_expression(text)
    assert str(rejected.value).endswith(marked)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        *(
            ("bucket(a, 10, 5)", "edges in ascending order"),
            ("bucket(a, 1, b, -1)", "edges in ascending order"),
        ),
        *(
            ("seconds_between('x', at)", "expected ISO 8601"),
            ("seconds_between(at, 'x')", "expected ISO 8601"),
        ),
        *(("length(5)", "no len"), ("contains('a', 5)", "contains: expected a string in a string, got int")),
    ],
)
def test_always_invalid_call_is_rejected(text, why):
    with pytest.raises(ExpressionError, match=why):
        compile_expression(text)


@pytest.mark.parametrize("text", ["bucket(a, b, 5)", "seconds_between(at, '2026-01-01T00:00:00Z')", "log(0)"])
def test_call_valid_for_some_record_is_accepted_at_startup(text):
    assert compile_expression(text)


def test_text_is_not_a_number():
    for text in ("a * 2", "a / 2", "2 % a", "a < 1", "log(a)"):
        with pytest.raises(TypeError):
            value(text, {"a": "x"})


@given(st.text(st.characters(codec="utf-8"), max_size=40) | st.text("abc.()+-*/%<>=!'\" 0129,", max_size=30))
def test_any_text_is_an_expression_or_rejected(text):
    try:
        made = compile_expression(text)
    except ExpressionError:
        return
    try:
        made.evaluate({"a": 2.0, "b": 0.0, "c": "x"}, {})
    except (*NOTHING, TypeError, ValueError):
        pass


def test_integers_do_not_grow_without_bound():
    assert math.isclose(value("a * a", {"a": 10**60}), 1e120)
    with pytest.raises(OverflowError):
        value("a * 1", {"a": 10**400})


class Counting(dict):
    n_asked = 0

    def get(self, key, default=None):
        self.n_asked += 1
        return super().get(key, default)


@pytest.mark.parametrize("outer", ["({} < 2)", "(0 <= {})", "(2 != {})"])
def test_nested_comparisons_evaluate_each_value_once(outer):
    text, found = "a", Counting(a=1.0)
    for _ in range(40):
        text = outer.format(text)
    assert compile_expression(text).evaluate(found, {}) is eval(text, {"a": 1.0})
    assert found.n_asked == 1


def test_every_function_has_a_test_case():
    tried = Path(__file__).with_name("test_functions.py").read_text(encoding="utf-8")
    assert [name for name in FUNCTIONS if f"{name}(" not in tried] == []
