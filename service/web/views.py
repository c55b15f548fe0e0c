"""What the web side may look at. In: metrics, health, live models. Out: the answers' contents.

The one place that knows both what is committed (`Metrics`) and the models in memory (`LiveModels`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from prometheus_client import ProcessCollector
from river import base

from service.models.model_file import ModelKind
from service.models.river import RiverLearner
from service.monitoring.committed_state import Published
from service.monitoring.error_history import RECENT
from service.monitoring.health import Health
from service.monitoring.live_models import LiveModel, LiveModels
from service.monitoring.metrics import Metrics
from service.monitoring.portrait import Portrait
from service.monitoring.recent_predictions import Recent
from service.web.experts import experts_shown
from service.web.responses import Bound, Counts, Memory, ModelDescription, Weight

_PAGE_WEIGHTS: Final = 12
_LONGEST_SHOWN: Final = 300
"""Characters of a text, and features of an event, that a page shows."""


@dataclass(frozen=True, slots=True)
class Window:
    """All there is to see."""

    health: Health
    metrics: Metrics
    live: LiveModels

    def describe(self, model: LiveModel, top: int) -> ModelDescription:
        """Describe a model with its `top` largest weights. Raises `ModelBusy`."""
        published, portrait = model.published, model.portrait()
        assert published is not None, "a model is shown from its first commit on"
        kind = kind_of(model)
        weights = portrait.weights
        bound = portrait.bound
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
            bound=bound and Bound.of(bound, portrait.bound_examples),
            memory=self._memory(model.partition),
        )

    def state(self, partition: int | None) -> dict[str, Any]:
        """Return all that the page shows, for JSON. Raises `NoSuchModel` and `ModelBusy`."""
        model = self.live.get(partition)
        published, portrait = model.published, model.portrait()
        assert published is not None, "a model is shown from its first commit on"
        points = model.history.points()
        return {
            "state": self.health.state,
            "reason": self.health.reason,
            "partition": model.partition,
            "partitions": self.live.partitions(),
            "model": kind_of(model).name,
            "classes": list(model.classes),
            "counts": counts_of(published).model_dump(),
            "lag": self._lag(model.partition),
            "window": RECENT,
            "bound": portrait.bound and Bound.of(portrait.bound, portrait.bound_examples).model_dump(),
            "history": {name: [getattr(point, name) for point in points] for name in _CURVES},
            "experts": experts_shown(published.mixture, points),
            **_weights(portrait),
            "shows_events": model.recent is not None,
            "events": [_event(each) for each in model.recent.latest()] if model.recent else [],
        }

    def _lag(self, partition: int) -> int | None:
        found = [count for (_, number), count in dict(self.metrics.lag).items() if number == partition]
        return sum(found) if found else None

    def _memory(self, partition: int) -> Memory:
        found = [
            sample.value
            for family in ProcessCollector(registry=None).collect()  # a look at /proc, nothing registered
            for sample in family.samples
            if sample.name == "process_resident_memory_bytes"
        ]
        snapshot_bytes = self.metrics.snapshot_size.labels(partition)._value.get()  # noqa: SLF001
        return Memory(
            process_bytes=int(found[0]) if found else None, snapshot_bytes=int(snapshot_bytes) or None
        )


_CURVES: Final = ("labelled", "mistakes", "updates", "error", "recent_error")


def kind_of(model: LiveModel) -> ModelKind:
    """Describe a model: of a pipeline, its steps."""
    learner = model.look()
    made: base.Classifier = learner.model  # type: ignore[attr-defined]
    if isinstance(learner, RiverLearner):
        return ModelKind(str(made), {})
    return ModelKind.of(made)


def counts_of(published: Published) -> Counts:
    """Return a model's counts at its last commit."""
    counters = published.counters
    return Counts(
        predictions=counters.predictions,
        labelled=counters.labelled,
        mistakes=counters.mistakes,
        updates=published.updates,
        rejected=counters.rejected.total(),
        pending_labels=published.pending,
    )


def _weights(portrait: Portrait) -> Mapping[str, Any]:
    weights = portrait.weights
    if weights is None:
        return {"weights": None, "weights_nonzero": None, "bias": None}
    return {
        "weights": [
            {"name": name[:_LONGEST_SHOWN], "weight": w} for name, w in weights.largest[:_PAGE_WEIGHTS]
        ],
        "weights_nonzero": weights.nonzero,
        "bias": weights.bias,
    }


def _event(recent: Recent) -> dict[str, Any]:
    """Prepare an answer for a row of the page, long contents cut."""
    answer, features = recent.answer, recent.content.get("features") or {}
    is_outcome = "predicted" in answer
    return {
        "id": answer["id"],
        "text": str(recent.content.get("text", ""))[:_LONGEST_SHOWN],
        "features": {str(name): value for name, value in list(features.items())[:_LONGEST_SHOWN]},
        "score": recent.score,
        "probability": recent.probability,
        "predicted": answer["predicted"] if is_outcome else answer["label"],
        "truth": answer["label"] if is_outcome else answer.get("truth"),
        "mistake": answer.get("mistake"),
        "label_delay_seconds": answer.get("label_delay_seconds"),
    }


def _plain(value: object) -> object:
    """Return a parameter as JSON can hold it."""
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value if isinstance(value, (bool, int, float, str, type(None))) else repr(value)
