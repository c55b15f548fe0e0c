"""Formats of text: NDJSON, CSV, TSV and LIBSVM.

A row that is not an example in its format keeps its original bytes, which the decoder rejects. A row without
an id gets a prefix and its number, from 1: ``row-1``.

In CSV, a quote that is never closed would put all following lines into one cell. Instead, only the line with
the quote is a bad row, and the lines after it are read as rows.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any, Final

from service.files.columns import USUAL_NAMES, Columns, HeaderError
from service.files.rows import (
    BadRow,
    CutLine,
    FileFormat,
    Lines,
    cell_value,
    encode_event,
    label_value,
    row_writer,
)
from service.mapping.notation import plain_number
from service.messages.json_values import first_repeated, number_of_text

HEADER_HINT: Final = (
    "the first line of a CSV file must name its columns; if it is data, insert a line before it: x1,x2,label"
)
_QUOTED: Final = re.compile(rb'"[^"]*"')
_DELIMITERS: Final = ",;\t|"
"""Those that are known by the first line."""
_MAX_CELL_BYTES: Final = (1 << 31) - 1
"""Largest limit that `csv` takes; our cells are bounded by the length of their rows."""
_MAX_READ_AGAIN_BYTES: Final = 64 << 20
"""Bytes of a file that are read twice: with an open quote in each line, reading would be quadratic."""


def csv_events(lines: Lines, columns: Columns) -> Iterator[bytes]:
    """Yield an event for each row of a CSV file.

    Numbers become numbers, ``true`` and ``false`` booleans, other cells categories; an empty cell is left
    out. A row with the wrong number of cells, or not in UTF-8, keeps its bytes; of a row that is too long,
    only the beginning is kept.
    """
    reader = _CsvReader(lines, columns.delimiter)
    rows = reader.rows()
    header = next(rows, [])
    if isinstance(header, bytes):
        why = header.complaint if isinstance(header, BadRow) else "the line is too long"
        raise HeaderError(f"no header row: {why}", HEADER_HINT)
    _check_header(header, columns)
    write = row_writer(header, columns, cell_value, str)
    reader.header = header
    for number, cells in enumerate(rows, start=1):
        if isinstance(cells, bytes):
            yield cells
            continue
        try:
            yield write(_row(header, cells), number)
        except ValueError as error:
            odd = next((name for name, cell in zip(header, cells, strict=False) if not _is_text(cell)), "")
            yield reader.bad_row(f"column {odd!r} is not UTF-8" if odd else str(error))


def _row(header: Sequence[str], cells: Sequence[str]) -> dict[str, str | None]:
    """Return the cells by column, None for an empty one. Raises ValueError if there are more or fewer."""
    if len(cells) != len(header):
        raise ValueError(f"expected {len(header)} cells, got {len(cells)}")
    return {name: cell or None for name, cell in zip(header, cells, strict=True)}


def _check_header(header: list[str], columns: Columns) -> None:
    """Reject names that cannot be used; warn of a header that may be data, or have another delimiter."""
    if not header:
        raise HeaderError("no header row", HEADER_HINT)
    if not all(map(_is_text, header)):
        hint = "convert the file from its encoding: iconv -f cp1252 -t utf-8 FILE"
        raise HeaderError("the header row is not UTF-8", hint)
    if "" in header:
        raise HeaderError(f"column {header.index('') + 1} has no name", "name it, or remove an index column")
    is_data = _looks_like_data(header)
    if twice := first_repeated(header):
        hint = HEADER_HINT if is_data else "rename one of them, or remove it"
        raise HeaderError(f"two columns are named {twice!r}", hint)
    if is_data and not columns.mapping and columns.label is None and {*USUAL_NAMES}.isdisjoint(header):
        columns.warn("most column names in the first line are numbers", HEADER_HINT)


def _looks_like_data(header: list[str]) -> bool:
    """Return whether most names of a header are numbers, but not the numbers of the columns."""
    numbers = [value for value in map(cell_value, header) if type(value) in {int, float}]
    counts = [*range(len(numbers))], [*range(1, len(numbers) + 1)]
    return 2 * len(numbers) > len(header) and numbers not in counts


def _is_text(name: str) -> bool:
    """Return whether a name was UTF-8, and not, for example, a half of UTF-16."""
    return "\0" not in name and not any("\ud800" <= character <= "\udfff" for character in name)


class _CsvReader:
    """Splits the lines of a CSV file into rows, and ends a row for `csv.reader` if its quote is never closed.

    Parameters
    ----------
    source
        The lines. Bytes that are not UTF-8 become cells that are not text.
    delimiter
        The separator of cells; empty: the most frequent one in the first line, outside quotes.

    Attributes
    ----------
    header : sequence of str
        The names of the columns, for messages.

    """

    def __init__(self, source: Lines, delimiter: str) -> None:
        csv.field_size_limit(_MAX_CELL_BYTES)
        self._source = source
        if not delimiter and (first := next(source, b"")):
            source.read_again([first])
            unquoted = _QUOTED.sub(b"", first)
            delimiter = max(_DELIMITERS, key=lambda each: unquoted.count(each.encode()))
        self._rows = csv.reader(self, delimiter=delimiter or ",")
        self._lines: list[bytes] = []
        self._n_bytes = 0
        """Bytes of the row that is being read."""
        self._is_open = False
        """Whether the lines ended within a row."""
        self._bytes_read_again = 0
        self.header: Sequence[str] = ()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        """Return the text of the next line, which `csv.reader` asks for as long as a quote is open."""
        is_long = self._n_bytes > self._source.max_cell_bytes
        line = None if self._lines and is_long else next(self._source, None)
        if line is None:
            self._is_open = bool(self._lines)
            raise StopIteration
        self._lines.append(line)
        self._n_bytes += len(line)
        return line.decode(errors="surrogateescape")

    def rows(self) -> Iterator[list[str] | bytes]:
        """Yield the cells of each row that is not blank, or its lines."""
        while True:
            self._lines, self._n_bytes, self._is_open = [], 0, False
            try:
                cells = next(self._rows, None)
            except csv.Error:  # there is no other one
                yield self.bad_row("expected lines that end with a newline, got a carriage return")
                continue
            if cells is None:
                return
            if complaint := self._complaint(cells):
                yield self.bad_row(complaint)
            elif cells:
                yield cells

    def bad_row(self, complaint: str) -> bytes:
        """Return the lines of the last row as a bad one."""
        whole, n = b"".join(self._lines).removesuffix(b"\n"), len(self._lines)
        if isinstance(self._lines[-1], CutLine):
            return CutLine(whole)
        return BadRow(whole, complaint + f" in a row of {n} lines: check for an unclosed quote" * (n > 1))

    def _complaint(self, cells: list[str]) -> str:
        """Return the complaint if a row is too long or has an open quote, else an empty text."""
        limit = self._source.max_cell_bytes
        if isinstance(self._lines[-1], CutLine):
            return "the line is too long"
        if self._is_open:
            return self._open_quote(cells)
        if self._n_bytes > limit:
            size, index = max((len(cell), index) for index, cell in enumerate(cells))
            if size > limit:
                return f"column {self._name(index)}: {size} characters; max_message_bytes is {limit}"
        return ""

    def _open_quote(self, cells: list[str]) -> str:
        """Return where the open quote is; have the lines after the first read as rows."""
        opened = self._source.number - len(cells[-1].removesuffix("\n").split("\n")) + 1
        following = self._lines[1:]
        self._bytes_read_again += sum(map(len, following))
        if self._bytes_read_again <= _MAX_READ_AGAIN_BYTES:
            self._source.read_again(following)
            del self._lines[1:]
        return f"the quote that opens in line {opened}, column {self._name(len(cells) - 1)}, is not closed"

    def _name(self, index: int) -> str:
        return repr(self.header[index]) if index < len(self.header) else str(index + 1)


def line_events(
    parse: Callable[[str, Collection[str]], dict[str, Any]], lines: Lines, columns: Columns
) -> Iterator[bytes]:
    """Yield an event for each line that is not blank; a line that is not an example is a bad row."""
    for number, line in enumerate(lines.without_newlines(), start=1):
        if isinstance(line, CutLine):
            yield line
            continue
        try:
            fields = parse(line.decode().removesuffix("\r"), columns.classes)
            yield encode_event(columns.name(number) | fields)
        except ValueError as error:
            yield BadRow(line, str(error))


def tsv_event(line: str, classes: Collection[str]) -> dict[str, Any]:
    """Read ``label<TAB>text``; nothing is quoted, further tabs belong to the text."""
    label, tab, text = line.partition("\t")
    if not tab:
        raise ValueError("expected a tab between label and text")
    return {"text": text, "label": label_value(label, classes)}


def libsvm_event(line: str, classes: Collection[str]) -> dict[str, Any]:
    """Read ``label index:value … # comment``; a feature is named by its index. The label may be missing."""
    fields = line.partition("#")[0].split()
    label = fields.pop(0) if fields and ":" not in fields[0] else ""
    pairs = [field.partition(":") for field in fields]
    features = {index: _number(index, value) for index, _, value in pairs}
    if len(features) < len(pairs) or not all(index.isascii() and index.isdecimal() for index in features):
        raise ValueError("expected different numbers as indices")
    return {"features": features, "label": label_value(label, classes)}


