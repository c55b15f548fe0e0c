"""Convert rows of Parquet and Arrow files, and of data frames, to JSON events.

Columns become what those of a CSV file become; with a mapping, a row is a document. Lists and structs keep
their form, times are text in ISO 8601, bytes must be UTF-8. A cell that cannot be read makes its row a bad
one if its column is used.

Runs of equal values take almost no bytes in a file, and a value of a dictionary is written once however
often it occurs: memory is bounded by what values take in Python.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import cache, partial
from typing import Any, Final

from pydantic_core import to_json

from service.files.columns import Columns, HeaderError, leaving_out
from service.files.rows import BadRow, DamagedFile, FileFormat, Lines, TimedRow
from service.settings.code import need

_MOST_BYTES: Final = 16 << 20
"""Of a row, and of the rows that are in memory at a time."""
_VALUE_BYTES: Final = 16
"""What each value counts besides its text."""
_BATCH_ROWS: Final = 1024
_READ_ROWS: Final = 8192
"""As each batch that is read of a Parquet file has its dictionaries once more."""
_FREE_BYTES: Final = 32 << 20
_FREE_VALUES: Final = 4 << 20
_TIMES: Final = 50
"""Bytes, and values in lists, that a row group may have for each of its bytes in the file, besides those."""
_SHOWN_BYTES: Final = 100
_ARROW_FILE: Final = b"ARROW1"
Fields = dict[str, Any]
Table = tuple[Sequence[str], Iterator[Any]]
"""The names of a file's columns, and its record batches."""


@dataclass(frozen=True, slots=True)
class _Unreadable:
    """A cell that has no value in Python, and why."""

    complaint: str


def table_events(
    open_table: Callable[[io.BufferedReader], Table], lines: Lines, columns: Columns
) -> Iterator[bytes]:
    """Yield an event for each row, numbered as lines are. Raises `DamagedFile`."""
    need("pyarrow", "a Parquet or Arrow file", "arrow")
    import pyarrow as pa  # noqa: PLC0415 - an extra, and slow to import

    try:
        header, batches = open_table(lines.stream)
        if twice := next((name for name in header if header.count(name) > 1), None):
            raise HeaderError(f"two columns are named {twice!r}", "Rename one of them, or leave it out.")
        write = row_writer(header, columns)
        for batch in batches:
            plain = pa.schema([(field.name, _plain_type(field.type)) for field in batch.schema])
            for start in range(0, batch.num_rows, _BATCH_ROWS):
                for row in _rows(batch.slice(start, _BATCH_ROWS), plain):
                    lines.number += 1
                    yield row if isinstance(row, BadRow) else write(row, lines.number)
    except pa.ArrowException as error:
        raise DamagedFile(f"the file is damaged, or of another format: {error}") from None


