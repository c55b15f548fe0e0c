"""Combine the views of several partitions into one: sums of counts and curves."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

ALL: Final = "all"
"""The partition that stands for all of them."""

CURVES: Final = (
    "seconds",
    "labelled",
    "mistakes",
    "updates",
    "recent_labelled",
    "recent_mistakes",
    "baseline_labelled",
    "baseline_mistakes",
)
"""The columns of a history: time, and what is summed."""

_RATIOS: Final[Mapping[str, tuple[str, str]]] = {
    "error": ("mistakes", "labelled"),
    "recent_error": ("recent_mistakes", "recent_labelled"),
    "baseline_error": ("baseline_mistakes", "baseline_labelled"),
}
_POINTS: Final = 400
"""Of a curve: more than a page has room to show."""

Columns = dict[str, list[float]]
State = Mapping[str, Any]


def together(states: Sequence[State]) -> dict[str, Any]:
    """Return the state of all partitions: counts and curves added up, a row for each partition."""
    most = max(states, key=lambda state: state["counts"]["labelled"])
    events = sorted(
        (event for state in states for event in state["events"]), key=lambda each: -each["seconds"]
    )
    mistakes = sorted(
        (each for state in states for each in state["mistakes"]), key=lambda each: -each["sureness"]
    )
    lags = [state["lag"] for state in states if state["lag"] is not None]
    costs = [state["cost"] for state in states if state["cost"] is not None]
    return {
        "partition": ALL,
        "model": ", ".join(sorted({state["model"] for state in states})),
        "classes": most["classes"],
        "counts": _sums([state["counts"] for state in states]),
        "events_per_second": sum(state["events_per_second"] for state in states),
        "lag": sum(lags) if lags else None,
        "window": most["window"],
        "bound": None,
        "history": with_ratios(_summed([state["history"] for state in states])),
        "quality": _quality([state["quality"] for state in states]),
        "decisions": [
            _decision(same) for same in zip(*(state["decisions"] for state in states), strict=True)
        ],
        "cost": sum(costs) if costs else None,
        "costs": most["costs"],
        "experts": None,
        "weights": None,
        "weights_nonzero": None,
        "bias": None,
        "terms": [],
        "terms_events": 0,
        "shows_events": most["shows_events"],
        "columns": most["columns"],
        "events": events[: max(len(state["events"]) for state in states)],
        "mistakes": mistakes[: max(len(state["mistakes"]) for state in states)],
        "rows": sorted(
            (each for state in states for each in state["rows"]), key=lambda each: each["partition"]
        ),
    }


def row(state: State) -> dict[str, Any]:
    """Return what the table of partitions shows of one."""
    history, quality = state["history"], state["quality"]
    return {
        **{name: state[name] for name in ("partition", "counts", "events_per_second", "lag")},
        **{name: history[name][-1] if history[name] else None for name in ("error", "recent_error")},
        "auc": _ratio(quality["ordered_pairs"], quality["pairs"]),
        "log_loss": _ratio(quality["loss"], quality["probabilities"]),
    }


def with_ratios(columns: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """Return a history with its curves of errors; None where nothing was labelled."""
    ratios = {
        name: [_ratio(*pair) for pair in zip(columns[part], columns[whole], strict=True)]
        for name, (part, whole) in _RATIOS.items()
    }
    return {**columns, **ratios}


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _sums(all_counts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: sum(counts[name] for counts in all_counts) for name in all_counts[0]}


def _quality(qualities: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Add the sums up, and the confusion matrices by cell."""
    cells: Counter[tuple[Any, Any]] = Counter()
    for quality in qualities:
        for truth, predicted, count in quality["cells"]:
            cells[truth, predicted] += count
    bins: defaultdict[float, list[int]] = defaultdict(lambda: [0, 0])
    for quality in qualities:
        for least, positives, negatives in quality["score_bins"]:
            bins[least][0] += positives
            bins[least][1] += negatives
    tables = ("cells", "score_bins")
    numbers = [{name: value for name, value in each.items() if name not in tables} for each in qualities]
    return {
        **_sums(numbers),
        "cells": [(*cell, count) for cell, count in cells.items()],
        "score_bins": [(least, *bins[least]) for least in sorted(bins)],
    }


def _decision(same: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Add up the counts of a decision in several partitions; each has a threshold of its own."""
    sums = _sums([{name: each[name] for name in ("decided", "labelled", "right")} for each in same])
    thresholds = {threshold for each in same for threshold in each["thresholds"]}
    return {**same[0], **sums, "thresholds": sorted(thresholds)}


def _summed(histories: Sequence[Mapping[str, Sequence[float]]]) -> Columns:
    """Add curves up over time. Before its first point, a curve counts as at that point.

    So a partition that arrived late makes no jump in the sum.
    """
    curves = [history for history in histories if history["seconds"]]
    times = _thinned(sorted({seconds for curve in curves for seconds in curve["seconds"]}))
    places = [_places(curve["seconds"], times) for curve in curves]
    columns: Columns = {"seconds": times}
    for name in CURVES[1:]:
        columns[name] = [0] * len(times)
        for curve, at in zip(curves, places, strict=True):
            values = curve[name]
            columns[name] = [total + values[place] for total, place in zip(columns[name], at, strict=True)]
    return _without_repeats(columns)


def _thinned(times: Sequence[float]) -> list[float]:
    """Return the first and the last of the times, and of the others as many as there is room for."""
    stride = -(-len(times) // _POINTS) or 1
    return [*times[: len(times) - 1 : stride], *times[-1:]]


def _places(seconds: Sequence[float], times: Sequence[float]) -> list[int]:
    """Return for each time the place of a curve's last point until then."""
    places, place = [], 0
    for time in times:
        while place + 1 < len(seconds) and seconds[place + 1] <= time:
            place += 1
        places.append(place)
    return places


def _without_repeats(columns: Columns) -> Columns:
    """Return the points after which more was labelled, and the last."""
    labelled = columns["labelled"]
    kept = [n for n, (now, then) in enumerate(pairwise(labelled)) if now < then]
    kept += range(len(labelled))[-1:]
    return {name: [values[n] for n in kept] for name, values in columns.items()}
