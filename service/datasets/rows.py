"""Rows of CSV, TSV and LIBSVM files as JSON events. In: lines of bytes. Out: messages as bytes.

A row that is no example in its format comes out as the bytes it was, for decoding to refuse. A row
without an id is named by its number, from 1, behind a prefix: ``row-1``.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

from service.datasets.bad_rows import BadRow, CutLine

MAX_LINE_BYTES = 16 << 20
"""Lines up to here are read, unless a message may be longer."""
LABEL_COLUMNS = ("label", "class", "target", "y")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LARGEST_EXACT_INTEGER = 1 << 53  # beyond it, a float stands for several integers
_SKIPPED_BYTES = 1 << 17
_HEADER_HINT = (
    "The first line of a CSV file names its columns; if it is data, put a line before it: x1,x2,label"
)
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


class BadRowError(ValueError):
    """A row that is no example in its format."""


class HeaderError(ValueError):
    """A CSV header that does not fit what was asked for."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class Columns:
    """How a file's rows become events. The columns of a CSV file are None where their usual names hold."""

    label: str | None = None
    id: str | None = None
    text: str | None = None
    classes: frozenset[str] = frozenset()
    """Class names; a label spelled like one stays text."""
    id_prefix: str = "row-"
    """What stands before a row's number where rows have no ids."""
    warn: Callable[[str, str], None] = lambda *_: None
    """Called with what is odd about a header, and a hint."""


