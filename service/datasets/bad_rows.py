"""Mark rows that are no examples: their original bytes, with the reason."""

from __future__ import annotations

from typing import Final, Self

_LONGEST_COMPLAINT: Final = 200
"""Characters; a field that is named in it may be of any length."""


class BadRowError(ValueError):
    """A row that is no example in its format."""


class CutLine(bytes):
    """The beginning of a line that is too long: one byte more than the limit."""

    __slots__ = ()


class BadRow(bytes):
    """A row that is no example in its format, as it was, and what is wrong with it."""

    complaint: str

    def __new__(cls, row: bytes, complaint: str) -> Self:
        """Keep the row, and the beginning of the complaint."""
        bad = super().__new__(cls, row)
        bad.complaint = complaint[:_LONGEST_COMPLAINT]
        return bad


def complaint_of(message: bytes | None, otherwise: str) -> str:
    """Return what is wrong with a row in its own format; else `otherwise`, the error of its decoder."""
    return message.complaint if isinstance(message, BadRow) else otherwise