def parquet_table(stream: io.BufferedReader) -> Table:
    """Open a Parquet file."""
    from pyarrow import parquet  # noqa: PLC0415 - an extra

    if not stream.seekable():
        raise DamagedFile("a Parquet file cannot be read from a pipe: name the file")
    found = parquet.ParquetFile(stream)
    _check_groups(found.metadata)
    columns = [found.schema.column(each) for each in range(len(found.schema))]
    texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    file = parquet.ParquetFile(stream, metadata=found.metadata, read_dictionary=texts)
    width = sum(column.length for column in columns if column.physical_type == "FIXED_LEN_BYTE_ARRAY")
    n_rows = max(1, min(_READ_ROWS, _MOST_BYTES // max(1, width)))
    return file.schema_arrow.names, file.iter_batches(n_rows)


def arrow_table(stream: io.BufferedReader) -> Table:
    """Open an Arrow file (Feather, version 2) or stream."""
    from pyarrow import ipc  # noqa: PLC0415 - an extra

    if not stream.peek(len(_ARROW_FILE)).startswith(_ARROW_FILE):
        batches = ipc.open_stream(stream)
        return batches.schema.names, batches
    if not stream.seekable():
        raise DamagedFile("an Arrow file cannot be read from a pipe, a stream can: name the file")
    file = ipc.open_file(stream)
    return file.schema.names, map(file.get_batch, range(file.num_record_batches))


TABLES: Final = (
    FileFormat("parquet", (".parquet", ".pq"), partial(table_events, parquet_table), is_text=False),
    FileFormat(
        "arrow", (".arrow", ".arrows", ".feather", ".ipc"), partial(table_events, arrow_table), is_text=False
    ),
)


def _check_groups(metadata: Any) -> None:  # noqa: ANN401 - pyarrow has no types
    """Refuse row groups of a Parquet file that hold more than their length allows."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        chunks = [group.column(each) for each in range(group.num_columns)]
        compressed = sum(chunk.total_compressed_size for chunk in chunks)
        n_bytes = sum(chunk.total_uncompressed_size for chunk in chunks)
        in_lists = sum(max(0, chunk.num_values - group.num_rows) for chunk in chunks)
        for found, free, what in (
            (n_bytes, _FREE_BYTES, "bytes"),
            (in_lists, _FREE_VALUES, "values in lists"),
        ):
            most = free + _TIMES * compressed
            if found > most:
                held = f"row group {number} has {found} {what} in {compressed} bytes, more than {most}"
                raise DamagedFile(f"{held}: write it in smaller row groups")


def _rows(batch: Any, plain: Any) -> Iterator[Fields | BadRow]:  # noqa: ANN401 - as above
    """Yield the rows of a `pyarrow.RecordBatch`, given its schema in plain types.

    Too many for the memory, or one that cannot be read among them: then half of them at a time.
    """
    count, is_long = batch.num_rows, sum(map(_n_bytes, batch.columns)) > _MOST_BYTES
    if not is_long:
        try:
            found = batch.cast(plain, safe=False).to_pylist()
        except (ValueError, LookupError, OverflowError):
            found = [dict(zip(plain.names, map(_cell, batch.columns, plain.types), strict=True))]
        if len(found) == count:
            yield from found
            return
    if count == 1:
        yield _too_long(batch)
        return
    for half in (batch.slice(0, count // 2), batch.slice(count // 2)):
        yield from _rows(half, plain)


def _cell(column: Any, kind: Any) -> Any:  # noqa: ANN401 - as above
    """Return the first value of a column in a plain type."""
    try:
        return column.slice(0, 1).cast(kind, safe=False)[0].as_py()
    except OverflowError:
        return _Unreadable("a time outside the years 1 to 9999")
    except UnicodeDecodeError:
        return _Unreadable("bytes that are not UTF-8")
    except (ValueError, LookupError) as error:
        return _Unreadable(str(error))


def _too_long(row: Any) -> BadRow:  # noqa: ANN401 - as above
    """Return a row that is too long as a bad one, which has its short cells."""
    cells = zip(row.schema.names, row.columns, strict=True)
    shown = {name: column[0].as_py() for name, column in cells if _n_bytes(column) <= _SHOWN_BYTES}
    return BadRow(repr(shown).encode(errors="replace"), f"longer than {_MOST_BYTES} bytes")


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
            raise DamagedFile(f"values of type {kind} are not read")
        inner = _plain_type(kind.value_type)
        return pa.list_(inner, kind.list_size) if types.is_fixed_size_list(kind) else pa.large_list(inner)
    if getattr(kind, "unit", "") != "ns":
        return kind
    make = pa.duration if types.is_duration(kind) else pa.time64 if types.is_time(kind) else pa.timestamp
    return make("us", kind.tz) if types.is_timestamp(kind) else make("us")


def _n_bytes(column: Any) -> int:  # noqa: ANN401 - as above
    """Return about how many bytes the values of a `pyarrow.Array` take, each as often as it occurs."""
    import pyarrow as pa  # noqa: PLC0415 - as above
    import pyarrow.compute as pc  # noqa: PLC0415
    from pyarrow import types  # noqa: PLC0415

    kind, count = column.type, _VALUE_BYTES * len(column)
    if types.is_struct(kind):
        return count + sum(map(_n_bytes, column.flatten()))
    if types.is_map(kind):
        pairs = pa.struct([("key", kind.key_type), ("value", kind.item_type)])
        return _n_bytes(column.cast(pa.list_(pairs)))
    if types.is_nested(kind):
        return count + _n_bytes(column.flatten())
    if not types.is_dictionary(kind):
        return count + (_sum(pc.binary_length(column)) if _is_text(kind) else 0)
    if _is_text(kind.value_type):
        return count + _sum(pc.take(pc.binary_length(column.dictionary), column.indices))
    return len(column) * _n_bytes(column.dictionary)


def _is_text(kind: Any) -> bool:  # noqa: ANN401 - as above
    """Return whether values are texts or bytes whose lengths Arrow can tell."""
    from pyarrow import types  # noqa: PLC0415 - as above

    tests = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return any(test(kind) for test in tests) or types.is_fixed_size_binary(kind)


def _sum(lengths: Any) -> int:  # noqa: ANN401 - as above
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    return pc.sum(lengths).as_py() or 0


def row_writer(header: Sequence[str], columns: Columns) -> Callable[[Fields, int], bytes]:
    """Return a function that turns a row with these names, and its number, into an event or a bad row.

    Raises `HeaderError`.
    """
    place = _as_document(columns) if columns.mapping else _as_event(header, columns)
    time = None if columns.mapping else columns.time

    def write(row: Fields, number: int) -> bytes:
        try:
            event = to_json(columns.name(number) | place(row), inf_nan_mode="constants")
            return event if time is None else TimedRow(event, _plain(row[time], time))
        except ValueError as error:
            return _bad(row, str(error))

    return write


def _as_document(columns: Columns) -> Callable[[Fields], Fields]:
    is_used = cache(columns.is_mapped)

    def document(row: Fields) -> Fields:
        found = {}
        for name, value in row.items():
            if value is not None:
                try:
                    found[name] = _plain(value, name)
                except ValueError:
                    if is_used(name):
                        raise
        return found

    return document


def _as_event(header: Sequence[str], columns: Columns) -> Callable[[Fields], Fields]:
    label, row_id, text, features, _ = columns.places(header)

    def event(row: Fields) -> Fields:
        found: Fields = {}
        if row_id is not None and row[row_id] is not None:
            found["id"] = str(_plain(row[row_id], row_id))
        if features or (text is None and not columns.are_labels):
            known = ((name, row[name]) for name in features)
            found["features"] = {name: _plain(value, name) for name, value in known if value is not None}
        if text is not None:
            found["text"] = "" if row[text] is None else _plain(row[text], text)
        if label is not None and row[label] is not None:
            truth = _plain(row[label], label)
            found["label"] = str(truth) if str(truth) in columns.classes else truth
        return found

    return event


def _bad(row: Fields, why: str) -> BadRow:
    """Return a row that cannot be an event, as Python shows it."""
    return BadRow(repr(row).encode(errors="replace"), why)


def _plain(value: Any, name: str) -> Any:  # noqa: ANN401 - as above
    """Return a value as JSON can hold it. Raises ValueError."""
    if isinstance(value, Mapping):
        return {key: _plain(each, name) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each, name) for each in value]
    if isinstance(value, _Unreadable):
        raise ValueError(f"column {name!r}: {value.complaint}")  # noqa: TRY004 - the value in the file is wrong
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            complaint = f"column {name!r}: bytes that are not UTF-8; to leave it out: {leaving_out(name)}"
            raise ValueError(complaint) from None
    if isinstance(value, datetime) and value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    return float(value) if isinstance(value, Decimal) else value
