"""The sums that a log line or a closing summary shows.

A parent of workers adds them up without a model: so nothing of a model is imported here.
"""

from __future__ import annotations

from typing import NamedTuple


class Totals(NamedTuple):
    """The counts of a closing line."""

    events: int
    labelled: int
    mistakes: int
    rejected: int
    skipped: int = 0


class Tally(NamedTuple):
    """What a partition's model has counted. Of several, the largest is the newest: counts only grow."""

    records: int
    totals: Totals
    truths: frozenset[bool | str]
    """The classes that labels were of."""
