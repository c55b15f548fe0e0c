"""Split CSV files into rows of cells, and report rows that are malformed.

A quote that is never closed would put all that follows into one cell. Its first line alone is then a bad
row, and the lines after it are read again.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from service.datasets.columns import Dialect
from service.datasets.rows import BadRowError, Lines

_MOST_READ_AGAIN_BYTES: Final = 64 << 20
"""Of one file; else a file with an open quote in each line would cost the square of its size."""


class CsvReader:
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
