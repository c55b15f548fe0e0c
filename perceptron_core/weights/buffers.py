"""Arrays of C numbers: zeros, and conversion to and from little-endian bytes."""

from __future__ import annotations

import contextlib
import mmap
from array import array
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array = TypeVar("Array", bound="NDArray[Any]")
Type = Literal["d", "f", "i", "H"]

LENT_FROM_BYTES: Final = 1 << 20
"""Below, a mapping of its own is not worth it: a process may have some 65,000."""

_IS_LITTLE: Final = array("h", [1]).tobytes() == b"\x01\x00"


def doubles(n: int) -> array[float]:
    """Return so many zeros."""
    return array("d", [0.0]) * n


def lent_doubles(n: int) -> array[float]:
    """Return so many zeros; many are pages that the system lends as they are written to."""
    return doubles(n) if 8 * n < LENT_FROM_BYTES else _lent("d", 8 * n)


def lent_integers(n: int) -> array[int]:
    """Return so many zeros of 32 bits, as `lent_doubles` does."""
    return integers(n) if 4 * n < LENT_FROM_BYTES else _lent("i", 4 * n)


def integers(n: int) -> array[int]:
    """Return so many zeros of 32 bits."""
    return array("i", [0]) * n


def to_bytes(typecode: Type, numbers: Any) -> bytes:
    """Return the bytes of contiguous numbers of a type of `array`."""
    data = memoryview(numbers).tobytes()
    return data if _IS_LITTLE else _swapped(typecode, data).tobytes()


def from_bytes(typecode: Type, data: bytes) -> memoryview[Any]:
    """Return the numbers that `to_bytes` wrote. Raises ValueError if there is half a number."""
    if len(data) % array(typecode).itemsize:
        raise ValueError(f"{len(data)} bytes are not whole numbers")
    return memoryview(data).cast(typecode) if _IS_LITTLE else memoryview(_swapped(typecode, data))


def in_place(array: Array) -> Array:
    """Return an array such that, interpreted too, its items are numbers of Python and not of NumPy."""
    return memoryview(array)  # type: ignore[return-value,arg-type]


def _lent(typecode: Type, n_bytes: int) -> Any:
    # Private where there are forks: the child must not share them.
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    lent = mmap.mmap(-1, n_bytes, **private)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel without huge pages
            lent.madvise(mmap.MADV_HUGEPAGE)  # else finding a page takes as long as reading the cell
    return memoryview(lent).cast(typecode)


def _swapped(typecode: Type, data: bytes) -> array[Any]:
    numbers = array(typecode, data)
    numbers.byteswap()
    return numbers
