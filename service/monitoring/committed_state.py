"""The metrics of committed models. In: what each partition has committed. Out: metric families."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from perceptron_core import OnlineMistakeBound, Perceptron
from service.models.auto import MixtureStatus
from service.models.registry import Learner
from service.partition.counts.counters import Counters
from service.partition.part import Figure
from service.sharing.participant import Participant


class Share(NamedTuple):
    """One partition's part in a model that all share: as of its last commit, and what it waits for now."""

    n_rounds: int
    """Rounds mixed since the share began."""
    round: int
    """The last one that was mixed; 0 before the first."""
    distance: float
    """Norm of what the partition had learned and not contributed yet."""
    participant: Participant

    @classmethod
    def of(cls, participant: Participant) -> Self:
        """Note how a partition stands."""
        rounds = participant.rounds
        return cls(rounds.round - rounds.start, max(0, rounds.round), participant.distance, participant)


@dataclass(frozen=True, slots=True)
class Published:
    """What one partition shows: its committed counts and, to be looked at on demand, its model."""

    counters: Counters
    counts: Mapping[str, int]
    """As the progress record has them."""
    figures: Sequence[Figure]
    """Of all parts."""
    learner: Learner
    bound: OnlineMistakeBound | None = None
    mixture: MixtureStatus | None = None
    """None of a model that is no mixture, or has met no event yet."""
    share: Share | None = None
    """None of a partition that has a model of its own."""


def committed_families(published: Mapping[int, Published]) -> Iterator[Metric]:
    """Yield what is known of the models, by partition."""
    yield from _figures(published)
    yield from _weights(published)
    yield from _experts(published)
    yield from _shares(published)


def _figures(published: Mapping[int, Published]) -> Iterator[Metric]:
    """Yield what the parts of the partitions say."""
    families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
    for partition, state in published.items():
        for figure in state.figures:
            by = [figure.by] if figure.by else []
            if figure.metric not in families:
                kind = GaugeMetricFamily if figure.is_gauge else CounterMetricFamily
                name, labels = f"perceptron_{figure.metric}", [*by, "partition"]
                families[figure.metric] = kind(name, figure.documentation, labels=labels, unit=figure.unit)
            values = figure.value if isinstance(figure.value, Mapping) else {"": figure.value}
            for label, value in values.items():
                if value is not None:
                    families[figure.metric].add_metric([*([label] if by else []), str(partition)], value)
    yield from families.values()


def _weights(published: Mapping[int, Published]) -> Iterator[Metric]:
    norm = GaugeMetricFamily(
        "perceptron_weight_norm", "Euclidean norm of the weights, without the bias.", labels=["partition"]
    )
    nonzero = GaugeMetricFamily("perceptron_nonzero_weights", "Weights that are not 0.", labels=["partition"])
    for partition, state in published.items():
        weights = state.learner.weights()
        if weights is not None:
            values: list[Any] = list(
                weights[0].values()
            )  # one step for the interpreter: nothing changes meanwhile
            norm.add_metric([str(partition)], math.hypot(*values))
            nonzero.add_metric([str(partition)], len(values))
    yield norm
    yield nonzero
    yield _bounds(published)


def _bounds(published: Mapping[int, Published]) -> Metric:
    family = GaugeMetricFamily(
        "perceptron_mistake_bound",
        "(R/margin) squared over the labelled events since the last update, which the model separates; "
        "absent while they are fewer than 100: there is no bound on data that nothing is known to separate.",
        labels=["partition"],
    )
    for partition, state in published.items():
        model = getattr(state.learner, "model", None)
        if state.bound is not None and isinstance(model, Perceptron):
            bound = state.bound.value(model).updates
            if math.isfinite(bound):
                family.add_metric([str(partition)], bound)
    return family


def _experts(published: Mapping[int, Published]) -> Iterator[Metric]:
    """Yield what is known of the experts; nothing where no model is a mixture."""
    mixtures = {partition: state.mixture for partition, state in published.items() if state.mixture}
    if not mixtures:
        return
    labels = ["expert", "partition"]
    weight = GaugeMetricFamily(
        "perceptron_expert_weight",
        "Weight of an expert's log-odds in the answer of the mixture; of several classes, the mean.",
        labels=labels,
    )
    mistakes = CounterMetricFamily(
        "perceptron_expert_mistakes",
        "Mistakes of an expert; of several classes, of telling each from the others.",
        labels=labels,
    )
    error = GaugeMetricFamily(
        "perceptron_expert_error_ratio",
        "Share of an expert's recent answers that were wrong, older ones discounted.",
        labels=labels,
        unit="ratio",
    )
    for partition, mixture in mixtures.items():
        for expert in mixture.experts:
            weight.add_metric([expert.name, str(partition)], expert.weight)
            mistakes.add_metric([expert.name, str(partition)], expert.mistakes)
            if expert.recent_error is not None:
                error.add_metric([expert.name, str(partition)], expert.recent_error)
    yield from (weight, mistakes, error)


def _shares(published: Mapping[int, Published]) -> Iterator[Metric]:
    """Yield what is known of the rounds; nothing where each partition has a model of its own."""
    shares = {partition: state.share for partition, state in published.items() if state.share}
    if not shares:
        return
    rounds = CounterMetricFamily(
        "perceptron_mix_rounds", "Rounds mixed since the share began.", labels=["partition"]
    )
    lag = GaugeMetricFamily(
        "perceptron_mix_round_lag",
        "Seconds since the partition contributed to a round that waits for other partitions; "
        "0 if it waits for none.",
        labels=["partition"],
    )
    distance = GaugeMetricFamily(
        "perceptron_mix_distance",
        "Euclidean norm of what the partition had learned and not contributed to the shared model yet.",
        labels=["partition"],
    )
    for partition, share in shares.items():
        rounds.add_metric([str(partition)], share.n_rounds)
        lag.add_metric([str(partition)], share.participant.waited_seconds())
        distance.add_metric([str(partition)], share.distance)
    yield from (rounds, lag, distance)
