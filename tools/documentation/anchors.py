"""The picture and table of `auto` beside the ensembles of others, as `benchmarks/auto.py --anchors` measured.

`python -m tools.documentation.anchors` prints the tables of docs/algorithms/auto.md.
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
    found = {name: _of([*figures.values()]) for name, figures in _measured("contestant", "stream").items()}
    return dict(sorted(found.items(), key=lambda each: each[1].mistakes))


def _measured(first: str, second: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the figures by two of their fields."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for line in RESULTS.read_text(encoding="utf-8").splitlines():
        figures = json.loads(line)
        found.setdefault(figures[first], {})[figures[second]] = figures
    return found


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
    """Print the means, then for each stream mistakes, those of `auto`, and over how many events."""
    found = means()
    print("| | Streams | Mistakes | Log loss | Processor time | Fewer mistakes than `auto` |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, each in found.items():
        print(
            f"| {name} | {each.streams} | ×{each.mistakes:.2f} | ×{each.log_loss:.2f} | ×{each.time:.0f} "
            f"| on {each.fewer_mistakes_on} |"
        )
    print(f"\n| Stream | {' | '.join(found)} |")
    print(f"|---{'|---' * len(found)}|")
    for stream, contestants in _measured("stream", "contestant").items():
        cells = [_cell(contestants[name]) if name in contestants else "" for name in found]
        print(f"| {stream} | {' | '.join(cells)} |")


def _cell(figures: dict[str, Any]) -> str:
    return "{mistakes:,} : {auto_mistakes:,} of {events:,}".format(**figures)


if __name__ == "__main__":
    main()
