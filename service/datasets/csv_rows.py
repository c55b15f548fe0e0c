"""Convert rows of CSV files to JSON events.

A row that is no example is returned as its original bytes, which decoding refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from service.datasets.cells import cell_value, encode_event, label_value
from service.datasets.columns import Columns, Dialect, HeaderError
from service.datasets.csv_reader import CsvReader
from service.datasets.rows import BadRow, BadRowError, CutLine, FileFormat, Lines, TimedRow

HEADER_HINT: Final = (
    "The first line of a CSV file names its columns; if it is data, say --no-header, "
    "or put a line before it: x1,x2,label"
)
_DELIMITERS: Final = ";\t|,"


def csv_events(lines: Lines, columns: Columns) -> Iterator[bytes]:
    """Yield an event for each row of a CSV file.

    Numbers become numbers, ``true`` and ``false`` booleans, other cells categories; an empty cell is
    left out. A row of the wrong length, or not UTF-8, comes out as it was; of a row longer than a line may
    be, the beginning.
    """
    dialect = columns.dialect
    reader = CsvReader(lines, dialect)
    header = first = _read_header(reader, dialect)
    if not dialect.has_header:
        header = [str(number) for number in range(1, len(first) + 1)]
    _warn_of_delimiter(first, columns)
    if dialect.has_header:
        _check_header(header)
    fields = row_fields(header, columns)
    reader.header = header
    found = _rows(reader, None if dialect.has_header else first)
    timed = header.index(columns.time) if columns.time in header and not columns.mapping else None
    for number, cells in enumerate(found, start=1):
        if isinstance(cells, BadRowError):
            yield _bad_row(reader.lines, str(cells))
            continue
        try:
            event = encode_event(columns.name(number) | fields(cells))
            yield event if timed is None else TimedRow(event, cell_value(cells[timed]))
        except UnicodeEncodeError:
            yield _bad_row(reader.lines, f"column {_not_text(header, cells)!r} is not UTF-8")
        except ValueError as error:
            yield _bad_row(reader.lines, str(error))


def _rows(reader: CsvReader, first: list[str] | None) -> Iterator[list[str] | BadRowError]:
    """Yield the cells of each row that is not blank, or the error in its lines."""
    if first:
        yield first
    while True:
        try:
            cells = reader.row()
        except BadRowError as error:
            yield error
            continue
        if cells is None:
            return
        if cells or not reader.lines[-1].isspace():
            yield cells


def _not_text(header: list[str], cells: list[str]) -> str:
    return next((name for name, cell in zip(header, cells, strict=False) if not _is_text(cell)), "")


def _bad_row(lines: list[bytes], complaint: str) -> bytes:
    whole = b"".join(lines).removesuffix(b"\n")
    if isinstance(lines[-1], CutLine):
        return CutLine(whole)
    open_quote = f" in a row of {len(lines)} lines: a quote may not be closed" if len(lines) > 1 else ""
    return BadRow(whole, complaint + open_quote)


def _warn_of_delimiter(first: list[str], columns: Columns) -> None:
    """Warn of a first row of one cell that has another delimiter in it."""
    other = next((each for each in _DELIMITERS if len(first) == 1 and each in first[0]), None)
    if other is not None:
        option = "tab" if other == "\t" else f"'{other}'"
        columns.warn("the first line has one column only", f"if it has several: --delimiter {option}")


def _read_header(reader: CsvReader, dialect: Dialect) -> list[str]:
    """Return the first row; without a header, the first one that is not blank."""
    try:
        cells = reader.row()
        while cells == [] and not dialect.has_header:
            cells = reader.row()
    except BadRowError as error:
        raise HeaderError(
            f"no header row: {error}", "The first line of a CSV file names its columns."
        ) from None
    return cells or []


def row_fields(header: list[str], columns: Columns) -> Callable[[list[str]], dict[str, Any]]:
    """Return a function that turns a row into the fields of an event, or into a document to be mapped."""
    place = _as_document(header, columns) if columns.mapping else _as_event(header, columns)

    def fields(cells: list[str]) -> dict[str, Any]:
        if len(cells) != len(header):
            raise BadRowError(f"{len(cells)} cells under {len(header)} columns")
        return place(cells)

    return fields


def _as_document(header: list[str], columns: Columns) -> Callable[[list[str]], dict[str, Any]]:
    texts, label, classes = columns.mapped_as_text(), columns.mapped_label(), columns.classes

    def value(name: str, cell: str) -> object:
        if name == label:
            return label_value(cell, classes)
        return cell if name in texts else cell_value(cell)

    def document(cells: list[str]) -> dict[str, Any]:
        return {name: value(name, cell) for name, cell in zip(header, cells, strict=True) if cell}

    return document


def _as_event(header: list[str], columns: Columns) -> Callable[[list[str]], dict[str, Any]]:
    places = columns.places(header)
    label, row_id, text = (None if name is None else header.index(name) for name in places[:3])
    named = [(header.index(name), name) for name in places.features]
    if places[:3] == (None, None, None) and columns.dialect.has_header and _looks_like_data(header):
        columns.warn("most names of columns, in the first line, are numbers", HEADER_HINT)

    def event(cells: list[str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if row_id is not None and cells[row_id]:
            found["id"] = cells[row_id]
        if named or (text is None and not columns.are_labels):
            found["features"] = {name: cell_value(cells[index]) for index, name in named if cells[index]}
        if text is not None:
            found["text"] = cells[text]
        if label is not None:
            found["label"] = label_value(cells[label], columns.classes)
        return found

    return event


def _check_header(header: list[str]) -> None:
    if not header:
        raise HeaderError("no header row", "The first line of a CSV file names its columns.")
    if not all(_is_text(name) for name in header):
        raise HeaderError(
            "the header row is not UTF-8",
            "--encoding says how it is written, such as cp1252.",
        )
    if "" in header:
        raise HeaderError(
            f"column {header.index('') + 1} has no name", "Name it, or leave an index column out."
        )
    if twice := next((name for name in header if header.count(name) > 1), ""):
        hint = HEADER_HINT if _looks_like_data(header) else "Rename one of them, or leave it out."
        raise HeaderError(f"two columns are named {twice!r}", hint)


def _looks_like_data(header: list[str]) -> bool:
    """Return whether most of a first line are numbers, and not those that count the columns."""
    numbers = [value for value in map(cell_value, header) if type(value) in {int, float}]
    counts = [*range(len(numbers))], [*range(1, len(numbers) + 1)]
    return 2 * len(numbers) > len(header) and numbers not in counts


def _is_text(name: str) -> bool:
    """Return whether a name was UTF-8, and is not the half of a wider encoding."""
    return "\0" not in name and not any("\ud800" <= letter <= "\udfff" for letter in name)


CSV: Final = FileFormat("csv", (".csv",), csv_events)
