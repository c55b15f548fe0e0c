"""Convert rows of TSV and LIBSVM files to JSON events.

A row that is no example in its format is returned as its original bytes, which decoding refuses. A row
without an id is named by its number, from 1, behind a prefix: ``row-1``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any, BinaryIO

from service.datasets.bad_rows import BadRow, BadRowError, CutLine
from service.datasets.cells import encode_event, label_value, plain_number
from service.datasets.columns import Columns

MAX_LINE_BYTES = 16 << 20
"""Lines up to here are read, unless a message may be longer."""
_MAX_CELL_BYTES = 1 << 20
"""A longer cell is refused, unless a message may be longer."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SKIPPED_BYTES = 1 << 17


class Lines:
    """The lines of a binary file, counted; a byte order mark at its start is not part of a line.

    Of a line longer than `MAX_LINE_BYTES` and than `max_message_bytes` only the beginning is kept in memory,
    as a `CutLine`.
    """

    def __init__(self, stream: BinaryIO, max_message_bytes: int = 0) -> None:
        self._stream = stream
        self.max_line_bytes = max(max_message_bytes, MAX_LINE_BYTES)
        self.max_cell_bytes = max_message_bytes or _MAX_CELL_BYTES
        self.number = 0
        self._again: deque[bytes] = deque()

    def read_again(self, lines: Sequence[bytes]) -> None:
        """Put the last lines back: the next iteration begins with them."""
        self.number -= len(lines)
        self._again.extendleft(reversed(lines))

    def __iter__(self) -> Iterator[bytes]:
        while self._again:
            self.number += 1
            yield self._again.popleft()
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
            fields = parse(line.decode().removesuffix("\r"), columns.classes)
            yield encode_event(columns.name(row) | fields)
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
    features = {index: _number(index, value) for index, _, value in pairs}
    if len(features) < len(pairs) or not all(index.isdecimal() for index in features):
        raise BadRowError("an index is no number or occurs twice")
    return {"features": features, "label": label_value(label, classes)}


def _number(index: str, value: str) -> float:
    try:
        return plain_number(float(value))
    except ValueError:
        raise BadRowError(f"index {index}: {value!r} is no number") from None
