"""Draw the calibration of labelled predictions as a Matplotlib figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter, StrMethodFormatter

from service.lab.charts import COLOURS, below_legend, plain_axes
from service.partition.counts.calibration import BINS, Bin, Calibration

_BLUE, _ORANGE, _GREY = COLOURS[0], COLOURS[4], COLOURS[-1]
_SIZE_INCHES: Final = (6.5, 7.0)
_TWO_SIDED_95: Final = 1.96
"""Standard deviations to each side of the mean that hold 95 % of a normal distribution."""


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
    figure = Figure(figsize=_SIZE_INCHES, layout="constrained")
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
    axes.errorbar(
        means,
        means,
        yerr=spread,
        fmt="none",
        ecolor=_GREY,
        capsize=4,
        label="where 95 % of calibrated bins of their size are",
    )
    axes.plot(means, accuracies, color=_BLUE, marker="o", label="predictions")
    axes.set_ylim(max(0.0, min(bins[0].low, *accuracies) - 0.02), 1.02)
    axes.set_ylabel("accuracy (share of right predictions)")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))


def _draw_counts(axes: Axes, bins: Sequence[Bin]) -> None:
    bars = axes.bar(
        [each.low for each in bins],
        [each.predictions for each in bins],
        width=1 / BINS,
        align="edge",
        color=_ORANGE,
        edgecolor="white",
    )
    axes.bar_label(bars, fmt="{:,.0f}", fontsize="small")
    axes.margins(y=0.15)
    axes.set(xlabel="probability of the predicted class", ylabel="predictions", xlim=(bins[0].low, 1))
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
