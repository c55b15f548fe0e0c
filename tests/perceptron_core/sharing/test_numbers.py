"""Numbers take few bytes, and come back rounded to no less than 24 bits."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core import DamagedError
from perceptron_core.sharing.numbers import decode, encode

finite = st.floats(allow_nan=False, allow_infinity=False)


def there_and_back(numbers):
    return list(decode(encode(array("d", numbers)), len(numbers)))


@given(st.lists(st.integers(-(2**31) + 1, 2**31 - 1)))
def test_whole_numbers_come_back_as_they_are(numbers):
    assert there_and_back(numbers) == numbers


@given(st.lists(finite))
def test_numbers_come_back_with_24_bits(numbers):
    assert there_and_back(numbers) == pytest.approx(numbers, rel=2**-24, abs=0)


@given(st.lists(finite))
def test_what_was_rounded_comes_back_as_it_is(numbers):
    rounded = there_and_back(numbers)
    assert there_and_back(rounded) == rounded


@pytest.mark.parametrize(
    ("number", "code", "n_bytes"),
    [
        (1, "b", 1),
        (-127, "b", 1),
        (128, "h", 2),
        (40_000, "m", 3),
        (9_000_000, "i", 4),
        (0.1, "f", 4),
        (1e-50, "d", 8),
        (1e50, "d", 8),
    ],
)
def test_a_column_takes_the_smallest_type_that_holds_it(number, code, n_bytes):
    assert encode(array("d", [0.0, number])) == (code, encode(array("d", [0.0, number]))[1])
    assert len(encode(array("d", [0.0, number]))[1]) == 2 * n_bytes


def test_a_whole_number_within_rounding_is_written_as_one():
    assert encode(array("d", [1 - 1e-12]))[0] == "b"


@pytest.mark.parametrize(
    "damaged",
    [
        ("b", b"\x00"),
        ("x", b"\x00\x00"),
        ("d", b"\x00"),
        ("f", b"\x00\x00\xc0\x7f" * 2),
        ("d", b"\x00" * 14 + b"\xf0\x7f"),
    ],
)
def test_what_is_not_two_finite_numbers_is_damaged(damaged):
    with pytest.raises(DamagedError):
        decode(damaged, 2)
