"""Convert binary and logical values to numbers and texts."""

from __future__ import annotations

import math
import struct
from datetime import date, timedelta
from itertools import pairwise
from typing import Final

_EPOCH: Final = date(1970, 1, 1)
_MOST_DIGIT_BYTES: Final = 1024
_DOUBLE: Final = struct.Struct("<d")
_FLOAT: Final = struct.Struct("<f")
_GROUPS: Final = (0, 8, 12, 16, 20, 32)


def double_at(data: bytes, start: int) -> float:
    """Read a little-endian number of eight bytes; compiled code has its own in `avro_decoder.pxd`."""
    return float(_DOUBLE.unpack_from(data, start)[0])


def float_at(data: bytes, start: int) -> float:
    """Read a little-endian number of four bytes; compiled code has its own, too."""
    return float(_FLOAT.unpack_from(data, start)[0])


def spells(text: str, data: bytes, start: int, size: int) -> bool:
    """Return whether bytes are those of a text; compiled code says so of ASCII alone."""
    return data[start : start + size] == text.encode()


def scaled(digits: bytes, scale: int) -> float:
    r"""Return a decimal as the nearest double: a two's complement integer, big-endian, times 10**-scale.

    >>> scaled(b"\x30\x39", 2), scaled(b"\xff", 0), scaled(b"", 3)
    (123.45, -1.0, 0.0)
    """
    if len(digits) > _MOST_DIGIT_BYTES:
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
