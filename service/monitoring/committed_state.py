"""The metrics of committed models. In: what each partition has committed. Out: metric families."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from perceptron_core import OnlineMistakeBound, Perceptron
from service.models.auto import MixtureStatus
from service.models.registry import Learner
from service.partition.counts.counters import WINDOW, Counters
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
    updates: int
    pending: int
    pending_bytes: int
    learner: Learner
    bound: OnlineMistakeBound | None = None
    mixture: MixtureStatus | None = None
    """None of a model that is no mixture, or has met no event yet."""
    share: Share | None = None
    """None of a partition that has a model of its own."""


def committed_families(published: Mapping[int, Published]) -> Iterator[Metric]:
    """Yield what is known of the models, by partition."""
    yield from _counts(published)
    yield from _state(published)
    yield from _calibration(published)
    yield from _weights(published)
    yield from _experts(published)
    yield from _shares(published)


def _counts(published: Mapping[int, Published]) -> Iterator[Metric]:
    by_label = (
        ("messages_consumed", "Records consumed.", "topic", "consumed"),
        ("messages_rejected", "Messages sent to the dead letters.", "reason", "rejected"),
        ("labels", "Labels received, by what became of them.", "outcome", "labels"),
    )
    for name, documentation, label, attribute in by_label:
        family = CounterMetricFamily(f"perceptron_{name}", documentation, labels=[label, "partition"])
        for partition, state in published.items():
            for value, count in getattr(state.counters, attribute).items():
                family.add_metric([value, str(partition)], count)
        yield family
    totals: tuple[tuple[str, str, Callable[[Published], int]], ...] = (
        ("predictions", "Predictions made.", lambda state: state.counters.predictions),
        ("mistakes", "Predictions that turned out wrong.", lambda state: state.counters.mistakes),
        ("updates", "Updates of the model.", lambda state: state.updates),
    )
    for name, documentation, read in totals:
        family = CounterMetricFamily(f"perceptron_{name}", documentation, labels=["partition"])
        for partition, state in published.items():
            family.add_metric([str(partition)], read(state))
        yield family


def _state(published: Mapping[int, Published]) -> Iterator[Metric]:
    pending = GaugeMetricFamily(
        "perceptron_pending_labels", "Predictions that wait for their label.", labels=["partition"]
    )
    pending_bytes = GaugeMetricFamily(
        "perceptron_pending_bytes",
        "Estimated memory of the events kept for their labels and for corrections.",
        labels=["partition"],
        unit="bytes",
    )
    error = GaugeMetricFamily(
        "perceptron_prequential_error_ratio",
        f"Share of labelled predictions that were wrong: ever, and among the last {WINDOW}.",
        labels=["window", "partition"],
        unit="ratio",
    )
    for partition, state in published.items():
        pending.add_metric([str(partition)], state.pending)
        pending_bytes.add_metric([str(partition)], state.pending_bytes)
        error.add_metric(["lifetime", str(partition)], state.counters.error_ratio())
        error.add_metric([str(WINDOW), str(partition)], state.counters.recent_error_ratio())
    yield pending
    yield pending_bytes
    yield error


def _calibration(published: Mapping[int, Published]) -> Iterator[Metric]:
    error = GaugeMetricFamily(
        "perceptron_expected_calibration_error_ratio",
        "Distance of the share of right predictions from their probability, mean of 15 bins; "
        "only of models whose scores are log-odds.",
        labels=["partition"],
        unit="ratio",
    )
    loss = GaugeMetricFamily(
        "perceptron_log_loss",
        "Mean logistic loss of labelled predictions; only of models whose scores are log-odds.",
        labels=["partition"],
    )
    for partition, state in published.items():
        calibration = state.counters.calibration
        for family, value in (
            (error, calibration.expected_calibration_error()),
            (loss, calibration.log_loss()),
        ):
            if value is not None:
                family.add_metric([str(partition)], value)
    yield error
    yield loss


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
