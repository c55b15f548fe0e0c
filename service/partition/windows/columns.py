"""Arrays that grow, their little-endian bytes, and those of the rows that changed.

`columns.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any, Final

from perceptron_core import DamagedError

_IS_LITTLE: Final = array("h", [1]).tobytes() == b"\x01\x00"


def grown(code: str, numbers: Any, n: int) -> array[Any]:  # noqa: ANN401 - compiled, a memory view
    """Return an array with the same numbers, and zeros up to so many."""
    found = array(code)
    found.frombytes(memoryview(numbers).tobytes())
    found.frombytes(bytes((n - len(found)) * found.itemsize))
    return found


def written(numbers: Any, n: int, rows: Any = None, width: int = 1) -> bytes:  # noqa: ANN401
    """Return the bytes of the first n rows of `width` numbers; with `rows`, of those alone."""
    found = memoryview(numbers)
    if rows is None:
        found = found[: n * width]
    else:
        size = width * found.itemsize
        copied = bytearray(size * len(rows))
        if copied:
            _copy(found.cast("B"), rows, size, copied)
        found = memoryview(copied).cast(found.format)  # type: ignore[call-overload] # its own is one of them
    if _IS_LITTLE:
        return found.tobytes()
    swapped = array(found.format, found)
    swapped.byteswap()
    return swapped.tobytes()


def changes_of(kept: Any, n: int) -> dict[str, Any]:  # noqa: ANN401 - a KeyTable, Cells or a Window
    """Return what its state has of the rows, n in all, that changed since `forget_changes`."""
    rows = array("i", bytes(4 * n))
    rows = rows[: _list_marked(kept.changed, n, rows) if n else 0]
    return {"n": n, "rows": written(rows, len(rows)), **kept.state(rows)}


def forget_changes(kept: Any) -> None:  # noqa: ANN401
    """Mark no row of it as changed."""
    memoryview(kept.changed)[:] = bytes(len(kept.changed))


def with_changes(state: Mapping[str, Any], changes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a state with what `changes_of` returned later.

    Raises `DamagedError`, and `LookupError`, `TypeError` or `ValueError`, if they do not belong together.
    """
    if "rows" not in changes:  # all of it, as increments had before
        return changes
    n, rows = changes["n"], numbers_of("i", changes["rows"])
    if rows and not 0 <= min(rows) <= max(rows) < n:
        raise DamagedError("windows: changes of rows that are not there")
    made: dict[str, Any] = {}
    for name, value in state.items():
        new = changes[name]
        if isinstance(value, Mapping):
            made[name] = with_changes(value, new)
        else:
            made[name] = _replaced(value, n, rows, new) if isinstance(value, bytes) else new
    return made


def _replaced(column: bytes, n: int, rows: Sequence[int], new: bytes) -> bytes:
    """Return a column that comes to have n rows, of which some are new."""
    size = len(new) // len(rows) if rows else 0
    if size * len(rows) != len(new) or (rows and len(column) > size * n):
        raise DamagedError("windows: changes of another length")
    found = bytearray(column) + bytes(max(0, size * n - len(column)))
    for k, row in enumerate(rows):
        found[row * size : (row + 1) * size] = new[k * size : (k + 1) * size]
    return bytes(found)


def _list_marked(marks: Any, n: int, rows: Any) -> int:  # noqa: ANN401
    """List which of the first n rows are marked; return how many these are."""
    count = 0
    for row in range(n):
        if marks[row]:
            rows[count] = row
            count += 1
    return count


def _copy(given: Any, rows: Any, size: int, found: Any) -> None:  # noqa: ANN401
    """Copy the bytes of some rows."""
    for n in range(len(rows)):
        for at in range(size):
            found[n * size + at] = given[rows[n] * size + at]


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
