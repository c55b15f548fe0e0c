"""What `/model` and the live page show of a model.

This is the only module that knows both the committed state (`Metrics`) and the models in memory
(`LiveModels`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from pydantic_core import to_jsonable_python

from service.clock import SYSTEM_CLOCK
from service.messages.labels import TrueLabel, Vocabulary
from service.messages.schema import OUTCOME, PREDICTION, labels_in
from service.models.model_file import ModelKind
from service.monitoring.health import Health
from service.monitoring.history import RECENT, Point
from service.monitoring.live_models import LiveModel, LiveModels
from service.monitoring.metrics import Metrics, Published
from service.monitoring.recent import Recent
from service.partition.parts.counters import concerns
from service.partition.parts.quality import Confusion, ScoreBins, least_score
from service.redaction import redacted_url
from service.settings.load import Settings
from service.web.responses import Bound, Counts, ModelDescription, Weight

_PAGE_WEIGHTS: Final = 12
_CLASSES_SHOWN: Final = 30
"""Classes of a confusion matrix that are shown: the most frequent ones."""
_MAX_SHOWN: Final = 300
"""Characters of a text, and features of an event, that the page shows."""
_COLUMNS: Final = [
    {"name": field.name, "title": field.written.column[0], "as": field.written.column[1]}
    for field in PREDICTION + OUTCOME
    if field.written.column
]
"""Columns of the page's table of events, besides the columns of every event."""


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
        self._settings = settings
        self._stream = {
            "broker": redacted_url(settings.broker_url),
            "topic": settings.events_topic,
            "group": settings.group,
            "teaches": _takes_own(settings),
        }

    def describe(self, model: LiveModel, top: int) -> ModelDescription:
        """Describe a model with its `top` largest weights. Raises `ModelBusy`."""
        published, summary = _published(model), model.summary()
        kind = kind_of(model)
        weights = summary.weights
        bound = summary.bound
        return ModelDescription(
            partition=model.partition,
            kind=kind.name,
            parameters=to_jsonable_python(kind.parameters, fallback=repr),
            classes=list(model.classes),
            counts=Counts(**published.counts),
            weights=weights and [Weight(name=name, weight=each) for name, each in weights.largest[:top]],
            weights_nonzero=weights and weights.nonzero,
            weight_norm=weights and weights.norm,
            bias=weights and weights.bias,
            bound=bound and Bound.of(bound, summary.bound_examples),
        )

    def state(self, partition: int | None) -> dict[str, Any]:
        """Return everything that the page shows, for JSON. Raises `NoSuchModel` and `ModelBusy`."""
        model = self.live.get(partition)
        published, points = _published(model), model.history.points()
        described = self.describe(model, _PAGE_WEIGHTS).model_dump()
        for weight in described["weights"] or ():
            weight["name"] = weight["name"][:_MAX_SHOWN]
        outputs, mistakes = model.latest()
        state, reason = self._health.condition
        now = SYSTEM_CLOCK.monotonic()
        return {
            "state": state,
            "reason": reason,
            "uptime_seconds": now - self._began,
            "seconds": now,
            **self._stream,
            "partitions": [self._row(self.live.get(each)) for each in self.live.partitions()],
            **described,
            "model": described["kind"],
            **self._row(model),
            "data_warning": self._warning(published),
            "window": RECENT,
            "history": {name: [getattr(point, name) for point in points] for name in Point._fields},
            "quality": _quality(published),
            **model.decisions_taken(),
            "experts": _experts(published),
            "terms": [
                {"class": model.label_of(each), **model.terms.of(each)} for each in [*model.terms.classes]
            ],
            "shows_events": model.recent is not None,
            "events": [_event(output) for output in outputs],
            "mistakes": [_event(each) for each in mistakes],
            "columns": _COLUMNS,
        }

    def _warning(self, published: Published) -> str:
        """Return a warning with a hint if a baseline makes fewer mistakes than the model; else empty."""
        cells, settings = published.counters.confusion.cells, self._settings
        name_of = Vocabulary(settings.classes).name
        return "; ".join(map(": ".join, concerns(cells, name_of, settings.model, settings.decisions)))

    def _row(self, model: LiveModel) -> dict[str, Any]:
        """Return the row of a partition in the table of partitions."""
        published = _published(model)
        counters = published.counters
        return {
            "partition": model.partition,
            "counts": Counts(**published.counts).model_dump(),
            "error": counters.error_ratio() if counters.labelled else None,
            "auc": counters.score_bins.pairs().auc(),
            "log_loss": counters.calibration.log_loss(),
            "lag": self._metrics.lag_of(model.partition),
        }


def _published(model: LiveModel) -> Published:
    assert model.published is not None, "wait for the model's first commit"
    return model.published


def kind_of(model: LiveModel) -> ModelKind:
    """Describe a model; a pipeline by its steps."""
    learner = model.processor.learner
    return ModelKind.of(learner.model) if learner.has_files else ModelKind(str(learner.model), {})


def _experts(published: Published) -> dict[str, Any] | None:
    """Return the experts of a mixture, the largest weight first; None without a mixture."""
    mixture = published.mixture
    if mixture is None:
        return None
    shown = ("name", "weight", "mistakes", "recent_error")
    experts = [{name: getattr(expert, name) for name in shown} for expert in mixture.experts]
    return {"leader": mixture.leader, "experts": experts}


def _quality(published: Published) -> dict[str, Any]:
    """Return the quality of all predictions."""
    counters = published.counters
    return {
        "labelled": counters.confusion.count,
        "cells": _cells(counters.confusion),
        "score_bins": _score_bins(counters.score_bins),
        "has_probabilities": counters.calibration.count > 0,
    }


def _cells(confusion: Confusion) -> list[tuple[TrueLabel | None, TrueLabel | None, int]]:
    """Return the confusion matrix; all but the most frequent classes are merged into the class None."""
    shown = {label for label, _ in confusion.truths.most_common(_CLASSES_SHOWN)}
    cells: Counter[tuple[TrueLabel | None, TrueLabel | None]] = Counter()
    for (truth, predicted), count in confusion.cells.items():
        cells[truth if truth in shown else None, predicted if predicted in shown else None] += count
    return [(truth, predicted, count) for (truth, predicted), count in cells.items()]


def _score_bins(bins: ScoreBins) -> list[tuple[float, int, int]]:
    """Return each bin's lowest score and its numbers of positive and negative examples, in order."""
    numbers = bins.positives | bins.negatives
    return sorted((least_score(each), bins.positives[each], bins.negatives[each]) for each in numbers)


def _event(recent: Recent) -> dict[str, Any]:
    """Return a prediction or an outcome as a row of the page; long contents are cut."""
    predicted, truth = labels_in(recent.fields)
    return {
        **{field.name: recent.fields.get(field.name) for field in PREDICTION + OUTCOME},
        "predicted": predicted,
        "truth": truth,
        "seconds": recent.seconds,
        **_shown(recent.content),
    }


def _shown(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return text and features of an event; long ones are cut."""
    features = content.get("features") or {}
    return {
        "text": str(content.get("text", ""))[:_MAX_SHOWN],
        "features": {str(name): value for name, value in list(features.items())[:_MAX_SHOWN]},
    }


def _takes_own(settings: Settings) -> bool:
    """Return whether events and labels that are posted may have the native schema, as on the page."""
    if not settings.takes_inputs:
        return False
    if not settings.labels_topic:
        return not settings.events.is_mapped
    return not any(
        table.model_copy(update={"unknown_fields": ""}).is_mapped
        for table in (settings.events, settings.labels)
    )
