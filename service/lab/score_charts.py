"""Draw what scores tell of two classes: ROC, precision against recall, and both against the threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from service.lab.charts import COLOURS, LINE_STYLES, below_legend, new_figure, plain
from service.lab.score_curve import ScoreCurve, Threshold

_MOST_POINTS: Final = 2000
_GREY: Final = COLOURS[-1]
_SQUARE_INCHES: Final = 6.5


def roc(curves: Mapping[str, ScoreCurve]) -> Figure:
    """Draw the recall of several models against their false positive rate, with the area below."""
    figure, axes = new_figure(_SQUARE_INCHES, _SQUARE_INCHES)
    for number, (name, curve) in enumerate(curves.items()):
        points = _thinned(curve.thresholds())
        axes.plot(
            [0.0, *(each.false_positive_rate for each in points)],
            [0.0, *(each.recall for each in points)],
            color=COLOURS[number % len(COLOURS)],
            linestyle=LINE_STYLES[number % len(LINE_STYLES)],
            label=f"{plain(name)} (area {curve.auc():.4f})",
        )
    axes.plot([0, 1], [0, 1], color="black", linestyle="--", linewidth=1.0, label="by chance")
    axes.set(xlabel="false positive rate", ylabel="recall (true positive rate)", title="ROC", xlim=(0, 1))
    return _finished(figure)


def precision_recall(curves: Mapping[str, ScoreCurve]) -> Figure:
    """Draw the precision of several models against their recall, with the average precision."""
    figure, axes = new_figure(_SQUARE_INCHES, _SQUARE_INCHES)
    for number, (name, curve) in enumerate(curves.items()):
        points = _thinned(curve.thresholds())
        axes.step(
            [0.0, *(each.recall for each in points)],
            [points[0].precision, *(each.precision for each in points)],
            color=COLOURS[number % len(COLOURS)],
            linestyle=LINE_STYLES[number % len(LINE_STYLES)],
            label=f"{plain(name)} (average precision {curve.average_precision():.4f})",
        )
    share = max(curve.positives / (curve.positives + curve.negatives) for curve in curves.values())
    axes.axhline(share, color="black", linestyle="--", linewidth=1.0, label=f"by chance ({share:.1%})")
    axes.set(xlabel="recall", ylabel="precision", title="Precision and recall", xlim=(0, 1))
    return _finished(figure)


def thresholds(name: str, curve: ScoreCurve) -> Figure:
    """Draw precision, recall and the share of events decided against the threshold of the score."""
    figure, axes = new_figure()
    points = _thinned(curve.thresholds())
    total = curve.positives + curve.negatives
    scores = [each.score for each in points]
    for label, style, colour, values in (
        ("precision", "-", COLOURS[0], [each.precision for each in points]),
        ("recall", "--", COLOURS[1], [each.recall for each in points]),
        ("false positive rate", ":", COLOURS[2], [each.false_positive_rate for each in points]),
        ("share of events decided", "-.", _GREY, [each.decided / total for each in points]),
    ):
        axes.plot(scores, values, color=colour, linestyle=style, label=label)
    axes.set(xlabel="threshold: decided if the score is at least", title=f"Thresholds of {plain(name)}")
    return _finished(figure)


def _finished(figure: Figure) -> Figure:
    (axes,) = figure.axes
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    below_legend(axes)
    return figure


def _thinned(points: Sequence[Threshold]) -> list[Threshold]:
    """Leave out points that a picture cannot show, but not the last."""
    step = -(-len(points) // _MOST_POINTS)
    return [*points[:-1:step], points[-1]]
