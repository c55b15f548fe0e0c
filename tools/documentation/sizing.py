"""The figures of docs/guides/sizing.md: medians of what `benchmarks/scale.py --results` has measured.

`python -m tools.documentation.sizing` prints the tables of that page. Measure again with

    python benchmarks/scale.py cost --partitions 1,64,200 --results benchmarks/results/scale.jsonl

and so on for `deploy` and `latency`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from tools.documentation.charts import Chart, Curve

RESULTS: Final = Path(__file__).parents[2] / "benchmarks" / "results" / "scale.jsonl"
_HEADS: Final = {
    "cost": (
        "| Client | Partitions | µs an event | Seconds until ready | Idle, % of a core | MiB |",
        ("client", "partitions"),
        ("microseconds", "ready_seconds", "idle_percent", "mebibytes"),
    ),
    "latency": (
        "| Features of the model | p50 ms | p99 ms | p99.9 ms | Orderly stop, seconds |",
        ("names",),
        ("p50_ms", "p99_ms", "p999_ms", "stop_seconds"),
    ),
    "deploy": (
        "| Client | Partitions | Longest silence, seconds | Predictions | Missing | Doubled |",
        ("client", "partitions"),
        ("silent_seconds", "events", "missing", "doubled"),
    ),
}
"""Of each table: its head, what tells rows apart, and what was measured."""


def medians(what: str) -> dict[tuple[Any, ...], Sequence[float]]:
    """Return the medians of a measure, by what tells its rows apart."""
    _, keys, measured = _HEADS[what]
    found = defaultdict(list)
    for row in map(json.loads, RESULTS.read_text(encoding="utf-8").splitlines()):
        if row["what"] == what:
            found[*(row[key] for key in keys)].append([float(row[name]) for name in measured])
    return {key: [median(column) for column in zip(*rows, strict=True)] for key, rows in found.items()}


def table(what: str) -> Iterator[str]:
    """Yield the lines of a table."""
    head = _HEADS[what][0]
    yield head
    yield "|---" * (head.count("|") - 1) + "|"
    for key, values in medians(what).items():
        yield f"| {' | '.join([*(f'{part}' for part in key), *map(_written, values)])} |"


def _written(value: float) -> str:
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def cost_of_partitions() -> Chart:
    """Return the processor time of an event by the number of partitions."""
    curves = defaultdict(list)
    for (client, partitions), (micros, *_) in medians("cost").items():
        curves[client].append((float(partitions), micros))
    return Chart("partitions", "µs an event", [Curve(*each) for each in curves.items()], logarithmic=True)


if __name__ == "__main__":
    for each in _HEADS:
        print(*table(each), "", sep="\n")