def _number(index: str, value: str) -> float:
    try:
        return plain_number(number_of_text(value))
    except ValueError:
        raise ValueError(f"index {index}: {value!r} is not a number") from None


def _ndjson(lines: Lines, _: Columns) -> Iterator[bytes]:
    """Yield the lines; if the file is an array or has objects of several lines, the first is a bad row."""
    rows = lines.without_newlines()
    for line in rows:
        start = line[:2].rstrip()
        if start[:1] == b"[" or start == b"{" == line.rstrip():
            way = ".[]" if start[:1] == b"[" else "."
            complaint = f"expected one object per line: convert it with `jq -c '{way}' FILE > FILE.ndjson`"
            yield BadRow(line, complaint)
        else:
            yield line
        break
    yield from rows


NDJSON: Final = FileFormat("ndjson", (".ndjson", ".jsonl", ".json"), _ndjson)
CSV: Final = FileFormat("csv", (".csv",), csv_events)
TEXT_FORMATS: Final = (
    NDJSON,
    CSV,
    FileFormat("tsv", (".tsv", ".txt"), partial(line_events, tsv_event), has_fields=False),
    FileFormat(
        "libsvm", (".libsvm", ".svmlight", ".svm"), partial(line_events, libsvm_event), has_fields=False
    ),
)
