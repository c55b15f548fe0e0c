"""Write numbers in few bytes: in the smallest type that holds them all.

Whole numbers are kept as they are where all of a column are whole; others are rounded to 24 bits. What
rounding takes off is not lost: a lane subtracts from its shift what was read, and contributes the rest later.

`numbers.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from math import floor
from typing import Any, Final

from perceptron_core.errors import DamagedError
from perceptron_core.weights.buffers import doubles, from_bytes, to_bytes

_WIDTHS: Final = {"b": 1, "h": 2, "m": 3, "i": 4}
"""Bytes of whole numbers, little-endian and signed."""

_LARGEST_SINGLE: Final = 3e38
_SMALLEST_SINGLE: Final = 1.2e-38
"""Beyond these, single precision has fewer digits, or none."""

Encoded = tuple[str, bytes]
"""The type, as a type code of `array`, or "m" for whole numbers of 24 bits; and the bytes, little-endian."""


def encode(numbers: array[float]) -> Encoded:
    """Write finite numbers; those that are not whole are rounded to single precision if that holds them."""
    code = narrowest(numbers)
    if code in _WIDTHS:
        written = bytearray(_WIDTHS[code] * len(numbers))
        write_whole(numbers, _WIDTHS[code], written)
        return code, bytes(written)
    if code == "d":
        return code, to_bytes("d", numbers)
    rounded = array("f", bytes(4 * len(numbers)))
    copy_to_singles(numbers, rounded)
    return code, to_bytes("f", rounded)


def decode(encoded: Any, n: int) -> array[float]:
    """Read n numbers. Raises `DamagedError` if there are not n finite ones."""
    code, data = encoded
    n_bytes = n * _WIDTHS.get(code, 8 if code == "d" else 4)
    if code not in {*_WIDTHS, "f", "d"} or len(data) != n_bytes:
        raise DamagedError(f"{len(data)} bytes of type {code!r} are not {n} numbers")
    numbers = doubles(n)
    if code in _WIDTHS:
        read_whole(data, _WIDTHS[code], numbers)
    elif code == "f":
        copy_from_singles(from_bytes("f", data), numbers)
    else:
        memoryview(numbers)[:] = from_bytes("d", data)
    if not are_finite(numbers):
        raise DamagedError("a number is not finite")
    return numbers


def narrowest(numbers: array[float]) -> str:
    """Return the smallest type for all of these."""
    single = array("f", [0.0])
    largest, smallest = 0.0, 1.0
    n_whole = n_nearly_whole = 0
    for k in range(len(numbers)):
        size = abs(numbers[k])
        largest = max(largest, size)
        n_whole += size <= 2147483647.0 and size == floor(size)  # noqa: PLR2004  of 32 bits
        if size <= _LARGEST_SINGLE:
            single[0] = size
            is_whole = single[0] == floor(single[0]) and (single[0] > 0 or size == 0)
            n_nearly_whole += is_whole and single[0] <= 32767.0  # noqa: PLR2004  of 16 bits
        if size > 0:
            smallest = min(smallest, size)
    if n_nearly_whole == len(numbers):
        return "b" if largest < 127.5 else "h"  # noqa: PLR2004  of 8 bits
    if n_whole == len(numbers):
        return "m" if largest < 8388608.0 else "i"  # noqa: PLR2004  of 24 bits
    return "f" if largest <= _LARGEST_SINGLE and smallest >= _SMALLEST_SINGLE else "d"


def write_whole(numbers: array[float], width: int, written: bytearray) -> None:
    """Write the nearest whole numbers."""
    at = 0
    for k in range(len(numbers)):
        value = int(floor(numbers[k] + 0.5))  # noqa: RUF046  compiled, it is a double
        for _ in range(width):
            written[at] = value & 255
            value >>= 8
            at += 1


def read_whole(data: bytes, width: int, numbers: array[float]) -> None:
    """Read whole numbers."""
    sign = 1 << (8 * width - 1)
    for k in range(len(numbers)):
        value = 0
        for byte in range(width):
            part = data[width * k + byte]
            value += part << (8 * byte)
        numbers[k] = value - 2 * (value & sign)


def copy_to_singles(numbers: array[float], singles: array[float]) -> None:
    """Round to single precision."""
    for k in range(len(numbers)):
        singles[k] = numbers[k]


def copy_from_singles(singles: Any, numbers: array[float]) -> None:
    """Copy numbers of single precision."""
    for k in range(len(numbers)):
        numbers[k] = singles[k]


def are_finite(numbers: array[float]) -> bool:
    """Return whether no number is infinite or NaN."""
    n_finite = 0
    for k in range(len(numbers)):
        n_finite += numbers[k] - numbers[k] == 0
    return n_finite == len(numbers)
