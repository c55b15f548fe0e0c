"""Draw curves as SVG files that contain a digest of their numbers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from service.lab.charts import COLOURS, new_figure

_SIZE_INCHES: Final = (7.0, 3.6)
_RATIOS: Final = PercentFormatter(1.0, decimals=0)

Points = list[tuple[float, float]]


class Curve(NamedTuple):
    """A line of a chart."""

    name: str
    points: Points


class Chart(NamedTuple):
    """What a picture shows: the numbers, what they are called, and what else is to be drawn from them."""

    x: str
    y: str
    curves: Sequence[Curve]
    ratios: bool = False
    logarithmic: bool = False
    draw: Callable[[Axes, Sequence[Curve]], None] | None = None

    def digest(self) -> str:
        """Return a fingerprint of the numbers, to six digits."""
        curves = [
            (curve.name, [[f"{value:.6g}" for value in point] for point in curve.points])
            for curve in self.curves
        ]
        return hashlib.sha256(json.dumps(curves).encode()).hexdigest()


def draw(chart: Chart, path: Path) -> None:
    """Write a chart as SVG, with the digest of its numbers in it."""
    with mpl.rc_context({"svg.hashsalt": "online-perceptron", "svg.fonttype": "none", "font.size": 10}):
        figure, axes = new_figure(*_SIZE_INCHES)
        (chart.draw or _draw_lines)(axes, chart.curves)
        axes.set(xlabel=chart.x, ylabel=chart.y)
        if chart.ratios:
            axes.yaxis.set_major_formatter(_RATIOS)
            axes.set_ylim(bottom=0)
        if chart.logarithmic:
            axes.set_xscale("log")
        figure.savefig(path, metadata={"Date": None, "Description": chart.digest()})


def _draw_lines(axes: Axes, curves: Sequence[Curve]) -> None:
    for colour, (name, points) in zip(COLOURS, curves, strict=False):
        axes.plot(*zip(*points, strict=True), color=colour, label=name, linewidth=1.5)
    axes.legend(frameon=False, fontsize=8.5)


def _scatter(axes: Axes, curve: Curve, colour: str, marker: str, area: float) -> None:
    x, y = zip(*curve.points, strict=True)
    axes.scatter(x, y, color=colour, marker=marker, s=area, linewidths=0, label=curve.name)


def draw_geometry(axes: Axes, curves: Sequence[Curve]) -> None:
    """Draw examples, the weight vectors and, at a right angle to each, its boundary."""
    positive, negative, weights = curves
    _scatter(axes, positive, COLOURS[0], "^", 28)
    _scatter(axes, negative, COLOURS[4], "o", 28)
    for number, (w1, w2) in enumerate(weights.points, start=1):
        width, style = (1.8, "-") if number == len(weights.points) else (0.9, "--")
        axes.axline((0, 0), (w2, -w1), color=COLOURS[6], linewidth=width, linestyle=style)
        axes.annotate("", (w1, w2), (0, 0), arrowprops={"arrowstyle": "->", "color": COLOURS[1]})
        axes.annotate(f"  w after mistake {number}", (w1, w2), color=COLOURS[1], fontsize=8.5)
    axes.set(xlim=(-3, 5), ylim=(-2.6, 2.6), aspect="equal")
    axes.legend(frameon=False, fontsize=8.5, loc="lower right")


def draw_named_points(axes: Axes, curves: Sequence[Curve]) -> None:
    """Draw a point for each curve, with its name alongside it, or below it; the first one stands out."""
    for number, (name, points) in enumerate(curves):
        colour, area = (COLOURS[1], 60) if number == 0 else (COLOURS[0], 30)
        _scatter(axes, Curve(name, points), colour, "o", area)
        offset = (6, -9 if name in {"ARF30", "River ARF"} else 4)  # they would cover others
        axes.annotate(name, points[0], textcoords="offset points", xytext=offset, fontsize=8.5, color=colour)
    axes.set_ylim(bottom=0)
    axes.margins(x=0.15)
