"""Limit the memory that a Parquet file may need for its bytes.

Runs of equal values take almost no bytes, and a value of a dictionary is written once however often it
occurs: a file of a kilobyte may hold gigabytes.
"""

from __future__ import annotations

from typing import Any, Final

MOST_VALUES: Final = 1 << 20
"""Of one row."""
MOST_CELL_BYTES: Final = 16 << 20
_FREE_BYTES: Final = 32 << 20
_FREE_VALUES: Final = 4 << 20
_TIMES: Final = 50
"""Bytes, and values in lists, that a row group may have for each of its bytes in the file, besides those."""


class TooMuch(ValueError):
    """A file holds more than its length allows."""


def check_groups(metadata: Any) -> None:  # noqa: ANN401 - pyarrow has no types
    """Check the row groups of a Parquet file. Raises `TooMuch`."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        chunks = [group.column(each) for each in range(group.num_columns)]
        compressed = sum(chunk.total_compressed_size for chunk in chunks)
        in_lists = sum(max(0, chunk.num_values - group.num_rows) for chunk in chunks)
        _check(
            sum(chunk.total_uncompressed_size for chunk in chunks), _FREE_BYTES, compressed, number, "bytes"
        )
        _check(in_lists, _FREE_VALUES, compressed, number, "values in lists")


def _check(found: int, free: int, compressed: int, number: int, what: str) -> None:
    most = free + _TIMES * compressed
    if found > most:
        raise TooMuch(f"row group {number} has {found} {what} in {compressed} bytes, more than {most}")


def n_values(column: Any) -> int:  # noqa: ANN401 - as above
    """Return how many values a `pyarrow.Array` holds at all depths, or any number above `MOST_VALUES`."""
    import pyarrow.compute as pc  # noqa: PLC0415 - an extra, and slow to import
    from pyarrow import types  # noqa: PLC0415

    kind, count = column.type, len(column)
    if types.is_struct(kind):
        return count + sum(map(n_values, column.flatten()))
    if types.is_map(kind):
        return count + sum(map(n_values, map_parts(column)))
    if is_list(kind):
        n_items = pc.sum(pc.list_value_length(column)).as_py() or 0
        return n_items if n_items > MOST_VALUES else count + n_values(column.flatten())
    return count


def map_parts(column: Any) -> tuple[Any, Any]:  # noqa: ANN401 - as above
    """Return the keys and the items of a column of maps: its own, not those that a slice leaves out."""
    offsets = column.offsets
    start = offsets[0].as_py()
    count = offsets[len(offsets) - 1].as_py() - start
    return column.keys.slice(start, count), column.items.slice(start, count)


def is_list(kind: Any) -> bool:  # noqa: ANN401 - as above
    """Return whether values of a type are lists."""
    from pyarrow import types  # noqa: PLC0415 - as above

    tests = ("is_list", "is_large_list", "is_fixed_size_list", "is_list_view", "is_large_list_view")
    return any(test(kind) for name in tests if (test := getattr(types, name, None)))


def weight(value: object) -> int:
    """Return the approximate size in JSON of a value of lists and dictionaries, in bytes."""
    if isinstance(value, (str, bytes)):
        return len(value)
    if isinstance(value, list):
        return sum(map(weight, value))
    if isinstance(value, dict):
        return sum(map(weight, value.values()))
    return 8
