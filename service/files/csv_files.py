"""Convert rows of CSV files to JSON events.

A row that is no example is returned as its original bytes, which decoding refuses. A quote that is never
closed would put all that follows into one cell. Its first line alone is then a bad row, and the lines after
it are read again.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from service.files.columns import Columns, Dialect, HeaderError
from service.files.rows import (
    BadRow,
    BadRowError,
    CutLine,
    FileFormat,
    Lines,
    TimedRow,
    cell_value,
    encode_event,
    label_value,
)

HEADER_HINT: Final = (
    "The first line of a CSV file names its columns; if it is data, say --no-header, "
    "or put a line before it: x1,x2,label"
)
_DELIMITERS: Final = ";\t|,"
_MOST_READ_AGAIN_BYTES: Final = 64 << 20
"""Of one file; else a file with an open quote in each line would cost the square of its size."""


def csv_events(lines: Lines, columns: Columns) -> Iterator[bytes]:
    """Yield an event for each row of a CSV file.

    Numbers become numbers, ``true`` and ``false`` booleans, other cells categories; an empty cell is
    left out. A row of the wrong length, or not UTF-8, comes out as it was; of a row longer than a line may
    be, the beginning.
    """
    dialect = columns.dialect
    reader = _CsvReader(lines, dialect)
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


def _rows(reader: _CsvReader, first: list[str] | None) -> Iterator[list[str] | BadRowError]:
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


def _read_header(reader: _CsvReader, dialect: Dialect) -> list[str]:
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


class _CsvReader:
    """The rows of a CSV file.

    Parameters
    ----------
    lines
        Of the file. Bytes that are not UTF-8 become cells that fail when they are encoded again.
    dialect
        How the file is written.

    Attributes
    ----------
    lines : list of bytes
        Those of the last row.
    header : sequence of str
        The names of the columns, for messages.

    """

    def __init__(self, lines: Lines, dialect: Dialect) -> None:
        self._source = lines
        self._format = _format(dialect)
        self._text = _RowText(lines, lines.max_line_bytes)
        self._rows = csv.reader(self._text, **self._format)
        self._bytes_read_again = 0
        self.header: Sequence[str] = ()

    @property
    def lines(self) -> list[bytes]:
        """The lines of the last row."""
        return self._text.lines

    def row(self) -> list[str] | None:
        """Return the next row's cells: none of a blank line, None at the end.

        Raises
        ------
        BadRowError
            `lines` are no row; the next call continues with the line after them.

        """
        self._text.lines = []
        csv.field_size_limit(self._source.max_cell_bytes)
        try:
            cells = next(self._rows, None)
        except csv.Error as error:  # a cell that is too long, or a carriage return outside quotes
            cells = self._whole_row(error)
        if self._text.is_open:
            raise self._open_quote(cells or [])
        return cells

    def _whole_row(self, error: csv.Error) -> list[str]:
        """Return the cells of a row with a long one, if its quote is open. Raises `BadRowError`."""
        lines, limit = self.lines, self._source.max_cell_bytes
        csv.field_size_limit(sum(map(len, lines)))
        text = _RowText(lines, self._source.max_line_bytes)
        try:
            cells = next(csv.reader(text, **self._format))
        except csv.Error:
            raise BadRowError(str(error)) from None
        if not text.is_open:
            size, index = max((len(cell), index) for index, cell in enumerate(cells))
            place = f"column {self._name(index)}"
            raise BadRowError(f"{place}: {size} characters; max_message_bytes is {limit}")
        self._text.is_open = True
        return cells

    def _open_quote(self, cells: list[str]) -> BadRowError:
        """Say where a quote was opened that is not closed; have the lines behind the first read again."""
        self._text.is_open = False
        opened = self._source.number - len(cells[-1].removesuffix("\n").split("\n")) + 1
        behind = self.lines[1:]
        self._bytes_read_again += sum(map(len, behind))
        if self._bytes_read_again <= _MOST_READ_AGAIN_BYTES:
            self._source.read_again(behind)
            self._text.renew()
            del self.lines[1:]
        column = self._name(len(cells) - 1)
        return BadRowError(f"the quote that opens in line {opened}, column {column}, is not closed")

    def _name(self, index: int) -> str:
        return repr(self.header[index]) if index < len(self.header) else str(index + 1)


def _format(dialect: Dialect) -> dict[str, Any]:
    """Return the arguments of `csv.reader`."""
    if not dialect.quote:
        return {"delimiter": dialect.delimiter, "quoting": csv.QUOTE_NONE}
    return {"delimiter": dialect.delimiter, "quotechar": dialect.quote}


class _RowText:
    """The text of lines for `csv.reader`, which asks for another one as long as a quote is open.

    Raises `BadRowError` at a row that is too long, and begins another row with the next line.
    """

    def __init__(self, source: Iterable[bytes], max_row_bytes: int) -> None:
        self._source = source
        self._max_row_bytes = max_row_bytes
        self._row_bytes = 0
        self.lines: list[bytes] = []
        """Of the row that is being read."""
        self.is_open = False
        """Whether the lines ended within a row."""
        self.renew()

    def renew(self) -> None:
        """Begin reading again, after some lines were put back."""
        self._lines = iter(self._source)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines, None)
        if line is None:
            self.is_open = bool(self.lines)
            raise StopIteration
        self._row_bytes = len(line) + (self._row_bytes if self.lines else 0)
        self.lines.append(line)
        if self._row_bytes > self._max_row_bytes:
            raise BadRowError(f"a row is longer than {self._max_row_bytes} bytes")
        return line.decode(errors="surrogateescape")


CSV: Final = FileFormat("csv", (".csv",), csv_events)
