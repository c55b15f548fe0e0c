"""What a measure is, and the table of its results, as lines for a terminal and as a page of documentation.

In a run ours and the peer go one after the other, in turn first, on the same data: a machine that slows
down does so for both.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from statistics import median

_TITLE, _VALUE = 80, 17
_STAGES = (
    "`make profile` in one run: a backlog of labelled events of 12 numbers, processed as `serve` does. "
    "Decoding, features, learning and encoding are compiled into one loop: a batch is one number."
)
_DECLARED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
SECTIONS: Mapping[str, str] = _DECLARED["sections"]
"""By heading, what was measured otherwise than in the run."""


class Unavailable(Exception):
    """A measure cannot be made here because a tool or a peer is missing; the message says which."""


class ProcessFailed(RuntimeError):
    """A process ended or got nowhere while it was measured; the message has its last words."""


@dataclass(frozen=True)
class Row:
    """One line of the table, as `measures.toml` declares it.

    Parameters
    ----------
    name, title
        What is compared.
    unit
        Of our value and the peer's.
    how
        How it is measured, in a sentence.
    measure
        What fills it: by default, what has its name.
    least, most
        The goal, of the ratio where there is a peer; none if the row only stands alongside another.
    note
        What the limit is where the goal is missed.

    """

    name: str
    title: str
    unit: str
    how: str
    measure: str = ""
    least: float | None = None
    most: float | None = None
    note: str = ""

    def is_reached(self, value: float) -> bool:
        """Return whether a value keeps the goal."""
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    def goal(self, unit: str) -> str:
        """Write the goal."""
        bound = self.most if self.least is None else self.least
        return "" if bound is None else f"{'≤' if self.least is None else '≥'} {spelled(bound, unit)}"


ROWS = [Row(name, **declared) for name, declared in _DECLARED["rows"].items()]

Contestant = Callable[[], Sequence[float]]
"""A function that runs once and returns a value for each row."""
Prepare = Callable[[bool], tuple[Contestant, Contestant | None]]
"""A function that returns ours and the peer, None where the goal is an amount.

It makes smaller work if told to be quick, and raises `Unavailable` where a measure cannot be made.
"""


@dataclass
class Result:
    """The values of one row over all runs, or why there are none."""

    row: Row
    ours: list[float] = field(default_factory=list)
    peer: list[float] = field(default_factory=list)
    missing: str = ""
    failed: bool = False

    @property
    def value(self) -> float:
        """The ratio of the medians of this project and of the peer; without a peer, our median."""
        return median(self.ours) / (median(self.peer) if self.peer else 1.0)

    @property
    def spread(self) -> tuple[float, float]:
        """The least and the greatest value of a single run."""
        peers = self.peer or [1.0] * len(self.ours)
        values = [ours / peer for ours, peer in zip(self.ours, peers, strict=True)]
        return min(values), max(values)

    @property
    def verdict(self) -> str:
        """Whether the goal is reached; with a question mark where single runs say otherwise."""
        if not self.ours or not self.row.goal(""):
            return self.missing
        reached = self.row.is_reached(self.value)
        is_certain = all(self.row.is_reached(each) == reached for each in self.spread)
        return f"{'yes' if reached else 'NO'}{'' if is_certain else '?'}"

    @property
    def cells(self) -> Sequence[str]:
        """What the table says: ours, the peer's, result, goal, spread, verdict."""
        unit = "×" if self.peer else self.row.unit
        if not self.ours:
            return ["", "", "", self.row.goal(unit), "", self.verdict]
        peer = spelled(median(self.peer), self.row.unit) if self.peer else ""
        spread = "–".join(spelled(each, "×").removesuffix("×") for each in self.spread)
        ours = spelled(median(self.ours), self.row.unit)
        return [ours, peer, spelled(self.value, unit), self.row.goal(unit), spread, self.verdict]


def spelled(value: float, unit: str) -> str:
    """Write a value with three digits that count, and its unit.

    >>> spelled(8.1234, "×"), spelled(91234.0, "events/s"), spelled(0.04567, "s")
    ('8.12×', '91,234 events/s', '0.0457 s')
    """
    digits = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{digits}{'' if unit == '×' else ' '}{unit}"


def line(title: str, cells: Sequence[str]) -> str:
    """Write a line for a terminal."""
    return f"{title:{_TITLE}}" + "".join(f"{cell:>{_VALUE}}" for cell in cells)


HEADING = line("", ["ours", "peer", "result", "goal", "spread", "reached"])


def page(results: Sequence[Result], about: Sequence[str], day: date, stages: Sequence[str]) -> str:
    """Write the documentation: where, what, how, and why not; where the time goes, as lines of a table.

    A note is quoted if its row misses its goal, or does so in some of the runs.
    """
    runs = max((len(result.ours) for result in results), default=0)
    titled = [(_escaped(result.row.title), result) for result in results]
    limits = [
        f"- **{title}**: {result.row.note.strip() or 'no note yet.'}"
        for title, result in titled
        if result.verdict.startswith("NO") or (result.verdict == "yes?" and result.row.note)
    ]
    sections: dict[str, Sequence[str]] = {
        "How each is measured": [
            f"- **{title}**: {_escaped(r.row.how)}" for title, r in titled if not r.row.measure
        ],
        "Missed goals": limits,
        "Where the time of `serve` goes": [_STAGES, "", *stages] if stages else [],
        **{title: [text.strip()] for title, text in SECTIONS.items()},
    }
    written = [
        "# Benchmarks",
        "",
        _DECLARED["introduction"],
        "",
        "## Speed",
        "",
        *(f"- {each}" for each in (*about, f"Date: {day.isoformat()}")),
        "",
        _DECLARED["columns"].format(runs=runs),
        "",
        "| Measure (ours / peer) | Ours | Peer | Result | Goal | Spread | Reached |",
        "|---|---:|---:|---:|---:|---:|---|",
        *(f"| {title} | {' | '.join(result.cells)} |" for title, result in titled),
    ]
    for title, lines in sections.items():
        written += ["", f"## {title}", "", *lines] if lines else []
    return "\n".join([*written, ""])


def _escaped(text: str) -> str:
    """Keep a bar in a text from ending a table's cell."""
    return text.replace("|", r"\|")
