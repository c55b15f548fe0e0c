"""Draw models, curves and counts as Matplotlib figures, without a screen.

Colours are Okabe and Ito's, which the colour-blind can distinguish; classes differ in their markers too.
Needs the extra `online-perceptron[plot]`; nothing else of the service imports it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from perceptron_core import Hyperplane, MistakeBound, Training

FORMATS: Final = (".png", ".svg")

COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666")
_BLUE, _RED, _GREEN, _ORANGE = COLOURS[0], COLOURS[1], COLOURS[2], COLOURS[4]
_SIZE_INCHES: Final = (7.5, 5.0)
_DOTS_PER_INCH: Final = 150
_FEW_POINTS: Final = 500
_LARGEST_STRETCH: Final = 5.0  # beyond it, one scale for both axes would leave a strip
_BOX_ASPECT: Final = 0.6  # height to width, where each axis has a scale of its own
_LOG_FROM: Final = 5.0  # a bound this many times above the counts would flatten them on a linear scale
_LONGEST_NAME: Final = 40
LINE_STYLES: Final = ("-", "--", "-.", ":")
_FIRST_CURVE_PART: Final = 20  # a twentieth of the curve may leave the picture
_CURVE_ROOM: Final = 1.1


@dataclass(frozen=True, slots=True)
class Point:
    """An example in the plane: its two values, its class, whether it was mistaken."""

    x: float
    y: float
    truth: bool
    mistaken: bool


def save(figure: Figure, path: Path) -> None:
    """Write a figure, as PNG or SVG by the extension. Raises OSError."""
    with warnings.catch_warnings():
        # A script that the font lacks shows as boxes; that is no reason for a page of warnings.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure.savefig(path, dpi=_DOTS_PER_INCH)


def boundary(
    plane: Hyperplane, points: Sequence[Point], names: tuple[str, str], classes: tuple[str, str]
) -> Figure:
    """Draw two-dimensional examples, the line where the decision changes, and the weight vector on it."""
    figure, axes = new_figure()
    for truth, colour, marker in ((False, _ORANGE, "o"), (True, _BLUE, "^")):
        chosen = [point for point in points if point.truth is truth]
        _scatter(axes, chosen, f"{plain(classes[truth])} ({len(chosen):,})", color=colour, marker=marker)
    mistaken = [point for point in points if point.mistaken]
    _scatter(
        axes,
        mistaken,
        f"mistakes ({len(mistaken):,})",
        facecolors="none",
        edgecolors="black",
        marker="s",
        s=70,
        linewidths=1.0,
    )
    units = _fix_limits(axes, points)
    w = (plane.weights.get(names[0], 0.0), plane.weights.get(names[1], 0.0))
    if any(w):
        _draw_line(axes, w, plane.bias)
        _draw_weight_vector(axes, w, plane.bias, units)
    share = len(mistaken) / len(points)
    axes.set(
        xlabel=plain(names[0]),
        ylabel=plain(names[1]),
        title=f"Decision boundary: {len(mistaken):,} of {len(points):,} on the wrong side ({share:.1%})",
    )
    below_legend(axes)
    return figure


def learning_curve(training: Training) -> Figure:
    """Draw training and held-out error per epoch; mark the sweet spot."""
    figure, axes = new_figure()
    epochs = [epoch.number for epoch in training.curve]
    axes.plot(
        epochs, [e.training_error for e in training.curve], color=_BLUE, marker="o", label="training error"
    )
    best = training.best
    title = f"Learning curve: {training.epochs} epochs"
    if best.held_out_error is not None:
        axes.plot(
            epochs,
            [e.held_out_error or 0.0 for e in training.curve],
            color=_RED,
            marker="s",
            linestyle="--",
            label="held-out error",
        )
        axes.axvline(best.number, color=_GREEN, linestyle=":", linewidth=1.5)
        axes.plot(
            [best.number],
            [best.held_out_error],
            color=_GREEN,
            marker="*",
            markersize=18,
            linestyle="",
            label=f"sweet spot: epoch {best.number}, {best.held_out_error:.2%}",
            zorder=3,
        )
        title = f"Learning curve: least held-out error after {best.number} of {training.epochs} epochs"
    axes.set(xlabel="epoch", ylabel="error (share of examples misclassified)", title=title)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    below_legend(axes)
    return figure


def cumulative_mistakes(mistakes: Sequence[int], updates: Sequence[int], bound: MistakeBound) -> Figure:
    """Draw the mistakes and updates so far, one value for each example, below the bound (R/γ)²."""
    figure, axes = new_figure()
    seen = range(1, len(mistakes) + 1)
    axes.plot(seen, updates, color=_BLUE, linewidth=4, alpha=0.5, label=f"updates ({updates[-1]:,})")
    axes.plot(seen, mistakes, color=_RED, label=f"mistakes ({mistakes[-1]:,})")
    if math.isfinite(bound.updates):
        label = f"bound (R/γ)² = {bound.updates:,.0f}: R = {bound.radius:.3g}, γ = {bound.margin:.3g}"
        axes.axhline(bound.updates, color=_GREEN, linestyle="-.", label=label)
    else:
        axes.plot([], [], linestyle="", label=f"no bound: {bound.reason}")
    if math.isfinite(bound.updates) and bound.updates > _LOG_FROM * max(updates[-1], 1):
        axes.set_yscale("symlog", linthresh=1)
        axes.set_ylim(0, bound.updates * 3)
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlim(0, len(mistakes))
    share = mistakes[-1] / len(mistakes)
    axes.set(
        xlabel="examples seen",
        ylabel="cumulative count",
        title=f"Mistakes made online: {mistakes[-1]:,} of {len(mistakes):,} ({share:.1%})",
    )
    below_legend(axes)
    return figure


def error_curves(curves: Mapping[str, tuple[Sequence[int], Sequence[float]]]) -> Figure:
    """Draw the share of mistakes so far of several models, each as numbers of events and shares."""
    figure, axes = new_figure()
    for number, (name, (events, errors)) in enumerate(curves.items()):
        style = LINE_STYLES[number % len(LINE_STYLES)]
        colour = COLOURS[number % len(COLOURS)]
        final = f" ({errors[-1]:.2%})" if errors else ""
        axes.plot(events, errors, color=colour, linestyle=style, label=f"{plain(name)}{final}")
    axes.set(xlabel="labelled events", ylabel="error so far (share of mistakes)", title="Error of each model")
    later = [error for _, errors in curves.values() for error in errors[len(errors) // _FIRST_CURVE_PART :]]
    axes.set_ylim(
        0, _CURVE_ROOM * max(later, default=0.0) or 1.0
    )  # the first mistakes would flatten the rest
    axes.set_xlim(left=0)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    below_legend(axes)
    return figure


def largest_weights(weights: Mapping[Any, float], bias: float, top: int) -> Figure:
    """Draw the largest weights as bars: to the right those that speak for the positive class."""
    ranked = sorted(weights.items(), key=lambda item: (-abs(item[1]), str(item[0])))[:top]
    figure, axes = new_figure(height=1.2 + 0.28 * max(len(ranked), 4))
    names = [plain(str(name)) for name, _ in ranked]
    values = [weight for _, weight in ranked]
    places = range(len(ranked))
    for positive, colour, hatch in ((True, _BLUE, ""), (False, _ORANGE, "//")):
        chosen = [place for place in places if (values[place] > 0) is positive]
        axes.barh(
            chosen,
            [values[place] for place in chosen],
            color=colour,
            hatch=hatch,
            edgecolor="white",
            label=f"speaks for the {'positive' if positive else 'negative'} class",
        )
    axes.set_yticks(list(places), names)
    axes.invert_yaxis()
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set(
        xlabel="weight",
        title=f"Largest {len(ranked):,} of {len(weights):,} weights; bias {_minus(f'{bias:.4g}')}",
    )
    axes.grid(axis="y", visible=False)
    below_legend(axes)
    return figure


def new_figure(width: float = _SIZE_INCHES[0], height: float = _SIZE_INCHES[1]) -> tuple[Figure, Axes]:
    """Return an empty picture of a size in inches."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    plain_axes(axes)
    return figure, axes


