"""What compiled code does in C, as the interpreter has it: memory, exponents, decorators of Cython.

Compiled modules have `c_memory.pxd` in its place, and `elementary.pxd` the exponents.
"""

from __future__ import annotations

from array import array
from math import frexp, ldexp
from typing import Any, Final

_single: Final = array("f", [0.0])


def new_doubles(n: int) -> array[float]:
    """Return n numbers, which the caller frees."""
    return array("d", bytes(8 * n))


def new_integers(n: int) -> array[int]:
    """Return n integers, which the caller frees."""
    return array("i", bytes(4 * n))


def free(numbers: array[Any]) -> None:
    """Free what one of these functions returned."""


def first_double(numbers: array[float]) -> array[float]:
    """Return where numbers begin."""
    return numbers


def first_integer(numbers: array[int]) -> array[int]:
    """Return where integers begin."""
    return numbers


def single(number: float) -> float:
    """Return a number rounded to 32 bits."""
    _single[0] = number
    return _single[0]


def copy_doubles(target: array[float], source: array[float], n: int) -> None:
    """Copy n numbers."""
    memoryview(target)[:n] = memoryview(source)[:n]


def copy_integers(target: array[int], source: array[int], n: int) -> None:
    """Copy n integers."""
    memoryview(target)[:n] = memoryview(source)[:n]


def copy_ascii(text: str, room: bytearray, lowercase: bool) -> bool:
    """Copy a text into `room`, which must be long enough; False, and nothing copied, if it is not ASCII."""
    if not text.isascii():
        return False
    room[: len(text)] = (text.lower() if lowercase else text).encode()
    return True


def prefetch_integer(numbers: array[int], place: int) -> None:
    """Prefetch one of these numbers into the processor's cache."""


def state_of(dictionary: dict[Any, Any]) -> int:  # noqa: ARG001  as compiled code has it
    """Return a number that no other dictionary has, nor this one once it changes; 0: there is none."""
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
    """Return a class as it is."""
    return decorated


no_gc = cclass
