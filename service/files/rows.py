"""Rows of files: lines of text, counted; cells of text as values; rows that are not examples."""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, Self

from pydantic_core import to_json

from service.files.columns import Columns, leaving_out
from service.mapping.notation import DataWarnings, plain_number
from service.messages.json_values import number_of_text
from service.messages.rejection import Reason, Rejection

MAX_LINE_BYTES = 16 << 20
"""Lines up to here are read, unless a message may be longer."""
_MAX_CELL_BYTES: Final = 1 << 20
"""Longest cell that is read, unless a message may be longer."""
_MAX_COMPLAINT_LENGTH: Final = 200
"""Longest complaint in characters; a field name in it may be of any length."""
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_SKIPPED_BYTES: Final = 1 << 17
_BOOLEANS: Final = {"true": True, "false": False}
Fields = dict[str, Any]
Read = Callable[[Any], Any]


class DamagedFile(ValueError):
    """A file that is not of its format, or cannot be read."""


class CutLine(bytes):
    """The beginning of a line that is too long: at least one byte more than the limit."""

    __slots__ = ()


class BadRow(bytes):
    """A row that is not an example in its format: its original bytes, with the complaint about it."""

    complaint: str

    def __new__(cls, row: bytes, complaint: str) -> Self:
        """Keep the row, and the beginning of the complaint."""
        bad = super().__new__(cls, row)
        bad.complaint = complaint[:_MAX_COMPLAINT_LENGTH]
        return bad


class TimedRow(bytes):
    """The message of a row, with the time from a column that is not a part of the message."""

    time: object

    def __new__(cls, message: bytes, time: object) -> Self:
        """Keep the message and the time."""
        timed = super().__new__(cls, message)
        timed.time = time
        return timed


class UntimedRow(BadRow):
    """A row without a valid time; its complaint is about the time only."""


def rejection_of_row(message: bytes | None, rejection: Rejection) -> Rejection:
    """Return the rejection of a row, with the complaint in the words of the row's format if there is one."""
    is_another = isinstance(message, UntimedRow) and rejection.reason != Reason.EVENT_TIME_OUT_OF_RANGE
    if isinstance(message, BadRow) and not is_another:
        return Rejection(rejection.reason, message.complaint)
    return rejection


class Lines:
    """The lines of a binary file, counted; a byte order mark at its start is not part of a line.

    If a line is longer than both `MAX_LINE_BYTES` and `max_message_bytes`, only its beginning is kept in
    memory, as a `CutLine`.

    Parameters
    ----------
    stream
        The file.
    max_message_bytes
        Largest message that is needed.

    Attributes
    ----------
    number : int
        Number of the last line, from 1; for a format without lines, of the last row.

    """

    def __init__(self, stream: io.BufferedReader, max_message_bytes: int = 0) -> None:
        self.stream = stream
        self.max_line_bytes = max(max_message_bytes, MAX_LINE_BYTES)
        self.max_cell_bytes = max_message_bytes or _MAX_CELL_BYTES
        self.number = 0
        self._again: deque[bytes] = deque()

    def read_again(self, lines: Sequence[bytes]) -> None:
        """Put the last lines back: the next iteration begins with them."""
        self.number -= len(lines)
        self._again.extendleft(reversed(lines))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        line = self._again.popleft() if self._again else self.stream.readline(self.max_line_bytes + 1)
        if not line:
            raise StopIteration
        self.number += 1
        if len(line) > self.max_line_bytes and not line.endswith(b"\n") and not isinstance(line, CutLine):
            self._skip_line()
            return CutLine(line)
        return line.removeprefix(_BYTE_ORDER_MARK) if self.number == 1 else line

    def without_newlines(self) -> Iterator[bytes]:
        """Yield the lines that are not blank, each exactly as it is up to its newline."""
        for line in self:
            if isinstance(line, CutLine):
                yield line
            elif not line.isspace():
                yield line.removesuffix(b"\n")

    def _skip_line(self) -> None:
        """Read to the end of the line and keep nothing."""
        while (piece := self.stream.readline(_SKIPPED_BYTES)) and not piece.endswith(b"\n"):
            pass


class FileFormat(NamedTuple):
    """A format of files of examples."""

    name: str
    """Its name for `--input-format`."""
    extensions: tuple[str, ...]
    events: Callable[[Lines, Columns], Iterator[bytes]]
    """Yields an event for each row; `BadRow` or `CutLine` for a row that is not an example."""
    is_text: bool = True
    has_fields: bool = True
    """Whether a row has named fields, which the settings `events` may map."""

    def __str__(self) -> str:
        return self.name


def label_value(text: str, classes: Collection[str] = ()) -> object:
    """Read a label: a class name stays as it is, numbers and booleans become values; None if empty.

    >>> [label_value(text, {"ham"}) for text in ("+1", "0", "True", "ham", "")]
    [1, 0, True, 'ham', None]
    """
    text = text.strip()
    return text if text in classes else cell_value(text) if text else None


def cell_value(cell: str) -> object:
    """Read a cell: a number, a boolean, else a category.

    >>> [cell_value(cell) for cell in ("7", "2.50", "1e3", "true", "red", "1_000", "٣")]
    [7, 2.5, 1000, True, 'red', '1_000', '٣']
    """
    if not cell[:1].isalpha() or cell[0] in "iInN":  # inf, nan; an exception takes long
        with suppress(ValueError):
            return plain_number(number_of_text(cell))
    return _BOOLEANS.get(cell.strip().lower(), cell)


