"""Convert rows of Parquet and Arrow files, and of data frames, to JSON events.

Columns have the same roles as in a CSV file; with a mapping, a row is a document. Lists and structs keep
their form, times become text in ISO 8601, bytes must be UTF-8. An id, text or label that cannot be read makes
a bad row; other cells that cannot be read are left out, with a warning.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, Final

from service.files.columns import Columns, HeaderError
from service.files.rows import BadRow, DamagedFile, Fields, FileFormat, Lines, row_writer
from service.messages.json_values import first_repeated
from service.settings.code import need

_BATCH_ROWS: Final = 128
"""Rows in memory at a time: in a compressed file, a text of a megabyte may take a byte a row."""
_ARROW_FILE: Final = b"ARROW1"
Table = tuple[Sequence[str], Iterator[Any]]
"""The names of a file's columns, and its record batches."""


def table_events(
    open_table: Callable[[io.BufferedReader], Table], lines: Lines, columns: Columns
) -> Iterator[bytes]:
    """Yield an event for each row, numbered as lines are. Raises `DamagedFile`."""
    need("pyarrow", "a Parquet or Arrow file", "arrow")
    import pyarrow as pa  # noqa: PLC0415 - an extra, and slow to import

    try:
        header, batches = open_table(lines.stream)
        if (twice := first_repeated(header)) is not None:
            raise HeaderError(f"two columns are named {twice!r}", "rename one of them, or remove it")
        write = frame_writer(header, columns)
        for batch in batches:
            plain = pa.schema([(field.name, _plain_type(field.type)) for field in batch.schema])
            for start in range(0, batch.num_rows, _BATCH_ROWS):
                for row in _rows(batch.slice(start, _BATCH_ROWS), plain):
                    lines.number += 1
                    yield write(row, lines.number)
    except pa.ArrowException as error:
        raise DamagedFile(f"damaged file, or another format: {error}") from None


def frame_writer(header: Sequence[str], columns: Columns) -> Callable[[Fields, int], bytes]:
    """Return a function that turns a row with these columns, and its number, into an event or a bad row.

    Raises `HeaderError`.
    """
    write = row_writer(header, columns, _plain, _plain)

    def event(row: Fields, number: int) -> bytes:
        try:
            return write(row, number)
        except ValueError as error:
            return BadRow(repr(row).encode(errors="replace"), str(error))

    return event


def parquet_table(stream: io.BufferedReader) -> Table:
    """Open a Parquet file."""
    from pyarrow import parquet  # noqa: PLC0415 - an extra

    if not stream.seekable():
        raise DamagedFile("a Parquet file cannot be read from a pipe: name the file")
    file = parquet.ParquetFile(stream)
    return file.schema_arrow.names, file.iter_batches(_BATCH_ROWS)


def arrow_table(stream: io.BufferedReader) -> Table:
    """Open an Arrow file (Feather, version 2) or stream."""
    from pyarrow import ipc  # noqa: PLC0415 - an extra

    if not stream.peek(len(_ARROW_FILE)).startswith(_ARROW_FILE):
        batches = ipc.open_stream(stream)
        return batches.schema.names, batches
    if not stream.seekable():
        raise DamagedFile("an Arrow file cannot be read from a pipe: name the file, or send an Arrow stream")
    file = ipc.open_file(stream)
    return file.schema.names, map(file.get_batch, range(file.num_record_batches))


TABLES: Final = (
    FileFormat("parquet", (".parquet", ".pq"), partial(table_events, parquet_table), is_text=False),
    FileFormat(
        "arrow", (".arrow", ".arrows", ".feather", ".ipc"), partial(table_events, arrow_table), is_text=False
    ),
)


def _rows(batch: Any, plain: Any) -> list[Fields]:  # noqa: ANN401 - pyarrow has no types
    """Return the rows of a `pyarrow.RecordBatch`, given its schema in plain types.

    If a cell cannot be read, the ValueError stands in its place, and the rows are read one by one.
    """
    try:
        rows: list[Fields] = batch.cast(plain, safe=False).to_pylist()
    except (ValueError, LookupError, OverflowError):
        if batch.num_rows > 1:
            return [row for n in range(batch.num_rows) for row in _rows(batch.slice(n, 1), plain)]
        return [dict(zip(plain.names, map(_cell, batch.columns, plain.types), strict=True))]
    return rows


def _cell(column: Any, kind: Any) -> Any:  # noqa: ANN401 - as above
    """Return the only value of a column in a plain type."""
    try:
        return column.cast(kind, safe=False)[0].as_py()
    except OverflowError:
        return ValueError("a time outside the years 1 to 9999")
    except UnicodeDecodeError:
        return ValueError("bytes that are not UTF-8")
    except (ValueError, LookupError) as error:
        return ValueError(str(error))


def _plain_type(kind: Any) -> Any:  # noqa: ANN401 - as above
    """Return a type without dictionaries, and without nanoseconds, which Python's times do not have."""
    import pyarrow as pa  # noqa: PLC0415 - as above
    from pyarrow import types  # noqa: PLC0415

    if types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if types.is_struct(kind):
        return pa.struct([field.with_type(_plain_type(field.type)) for field in kind])
    if types.is_map(kind):
        return pa.map_(_plain_type(kind.key_type), _plain_type(kind.item_type))
    if types.is_nested(kind):
        if not hasattr(kind, "value_type"):
            raise DamagedFile(f"unsupported type {kind}")
        inner = _plain_type(kind.value_type)
        return pa.list_(inner, kind.list_size) if types.is_fixed_size_list(kind) else pa.large_list(inner)
    if getattr(kind, "unit", "") != "ns":
        return kind
    make = pa.duration if types.is_duration(kind) else pa.time64 if types.is_time(kind) else pa.timestamp
    return make("us", kind.tz) if types.is_timestamp(kind) else make("us")


def _plain(value: Any) -> Any:  # noqa: ANN401 - as above
    """Return a value as JSON can hold it. Raises ValueError."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, ValueError):
        raise value
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise ValueError("bytes that are not UTF-8") from None
    if isinstance(value, datetime) and value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    return float(value) if isinstance(value, Decimal) else value
