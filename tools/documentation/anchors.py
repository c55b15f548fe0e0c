"""The picture of `auto` and the ensembles of others, as `benchmarks/auto.py anchors` measured them."""

from __future__ import annotations

import json
from math import fsum
from pathlib import Path
from typing import Final

from perceptron_core.elementary import exp, log
from tools.documentation.charts import Chart, Curve, draw_named_points

RESULTS: Final = Path(__file__).parents[2] / "benchmarks" / "results" / "anchors.jsonl"


def means() -> dict[str, list[float]]:
    """Return geometric means of ratios to `auto`, mistakes and processor time, by contestant."""
    ratios: dict[str, list[tuple[float, float]]] = {}
    for each in map(json.loads, RESULTS.read_text(encoding="utf-8").splitlines()):
        mistakes = (each["mistakes"] + 1) / (each["auto_mistakes"] + 1)
        time = each["microseconds"] / each["auto_microseconds"]
        ratios.setdefault(each["contestant"], []).append((mistakes, time))
    found = {
        name: [exp(fsum(map(log, column)) / len(column)) for column in zip(*pairs, strict=True)]
        for name, pairs in ratios.items()
    }
    return dict(sorted(found.items(), key=lambda each: each[1]))


def anchors() -> Chart:
    """Return mistakes by processor time, `auto` being 1 in both."""
    curves = [Curve(name, [(time, mistakes)]) for name, (mistakes, time) in means().items()]
    return Chart(
        "processor time of an event, auto = 1",
        "mistakes, auto = 1",
        [Curve("auto", [(1.0, 1.0)]), *curves],
        logarithmic=True,
        draw=draw_named_points,
    )
