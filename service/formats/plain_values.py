"""Convert binary and logical values to numbers and texts, and limit how many values a record may hold.

A few bytes may announce any number of values, since nulls, defaults and empty records take hardly any bytes.
The limit therefore depends on the length of the record.
"""

from __future__ import annotations

import math
from datetime import date, timedelta
from itertools import pairwise
from typing import Final

_EPOCH: Final = date(1970, 1, 1)
_MAX_DIGIT_BYTES: Final = 1024
_VARINT_BITS: Final = 70
_GROUPS: Final = (0, 8, 12, 16, 20, 32)


def scaled(digits: bytes, scale: int) -> float:
    r"""Return a decimal as the nearest double: a two's complement integer, big-endian, times 10**-scale.

    >>> scaled(b"\x30\x39", 2), scaled(b"\xff", 0), scaled(b"", 3)
    (123.45, -1.0, 0.0)
    """
    if len(digits) > _MAX_DIGIT_BYTES:
        return math.inf
    return float(f"{int.from_bytes(digits, 'big', signed=True)}e{-scale}")


def iso_date(days: int) -> str:
    """Return a day, counted from 1970, in ISO 8601.

    >>> iso_date(20_780)
    '2026-11-23'

    Raises
    ------
    ValueError
        It lies before the year 1 or after 9999.

    """
    try:
        return (_EPOCH + timedelta(days=days)).isoformat()
    except OverflowError:
        raise ValueError(f"day {days} lies outside the years 1 to 9999") from None


def uuid_text(data: bytes) -> str:
    """Return the text of a UUID or GUID of 16 bytes.

    >>> uuid_text(bytes(range(16)))
    '00010203-0405-0607-0809-0a0b0c0d0e0f'
    """
    digits = data.hex()
    return "-".join(digits[start:end] for start, end in pairwise(_GROUPS))


def is_utf8(text: str) -> bool:
    """Return whether a text can be written in UTF-8: half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


FREE_VALUES: Final = 10_000
"""Values that any record may hold, however short: some records have thousands of fields that are not set."""
VALUES_PER_BYTE: Final = 16
MAX_VALUES: Final = 1 << 20
"""Values of a record with at most this many bytes; a longer record may have a value for each byte."""


class TooManyValues(ValueError):
    """A record holds more values than its length allows."""

    def __init__(self, n_bytes: int) -> None:
        super().__init__(f"more than {max_values(n_bytes)} values in {n_bytes} bytes")


def max_values(n_bytes: int) -> int:
    """Return how many values a record of so many bytes may hold.

    >>> max_values(0), max_values(1000), max_values(100_000), max_values(2_000_000)
    (10000, 26000, 1048576, 2000000)
    """
    return max(n_bytes, min(FREE_VALUES + VALUES_PER_BYTE * n_bytes, MAX_VALUES))


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number that begins at a position, and where it ends; IndexError if there is none."""
    value = shift = 0
    while shift < _VARINT_BITS:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the last one
            return value, at
        shift += 7
    raise IndexError("a number of more than ten bytes")