def encode_event(fields: Mapping[str, Any]) -> bytes:
    """Write a row's fields as JSON; a missing label is left out. Raises ValueError."""
    if fields.get("label", "") is None:
        fields = {name: value for name, value in fields.items() if name != "label"}
    return to_json(fields, inf_nan_mode="constants")


def row_writer(
    header: Sequence[str], columns: Columns, value: Read, text: Read
) -> Callable[[Mapping[str, Any], int], bytes]:
    """Return a function that turns a row and its number into an event, or into a document to be mapped.

    Columns without a value are None. A cell that `value` cannot read is not a feature; a warning names it.

    Parameters
    ----------
    header
        The names of the columns.
    columns
        The roles of the columns.
    value
        Reads a cell; raises ValueError.
    text
        Reads a cell of ids or texts, in which 007 is not a number; raises ValueError.

    Raises
    ------
    HeaderError
        A named column is missing. The returned function raises ValueError if a row is not an example.

    """
    cells = _Cells(columns, value, text)
    fields_of = _as_document(cells, columns) if columns.mapping else _as_event(cells, header, columns)
    time = None if columns.mapping else columns.time

    def write(row: Mapping[str, Any], number: int) -> bytes:
        event = encode_event(columns.name(number) | fields_of(row))
        return event if time is None else TimedRow(event, cells.value(time, row[time]))

    return write


class _Cells:
    """Reads cells; warns once for each column with cells that cannot be read."""

    def __init__(self, columns: Columns, value: Read, text: Read) -> None:
        self._columns = columns
        self._value, self._text = value, text
        self._unread: set[str] = set()
        self._data_warnings = None if columns.mapping else DataWarnings(self._warn_of_text)

    def value(self, name: str, cell: object) -> Any:  # noqa: ANN401 - whatever is in the file
        """Return the value of a cell; None if it is empty. Raises ValueError."""
        notation = self._columns.notation
        if notation is not None and isinstance(cell, str):
            number = notation.value(name, cell)
            if number is not cell:
                return number
        return None if cell is None else self._value(cell)

    def features(self, cells: Iterable[tuple[str, Any]]) -> Fields:
        """Return the values of all cells that are not empty and can be read."""
        values = {}
        for name, cell in cells:
            if cell is not None:
                try:
                    values[name] = value = self.value(name, cell)
                except ValueError as error:
                    self._warn(name, error)
                else:
                    if self._data_warnings is not None:
                        self._data_warnings.note(name, value)
        return values

    def _warn(self, name: str, error: ValueError) -> None:
        if name not in self._unread:
            self._unread.add(name)
            self._columns.warn(
                f"the column {name!r} is omitted where it has {error}",
                f"to exclude it: {self._leaving_out(name)}",
            )

    def _warn_of_text(self, name: str, what: str, hint: str) -> None:
        self._columns.warn(
            f"the column {name!r} has {what}: each string becomes a category",
            f"{hint}; to exclude it: {self._leaving_out(name)}",
        )

    def _leaving_out(self, name: str) -> str:
        return leaving_out(name, self._columns.label)

    def text(self, name: str, cell: object) -> Any:  # noqa: ANN401 - whatever is in the file
        """Return an id or a text, without which the row is not an example. Raises ValueError."""
        try:
            return self._text(cell)
        except ValueError as error:
            raise ValueError(f"column {name!r}: {error}") from None

    def label(self, name: str, cell: object) -> object:
        """Return a label; a class name stays as it is. Raises ValueError."""
        text = self.text(name, cell)
        classes = self._columns.classes
        if isinstance(text, str):
            return label_value(text, classes)
        return str(text) if str(text) in classes else text


def _as_document(cells: _Cells, columns: Columns) -> Callable[[Mapping[str, Any]], Fields]:
    texts, label = columns.mapped_as_text(), columns.mapped_label()

    def document(row: Mapping[str, Any]) -> Fields:
        fields = cells.features((name, cell) for name, cell in row.items() if name not in texts)
        fields |= {name: cells.text(name, row[name]) for name in texts & row.keys() if row[name] is not None}
        if label is not None and row.get(label) is not None:
            fields[label] = cells.label(label, row[label])
        return fields

    return document


def _as_event(
    cells: _Cells, header: Sequence[str], columns: Columns
) -> Callable[[Mapping[str, Any]], Fields]:
    roles = columns.roles(header)
    label, row_id, text = roles.label, roles.id, roles.text
    has_features = bool(roles.features) or (text is None and not columns.are_labels)

    def event(row: Mapping[str, Any]) -> Fields:
        fields: Fields = {}
        if row_id is not None and row[row_id] is not None:
            fields["id"] = str(cells.text(row_id, row[row_id]))
        if has_features:
            fields["features"] = cells.features((name, row[name]) for name in roles.features)
        if text is not None:
            fields["text"] = "" if row[text] is None else cells.text(text, row[text])
        if label is not None and row[label] is not None:
            fields["label"] = cells.label(label, row[label])
        return fields

    return event
