"""Open files of examples, or stdin, as messages of one event each.

NDJSON lines pass through unchanged. Rows of other formats become events (`service.files.rows`); a bad row
keeps its original bytes, so that the decoder rejects it like any bad message.
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
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

from typing_extensions import Buffer

from service.errors import InputFileError
from service.files.columns import ANY_COLUMNS, Columns, HeaderError
from service.files.mails import MAIL_FORMATS
from service.files.rows import DamagedFile, FileFormat, Lines
from service.files.tables import TABLES
from service.files.text_files import NDJSON, TEXT_FORMATS

STDIN = "-"
_STDIN_NAME = "stdin"
_BUFFER_BYTES = 1 << 17
FORMATS: Final = {each.name: each for each in (*TEXT_FORMATS, *TABLES, *MAIL_FORMATS)}
"""The formats by name."""
_BY_EXTENSION: Final = {extension: each for each in FORMATS.values() for extension in each.extensions}
_MAGIC: Final = {
    b"\x1f\x8b\x08": ("gzip", "rename a gzipped file to .gz; unpack a pipe with gunzip -c"),
    b"PAR1\x15": ("Parquet", "set --input-format parquet"),
    b"ARROW1\0\0": ("Arrow", "set --input-format arrow"),
    **dict.fromkeys((b"\xff\xfe", b"\xfe\xff"), ("UTF-16", "convert it: iconv -f utf-16 -t utf-8 FILE")),
}
"""First bytes of files that are not text in UTF-8, with the names of their formats, and hints."""


class _Watched(io.RawIOBase):
    """A raw file that calls `before_wait` each time it is about to ask the system for more."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self.raw = raw
        self.before_wait: Callable[[], None] = lambda: None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        self.before_wait()
        return self.raw.readinto(buffer)

    def seekable(self) -> bool:
        return self.raw.seekable()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self.raw.seek(offset, whence)

    def tell(self) -> int:
        return self.raw.tell()


class Source(contextlib.AbstractContextManager["Source"]):
    """The messages of one file, to be iterated over once; a context manager."""

    def __init__(
        self, name: str, raw: io.RawIOBase, form: FileFormat, columns: Columns, max_message_bytes: int = 0
    ) -> None:
        self.name = name
        self._watched = _Watched(raw)
        stream: io.BufferedReader = io.BufferedReader(self._watched, _BUFFER_BYTES)
        if name.endswith(".gz"):  # buffered again: reading lines from a GzipFile itself is slow
            stream = io.BufferedReader(gzip.GzipFile(fileobj=stream, mode="rb"), _BUFFER_BYTES)
        self.format = form
        self.columns = columns
        self._lines = Lines(stream, max_message_bytes)
        self.has_end = _is_regular(raw)
        """Whether it is a regular file: a pipe or a terminal has no end yet."""

    def before_wait(self, call: Callable[[], None]) -> None:
        """Register `call`, to be called each time a source without a known end may have to wait for more."""
        if not self.has_end:
            self._watched.before_wait = call

    @property
    def line(self) -> int:
        """Number of the last line, from 1; for a table, of the last row."""
        return self._lines.number

    @property
    def location(self) -> str:
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
            if self.format.is_text:
                self._reject_other_content()
            yield from self.format.events(self._lines, self.columns)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            hint = "check the file with `gzip --test`: it is damaged or incomplete"
            raise InputFileError(
                f"{self.name}: bad gzip data after line {self.line}: {error}", hint=hint
            ) from None
        except HeaderError as error:
            raise InputFileError(f"{self.name}:1: {error}", hint=error.hint) from None
        except DamagedFile as error:
            raise InputFileError(f"{self.name}: {error}") from None
        except OSError as error:
            raise InputFileError(f"{self.name}: cannot be read: {error.strerror or error}") from None

    def _reject_other_content(self) -> None:
        """Reject a file whose content is not text in UTF-8, whatever its extension is."""
        beginning = self._lines.stream.peek(max(map(len, _MAGIC)))
        for magic, (content, hint) in _MAGIC.items():
            if beginning.startswith(magic):
                raise InputFileError(f"{self.name}: expected {self.format}, got {content}", hint=hint)

    def close(self) -> None:
        """Close the file; stdin stays open. Idempotent."""
        if self.name != _STDIN_NAME:
            self._watched.raw.close()

    def __exit__(self, *exception: object) -> None:
        self.close()


def open_source(
    path: str, form: str | None = None, columns: Columns = ANY_COLUMNS, *, max_message_bytes: int = 0
) -> Source:
    """Open a file of examples.

    Parameters
    ----------
    path
        A file, possibly gzipped (``.gz``), or ``-`` for stdin.
    form
        Name of the format; None chooses by the extension (NDJSON for stdin).
    columns
        The roles of the columns.
    max_message_bytes
        Largest message that is needed. If a line is longer than this and than `rows.MAX_LINE_BYTES`, only its
        beginning is read into memory, as a `CutLine`. A longer cell of a CSV file makes a bad row.

    Raises
    ------
    InputFileError
        The file is missing or unreadable, or its format is unknown.

    """
    named = replace(columns, warn=lambda oddity, hint: columns.warn(f"{path}: {oddity}", hint))
    if path == STDIN:
        if sys.stdin is None:  # Python's name for a stream that is closed from the start
            raise InputFileError("stdin is closed", hint="name a file, or connect a pipe")
        stdin = sys.stdin.buffer
        raw = stdin.raw if isinstance(stdin, io.BufferedReader) else cast("io.RawIOBase", stdin)
        return Source(_STDIN_NAME, raw, FORMATS[form or NDJSON.name], named, max_message_bytes)
    chosen = FORMATS[form] if form else _format_of(path)
    return Source(path, _open(path), chosen, named, max_message_bytes)


def format_of(path: str) -> FileFormat | None:
    """Return the format for the extension of a file; None if the extension is unknown."""
    return _BY_EXTENSION.get(Path(path.removesuffix(".gz")).suffix.lower())


def _format_of(path: str) -> FileFormat:
    if (known := format_of(path)) is None:
        _open(path).close()  # if the file is missing, complain about that instead
        extension = Path(path.removesuffix(".gz")).suffix.lower()
        hint = f"set the format with --input-format {'|'.join(FORMATS)}"
        raise InputFileError(f"{path}: unknown extension {extension or '(none)'}", hint=hint)
    return known


def _open(path: str) -> io.FileIO:
    try:
        return Path(path).open("rb", buffering=0)
    except FileNotFoundError:
        if Path(path).is_symlink():
            target = Path(path).readlink()
            raise InputFileError(
                f"{path}: a link to {target}, which does not exist", hint="fix the link"
            ) from None
        raise InputFileError(f"{path}: no such file", hint=_similar(path)) from None
    except IsADirectoryError:
        raise InputFileError(f"{path}: is a directory", hint="name a file in it") from None
    except OSError as error:
        raise InputFileError(f"{path}: cannot be opened: {error.strerror}") from None


def _similar(path: str) -> str:
    with contextlib.suppress(OSError):
        wanted = Path(path)
        if match := difflib.get_close_matches(wanted.name, [p.name for p in wanted.parent.iterdir()], n=1):
            return f"did you mean {wanted.parent / match[0]}?"
    return "check the path; - stands for stdin"


def _is_regular(raw: io.RawIOBase) -> bool:
    try:
        return stat.S_ISREG(os.fstat(raw.fileno()).st_mode)
    except (OSError, io.UnsupportedOperation):  # stdin that is not a file, as in tests
        return False