def plain_axes(axes: Axes) -> None:
    """Leave of the axes a light grid, the lower and the left edge."""
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def below_legend(axes: Axes) -> None:
    """Put the legend below the picture, where it hides nothing."""
    axes.figure.legend(loc="outside lower center", ncols=2, fontsize="small", frameon=False)


def _scatter(axes: Axes, points: Sequence[Point], label: str, **style: Any) -> None:  # noqa: ANN401 - Matplotlib's
    size = 28 if len(points) <= _FEW_POINTS else 10
    defaults = {} if "facecolors" in style else {"s": size, "alpha": 0.7, "linewidths": 0.0}
    axes.scatter([p.x for p in points], [p.y for p in points], label=label, **(defaults | style))


def _fix_limits(axes: Axes, points: Sequence[Point]) -> tuple[float, float]:
    """Leave a margin around the points; return, for each axis, the span of equal length in the picture."""
    spans = []
    for values, set_limits in (
        ([p.x for p in points], axes.set_xlim),
        ([p.y for p in points], axes.set_ylim),
    ):
        low, high = min(values), max(values)
        rim = 0.08 * (high - low) or 1.0
        set_limits(low - rim, high + rim)
        spans.append(high - low + 2 * rim)
    if max(spans) <= _LARGEST_STRETCH * min(spans):
        axes.set_aspect("equal")
        return 1.0, 1.0
    axes.set_box_aspect(_BOX_ASPECT)
    return spans[0], spans[1] / _BOX_ASPECT


