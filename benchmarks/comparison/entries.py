"""Rank the contestants on one stream by their wrong predictions."""

from __future__ import annotations

from dataclasses import dataclass

Runs = list[list[bool]]
"""For each order of a stream, whether each prediction was wrong."""


@dataclass(frozen=True)
class Entry:
    """One contestant on one stream."""

    name: str
    mistakes: float
    """Mean over the orders."""
    ratio: float
    """Mistakes for each mistake of `auto` on the same events."""
    events: int
    """That it came to, in its shortest order."""
    is_complete: bool

    @property
    def cell(self) -> str:
        """Return what the table says of it."""
        return f"{self.mistakes:,.6g} {self.name}{'' if self.is_complete else f' [{self.events:,}]'}"


def entry(name: str, theirs: Runs, auto: Runs) -> Entry:
    """Compare a contestant's runs with those of `auto`, event by event as far as it came."""
    lengths = [len(each) for each in theirs]
    same = sum(sum(mine[:length]) for mine, length in zip(auto, lengths, strict=True))
    made = sum(map(sum, theirs))
    return Entry(
        name,
        made / len(theirs),
        made / max(same, 1),
        min(lengths),
        all(length == len(mine) for length, mine in zip(lengths, auto, strict=True)),
    )
