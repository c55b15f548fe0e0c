"""The views of metrics and live models from which answers are built.

This is the one place that knows both the committed state (`Metrics`) and the models in memory
(`LiveModels`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import inf
from typing import Any, Final, TypeVar

from river import base

from perceptron_core.mixing.mixture import ExpertStatus
from service.clock import SYSTEM_CLOCK
from service.messages.labels import Truth
from service.messages.schema import OUTCOME, PREDICTION, labels_in
from service.models.learner import MixtureStatus
from service.models.model_file import ModelKind
from service.monitoring.health import Health
from service.monitoring.history import RECENT, Point
from service.monitoring.live_models import LiveModel, LiveModels
from service.monitoring.metrics import Metrics, Published
from service.monitoring.recent import Mistake, Recent
from service.monitoring.summary import ModelSummary
from service.partition.parts.calibration import ScoreBins, least_score
from service.partition.parts.confusion import Confusion
from service.redaction import redacted_url
from service.settings.load import Settings
from service.web.answers import ALL, Bound, Counts, Memory, ModelDescription, Weight

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
_SUM_POINTS: Final = 400
"""Of a curve: more than a page has room to show."""

_Point = TypeVar("_Point")
Columns = dict[str, list[float]]
State = Mapping[str, Any]


POINTS_SHOWN: Final = 100
"""Of each expert's curves at most: a page draws dozens of them, half as wide as itself."""
_DIGITS: Final = 4


def experts_shown(mixture: MixtureStatus | None, points: Sequence[Point]) -> dict[str, Any] | None:
    """Return the experts, the heaviest first, with their curves; None where there is no mixture."""
    if mixture is None:
        return None
    drawn = thinned([point for point in points if point.mixture is not None], POINTS_SHOWN)
    then = [{each.name: each for each in point.mixture.experts} for point in drawn if point.mixture]
    return {
        "leader": mixture.leader,
        "labelled": [point.labelled for point in drawn],
        "seconds": [point.seconds for point in drawn],
        "experts": [
            _expert(expert, [known.get(expert.name) for known in then]) for expert in mixture.experts
        ],
    }


