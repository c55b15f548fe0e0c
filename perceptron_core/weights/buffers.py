"""Arrays of C numbers: zeros, and conversion to and from little-endian bytes."""

from __future__ import annotations

import contextlib
import mmap
import zlib
from array import array
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array = TypeVar("Array", bound="NDArray[Any]")
Type = Literal["d", "f", "i", "H", "Q"]

LENT_FROM_BYTES: Final = 1 << 20
"""Smallest array with a separate memory mapping; a process may have some 65,000 mappings."""

_IS_LITTLE: Final = array("h", [1]).tobytes() == b"\x01\x00"


def doubles(n: int) -> array[float]:
    """Return n zeros."""
    return array("d", [0.0]) * n


def lent(typecode: Type, n: int) -> array[Any]:
    """Return n zeros; of a large array, the system allocates pages as they are written."""
    n_bytes = array(typecode).itemsize * n
    return array(typecode, bytes(n_bytes)) if n_bytes < LENT_FROM_BYTES else _lent(typecode, n_bytes)


def integers(n: int) -> array[int]:
    """Return n 32-bit zeros."""
    return array("i", [0]) * n


def to_bytes(typecode: Type, numbers: Any) -> bytes:
    """Return the bytes of contiguous numbers of a type of `array`."""
    data = memoryview(numbers).tobytes()
    return data if _IS_LITTLE else _swapped(typecode, data).tobytes()


def from_bytes(typecode: Type, data: bytes) -> memoryview[Any]:
    """Return the numbers of bytes from `to_bytes`. Raises `ValueError` for a wrong length."""
    if len(data) % array(typecode).itemsize:
        raise ValueError(f"{len(data)} bytes are not whole numbers")
    return memoryview(data).cast(typecode) if _IS_LITTLE else memoryview(_swapped(typecode, data))


def packed(typecode: Type, numbers: Any) -> bytes:
    """Return the bytes of contiguous numbers, compressed."""
    return zlib.compress(to_bytes(typecode, numbers), 1)


def unpacked(typecode: Type, data: bytes, n: int) -> memoryview[Any]:
    """Return exactly n numbers from `packed`. Raises `ValueError` otherwise."""
    n_bytes = n * array(typecode).itemsize
    numbers = zlib.decompressobj().decompress(data, n_bytes + 1)
    if len(numbers) != n_bytes:
        raise ValueError(f"expected {n} compressed numbers")
    return from_bytes(typecode, numbers)


def in_place(array: Array) -> Array:
    """Return an array whose items are Python numbers, not NumPy's, also in the interpreter."""
    return memoryview(array)  # type: ignore[return-value,arg-type]


def _lent(typecode: Type, n_bytes: int) -> Any:
    # Private on systems with fork, as a child process must not share them.
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    lent = mmap.mmap(-1, n_bytes, **private)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel without huge pages
            lent.madvise(mmap.MADV_HUGEPAGE)  # otherwise finding a page takes as long as reading the cell
    return memoryview(lent).cast(typecode)


def _swapped(typecode: Type, data: bytes) -> array[Any]:
    numbers = array(typecode, data)
    numbers.byteswap()
    return numbers
