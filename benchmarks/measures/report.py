"""The table: a line at a time while it is measured, and the whole of it as a page of documentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from statistics import median

from .base import Reading, Result, Row, spelled

_TITLE, _VALUE, _READING, _GOAL, _SPREAD = 88, 17, 17, 16, 17
_STAGES = (
    "`make profile` in one run: a backlog of labelled events of 12 numbers, processed as `serve` does. "
    "The lines *by itself* time the steps of a batch, each called for every event; in a batch they are "
    "compiled together."
)
SECTIONS = {"newest-python": "On the newest Python", "auto-seeds": "Five seeds of `auto`"}
"""Notes on what was measured otherwise than in the run, and their headings."""
WIDTH = _TITLE + 2 * _VALUE + _READING + _GOAL + _SPREAD + 8


def heading() -> str:
    """Name the columns of `line`."""
    return (
        f"{'':{_TITLE}}{'ours':>{_VALUE}}{'peer':>{_VALUE}}{'ratio':>{_READING}}{'goal':>{_GOAL}}"
        f"{'spread':>{_SPREAD}}  reached"
    )


def line(result: Result) -> str:
    """Write one result for a terminal."""
    if not result.ours:
        return f"{result.row.title:{_TITLE}}  {result.missing}"
    ours, peer, value, spread = _cells(result)
    return (
        f"{result.row.title:{_TITLE}}{ours:>{_VALUE}}{peer:>{_VALUE}}{value:>{_READING}}{_goal(result.row):>{_GOAL}}"
        f"{spread:>{_SPREAD}}  {verdict(result)}"
    )


def page(
    results: Sequence[Result],
    notes: Mapping[str, str],
    *,
    machine: str,
    versions: Mapping[str, str],
    day: date,
    stages: Sequence[str] = (),
) -> str:
    """Write the documentation: where, what, how, and why not; where the time goes, as lines of a table.

    A note is quoted if its row misses its goal, or does so in some of the runs.
    """
    runs = max((len(result.ours) for result in results), default=0)
    releases = ", ".join(f"{name} {version}" for name, version in versions.items())
    return "\n".join(
        [
            "# Benchmarks",
            "",
            "Written by `make bench`; the notes at the end by a person, in `benchmarks/notes.toml`.",
            "",
            f"- Machine: {machine}",
            f"- Releases: {releases}",
            f"- Date: {day.isoformat()}",
            "",
            f"Medians of {runs} runs. In a run ours and the peer go one after the other, in turn first, on",
            "the same data. The spread is that of the single runs;",
            "a question mark says that some of them fall on the other side of the goal.",
            "",
            "| Measure (ours / peer) | Ours | Peer | Result | Goal | Spread | Reached |",
            "|---|---:|---:|---:|---:|---:|---|",
            *map(_table_row, results),
            "",
            "## How each is measured",
            "",
            *(f"- **{escaped(result.row.title)}**: {escaped(result.row.how)}" for result in results),
            *_limits(results, notes),
            *(["", "## Where the time of `serve` goes", "", _STAGES, "", *stages] if stages else []),
            *(
                line
                for name, title in SECTIONS.items()
                if name in notes
                for line in ("", f"## {title}", "", notes[name].strip())
            ),
            "",
        ]
    )


def without_note(results: Sequence[Result], notes: Mapping[str, str]) -> Sequence[str]:
    """Name the rows that were measured, miss their goal, and have no note that says why."""
    return [r.row.name for r in results if r.ours and not r.is_reached and r.row.name not in notes]


def verdict(result: Result) -> str:
    """Say whether the goal is reached; with a question mark where single runs say otherwise."""
    if result.row.goal is None:
        return ""
    return f"{'yes' if result.is_reached else 'NO'}{'' if result.is_certain else '?'}"


def escaped(text: str) -> str:
    """Keep a bar in a text from ending a table's cell."""
    return text.replace("|", r"\|")


def _cells(result: Result) -> tuple[str, str, str, str]:
    row = result.row
    ours = spelled(median(result.ours), row.unit)
    peer = spelled(median(result.peer), row.unit) if result.peer else ""
    least, most = (spelled(each, "×").removesuffix("×") for each in result.spread)
    return ours, peer, spelled(result.value, _unit(row)), f"{least}–{most}"


def _goal(row: Row) -> str:
    return "" if row.goal is None else str(row.goal)


def _unit(row: Row) -> str:
    return "×" if row.reading is Reading.RATIO else row.unit


def _table_row(result: Result) -> str:
    title, goal = escaped(result.row.title), _goal(result.row)
    if not result.ours:
        return f"| {title} | | | | {goal} | | {escaped(result.missing)} |"
    return (
        f"| {title} | {' | '.join(_cells(result)[:3])} | {goal} | {_cells(result)[3]} | {verdict(result)} |"
    )


def _limits(results: Sequence[Result], notes: Mapping[str, str]) -> Sequence[str]:
    told = [
        f"- **{escaped(result.row.title)}**: {notes.get(result.row.name, 'no note yet.').strip()}"
        for result in results
        if result.row.goal and (not result.is_reached or (not result.is_certain and result.row.name in notes))
    ]
    if not told:
        return []
    return ["", "## What is not reached, or not in every run, and what the limit is", "", *told]
