"""Recognise binary and compressed files that were given as text, by their first bytes."""

from __future__ import annotations

import io
from typing import Final

from service.errors import InputFileError

_MAGIC: Final = {
    b"\x1f\x8b\x08": ("gzip", "The name of a gzipped file ends in .gz; a pipe is unpacked by gunzip -c."),
    b"PAR1\x15": ("Parquet", "Say so: --input-format parquet."),
    b"ARROW1\0\0": ("Arrow", "Say so: --input-format arrow."),
}
"""The first bytes of a format, its name, and what to do."""
_UTF_16: Final = dict.fromkeys((b"\xff\xfe", b"\xfe\xff"), ("UTF-16", "Say so: --encoding utf-16."))


def refuse_other_content(stream: io.BufferedReader, name: str, wanted: str, encoding: str) -> None:
    """Refuse a file whose content is none of the text formats, whatever its name says; or unasked UTF-16.

    Raises
    ------
    InputFileError
        It names what the content is.

    """
    beginning = stream.peek(max(map(len, _MAGIC)))
    others = _MAGIC if encoding else _MAGIC | _UTF_16
    for magic, (found, hint) in others.items():
        if beginning.startswith(magic):
            raise InputFileError(f"{name}: the content is {found}, not {wanted}", hint=hint)
