"""Convert text in other encodings to UTF-8."""

from __future__ import annotations

import codecs
import io
from typing import Final

from typing_extensions import Buffer

_PIECE_BYTES: Final = 1 << 16


class Recoded(io.RawIOBase):
    """Reads a stream as UTF-8.

    A byte that the encoding does not know stays what it is, and is then no UTF-8: its row is a bad one.

    Parameters
    ----------
    stream
        What is read.
    encoding
        A codec of Python's; an unknown one raises LookupError.

    """

    def __init__(self, stream: io.BufferedReader, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)("surrogateescape")
        self._left = b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Read what there is. Raises UnicodeError where the text has another encoding."""
        while not self._left:
            piece = self._stream.read1(_PIECE_BYTES)
            text = self._decoder.decode(piece, final=not piece)
            self._left = text.encode(errors="surrogateescape")
            if not piece:
                break
        with memoryview(buffer) as free:
            n_bytes = min(len(free), len(self._left))
            free[:n_bytes] = self._left[:n_bytes]
        self._left = self._left[n_bytes:]
        return n_bytes
