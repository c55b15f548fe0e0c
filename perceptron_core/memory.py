"""Interpreted versions of what compiled code does in C: memory, exponents, Cython's decorators.

Compiled modules use `c_memory.pxd` instead, and `elementary.pxd` for the exponents.
"""

from __future__ import annotations

from array import array
from math import frexp, ldexp, sqrt
from typing import Any, Final

_single: Final = array("f", [0.0])


def new_doubles(n: int) -> array[float]:
    """Return n numbers, which the caller frees."""
    return array("d", bytes(8 * n))


def new_integers(n: int) -> array[int]:
    """Return n integers, which the caller frees."""
    return array("i", bytes(4 * n))


def free(numbers: array[Any]) -> None:
    """Free numbers from one of these functions."""


def first_double(numbers: array[float]) -> array[float]:
    """Return a pointer to the first number."""
    return numbers


def first_integer(numbers: array[int]) -> array[int]:
    """Return a pointer to the first integer."""
    return numbers


def add_row(sums: array[float], rows: array[float], start: int, factor: float, n: int) -> None:
    """Add n numbers from `start` on, times a factor, to the sums."""
    for k in range(n):
        sums[k] += rows[start + k] * factor


def multiply(matrix: array[float], width: int, n: int, vector: array[float], product: array[float]) -> None:
    """Compute the product of a symmetric n × n matrix, in rows of `width` cells, and a vector."""
    for i in range(n):
        product[i] = 0.0
        for j in range(n):
            product[i] += matrix[j * width + i] * vector[j]


def shrink(matrix: array[float], width: int, n: int, vector: array[float], keep: float, most: float) -> None:
    """Replace an n × n matrix S, in rows of `width` cells, by (S − v·vᵀ)·keep.

    Then shrink the rows and columns whose diagonal cell exceeds `most`. The vector has room for 2·`width`.
    """
    for i in range(n):
        own = (matrix[i * width + i] - vector[i] * vector[i]) * keep
        vector[width + i] = sqrt(most / own) if own > most else 1.0
    for i in range(n):
        for j in range(n):
            cell = (matrix[i * width + j] - vector[i] * vector[j]) * keep
            matrix[i * width + j] = cell * (vector[width + i] * vector[width + j])


def measure_32(
    sums: array[float], rows: array[float], first: int, starts: array[int], event: array[float], limit: float
) -> bool:
    """Compute the squared distances of an event and the 32 events from `first` on, in 32-bit numbers.

    `starts` has the start of each column in `rows`, its complement for a category: unequal values add 2, the
    mean of two numbers. Returns False if no distance is below the limit; then they need not be complete.
    """
    for k in range(32):
        sums[k] = 0.0
        for start, value in zip(starts, event, strict=True):
            if start < 0:
                sums[k] += 2.0 if rows[~start + first + k] != value else 0.0
            else:
                _single[0] = rows[start + first + k] - value
                _single[0] *= _single[0]
                sums[k] += _single[0]
    return min(sums) < limit


def score_splits(scores: array[float], lefts: array[int], n: int, total: int, ridge: float) -> None:
    """Compute Σ g²/(h + ridge) over both parts of n splits, from packed sums of the left part and of all."""
    g, h = float(total >> 36), float(total >> 14 & 4194303) + 2.0 * ridge
    for k in range(n):
        g_left, h_left = float(lefts[k] >> 36), float(lefts[k] >> 14 & 4194303) + ridge
        g_right, h_right = g - g_left, h - h_left
        scores[k] = (g_left * g_left * h_right + g_right * g_right * h_left) / (h_left * h_right)


def copy_doubles(target: array[float], source: array[float], n: int) -> None:
    """Copy n numbers."""
    memoryview(target)[:n] = memoryview(source)[:n]


def copy_integers(target: array[int], source: array[int], n: int) -> None:
    """Copy n integers."""
    memoryview(target)[:n] = memoryview(source)[:n]


def copy_ascii(text: str, room: bytearray, lowercase: bool) -> bool:
    """Copy an ASCII text into `room`, which must be long enough; return False for any other text."""
    if not text.isascii():
        return False
    room[: len(text)] = (text.lower() if lowercase else text).encode()
    return True


def prefetch_integer(numbers: array[int], index: int) -> None:
    """Prefetch one of these numbers into the processor's cache."""


def state_of(dictionary: dict[Any, Any]) -> int:  # noqa: ARG001  as compiled code has it
    """Return a number that identifies the dictionary and its present contents; 0 if there is none."""
    return 0


def prefetch(cells: array[float], slots: array[int], start: int, end: int) -> None:
    """Prefetch the cells of `slots[start:end]` into the processor's cache."""


def exponent(x: float) -> int:
    """Return e with 2ᵉ⁻¹ ≤ x < 2ᵉ, of a normal x > 0."""
    return frexp(x)[1]


def scaled(x: float, power: int) -> float:
    """Compute x·2ᵖ, rounded once; −1074 ≤ p ≤ 1074."""
    return ldexp(x, power)


def cclass(decorated: type) -> type:
    """Return a class unchanged."""
    return decorated


no_gc = cclass