def thinned(points: Sequence[_Point], most: int) -> Sequence[_Point]:
    """Return at most so many of the points, evenly spaced, the newest one last."""
    stride = -(-len(points) // most)
    return points[::-1][:: stride or 1][::-1]


def _expert(expert: ExpertStatus, then: Sequence[ExpertStatus | None]) -> dict[str, Any]:
    """Return an expert and its curves, with gaps where it had not joined yet."""
    return {
        "name": expert.name,
        "weight": expert.weight,
        "mistakes": expert.mistakes,
        "recent_error": expert.recent_error,
        "weights": [_rounded(each and each.weight) for each in then],
        "errors": [_rounded(each and each.recent_error) for each in then],
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)


_PAGE_WEIGHTS: Final = 12
_CLASSES_SHOWN: Final = 30
"""Of a confusion matrix: the page shows fewer, but may have to add up the matrices of several models."""
_BINS_SHOWN: Final = 300
_LONGEST_SHOWN: Final = 300
"""Characters of a text, and features of an event, that a page shows."""
_COLUMNS: Final = [
    {"name": field.name, "title": field.written.column[0], "as": field.written.column[1]}
    for field in PREDICTION + OUTCOME
    if field.written.column
]
"""Of the page's table of events, besides those that every event has."""


class Window:
    """The committed state and the models of this process, as the HTTP API shows them.

    Parameters
    ----------
    metrics, live
        The committed state, and the models in memory.
    settings, health
        The stream that is read, and the state of the process.

    """

    def __init__(self, metrics: Metrics, live: LiveModels, settings: Settings, health: Health) -> None:
        self.live = live
        self._metrics = metrics
        self._health = health
        self._began = SYSTEM_CLOCK.monotonic()
        self._stream = {
            "broker": redacted_url(settings.broker_url),
            "topic": settings.events_topic,
            "group": settings.group,
            "teaches": _takes_own(settings),
        }

    def describe(self, model: LiveModel, top: int) -> ModelDescription:
        """Describe a model with its `top` largest weights. Raises `ModelBusy`."""
        published, summary = model.published, model.summary()
        assert published is not None, "a model is shown from its first commit on"
        kind = kind_of(model)
        weights = summary.weights
        bound = summary.bound
        return ModelDescription(
            partition=model.partition,
            kind=kind.name,
            parameters={name: _plain(value) for name, value in kind.parameters.items()},
            classes=list(model.classes),
            counts=counts_of(published),
            weights=weights and [Weight(name=name, weight=each) for name, each in weights.largest[:top]],
            weights_nonzero=weights and weights.nonzero,
            weight_norm=weights and weights.norm,
            bias=weights and weights.bias,
            bound=bound and Bound.of(bound, summary.bound_examples),
            memory=self._memory(model.partition),
        )

    def state(self, partition: int | str | None) -> dict[str, Any]:
        """Return all that the page shows, for JSON; of several partitions, with none named, all together.

        Raises `NoSuchModel` and `ModelBusy`.
        """
        here = self.live.partitions()
        if here and (partition == ALL or (partition is None and len(here) > 1)):
            state = together([self._state(self.live.get(each)) for each in here])
        else:
            state = self._state(self.live.get(None if partition == ALL else partition))  # type: ignore[arg-type]
        state_now, reason = self._health.condition
        now = SYSTEM_CLOCK.monotonic()
        process = {"state": state_now, "reason": reason, "uptime_seconds": now - self._began, "seconds": now}
        return {**state, **process, **self._stream, "partitions": here}

    def _state(self, model: LiveModel) -> dict[str, Any]:
        """Return what the page shows of one partition."""
        published, summary = model.published, model.summary()
        assert published is not None, "a model is shown from its first commit on"
        points = model.history.points()
        answers, mistakes = model.latest()
        taken, cost = model.decisions_taken()
        state = {
            "partition": model.partition,
            "model": kind_of(model).name,
            "classes": list(model.classes),
            "counts": counts_of(published).model_dump(),
            "events_per_second": model.events_per_second(),
            "lag": self._lag(model.partition),
            "window": RECENT,
            "bound": summary.bound and Bound.of(summary.bound, summary.bound_examples).model_dump(),
            "history": with_ratios(_curves(points)),
            "quality": _quality(published),
            "decisions": [_decision(each) for each in taken],
            "cost": cost,
            "costs": model.costs(),
            "experts": experts_shown(published.mixture, points),
            **_weights(summary),
            "terms": [term._asdict() for term in model.terms.largest(_PAGE_WEIGHTS)],
            "terms_events": round(model.terms.n_events),
            "shows_events": model.recent is not None,
            "events": [_event(each, model.partition) for each in answers],
            "mistakes": [_mistake(each, model) for each in mistakes],
            "columns": _COLUMNS,
        }
        return state | {"rows": [row(state)]}

    def _lag(self, partition: int) -> int | None:
        found = [count for (_, number), count in dict(self._metrics.lag).items() if number == partition]
        return sum(found) if found else None

    def _memory(self, partition: int) -> Memory:
        value = self._metrics.registry.get_sample_value
        process = value("process_resident_memory_bytes")
        snapshot = value("perceptron_checkpoint_size_bytes", {"partition": str(partition)})
        return Memory(process_bytes=process and int(process), snapshot_bytes=snapshot and int(snapshot))


def kind_of(model: LiveModel) -> ModelKind:
    """Describe a model: of a pipeline, its steps."""
    learner = model.processor.learner
    made: base.Classifier = learner.model  # type: ignore[attr-defined]
    if not learner.has_files:
        return ModelKind(str(made), {})
    return ModelKind.of(made)


def counts_of(published: Published) -> Counts:
    """Return a model's counts at its last commit."""
    counts = dict(published.counts)
    return Counts(pending_labels=counts.pop("pending"), **counts)


def _curves(points: Sequence[Point]) -> dict[str, list[float]]:
    """Return a history as the columns that can be summed over partitions."""
    recent: list[float] = [
        min(each.labelled, RECENT) if each.recent_error is not None else 0 for each in points
    ]
    wrong: list[float] = [
        round((each.recent_error or 0.0) * n) for each, n in zip(points, recent, strict=True)
    ]
    own: dict[str, list[float]] = {
        name: [getattr(each, name) for each in points] for name in CURVES if name in Point._fields
    }
    return {**own, "recent_labelled": recent, "recent_mistakes": wrong}


def _quality(published: Published) -> dict[str, Any]:
    """Return the sums of the quality of all predictions."""
    counters = published.counters
    confusion, calibration, pairs = counters.confusion, counters.calibration, counters.score_bins.pairs()
    return {
        "labelled": confusion.count,
        "cells": _cells(confusion),
        "baseline_mistakes": confusion.baseline_mistakes,
        "score_bins": _score_bins(counters.score_bins),
        "pairs": pairs.total,
        "ordered_pairs": pairs.ordered,
        "probabilities": calibration.count,
        "loss": calibration.loss,
    }


def _cells(confusion: Confusion) -> list[tuple[Truth | None, Truth | None, int]]:
    """Return the confusion matrix: rows and columns beyond the commonest classes are one, None."""
    shown = {label for label, _ in confusion.truths.most_common(_CLASSES_SHOWN)}
    cells: Counter[tuple[Truth | None, Truth | None]] = Counter()
    for (truth, predicted), count in confusion.cells.items():
        cells[truth if truth in shown else None, predicted if predicted in shown else None] += count
    return [(truth, predicted, count) for (truth, predicted), count in cells.items()]


def _score_bins(bins: ScoreBins) -> list[tuple[float, int, int]]:
    """Return the least score of each bin, and the positive and negative examples in it, from the least on.

    Bins are those of twice the width, and again, until they are few; so those of several models add up.
    """
    width = 1
    while len({number // width for number in bins.positives | bins.negatives}) > _BINS_SHOWN:
        width *= 2
    shown: dict[float, list[int]] = {}
    for of_class, counts in enumerate((bins.positives, bins.negatives)):
        for number, count in counts.items():
            shown.setdefault(least_score(number // width * width, width), [0, 0])[of_class] += count
    return [(least, positives, negatives) for least, (positives, negatives) in sorted(shown.items())]


def _weights(summary: ModelSummary) -> Mapping[str, Any]:
    weights = summary.weights
    if weights is None:
        return {"weights": None, "weights_nonzero": None, "bias": None}
    return {
        "weights": [
            {"name": name[:_LONGEST_SHOWN], "weight": w} for name, w in weights.largest[:_PAGE_WEIGHTS]
        ],
        "weights_nonzero": weights.nonzero,
        "bias": weights.bias,
    }


def _event(recent: Recent, partition: int) -> dict[str, Any]:
    """Prepare an answer for a row of the page, long contents cut."""
    answer = recent.answer
    predicted, truth = labels_in(answer)
    return {
        **{field.name: answer.get(field.name) for field in PREDICTION + OUTCOME},
        "predicted": predicted,
        "truth": truth,
        "partition": partition,
        "seconds": recent.seconds,
        **_shown(recent.content),
    }


def _decision(taken: Mapping[str, Any]) -> dict[str, Any]:
    """Prepare a decision for the page, in counts that add up."""
    n_right = round(taken["labelled"] * (taken["precision"] or 0.0))
    thresholds = [] if taken["threshold"] is None else [taken["threshold"]]
    shown = {name: taken[name] for name in ("name", "class", "goal", "decided", "labelled", "undecided")}
    return {**shown, "right": n_right, "thresholds": thresholds}


def _mistake(mistake: Mistake, model: LiveModel) -> dict[str, Any]:
    """Prepare a mistake for the page; `terms` is None until it is explained."""
    step, content = mistake.step, mistake.content or {}
    return {
        "id": step.event_id,
        "predicted": model.label_of(step.predicted),
        "truth": model.label_of(step.truth),
        "score": step.score,
        "sureness": mistake.sureness,
        "probability": step.probability,
        "label_delay_seconds": step.label_delay_seconds,
        "mistake": True,
        "partition": model.partition,
        "seconds": mistake.seconds,
        **_shown(content),
        "terms": mistake.terms
        and [(each.feature[:_LONGEST_SHOWN], each.contribution) for each in mistake.terms],
    }


def _shown(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return text and features of an event, long ones cut."""
    features = content.get("features") or {}
    return {
        "text": str(content.get("text", ""))[:_LONGEST_SHOWN],
        "features": {str(name): value for name, value in list(features.items())[:_LONGEST_SHOWN]},
    }


def _plain(value: object) -> object:
    """Return a parameter as JSON can hold it."""
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value if isinstance(value, (bool, int, float, str, type(None))) else repr(value)


def _takes_own(settings: Settings) -> bool:
    """Return whether events and labels that are posted may have the service's own schema, as on the page."""
    if not settings.takes_inputs:
        return False
    if not settings.labels_topic:
        return not settings.events.is_mapped
    return not any(
        table.model_copy(update={"unknown_fields": ""}).is_mapped
        for table in (settings.events, settings.labels)
    )


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
        **most,
        "partition": ALL,
        "model": ", ".join(sorted({state["model"] for state in states})),
        "counts": _sums([state["counts"] for state in states]),
        "events_per_second": sum(state["events_per_second"] for state in states),
        "lag": sum(lags) if lags else None,
        "bound": None,
        "history": with_ratios(_summed([state["history"] for state in states])),
        "quality": _sum_of_qualities([state["quality"] for state in states]),
        "decisions": [
            _sum_of_decision(same) for same in zip(*(state["decisions"] for state in states), strict=True)
        ],
        "cost": sum(costs) if costs else None,
        "experts": None,
        "weights": None,
        "weights_nonzero": None,
        "bias": None,
        "terms": [],
        "terms_events": 0,
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


def _sum_of_qualities(qualities: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Add the sums up, and the confusion matrices by cell."""
    cells: Counter[tuple[Any, Any]] = Counter()
    bins: defaultdict[float, list[int]] = defaultdict(lambda: [0, 0])
    for quality in qualities:
        for truth, predicted, count in quality["cells"]:
            cells[truth, predicted] += count
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


def _sum_of_decision(same: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Add up the counts of a decision in several partitions; each has a threshold of its own."""
    sums = _sums([{name: each[name] for name in ("decided", "labelled", "right")} for each in same])
    thresholds = {threshold for each in same for threshold in each["thresholds"]}
    return {**same[0], **sums, "thresholds": sorted(thresholds)}


def _summed(histories: Sequence[Mapping[str, Sequence[float]]]) -> Columns:
    """Add curves up over time. Before its first point, a curve counts as at that point.

    So a partition that arrived late makes no jump in the sum.
    """
    curves = [history for history in histories if history["seconds"]]
    times = thinned(sorted({seconds for curve in curves for seconds in curve["seconds"]}), _SUM_POINTS)
    places = [[max(0, bisect_right(curve["seconds"], time) - 1) for time in times] for curve in curves]
    columns: Columns = {"seconds": list(times)}
    for name in CURVES[1:]:
        columns[name] = [0] * len(times)
        for curve, at in zip(curves, places, strict=True):
            values = curve[name]
            columns[name] = [total + values[place] for total, place in zip(columns[name], at, strict=True)]
    return _without_repeats(columns)


def _without_repeats(columns: Columns) -> Columns:
    """Return the points after which more was labelled, and the last."""
    kept = [n for n, (now, then) in enumerate(pairwise([*columns["labelled"], inf])) if now < then]
    return {name: [values[n] for n in kept] for name, values in columns.items()}
