"""Parse settings that are several tables, each `[[like.this]]`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

Parsed = TypeVar("Parsed")


def parse_tables(value: object, parse: Callable[[object], Parsed], *, most: int, wanted: str) -> list[Parsed]:
    """Parse each of several tables, or the one that stands for a list of one.

    Raises ValueError: there are more than `most`, it is no list of tables, or one of them is wrong.
    """
    tables = [value] if isinstance(value, Mapping) and value else value or ()
    if not isinstance(tables, Sequence) or isinstance(tables, str):
        raise ValueError(f"expected tables {wanted}")  # noqa: TRY004 - as all that is wrong
    if len(tables) > most:
        raise ValueError(f"there are {len(tables)}; {most} at most")
    found = []
    for number, table in enumerate(tables, start=1):
        try:
            found.append(parse(table))
        except ValueError as error:
            raise ValueError(f"number {number}: {error}") from None
    return found
