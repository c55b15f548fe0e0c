"""The files of an open SQLite stream: created private, and checked to be still there.

SQLite goes on with files that were deleted, moved or replaced under it: it would read and write a file that
no other process sees, and all of it would be lost at the end.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from service.errors import TransportError

PRIVATE: Final = 0o600
"""A stream holds people's texts: SQLite gives `-wal` and `-shm` the rights of the file itself."""
_SUFFIXES: Final = ("", "-wal", "-shm")
_LOOK_SECONDS: Final = 1.0
"""How long the loss of a file may go unnoticed while nothing is committed."""

Identity = tuple[int, int]


def create_private(path: Path) -> None:
    """Create an empty file that only its owner may read, unless there is one already."""
    # Never open one that is there: closing it would drop this process's locks on it.
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE))


class OpenFiles:
    """The stream's file, its write-ahead log and its index, as they were when they were opened.

    Parameters
    ----------
    path
        The stream's file, opened and read once, so that all three exist.

    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened = {suffix: _identity(self._beside(suffix)) for suffix in _SUFFIXES}
        self._next_look = 0.0
        self._lost = ""

    def check(self, *, at_once: bool = False) -> None:
        """Look whether each file is still the one that was opened; `at_once`, else once a second.

        Raises
        ------
        TransportError
            One is gone or is another file; from then on always.

        """
        if not self._lost and (at_once or time.monotonic() >= self._next_look):
            self._next_look = time.monotonic() + _LOOK_SECONDS
            self._lost = next(
                (str(self._beside(suffix)) for suffix in _SUFFIXES if not self._is_in_place(suffix)), ""
            )
        if self._lost:
            raise TransportError(
                f"{self._lost} was deleted, moved or replaced while the stream was open: "
                "nothing more is written",
                hint="stop every process that uses the stream, put the file back if you have it, and start "
                "again; move a stream only while nobody uses it",
            )

    def may_be_closed(self) -> bool:
        """Return whether closing the connection does no harm.

        Closing writes the write-ahead log into the file. That saves a log that was deleted. It damages what
        others have begun since: another file by this name, or a log, which they cannot delete before us; and
        what they have added to the log by another index, which ours does not know.
        """
        if not self._is_in_place(""):
            return False
        return self._is_in_place("-shm") if self._is_in_place("-wal") else not self._beside("-wal").exists()

    def _is_in_place(self, suffix: str) -> bool:
        return _identity(self._beside(suffix)) == self._opened[suffix]

    def _beside(self, suffix: str) -> Path:
        return self._path.with_name(self._path.name + suffix)


def _identity(path: Path) -> Identity | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
