"""Draw models, curves, scores and calibration as Matplotlib figures, without a screen.

Colours are from Okabe and Ito's palette for the colour-blind; classes also differ in their markers.
Needs the extra `online-perceptron[plot]`; nothing else of the service imports it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler
from matplotlib.ticker import MaxNLocator, PercentFormatter

from perceptron_core import Hyperplane, Training
from service.lab.evaluation import ScoreCurve, Threshold
from service.partition.parts.quality import Calibration

FORMATS: Final = (".png", ".svg")

COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666")
_STYLE: Final[Any] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.prop_cycle": cycler(color=COLOURS, linestyle=("-", "--", "-.", ":", "-", "--", "-.")),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "grid.color": "#dddddd",
}
_SIZE_INCHES: Final = (7.5, 5.0)
_SQUARE_INCHES: Final = (6.5, 6.5)
_DOTS_PER_INCH: Final = 150
_MAX_NAME_LENGTH: Final = 40
_MAX_POINTS: Final = 2000


@dataclass(frozen=True, slots=True)
class Point:
    """An example in the plane: its two values, its class, and whether its prediction was wrong."""

    x: float
    y: float
    truth: bool
    mistaken: bool


def save(figure: Figure, path: Path) -> None:
    """Write a figure, as PNG or SVG by the extension. Raises OSError."""
    with warnings.catch_warnings():
        # A script that the font lacks is drawn as boxes, without warnings.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure.savefig(path, dpi=_DOTS_PER_INCH)


def boundary(
    plane: Hyperplane, points: Sequence[Point], names: tuple[str, str], classes: tuple[str, str]
) -> Figure:
    """Draw two-dimensional examples, and the line where the decision changes."""
    figure, axes = new_figure(*_SIZE_INCHES)
    for truth, marker in ((False, "o"), (True, "^")):
        chosen = [point for point in points if point.truth is truth]
        label = f"{plain(classes[truth])} ({len(chosen):,})"
        axes.scatter([p.x for p in chosen], [p.y for p in chosen], label=label, marker=marker, alpha=0.7)
    mistaken = [point for point in points if point.mistaken]
    outlined: dict[str, Any] = {"facecolors": "none", "edgecolors": "black", "marker": "s", "s": 70}
    label = f"mistakes ({len(mistaken):,})"
    axes.scatter([p.x for p in mistaken], [p.y for p in mistaken], label=label, **outlined)
    axes.autoscale(enable=False)  # the examples determine the limits, not the line
    w = (plane.weights.get(names[0], 0.0), plane.weights.get(names[1], 0.0))
    if any(w):
        squared = math.hypot(*w) ** 2
        x, y = (-plane.bias * each / squared for each in w)  # the point of the line nearest to the origin
        label = f"boundary: {w[0]:.3g}·x₁ {w[1]:+.3g}·x₂ {plane.bias:+.3g} = 0".replace("-", "−")
        axes.axline((x, y), (x - w[1], y + w[0]), color="black", label=label)
    title = f"Decision boundary: {len(mistaken):,} of {len(points):,} on the wrong side"
    axes.set(xlabel=plain(names[0]), ylabel=plain(names[1]), title=title)
    return _with_legend(figure)


def learning_curve(training: Training) -> Figure:
    """Draw training and held-out error per epoch; mark the best epoch."""
    figure, axes = new_figure(*_SIZE_INCHES)
    epochs, best = [epoch.number for epoch in training.curve], training.best
    axes.plot(epochs, [epoch.training_error for epoch in training.curve], marker="o", label="training error")
    title = f"Learning curve: {training.epochs} epochs"
    if best.held_out_error is not None:
        held_out = [epoch.held_out_error or 0.0 for epoch in training.curve]
        axes.plot(epochs, held_out, marker="s", label="held-out error")
        axes.axvline(best.number, color=COLOURS[2], linestyle=":")
        label = f"best epoch {best.number}, {best.held_out_error:.2%}"
        star: dict[str, Any] = {"marker": "*", "markersize": 18, "linestyle": ""}
        axes.plot([best.number], [best.held_out_error], label=label, **star)
        title = f"Learning curve: least held-out error after {best.number} of {training.epochs} epochs"
    axes.set(xlabel="epoch", ylabel="error (share of examples misclassified)", title=title)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    return _with_legend(figure)


def roc(curves: Mapping[str, ScoreCurve]) -> Figure:
    """Draw the recall of several models against their false positive rate, with the area below."""
    figure, axes = new_figure(*_SQUARE_INCHES)
    for name, curve in curves.items():
        points = _thinned(curve.thresholds())
        rates = [0.0, *(point.false_positive_rate for point in points)]
        recalls = [0.0, *(point.recall for point in points)]
        axes.plot(rates, recalls, label=f"{plain(name)} (area {curve.auc():.4f})")
    axes.axline((0, 0), slope=1, color="black", linestyle="--", label="by chance")
    axes.set(xlabel="false positive rate", ylabel="recall (true positive rate)", title="ROC")
    return _of_shares(figure)


def precision_recall(curves: Mapping[str, ScoreCurve]) -> Figure:
    """Draw the precision of several models against their recall, with the average precision."""
    figure, axes = new_figure(*_SQUARE_INCHES)
    for name, curve in curves.items():
        points = _thinned(curve.thresholds())
        recalls = [0.0, *(point.recall for point in points)]
        precisions = [points[0].precision, *(point.precision for point in points)]
        label = f"{plain(name)} (average precision {curve.average_precision():.4f})"
        axes.step(recalls, precisions, label=label)
    share = max(curve.positives / (curve.positives + curve.negatives) for curve in curves.values())
    axes.axhline(share, color="black", linestyle="--", label=f"by chance ({share:.1%})")
    axes.set(xlabel="recall", ylabel="precision", title="Precision and recall")
    return _of_shares(figure)


CURVES: Final[Mapping[str, Callable[[Mapping[str, ScoreCurve]], Figure]]] = {
    "roc": roc,
    "pr": precision_recall,
}
"""Functions that draw a curve of scores for each model."""


def _of_shares(figure: Figure) -> Figure:
    (axes,) = figure.axes
    axes.set(xlim=(0, 1), ylim=(0, 1.02))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0))
    return _with_legend(figure)


def _thinned(points: Sequence[Threshold]) -> list[Threshold]:
    """Leave out points that are too close to show, but keep the last."""
    step = -(-len(points) // _MAX_POINTS)
    return [*points[:-1:step], points[-1]]


def reliability_diagram(calibration: Calibration) -> Figure:
    """Draw the accuracy of each bin against its mean probability.

    References
    ----------
    Niculescu-Mizil, A. and Caruana, R. (2005). Predicting good probabilities with supervised learning.
    International Conference on Machine Learning 22. The diagram.

    """
    bins = calibration.bins()
    figure, axes = new_figure(*_SQUARE_INCHES)
    means = [each.mean_probability for each in bins]
    axes.plot(means, [each.accuracy for each in bins], marker="o", label="predictions")
    axes.axline((1, 1), slope=1, color="black", linestyle="--", label="calibrated")
    axes.set(xlabel="probability of the predicted class", ylabel="accuracy (share of right predictions)")
    axes.set_title(
        f"Calibration of {calibration.count:,} predictions\nexpected calibration error "
        f"{calibration.expected_calibration_error():.4f}, log loss {calibration.log_loss():.4g}"
    )
    return _of_shares(figure)


def new_figure(width: float, height: float, **grid: Any) -> tuple[Figure, Any]:  # noqa: ANN401 - as Matplotlib takes it
    """Return an empty picture of a size in inches, and its axes."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        return figure, figure.subplots(**grid)


def _with_legend(figure: Figure) -> Figure:
    """Put the legend below the picture, where it covers nothing."""
    figure.legend(loc="outside lower center", ncols=2, fontsize="small", frameon=False)
    return figure


def plain(text: str) -> str:
    """Make a label of any text: printable, short, no formulas."""
    printable = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    short = printable if len(printable) <= _MAX_NAME_LENGTH else printable[: _MAX_NAME_LENGTH - 1] + "…"
    return short.replace("$", r"\$")
