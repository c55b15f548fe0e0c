"""The metric families of what each partition has committed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from perceptron_core import OnlineMistakeBound, Perceptron
from service.messages.labels import Vocabulary
from service.models.auto import MixtureStatus
from service.models.learner import Learner
from service.partition.counts.class_figures import MOST_CLASSES, OTHERS, first_classes
from service.partition.counts.counters import Counters
from service.partition.part import Figure

_LABELLED: Final = (
    "Labels by class and by what was predicted, a corrected label as one more; classes beyond the first "
    f"{MOST_CLASSES} are one."
)
_REVOKED: Final = "Of the labels by class and prediction, those that a later label has corrected."
_UNITS: Final = ("bytes", "ratio", "seconds")


@dataclass(frozen=True, slots=True)
class Published:
    """The committed counts of one partition, and its model, which is read on demand."""

    counters: Counters
    counts: Mapping[str, int]
    """As the progress record has them."""
    figures: Sequence[Figure]
    """Of all parts but the counters, whose figures take long and are computed on demand."""
    learner: Learner
    bound: OnlineMistakeBound | None = None
    mixture: MixtureStatus | None = None
    """None of a model that is no mixture, or has met no event yet."""
    classes: Sequence[str] = ()
    """As configured."""


def committed_families(published: Mapping[int, Published]) -> Iterator[Metric]:
    """Yield what is known of the models, by partition."""
    families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
    for partition, state in published.items():
        found = (*state.counters.figures(), *state.figures)
        found += tuple(_labelled(state))
        for figure in (*found, *_weights(state), *_experts(state.mixture)):
            by = (figure.by,) if isinstance(figure.by, str) and figure.by else tuple(figure.by)
            if figure.metric not in families:
                kind = GaugeMetricFamily if figure.is_gauge else CounterMetricFamily
                name, labels = f"perceptron_{figure.metric}", [*by, "partition"]
                last = name.rpartition("_")[2]
                unit = last if last in _UNITS else ""
                families[figure.metric] = kind(name, figure.documentation, labels=labels, unit=unit)
            values = figure.value if isinstance(figure.value, Mapping) else {"": figure.value}
            for label, value in values.items():
                if value is not None:
                    names = (label,) if isinstance(label, str) else label
                    families[figure.metric].add_metric([*(names if by else ()), str(partition)], value)
    yield from families.values()


def _labelled(state: Published) -> Iterator[Figure]:
    """Yield the labels by truth and prediction. A count must not fall: what a correction takes is another."""
    confusion, name_of = state.counters.confusion, Vocabulary(state.classes).name
    names = {label: name_of(label) for label in first_classes(confusion.cells)}
    labelled = dict.fromkeys(((name, name) for name in names.values()), 0)  # what is never right is 0
    revoked = labelled.copy()
    for truth, predicted in confusion.cells:
        cell = names.get(truth, OTHERS), names.get(predicted, OTHERS)
        taken_back = confusion.revoked[truth, predicted]
        revoked[cell] = revoked.get(cell, 0) + taken_back
        labelled[cell] = labelled.get(cell, 0) + confusion.cells[truth, predicted] + taken_back
    yield Figure("labelled", _LABELLED, labelled, ("truth", "predicted"))
    yield Figure("revoked_labels", _REVOKED, revoked, ("truth", "predicted"))


def _weights(state: Published) -> Iterator[Figure]:
    """Yield what the weights say, as they are now."""
    norm = nonzero = bound = None
    if (weights := state.learner.weights()) is not None:
        # One step for the interpreter: nothing changes meanwhile.
        values: list[Any] = list(weights[0].values())
        norm, nonzero = math.hypot(*values), len(values)
    model = getattr(state.learner, "model", None)
    if state.bound is not None and isinstance(model, Perceptron):
        bound = state.bound.value(model).updates
    yield Figure("weight_norm", "Euclidean norm of the weights, without the bias.", norm, is_gauge=True)
    yield Figure("nonzero_weights", "Weights that are not 0.", nonzero, is_gauge=True)
    yield Figure(
        "mistake_bound",
        "(R/margin) squared over the labelled events since the last update, which the model separates; "
        "absent while they are fewer than 100: there is no bound on data that nothing is known to separate.",
        bound if bound is not None and math.isfinite(bound) else None,
        is_gauge=True,
    )


def _experts(mixture: MixtureStatus | None) -> Iterator[Figure]:
    """Yield what is known of the experts; nothing of a model that is no mixture."""
    if mixture is None:
        return
    yield Figure(
        "expert_weight",
        "Weight of an expert's log-odds in the answer of the mixture; of several classes, the mean.",
        {expert.name: expert.weight for expert in mixture.experts},
        by="expert",
        is_gauge=True,
    )
    yield Figure(
        "expert_mistakes",
        "Mistakes of an expert; of several classes, of telling each from the others.",
        {expert.name: expert.mistakes for expert in mixture.experts},
        by="expert",
    )
    yield Figure(
        "expert_error_ratio",
        "Share of an expert's recent answers that were wrong, older ones discounted.",
        {expert.name: expert.recent_error for expert in mixture.experts},
        by="expert",
        is_gauge=True,
    )
