"""Tables and picture of `auto` and the ensembles of others, as `benchmarks/auto.py anchors` measured them.

    python -m tools.documentation.anchors

It prints the rows of two tables in docs/project/benchmarks.md: all contestants, and LightGBM without and with
drifts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import fsum
from pathlib import Path
from typing import Any, Final

from perceptron_core.elementary import exp, log
from tools.documentation.charts import Chart, Curve, draw_named_points

RESULTS: Final = Path(__file__).parents[2] / "benchmarks" / "results" / "anchors.jsonl"


Lines = list[dict[str, Any]]
"""Results of contestants, one for each stream."""


def by_contestant() -> dict[str, Lines]:
    """Return the results, those with the fewest mistakes first."""
    found: dict[str, Lines] = {}
    for each in map(json.loads, RESULTS.read_text(encoding="utf-8").splitlines()):
        found.setdefault(each["contestant"], []).append(each)
    return dict(sorted(found.items(), key=lambda each: mean("mistakes", each[1])))


def mean(name: str, lines: Lines) -> float:
    """Return the geometric mean of a result's ratio to `auto`; counts are increased by 1."""
    one = 1 if name.endswith("mistakes") else 0
    ratios = [(each[name] + one) / (each[f"auto_{name}"] + one) for each in lines]
    return exp(fsum(map(log, ratios)) / len(ratios))


def n_better(name: str, lines: Lines) -> int:
    """Return on how many streams a count is lower than that of `auto`."""
    return sum(each[name] < each[f"auto_{name}"] for each in lines)


def rows() -> Iterable[str]:
    """Yield the rows of the tables in the documentation."""
    found = by_contestant()
    for name, lines in found.items():
        cells = [f"×{mean(each, lines):.2f}" for each in ("mistakes", "log_loss")]
        cells += [f"×{mean('microseconds', lines):.0f}", f"on {n_better('mistakes', lines)}"]
        yield f"| {name} | {len(lines)} | {' | '.join(cells)} |"
    boosted = {name: lines for name, lines in found.items() if name.startswith("LightGBM")}
    for drifts in (False, True):
        chosen: dict[tuple[str, str], Lines] = {}
        for count in ("mistakes", "late_mistakes"):
            for name, lines in boosted.items():
                chosen[name, count] = [each for each in lines if each["drifts"] == drifts]
            runs = zip(*(sorted(chosen[name, count], key=_stream) for name in boosted), strict=True)
            chosen["best", count] = [min(run, key=lambda each: each[count]) for run in runs]
        for name in (*boosted, "best"):
            cells = [f"×{mean(count, chosen[name, count]):.2f}" for count in ("mistakes", "late_mistakes")]
            cells += [f"on {n_better(count, chosen[name, count])}" for count in ("mistakes", "late_mistakes")]
            yield f"| {name}, drifts: {drifts} | {len(chosen[name, 'mistakes'])} | {' | '.join(cells)} |"


def _stream(line: dict[str, Any]) -> str:
    return str(line["stream"])


def anchors() -> Chart:
    """Return mistakes by processor time, `auto` being 1 in both."""
    curves = [
        Curve(name, [(mean("microseconds", lines), mean("mistakes", lines))])
        for name, lines in by_contestant().items()
        if "," not in name  # one setting of each
    ]
    return Chart(
        "processor time of an event, auto = 1",
        "mistakes, auto = 1",
        [Curve("auto", [(1.0, 1.0)]), *curves],
        logarithmic=True,
        draw=draw_named_points,
    )


if __name__ == "__main__":
    print("\n".join(rows()))
