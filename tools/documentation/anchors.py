"""The picture and table of `auto` beside the ensembles of others, as `benchmarks/auto.py --anchors` measured.

`python -m tools.documentation.anchors` prints the table of docs/algorithms/auto.md.
"""

from __future__ import annotations

import json
from math import fsum
from pathlib import Path
from typing import Any, Final, NamedTuple

from perceptron_core.elementary import exp, log
from tools.documentation.charts import Chart, Curve, draw_named_points

RESULTS: Final = Path(__file__).parents[2] / "benchmarks" / "results" / "anchors.jsonl"


class Means(NamedTuple):
    """A contestant over its streams, each beside `auto` over the same events: geometric means of ratios."""

    streams: int
    mistakes: float
    log_loss: float
    time: float
    fewer_mistakes_on: int
    """Streams on which it makes fewer mistakes than `auto`."""


def means() -> dict[str, Means]:
    """Return the means of each contestant, the fewest mistakes first."""
    by_name: dict[str, list[dict[str, Any]]] = {}
    for line in RESULTS.read_text(encoding="utf-8").splitlines():
        figures = json.loads(line)
        by_name.setdefault(figures["contestant"], []).append(figures)
    found = {name: _of(figures) for name, figures in by_name.items()}
    return dict(sorted(found.items(), key=lambda each: each[1].mistakes))


def _of(figures: list[dict[str, Any]]) -> Means:
    ratios = [
        (
            (each["mistakes"] + 1) / (each["auto_mistakes"] + 1),
            each["log_loss"] / each["auto_log_loss"],
            each["microseconds"] / each["auto_microseconds"],
        )
        for each in figures
    ]
    mistakes, log_loss, time = (
        exp(fsum(map(log, column)) / len(ratios)) for column in zip(*ratios, strict=True)
    )
    fewer = sum(each["mistakes"] < each["auto_mistakes"] for each in figures)
    return Means(len(ratios), mistakes, log_loss, time, fewer)


def anchors() -> Chart:
    """Return mistakes by processor time, `auto` being 1 in both."""
    curves = [Curve(name, [(each.time, each.mistakes)]) for name, each in means().items()]
    return Chart(
        "processor time of an event, auto = 1",
        "mistakes, auto = 1",
        [Curve("auto", [(1.0, 1.0)]), *curves],
        logarithmic=True,
        draw=draw_named_points,
    )


def main() -> None:
    """Print the table."""
    print("| | Streams | Mistakes | Log loss | Processor time | Fewer mistakes than `auto` |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, each in means().items():
        print(
            f"| {name} | {each.streams} | ×{each.mistakes:.2f} | ×{each.log_loss:.2f} | ×{each.time:.0f} "
            f"| on {each.fewer_mistakes_on} |"
        )


if __name__ == "__main__":
    main()