def _draw_line(axes: Axes, w: tuple[float, float], bias: float) -> None:
    """Draw w·x + b = 0 through its foot, the point nearest to the origin."""
    squared = math.hypot(*w) ** 2
    foot = (-bias * w[0] / squared, -bias * w[1] / squared)
    axes.axline(
        foot,
        (foot[0] - w[1], foot[1] + w[0]),
        color="black",
        linewidth=1.6,
        label=f"boundary: {_minus(f'{w[0]:.3g}')}·x₁ {_term(w[1])}·x₂ {_term(bias)} = 0",
    )


def _draw_weight_vector(axes: Axes, w: tuple[float, float], bias: float, units: tuple[float, float]) -> None:
    """Draw an arrow along w, on the boundary's point nearest to the middle of the picture.

    Where the axes differ in scale it is the weight vector of the features in units of the picture: so it
    is orthogonal to the boundary that one sees.
    """
    limits = axes.get_xlim(), axes.get_ylim()
    middle = [(low + high) / 2 for low, high in limits]
    length = 0.25 * min((high - low) / unit for (low, high), unit in zip(limits, units, strict=True))
    v = (w[0] * units[0], w[1] * units[1])
    norm = math.hypot(*v)
    distance = (w[0] * middle[0] + w[1] * middle[1] + bias) / norm

    def along(reach: float) -> tuple[float, float]:
        return middle[0] + reach * v[0] / norm * units[0], middle[1] + reach * v[1] / norm * units[1]

    axes.annotate(
        "",
        xy=along(length - distance),
        xytext=along(-distance),
        arrowprops={"arrowstyle": "-|>", "color": _GREEN, "linewidth": 2.5},
    )
    note = "" if units[0] == units[1] else " (features in units of the axes)"
    axes.plot([], [], color=_GREEN, linewidth=2.5, label=f"weight vector, to the positive side{note}")


def _term(value: float) -> str:
    return f"{'−' if value < 0 else '+'} {_minus(f'{abs(value):.3g}')}"


def _minus(number: str) -> str:
    return number.replace("-", "−")


def plain(text: str) -> str:
    """Make a label of any text: printable, short, no formulas."""
    printable = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    short = printable if len(printable) <= _LONGEST_NAME else printable[: _LONGEST_NAME - 1] + "…"
    return short.replace("$", r"\$")
