"""Event times in records, as milliseconds since the Unix epoch.

A text is in ISO 8601. The magnitude of a number decides its unit: below 1e11 seconds (until the year 5138),
then milliseconds (from 1973 on), from 1e14 on microseconds, from 1e17 on nanoseconds.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_SECONDS_BELOW: Final = 1e11
_MILLISECONDS_BELOW: Final = 1e14
_MICROSECONDS_BELOW: Final = 1e17
"""Magnitudes that tell the unit of a number."""


def event_time_ms(value: object) -> int:
    """Return a time in milliseconds, rounded down.

    >>> [event_time_ms(value) for value in (1700000000, 1700000000.5, 1700000000000, 1700000000000000)]
    [1700000000000, 1700000000500, 1700000000000, 1700000000000]
    >>> event_time_ms("2023-11-14T23:13:20.25+01:00")
    1700000000250

    Raises
    ------
    ValueError
        It is no time; the message says why.

    """
    if isinstance(value, str):
        return _of_text(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError("expected seconds, milliseconds or ISO 8601")  # noqa: TRY004 - as all that is no time
    if value - value != 0:
        raise ValueError(f"{value} is no time")
    size = abs(value)
    if size < _SECONDS_BELOW:
        return int(value * 1000 // 1)
    return int(
        value // (1 if size < _MILLISECONDS_BELOW else 1000 if size < _MICROSECONDS_BELOW else 1_000_000)
    )


def _of_text(text: str) -> int:
    try:
        time = datetime.fromisoformat(f"{text[:-1]}Z" if text.endswith("z") else text)
    except ValueError:
        what = "cannot be read as ISO 8601 (hours 00 to 23, seconds 00 to 59)"
        raise ValueError(f"{text[:40]!r} {what}") from None
    if time.tzinfo is None:
        raise ValueError(f"{text[:40]!r} has no time zone, such as Z or +01:00")
    return (time - _EPOCH) // _MILLISECOND
