"""The sums that a log line or a closing summary shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

LABELS: Final = ("provisional", "real", "corrected", "late", "orphaned", "displaced")
"""Kinds of labels that are told apart, and events that gave way before theirs could come."""


class Totals(NamedTuple):
    """The counts of a closing line."""

    events: int
    labelled: int
    mistakes: int
    rejected: int
    skipped: int = 0
    provisional: int = 0
    """Of the labelled ones, those whose label is that of the time-out."""
    revised: int = 0
    """By how much corrections have changed the mistakes."""
    displaced: int = 0
    """Events that gave way to newer ones while a label of them could still come."""
    corrected: int = 0
    late: int = 0
    orphaned: int = 0
    received: int = 0
    """Labels that came apart from their events."""

    @classmethod
    def sum_of(cls, each: Iterable[Totals]) -> Totals:
        """Add counts up."""
        return cls(*(sum(column) for column in zip(cls(0, 0, 0, 0), *each, strict=True)))

    def labels(self) -> dict[str, int]:
        """Return how many labels there were by kind, those of no kind left out; nothing if all are real."""
        found = {name: count for name in LABELS if name != "real" and (count := getattr(self, name))}
        real = {"real": self.labelled - self.provisional} if self.provisional else {}
        return {name: (found | real)[name] for name in LABELS if name in found | real}


def listed(labels: Mapping[str, int]) -> str:
    """Return kinds of labels as a line has them, in brackets; empty if there is nothing to say.

    >>> listed({"provisional": 9, "real": 1, "corrected": 1})
    ' (9 provisional, 1 real, 1 corrected)'
    """
    return f" ({', '.join(f'{count} {name}' for name, count in labels.items())})" if labels else ""


class Tally(NamedTuple):
    """What a partition's model has counted. Of several, the largest is the newest: counts only grow."""

    records: int
    totals: Totals
    truths: frozenset[bool | str]
    """The classes that labels were of."""
    strays: tuple[str, ...] = ()
    """Ids of labels that found no event."""
