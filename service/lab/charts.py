"""Draw models, curves, scores and calibration as Matplotlib figures, without a screen.

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
from matplotlib.ticker import MaxNLocator, PercentFormatter, StrMethodFormatter

from perceptron_core import Hyperplane, Training
from service.lab.evaluation import ScoreCurve, Threshold
from service.partition.parts.quality import BINS, Bin, Calibration

FORMATS: Final = (".png", ".svg")

COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666")
_BLUE, _RED, _GREEN, _, _ORANGE, _, _GREY = COLOURS
_SIZE_INCHES: Final = (7.5, 5.0)
_DOTS_PER_INCH: Final = 150
_FEW_POINTS: Final = 500
_LONGEST_NAME: Final = 40
LINE_STYLES: Final = ("-", "--", "-.", ":")
_MOST_POINTS: Final = 2000
_SQUARE_INCHES: Final = 6.5
_TALL_INCHES: Final = (6.5, 7.0)
_TWO_SIDED_95: Final = 1.96
"""Standard deviations to each side of the mean that hold 95 % of a normal distribution."""


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
    """Draw two-dimensional examples, and the line where the decision changes."""
    figure, axes = new_figure()
    for truth, colour, marker in ((False, _ORANGE, "o"), (True, _BLUE, "^")):
        chosen = [point for point in points if point.truth is truth]
        _scatter(axes, chosen, f"{plain(classes[truth])} ({len(chosen):,})", color=colour, marker=marker)
    mistaken = [point for point in points if point.mistaken]
    outlined = {"facecolors": "none", "edgecolors": "black", "marker": "s", "s": 70, "linewidths": 1.0}
    _scatter(axes, mistaken, f"mistakes ({len(mistaken):,})", **outlined)
    axes.autoscale(enable=False)  # the examples fill the picture, wherever the line is
    w = (plane.weights.get(names[0], 0.0), plane.weights.get(names[1], 0.0))
    if any(w):
        _draw_line(axes, w, plane.bias)
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
    epochs, best = [epoch.number for epoch in training.curve], training.best
    errors = [epoch.training_error for epoch in training.curve]
    axes.plot(epochs, errors, color=_BLUE, marker="o", label="training error")
    title = f"Learning curve: {training.epochs} epochs"
    if best.held_out_error is not None:
        held_out = [epoch.held_out_error or 0.0 for epoch in training.curve]
        axes.plot(epochs, held_out, color=_RED, marker="s", linestyle="--", label="held-out error")
        axes.axvline(best.number, color=_GREEN, linestyle=":", linewidth=1.5)
        label = f"sweet spot: epoch {best.number}, {best.held_out_error:.2%}"
        star: dict[str, Any] = {"marker": "*", "markersize": 18, "linestyle": "", "zorder": 3}
        axes.plot([best.number], [best.held_out_error], color=_GREEN, label=label, **star)
        title = f"Learning curve: least held-out error after {best.number} of {training.epochs} epochs"
    axes.set(xlabel="epoch", ylabel="error (share of examples misclassified)", title=title)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    below_legend(axes)
    return figure


def roc(curves: Mapping[str, ScoreCurve]) -> Figure:
    """Draw the recall of several models against their false positive rate, with the area below."""
    figure, axes = new_figure(_SQUARE_INCHES, _SQUARE_INCHES)
    for number, (name, curve) in enumerate(curves.items()):
        points = _thinned(curve.thresholds())
        rates = [0.0, *(each.false_positive_rate for each in points)]
        recalls = [0.0, *(each.recall for each in points)]
        axes.plot(rates, recalls, label=f"{plain(name)} (area {curve.auc():.4f})", **_style(number))
    axes.plot([0, 1], [0, 1], color="black", linestyle="--", linewidth=1.0, label="by chance")
    axes.set(xlabel="false positive rate", ylabel="recall (true positive rate)", title="ROC")
    return _finished(figure)


def precision_recall(curves: Mapping[str, ScoreCurve]) -> Figure:
    """Draw the precision of several models against their recall, with the average precision."""
    figure, axes = new_figure(_SQUARE_INCHES, _SQUARE_INCHES)
    for number, (name, curve) in enumerate(curves.items()):
        points = _thinned(curve.thresholds())
        recalls = [0.0, *(each.recall for each in points)]
        precisions = [points[0].precision, *(each.precision for each in points)]
        label = f"{plain(name)} (average precision {curve.average_precision():.4f})"
        axes.step(recalls, precisions, label=label, **_style(number))
    share = max(curve.positives / (curve.positives + curve.negatives) for curve in curves.values())
    axes.axhline(share, color="black", linestyle="--", linewidth=1.0, label=f"by chance ({share:.1%})")
    axes.set(xlabel="recall", ylabel="precision", title="Precision and recall")
    return _finished(figure)


CURVES: Final = {"roc": roc, "pr": precision_recall}
"""What draws a curve of scores for each model."""


def _style(number: int) -> dict[str, Any]:  # what Matplotlib takes
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": LINE_STYLES[number % len(LINE_STYLES)]}


def _finished(figure: Figure) -> Figure:
    (axes,) = figure.axes
    axes.set(xlim=(0, 1), ylim=(0, 1.02))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    below_legend(axes)
    return figure


def _thinned(points: Sequence[Threshold]) -> list[Threshold]:
    """Leave out points that a picture cannot show, but not the last."""
    step = -(-len(points) // _MOST_POINTS)
    return [*points[:-1:step], points[-1]]


def reliability_diagram(calibration: Calibration) -> Figure:
    """Draw the accuracy of each bin against its mean probability, and below how many predictions it has.

    Grey bars on the diagonal show by how much chance moves bins of calibrated probabilities.

    References
    ----------
    Niculescu-Mizil, A. and Caruana, R. (2005). Predicting good probabilities with supervised learning.
    International Conference on Machine Learning 22. The diagram.

    Bröcker, J. and Smith, L. A. (2007). Increasing the reliability of reliability diagrams. Weather and
    Forecasting 22(3). The bars.

    """
    bins = calibration.bins()
    figure = Figure(figsize=_TALL_INCHES, layout="constrained")
    upper, lower = figure.subplots(2, sharex=True, height_ratios=[3, 1])
    plain_axes(upper)
    plain_axes(lower)
    _draw_accuracies(upper, bins)
    _draw_counts(lower, bins)
    upper.set_title(
        f"Calibration of {calibration.count:,} predictions\nexpected calibration error "
        f"{calibration.expected_calibration_error():.4f}, log loss {calibration.log_loss():.4f}"
    )
    below_legend(upper)
    return figure


def _draw_accuracies(axes: Axes, bins: Sequence[Bin]) -> None:
    means, accuracies = [each.mean_probability for each in bins], [each.accuracy for each in bins]
    spread = [
        _TWO_SIDED_95 * math.sqrt(p * (1 - p) / each.predictions) for p, each in zip(means, bins, strict=True)
    ]
    axes.plot([0, 1], [0, 1], color="black", linestyle="--", linewidth=1.0, label="calibrated")
    label = "where 95 % of calibrated bins of their size are"
    axes.errorbar(means, means, yerr=spread, fmt="none", ecolor=_GREY, capsize=4, label=label)
    axes.plot(means, accuracies, color=_BLUE, marker="o", label="predictions")
    axes.set_ylim(max(0.0, min(bins[0].low, *accuracies) - 0.02), 1.02)
    axes.set_ylabel("accuracy (share of right predictions)")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))


def _draw_counts(axes: Axes, bins: Sequence[Bin]) -> None:
    lows, counts = [each.low for each in bins], [each.predictions for each in bins]
    bars = axes.bar(lows, counts, width=1 / BINS, align="edge", color=_ORANGE, edgecolor="white")
    axes.bar_label(bars, fmt="{:,.0f}", fontsize="small")
    axes.margins(y=0.15)
    axes.set(xlabel="probability of the predicted class", ylabel="predictions", xlim=(bins[0].low, 1))
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


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


def _draw_line(axes: Axes, w: tuple[float, float], bias: float) -> None:
    """Draw w·x + b = 0 through its foot, the point nearest to the origin."""
    squared = math.hypot(*w) ** 2
    foot = (-bias * w[0] / squared, -bias * w[1] / squared)
    label = f"boundary: {w[0]:.3g}·x₁ {w[1]:+.3g}·x₂ {bias:+.3g} = 0".replace("-", "−")
    axes.axline(foot, (foot[0] - w[1], foot[1] + w[0]), color="black", linewidth=1.6, label=label)


def plain(text: str) -> str:
    """Make a label of any text: printable, short, no formulas."""
    printable = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    short = printable if len(printable) <= _LONGEST_NAME else printable[: _LONGEST_NAME - 1] + "…"
    return short.replace("$", r"\$")
