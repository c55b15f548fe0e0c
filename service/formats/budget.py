"""Limit the number of values that a record may hold, by its length.

A few bytes may announce any number of values, since nulls, defaults and empty records take hardly any.
"""

from __future__ import annotations

from typing import Final

FREE_VALUES: Final = 10_000
"""Of any record, however short: records with thousands of fields that are not set exist."""
VALUES_PER_BYTE: Final = 16
MOST_VALUES: Final = 1 << 20
"""Of a record that has fewer bytes than this; a longer one may have a value for each byte."""


class TooManyValues(ValueError):
    """A record holds more values than its length allows."""

    def __init__(self, n_bytes: int) -> None:
        super().__init__(f"more than {most_values(n_bytes)} values in {n_bytes} bytes")


def most_values(n_bytes: int) -> int:
    """Return how many values a record of so many bytes may hold.

    >>> most_values(0), most_values(1000), most_values(100_000), most_values(2_000_000)
    (10000, 26000, 1048576, 2000000)
    """
    return max(n_bytes, min(FREE_VALUES + VALUES_PER_BYTE * n_bytes, MOST_VALUES))
