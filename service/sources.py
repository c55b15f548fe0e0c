"""Opens files of examples. In: a path or stdin. Out: messages as bytes, one event each.

NDJSON lines pass through untouched. Rows of other formats become events (`service.rows`); a row
that cannot is passed on as its original bytes, so that decoding refuses it like any bad message.
"""

from __future__ import annotations

import contextlib
import difflib
import gzip
import io
import os
import stat
import sys
import zlib
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from service import rows
from service.errors import InputFileError

STDIN = "-"


class Format(StrEnum):
    """How a file's rows are written."""

    NDJSON = "ndjson"
    CSV = "csv"
    TSV = "tsv"
    LIBSVM = "libsvm"


_EXTENSIONS = {
    ".ndjson": Format.NDJSON,
    ".jsonl": Format.NDJSON,
    ".json": Format.NDJSON,
    ".csv": Format.CSV,
    ".tsv": Format.TSV,
    ".txt": Format.TSV,
    ".libsvm": Format.LIBSVM,
    ".svmlight": Format.LIBSVM,
    ".svm": Format.LIBSVM,
}


class Source:
    """The messages of one file, to be iterated over once; a context manager.

    `line` is the number of the line on which the last message ended.
    """

    def __init__(
        self, name: str, raw: BinaryIO, stream: BinaryIO, columns: rows.Columns, form: Format
    ) -> None:
        self.name = name
        self._raw = raw
        self._stream = stream
        self._columns = columns
        self._format = form
        self._lines = rows.Lines(stream)
        self.size_bytes = _regular_size(raw)
        """Size of the file as it lies on disk; None if it has no end yet (a pipe, a terminal)."""

    @property
    def bytes_read(self) -> int:
        """How much of `size_bytes` has been read."""
        return self._raw.tell() if self.size_bytes is not None else 0

    @property
    def line(self) -> int:
        """Number of the last line taken, from 1."""
        return self._lines.number

    @property
    def place(self) -> str:
        """Where the last message was, as ``file:line``."""
        return f"{self.name}:{self.line}"

    def __iter__(self) -> Iterator[bytes]:
        """Yield the messages.

        Raises
        ------
        InputFileError
            The file cannot be read to its end, or its header does not fit.

        """
        try:
            yield from self._messages()
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            hint = "The file is damaged or incomplete; `gzip --test` tells."
            raise InputFileError(
                f"{self.name}: bad gzip data after line {self.line}: {error}", hint=hint
            ) from None
        except rows.HeaderError as error:
            raise InputFileError(f"{self.name}:1: {error}", hint=error.hint) from None
        except OSError as error:
            raise InputFileError(f"{self.name}: cannot be read: {error.strerror or error}") from None

    def _messages(self) -> Iterator[bytes]:
        if self._format is Format.NDJSON:
            return self._lines.without_newlines()
        if self._format is Format.CSV:
            return rows.csv_events(self._lines, self._columns)
        parse = rows.tsv_event if self._format is Format.TSV else rows.libsvm_event
        return rows.line_events(self._lines, parse, self._columns.classes)

    def close(self) -> None:
        """Close the file; stdin stays open. Idempotent."""
        if self.name != STDIN:
            self._stream.close()
            self._raw.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_source(
    path: str,
    form: Format | str | None = None,
    *,
    label_column: str | None = None,
    id_column: str | None = None,
    text_column: str | None = None,
    classes: Sequence[str] = (),
) -> Source:
    """Open a file of examples.

    Parameters
    ----------
    path
        A file, possibly gzipped (``.gz``), or ``-`` for stdin.
    form
        Its format; by the extension if None (NDJSON for stdin).
    label_column, id_column, text_column
        Columns of a CSV file. By default the first of `label`, `class`, `target`, `y`; `id`; `text`
        where there are such columns. All other columns are features.
    classes
        Class names: a label spelled like one stays text even if it looks like a number.

    Raises
    ------
    InputFileError
        The file is missing or unreadable, or its format is unknown.

    """
    columns = rows.Columns(label_column, id_column, text_column, frozenset(classes))
    if path == STDIN:
        stdin = sys.stdin.buffer
        return Source(STDIN, stdin, stdin, columns, Format(form or Format.NDJSON))
    chosen = Format(form) if form else _format_of(path)
    raw = _open(path)
    return Source(path, raw, _decompressed(raw) if path.endswith(".gz") else raw, columns, chosen)


def _format_of(path: str) -> Format:
    extension = Path(path.removesuffix(".gz")).suffix.lower()
    if extension not in _EXTENSIONS:
        _open(path).close()  # a missing file is the better complaint
        hint = f"Name the format with --format {'|'.join(Format)}."
        raise InputFileError(f"{path}: the extension {extension or '(none)'} says no format", hint=hint)
    return _EXTENSIONS[extension]


def _open(path: str) -> BinaryIO:
    try:
        return Path(path).open("rb")
    except FileNotFoundError:
        raise InputFileError(f"{path}: no such file", hint=_similar(path)) from None
    except IsADirectoryError:
        raise InputFileError(f"{path}: is a directory", hint="Name a file in it.") from None
    except OSError as error:
        raise InputFileError(f"{path}: cannot be opened: {error.strerror}") from None


def _similar(path: str) -> str:
    with contextlib.suppress(OSError):
        wanted = Path(path)
        names = [entry.name for entry in wanted.parent.iterdir()]
        if match := difflib.get_close_matches(wanted.name, names, n=1):
            return f"Did you mean {wanted.parent / match[0]}?"
    return ""


def _decompressed(raw: BinaryIO) -> BinaryIO:
    """Decompress; buffered, as reading lines from a GzipFile itself is several times slower."""
    return io.BufferedReader(gzip.GzipFile(fileobj=raw, mode="rb"), buffer_size=1 << 17)


def _regular_size(raw: BinaryIO) -> int | None:
    try:
        status = os.fstat(raw.fileno())
    except (OSError, io.UnsupportedOperation):  # stdin that is no file, as in tests
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None
