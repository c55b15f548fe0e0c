"""Arrays that grow, and their little-endian bytes."""

from __future__ import annotations

from array import array
from typing import Any, Final

from perceptron_core import DamagedError

_IS_LITTLE: Final = array("h", [1]).tobytes() == b"\x01\x00"


def grown(code: str, numbers: Any, n: int) -> array[Any]:  # noqa: ANN401 - compiled, a memory view
    """Return an array with the same numbers, and zeros up to so many."""
    found = array(code)
    found.frombytes(memoryview(numbers).tobytes())
    found.frombytes(bytes((n - len(found)) * found.itemsize))
    return found


def written(numbers: Any, n: int) -> bytes:  # noqa: ANN401
    """Return the bytes of the first numbers."""
    found = memoryview(numbers)[:n]
    if _IS_LITTLE:
        return found.tobytes()
    swapped = array(found.format, found)
    swapped.byteswap()
    return swapped.tobytes()


def numbers_of(code: str, data: bytes) -> array[Any]:
    """Return the numbers that `written` wrote. Raises `DamagedError`."""
    found = array(code)
    try:
        found.frombytes(data)
    except (TypeError, ValueError):
        raise DamagedError("windows: no whole numbers") from None
    if not _IS_LITTLE:
        found.byteswap()
    return found
