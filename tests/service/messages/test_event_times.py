"""Numbers of any unit and texts in ISO 8601 are times."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.messages.event_times import event_time_ms

MODERN = st.integers(1_000_000_000_000, 4_000_000_000_000)
"""Milliseconds: 2001 to 2096."""


@given(MODERN, st.sampled_from([(1, 1), (1000, 1), (1_000_000, 1)]))
def test_milliseconds_microseconds_and_nanoseconds_are_told_apart(time_ms, unit):
    times, per = unit
    assert event_time_ms(time_ms * times // per) == time_ms


@given(st.integers(0, 4_000_000_000))
def test_small_numbers_are_seconds(seconds):
    assert event_time_ms(seconds) == 1000 * seconds


@given(
    st.datetimes(datetime(1970, 1, 2), datetime(2100, 1, 1)),  # noqa: DTZ001 - the zone comes below
    st.integers(-12, 14),
)
def test_iso_8601_is_the_time_it_says(time, hours):
    time = time.replace(tzinfo=timezone(timedelta(hours=hours)))
    expected = (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    assert event_time_ms(time.isoformat()) == expected


def test_z_is_the_zone_of_greenwich():
    assert event_time_ms("1970-01-01T00:00:01Z") == event_time_ms("1970-01-01t00:00:01z") == 1000


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("2023-11-14T23:13:20", "no time zone"),
        ("yesterday", "cannot be read as ISO 8601"),
        ("1700000000", "cannot be read as ISO 8601"),
        ("2026-03-01T24:00:00Z", "hours 00 to 23"),
        ("2026-06-30T23:59:60Z", "seconds 00 to 59"),
        (True, "expected seconds"),
        ([1700000000], "expected seconds"),
        (float("nan"), "nan is no time"),
        (float("inf"), "inf is no time"),
    ],
)
def test_what_is_no_time_is_refused(value, complaint):
    with pytest.raises(ValueError, match=complaint):
        event_time_ms(value)


@given(st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False)))
def test_every_finite_number_is_some_time(value):
    assert isinstance(event_time_ms(value), int)