class Lines:
    """The lines of a binary file, counted; a byte order mark at its start is not part of a line.

    Of a line longer than `max_line_bytes` only the beginning is kept in memory, as a `CutLine`.
    """

    def __init__(self, stream: BinaryIO, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self._stream = stream
        self.max_line_bytes = max_line_bytes
        self.number = 0

    def __iter__(self) -> Iterator[bytes]:
        most = self.max_line_bytes + 1
        for line in iter(partial(self._stream.readline, most), b""):
            self.number += 1
            if len(line) == most and not line.endswith(b"\n"):
                yield CutLine(line)
                self._skip_line()
            else:
                yield line.removeprefix(_BYTE_ORDER_MARK) if self.number == 1 else line

    def without_newlines(self) -> Iterator[bytes]:
        """Yield the lines that are not blank, each exactly as it is up to its newline."""
        for line in self:
            if isinstance(line, CutLine):
                yield line
            elif not line.isspace():
                yield line.removesuffix(b"\n")

    def _skip_line(self) -> None:
        """Read to the end of the line and keep nothing."""
        while (piece := self._stream.readline(_SKIPPED_BYTES)) and not piece.endswith(b"\n"):
            pass


Parse = Callable[[str, Collection[str]], dict[str, Any]]
"""Turns a row's text into the fields of an event; `BadRowError` or ValueError if it is none."""


def line_events(lines: Lines, parse: Parse, columns: Columns) -> Iterator[bytes]:
    """Yield an event for each line that is not blank."""
    for row, line in enumerate(lines.without_newlines(), start=1):
        if isinstance(line, CutLine):
            yield line
            continue
        try:
            yield _event(
                f"{columns.id_prefix}{row}", parse(line.decode().removesuffix("\r"), columns.classes)
            )
        except ValueError as error:
            yield BadRow(line, str(error))


def tsv_event(line: str, classes: Collection[str]) -> dict[str, Any]:
    """Read ``label<TAB>text``; nothing is quoted, further tabs belong to the text."""
    label, tab, text = line.partition("\t")
    if not tab:
        raise BadRowError("no tab between label and text")
    return {"text": text, "label": label_value(label, classes)}


def libsvm_event(line: str, classes: Collection[str]) -> dict[str, Any]:
    """Read ``label index:value … # comment``; a feature is named by its index. The label may be missing."""
    fields = line.partition("#")[0].split()
    label = fields.pop(0) if fields and ":" not in fields[0] else ""
    pairs = [field.partition(":") for field in fields]
    features = {index: _plain(float(value)) for index, _, value in pairs}
    if len(features) < len(pairs) or not all(index.isdecimal() for index in features):
        raise BadRowError("an index is no number or occurs twice")
    return {"features": features, "label": label_value(label, classes)}


def csv_events(lines: Lines, columns: Columns) -> Iterator[bytes]:
    """Yield an event for each row of a CSV file with a header.

    Numbers become numbers, ``true`` and ``false`` booleans, other cells categories; an empty cell is
    left out. A row of the wrong length, or not UTF-8, comes out as it was; of a row longer than a line may
    be, the beginning.
    """
    pending: list[bytes] = []
    reader = csv.reader(_Decoded(lines, pending))
    header = _read_header(reader)
    place = _place_columns(header, columns)
    row = 0
    while (cells := _next_row(reader, pending)) is not None:
        if cells or not pending[-1].isspace():
            row += 1
            try:
                yield _event(f"{columns.id_prefix}{row}", place(cells))
            except ValueError as error:
                yield _bad_row(pending, str(error))


def _bad_row(lines: list[bytes], complaint: str) -> bytes:
    whole = b"".join(lines).removesuffix(b"\n")
    if isinstance(lines[-1], CutLine):
        return CutLine(whole)
    open_quote = f" in a row of {len(lines)} lines: a quote may not be closed" if len(lines) > 1 else ""
    return BadRow(whole, complaint + open_quote)


def _read_header(reader: Iterator[list[str]]) -> list[str]:
    try:
        return next(reader, [])
    except csv.Error as error:
        raise HeaderError(
            f"no header row: {error}", "The first line of a CSV file names its columns."
        ) from None


def _next_row(reader: Iterator[list[str]], pending: list[bytes]) -> list[str] | None:
    """Return the next row's cells: none for a blank line or an endless cell, None at the end."""
    pending.clear()
    try:
        return next(reader, None)
    except csv.Error:  # a cell longer than csv's limit or a row longer than ours: most likely an open quote
        return []


class _Decoded:
    """Decodes the lines, keeping those of the row being read; what is no UTF-8 fails at encoding again.

    Raises `csv.Error` at a row that is too long, and begins another row with the next line.
    """

    def __init__(self, lines: Lines, pending: list[bytes]) -> None:
        self._lines = iter(lines)
        self._pending = pending
        self._max_row_bytes = lines.max_line_bytes
        self._row_bytes = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self._row_bytes = len(line) + (self._row_bytes if self._pending else 0)
        self._pending.append(line)
        if self._row_bytes > self._max_row_bytes:
            raise csv.Error(f"a row is longer than {self._max_row_bytes} bytes")
        return line.decode(errors="surrogateescape")


def _place_columns(header: list[str], columns: Columns) -> Callable[[list[str]], dict[str, Any]]:
    """Find the columns in the header; return a function that turns a row into the fields of an event."""
    _check_header(header)
    label = _find(header, columns.label, LABEL_COLUMNS, "--label-column")
    row_id = _find(header, columns.id, ("id",), "--id-column")
    text = _find(header, columns.text, ("text",), "--text-column")
    special = {label, row_id, text}
    named = [(index, name) for index, name in enumerate(header) if index not in special]
    if special == {None} and _looks_like_data(header):
        columns.warn("most names of columns, in the first line, are numbers", _HEADER_HINT)

    def fields(cells: list[str]) -> dict[str, Any]:
        if len(cells) != len(header):
            raise BadRowError(f"{len(cells)} cells under {len(header)} columns")
        found: dict[str, Any] = {}
        if row_id is not None and cells[row_id]:
            found["id"] = cells[row_id]
        if named or text is None:
            found["features"] = {name: _value(cells[index]) for index, name in named if cells[index]}
        if text is not None:
            found["text"] = cells[text]
        if label is not None:
            found["label"] = label_value(cells[label], columns.classes)
        return found

    return fields


def _check_header(header: list[str]) -> None:
    if not header:
        raise HeaderError("no header row", "The first line of a CSV file names its columns.")
    if not all(_is_text(name) for name in header):
        raise HeaderError(
            "the header row is not UTF-8",
            "Convert the file, for example with `iconv -f UTF-16 -t UTF-8`.",
        )
    if "" in header:
        raise HeaderError(
            f"column {header.index('') + 1} has no name", "Name it, or leave an index column out."
        )
    if twice := next((name for name in header if header.count(name) > 1), ""):
        hint = _HEADER_HINT if _looks_like_data(header) else "Rename one of them, or leave it out."
        raise HeaderError(f"two columns are named {twice!r}", hint)


def _looks_like_data(header: list[str]) -> bool:
    """Return whether most of a first line are numbers, and not those that count the columns."""
    numbers = [value for value in map(_value, header) if type(value) in {int, float}]
    counts = [*range(len(numbers))], [*range(1, len(numbers) + 1)]
    return 2 * len(numbers) > len(header) and numbers not in counts


def _is_text(name: str) -> bool:
    """Return whether a name was UTF-8, and is not the half of a wider encoding."""
    return "\0" not in name and not any("\ud800" <= letter <= "\udfff" for letter in name)


def _find(header: list[str], wanted: str | None, usual: tuple[str, ...], option: str) -> int | None:
    if wanted is not None and wanted not in header:
        raise HeaderError(f"no column {wanted!r}", f"{option} may name: {', '.join(header)}.")
    names = (wanted,) if wanted is not None else usual
    return next((header.index(name) for name in names if name in header), None)


def label_value(text: str, classes: Collection[str] = ()) -> object:
    """Read a label: a class name stays as it is, numbers and booleans become values; None if empty.

    >>> [label_value(text, {"ham"}) for text in ("+1", "0", "True", "ham", "")]
    [1, 0, True, 'ham', None]
    """
    text = text.strip()
    return text if text in classes else _value(text) if text else None


def _value(cell: str) -> object:
    """Read a cell: a number, a boolean, else a category.

    >>> [_value(cell) for cell in ("7", "2.50", "1e3", "true", "red", "1_000")]
    [7, 2.5, 1000, True, 'red', '1_000']
    """
    try:
        number = float(cell)
    except ValueError:
        return {"true": True, "false": False}.get(cell.strip().lower(), cell)
    return cell if "_" in cell else _plain(number)  # Python reads 1_000 as a number; no one else does


def _plain(number: float) -> float:
    """Write whole numbers without a fraction. NaN and infinity stay, for decoding to refuse."""
    exact = math.isfinite(number) and number.is_integer() and abs(number) < _LARGEST_EXACT_INTEGER
    return int(number) if exact else number


def _event(name: str, fields: dict[str, Any]) -> bytes:
    if fields.get("label", "") is None:
        del fields["label"]
    return _encode({"id": name, **fields}).encode()
