"""Convert rows of Parquet and Arrow files to JSON events.

Columns become what those of a CSV file become; with a mapping, a row is a document. Lists and structs keep
their form. Bytes must be UTF-8. A cell that cannot be read makes its row a bad one if its column is used.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache, partial
from typing import Any, Final

from pydantic_core import to_json

from service.datasets.arrow_cells import Unreadable, cells, may_be_long
from service.datasets.columns import Columns, HeaderError, leaving_out
from service.datasets.rows import BadRow, FileFormat, Lines, TimedRow
from service.datasets.table_limits import MOST_CELL_BYTES, TooMuch, check_groups, weight
from service.formats.extra import need

_BATCH_ROWS: Final = 1024
_READ_ROWS: Final = 8192
"""As each batch that is read of a Parquet file has its dictionaries once more."""
_SHOWN_CHARS: Final = 100
_ARROW_FILE: Final = b"ARROW1"
_FEATHER_1: Final = b"FEA1"
Fields = dict[str, Any]
Batches = Callable[[io.BufferedReader], tuple[Sequence[str], Iterator[Any]]]
"""Opens a file; returns the names of its columns, and its record batches."""


class DamagedTable(ValueError):
    """A file that is no table of its format, or cannot be read as one."""


def table_events(batches: Batches, lines: Lines, columns: Columns) -> Iterator[bytes]:
    """Yield an event for each row, numbered as lines are. Raises `DamagedTable`."""
    need("pyarrow", "a Parquet or Arrow file", "arrow")
    import pyarrow as pa  # noqa: PLC0415 - an extra, and slow to import

    try:
        header, found = batches(lines.stream)
        write = row_writer(header, columns)
        for batch in found:
            for start in range(0, batch.num_rows, _BATCH_ROWS):
                for row in _rows(batch.slice(start, _BATCH_ROWS), header):
                    lines.number += 1
                    yield row if isinstance(row, BadRow) else write(row, lines.number)
    except pa.ArrowException as error:
        raise DamagedTable(f"the file is damaged, or of another format: {error}") from None


def _rows(batch: Any, header: Sequence[str]) -> Iterator[Fields | BadRow]:  # noqa: ANN401 - pyarrow has no types
    """Yield the rows of a `pyarrow.RecordBatch`."""
    is_checked = may_be_long(batch)
    for cells_of_row in zip(*map(cells, batch.columns), strict=True):
        row = dict(zip(header, cells_of_row, strict=True))
        is_long = is_checked and weight(row) > MOST_CELL_BYTES
        yield _bad(row, f"longer than {MOST_CELL_BYTES} bytes") if is_long else row


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
    """Return a row that cannot be an event, as Python shows it; of one that is too long, the beginnings."""
    shown = row
    if weight(row) > MOST_CELL_BYTES:
        shown = {
            name: repr(value)[:_SHOWN_CHARS] for name, value in row.items() if not isinstance(value, list)
        }
    return BadRow(repr(shown).encode(errors="replace"), why)


def parquet_batches(stream: io.BufferedReader) -> tuple[Sequence[str], Iterator[Any]]:
    """Open a Parquet file; return the names of its columns, and its record batches."""
    from pyarrow import parquet  # noqa: PLC0415 - an extra

    if not stream.seekable():
        raise DamagedTable("a Parquet file cannot be read from a pipe: name the file")
    found = parquet.ParquetFile(stream)
    try:
        check_groups(found.metadata)
    except TooMuch as error:
        raise DamagedTable(f"{error}: write it in smaller row groups") from None
    columns = [found.schema.column(each) for each in range(len(found.schema))]
    texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    file = parquet.ParquetFile(stream, metadata=found.metadata, read_dictionary=texts)
    width = sum(column.length for column in columns if column.physical_type == "FIXED_LEN_BYTE_ARRAY")
    n_rows = max(1, min(_READ_ROWS, MOST_CELL_BYTES // max(1, width)))
    return _checked(file.schema_arrow.names), file.iter_batches(n_rows)


def arrow_batches(stream: io.BufferedReader) -> tuple[Sequence[str], Iterator[Any]]:
    """Open an Arrow file (Feather, version 2) or stream; return its columns and its record batches."""
    from pyarrow import ipc  # noqa: PLC0415 - an extra

    beginning = stream.peek(len(_ARROW_FILE))
    if beginning.startswith(_FEATHER_1):
        raise DamagedTable("Feather of version 1, an old format: write it again in version 2")
    if beginning.startswith(_ARROW_FILE):
        if not stream.seekable():
            raise DamagedTable("an Arrow file cannot be read from a pipe, a stream can: name the file")
        file = ipc.open_file(stream)
        return _checked(file.schema.names), map(file.get_batch, range(file.num_record_batches))
    batches = ipc.open_stream(stream)
    return _checked(batches.schema.names), batches


def _checked(names: Sequence[str]) -> Sequence[str]:
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise HeaderError(f"two columns are named {twice!r}", "Rename one of them, or leave it out.")
    return names


def _plain(value: Any, name: str) -> Any:  # noqa: ANN401 - any value of Arrow's
    """Return a value as JSON can hold it. Raises ValueError."""
    if isinstance(value, Mapping):
        return {key: _plain(each, name) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each, name) for each in value]
    if isinstance(value, Unreadable):
        raise ValueError(f"column {name!r}: {value.complaint}")  # noqa: TRY004 - the value in the file is wrong
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            complaint = f"column {name!r}: bytes that are not UTF-8; to leave it out: {leaving_out(name)}"
            raise ValueError(complaint) from None
    return float(value) if isinstance(value, Decimal) else value


TABLES: Final = (
    FileFormat("parquet", (".parquet", ".pq"), partial(table_events, parquet_batches), is_text=False),
    FileFormat(
        "arrow",
        (".arrow", ".arrows", ".feather", ".ipc"),
        partial(table_events, arrow_batches),
        is_text=False,
    ),
)
