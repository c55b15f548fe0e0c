from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.formats.plain_values import iso_date, scaled


@given(st.integers(-(10**30), 10**30), st.integers(-5, 40))
def test_a_decimal_is_the_nearest_double(unscaled, scale):
    digits = unscaled.to_bytes(16, "big", signed=True)
    assert scaled(digits, scale) == float(Decimal(unscaled).scaleb(-scale))


def test_a_decimal_of_very_many_digits_is_not_finite():
    assert scaled(b"\x7f" * 5000, 2) == float("inf")


@pytest.mark.parametrize("days", [-(2**62), 2**62, 3_000_000])
def test_a_day_that_no_calendar_has_is_refused(days):
    with pytest.raises(ValueError, match="outside the years"):
        iso_date(days)
