"""What a measure is: rows of the table, and a contest that fills them run by run.

In a run ours and the peer go one after the other, in turn first, on the same data: a machine that slows
down does so for both.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from statistics import median


class Unavailable(Exception):
    """A measure cannot be made here because a tool or a peer is missing; the message says which."""


class ProcessFailed(RuntimeError):
    """A process ended or got nowhere while it was measured; the message has its last words."""


class Reading(enum.Enum):
    """What is made of our value and the peer's."""

    RATIO = "ours / peer"
    EXCESS = "ours − peer"
    AMOUNT = "ours"


@dataclass(frozen=True)
class Goal:
    """A bound that a reading is to keep."""

    bound: float
    unit: str = "×"
    at_least: bool = True

    def is_reached(self, value: float) -> bool:
        """Return whether a value keeps the bound."""
        return value >= self.bound if self.at_least else value <= self.bound

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {spelled(self.bound, self.unit)}"


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Parameters
    ----------
    name
        By which the notes refer to it; that of its measure where this has one row.
    title
        What is compared.
    unit
        Of our value and the peer's.
    goal
        What is to be reached, in the unit of the reading; None where the row only stands beside another.
    how
        How it is measured, in a sentence.
    reading
        What the goal is about.

    """

    name: str
    title: str
    unit: str
    goal: Goal | None
    how: str
    reading: Reading = Reading.RATIO


Contestant = Callable[[], Sequence[float]]
"""A function that runs once and returns a value for each row."""


@dataclass(frozen=True)
class Contest:
    """Ours and the peer, ready to run; no peer where the goal is an amount."""

    ours: Contestant
    peer: Contestant | None = None

    def run(self, turn: int) -> tuple[Sequence[float], Sequence[float] | None]:
        """Run both once, the peer first in every second turn."""
        if self.peer is None:
            return self.ours(), None
        if turn % 2:
            theirs = self.peer()
            return self.ours(), theirs
        ours = self.ours()
        return ours, self.peer()


@dataclass(frozen=True)
class Measure:
    """A contest and what is read from it.

    Parameters
    ----------
    name
        What `--only` takes.
    rows
        The lines of the table that it fills.
    prepare
        Makes the contest, smaller if told to be quick; raises `Unavailable` where that cannot be.

    """

    name: str
    rows: Sequence[Row]
    prepare: Callable[[bool], AbstractContextManager[Contest]]


@dataclass
class Result:
    """The values of one row over all runs, or why there are none."""

    row: Row
    ours: list[float] = field(default_factory=list)
    peer: list[float] = field(default_factory=list)
    missing: str = ""
    failed: bool = False

    def add(self, ours: float, peer: float | None) -> None:
        """Take the values of one run."""
        self.ours.append(ours)
        if peer is not None:
            self.peer.append(peer)

    @property
    def value(self) -> float:
        """The goal's measure, from the medians of this project and of the peer."""
        return self._read(median(self.ours), median(self.peer) if self.peer else 0.0)

    @property
    def spread(self) -> tuple[float, float]:
        """The least and the greatest value of a single run."""
        peers = self.peer or [0.0] * len(self.ours)
        values = [self._read(ours, peer) for ours, peer in zip(self.ours, peers, strict=True)]
        return min(values), max(values)

    @property
    def is_reached(self) -> bool:
        """Whether it was measured and keeps its goal, if it has one."""
        return bool(self.ours) and self._keeps_goal(self.value)

    @property
    def is_certain(self) -> bool:
        """Whether every single run falls on the same side of the goal as the medians do."""
        return all(self._keeps_goal(each) == self.is_reached for each in self.spread)

    def _keeps_goal(self, value: float) -> bool:
        return self.row.goal is None or self.row.goal.is_reached(value)

    def _read(self, ours: float, peer: float) -> float:
        match self.row.reading:
            case Reading.RATIO:
                return ours / peer
            case Reading.EXCESS:
                return ours - peer
            case Reading.AMOUNT:
                return ours


def spelled(value: float, unit: str) -> str:
    """Write a value with three digits that count, and its unit.

    >>> spelled(8.1234, "×"), spelled(91234.0, "events/s"), spelled(0.04567, "s")
    ('8.12×', '91,234 events/s', '0.0457 s')
    """
    digits = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{digits}{'' if unit == '×' else ' '}{unit}"
