"""The metrics of a process, and of the commits of its partitions; a line of the log has its throughput."""

from __future__ import annotations

import contextlib
import logging
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import add, sub
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from perceptron_core import COMPILED, MistakeBound, OnlineMistakeBound, Perceptron, __version__
from service.clock import SYSTEM_CLOCK, Clock
from service.logs import LOG_INTERVAL_SECONDS
from service.messages.labels import Vocabulary
from service.models.learner import Learner, MixtureStatus
from service.partition.examples import LearnedExamples, Observer
from service.partition.label_join import WAITING_LABELS
from service.partition.parts.counters import Counters, Totals, format_labels, label_warnings
from service.partition.parts.part import PartMetric
from service.partition.parts.quality import MAX_CLASSES, OTHERS, copied, first_classes
from service.partition.processor import Processor

_log = logging.getLogger(__name__)

_LABELLED: Final = f"Labels by class and predicted class; classes after the first {MAX_CLASSES} are one."
_REVOKED: Final = "Of the labels by class and prediction, those that a later label has corrected."
_EVENTS_LOST: Final = "Records lost before they were processed or replayed; only with on_data_loss=continue."
_STANDBY: Final = "Partitions of other processes whose state is kept here as last committed."
_SNAPSHOT_TIME: Final = "When the last snapshot was committed, in seconds since the Unix epoch."
_BUILD: Final = "Version of the service, and whether its core is compiled (true or false)."
_MIN_WAITING: Final = 20
"""Labels that came before their events may be as many."""
_UNITS: Final = ("bytes", "ratio", "seconds")


@dataclass(frozen=True, slots=True)
class Published:
    """The committed counts of one partition, and its model, which is read on demand."""

    counters: Counters
    counts: Mapping[str, int]
    """Counts of the progress record."""
    metrics: Sequence[PartMetric]
    """Metrics of all parts but the counters, whose metrics take long and are computed on demand."""
    learner: Learner
    bound: OnlineMistakeBound | None = None
    mixture: MixtureStatus | None = None
    """None if the model is not a mixture, or has not seen an event yet."""
    classes: Sequence[str] = ()
    """Configured class names."""

    def mistake_bound(self) -> MistakeBound | None:
        """Return the current bound of the model; None if the theorem does not apply to it."""
        return None if self.bound is None else self.bound.value(self.learner.model)


def warnings_of_labels(done: Totals, published: Iterable[Published]) -> list[str]:
    """Name counted labels that found no event, and labels that still wait for their events."""
    states = [*published]
    ids = [id_ for each in states for id_ in each.counters.unmatched_ids]
    return [each for each in (label_warnings(done, ids), _waiting_labels(states)) if each]


def _waiting_labels(states: Sequence[Published]) -> str:
    """Name labels that wait for their events while no label has found one; empty if there are few."""
    counts = [each.value for state in states for each in state.metrics if each.metric == WAITING_LABELS]
    waiting = sum(value for value in counts if isinstance(value, (int, float)))
    if waiting < _MIN_WAITING or any(state.counters.labels["matched"] for state in states):
        return ""
    return (
        f"no label has found its event, and {waiting:,} labels wait: check that labels.id and events.id "
        "name the same ids"
    )


def committed_families(published: Mapping[int, Published]) -> Iterator[Metric]:
    """Yield the metrics of the models, by partition."""
    families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
    for partition, state in published.items():
        for sample in (*state.counters.metrics(), *state.metrics, *_labelled(state), *_weights(state)):
            by = (sample.by,) if isinstance(sample.by, str) and sample.by else tuple(sample.by)
            if sample.metric not in families:
                kind = GaugeMetricFamily if sample.is_gauge else CounterMetricFamily
                name, labels = f"perceptron_{sample.metric}", [*by, "partition"]
                last = name.rpartition("_")[2]
                unit = last if last in _UNITS else ""
                families[sample.metric] = kind(name, sample.documentation, labels=labels, unit=unit)
            values = sample.value if isinstance(sample.value, Mapping) else {"": sample.value}
            for label, value in values.items():
                if value is not None:
                    names = (label,) if isinstance(label, str) else label
                    families[sample.metric].add_metric([*(names if by else ()), str(partition)], value)
    yield from families.values()


def _labelled(state: Published) -> Iterator[PartMetric]:
    """Yield the labels by truth and prediction. Corrections are a separate counter: no counter may fall."""
    confusion, name_of = state.counters.confusion, Vocabulary(state.classes).name
    names = {label: name_of(label) for label in first_classes(confusion.cells)}
    labelled = dict.fromkeys(((name, name) for name in names.values()), 0)  # 0 if a class is never right
    revoked = labelled.copy()
    for truth, predicted in confusion.cells:
        cell = names.get(truth, OTHERS), names.get(predicted, OTHERS)
        taken_back = confusion.revoked[truth, predicted]
        revoked[cell] = revoked.get(cell, 0) + taken_back
        labelled[cell] = labelled.get(cell, 0) + confusion.cells[truth, predicted] + taken_back
    yield PartMetric("labelled", _LABELLED, labelled, ("truth", "predicted"))
    yield PartMetric("revoked_labels", _REVOKED, revoked, ("truth", "predicted"))


def _weights(state: Published) -> Iterator[PartMetric]:
    """Yield the metrics of the current weights."""
    norm = nonzero = None
    if (weights := state.learner.weights()) is not None:
        # One step for the interpreter, so that nothing changes meanwhile.
        values: list[Any] = list(weights[0].values())
        norm, nonzero = math.hypot(*values), len(values)
    bound = result.updates if (result := state.mistake_bound()) else math.inf
    yield PartMetric("weight_norm", "Euclidean norm of the weights, without the bias.", norm, is_gauge=True)
    yield PartMetric("nonzero_weights", "Weights that are not 0.", nonzero, is_gauge=True)
    yield PartMetric(
        "mistake_bound",
        "(R/margin) squared over the events since the last update; absent while fewer than 100.",
        bound if math.isfinite(bound) else None,
        is_gauge=True,
    )


_MICROSECOND: Final = 1e-6
_DURATION_BUCKETS: Final = tuple(
    m * _MICROSECOND for m in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 1e4, 1e5, 1e6)
)
_MARGIN_BUCKETS: Final = (-100.0, -30.0, -10.0, -3.0, -1.0, -0.3, 0.0, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
_DELAY_BUCKETS: Final = (0.1, 1.0, 10.0, 60.0, 600.0, 3600.0, 21_600.0, 86_400.0, 604_800.0)


class Buckets:
    """A histogram that counts many values at once; one per process, not per model."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        """Number of values up to each bound, and of all values."""
        self._sum = 0.0

    def observe_all(self, values: Sequence[float], times: int = 1) -> None:
        """Count each value, `times` times, in the bucket of each bound that it does not exceed."""
        ordered = sorted(values)
        up_to = [*[bisect_right(ordered, bound) for bound in self._bounds], len(ordered)]
        self._counts = [count + times * more for count, more in zip(self._counts, up_to, strict=True)]
        self._sum += times * sum(values)

    def family(self, name: str, documentation: str, unit: str = "") -> HistogramMetricFamily:
        """Return the metric family."""
        buckets = zip([*map(repr, self._bounds), "+Inf"], self._counts, strict=True)
        return HistogramMetricFamily(
            name, documentation, buckets=list(buckets), sum_value=self._sum, unit=unit
        )


class Metrics(Collector):
    """The metrics of one process, registered with `registry`.

    Attributes
    ----------
    published
        The newest committed state of each partition that this process owns.
    last_published
        The newest state of every partition that this process ever published, for the closing summary.
    n_standby
        Number of partitions of other processes that this process keeps as standby.

    """

    def __init__(self, registry: CollectorRegistry) -> None:
        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        self.registry = registry
        self.process_duration = Buckets(_DURATION_BUCKETS)
        self.margin = Buckets(_MARGIN_BUCKETS)
        self.label_delay = Buckets(_DELAY_BUCKETS)
        self.published: dict[int, Published] = {}
        self.last_published: dict[int, Published] = {}
        self.bounds: dict[int, OnlineMistakeBound] = {}
        self.lag: Mapping[tuple[str, int], int] = {}
        self.n_standby = 0
        self.rebalances = counter("perceptron_rebalances", "Times partitions came or went.")
        self.events_lost = counter("perceptron_events_lost", _EVENTS_LOST, ["topic"])
        gauge("perceptron_standby_partitions", _STANDBY).set_function(lambda: self.n_standby)
        self.snapshot_duration = Histogram(
            "perceptron_checkpoint_duration_seconds", "Time to make and commit a snapshot.", registry=registry
        )
        self.snapshot_size = gauge(
            "perceptron_checkpoint_size_bytes", "Size of the last snapshot.", ["partition"]
        )
        self.snapshot_time = gauge(
            "perceptron_checkpoint_last_success_timestamp_seconds", _SNAPSHOT_TIME, ["partition"]
        )
        build = {"version": __version__, "compiled": str(COMPILED).lower()}
        Info("perceptron_build", _BUILD, registry=registry).info(build)
        ProcessCollector(registry=registry)  # memory, processor time, open files; on Linux
        registry.register(self)

    def observe(self, learned: LearnedExamples) -> None:
        """Record labelled predictions."""
        self.margin.observe_all(learned.margins())
        self.label_delay.observe_all(learned.label_delays())

    def watch(self, partition: int, learner: Learner) -> Observer:
        """Return the observer of one partition: `observe`, and the mistake bound if the model has one."""
        model = learner.model
        if not isinstance(model, Perceptron):
            return self.observe
        bound = self.bounds[partition] = OnlineMistakeBound(fit_intercept=model.fit_intercept)

        def watch(learned: LearnedExamples) -> None:
            self.observe(learned)
            for step in learned.since_last_update():  # an update restarts the bound
                bound.observe(step.example.x, step.truth, step.example.score - model.threshold, step.updates)

        return watch

    def snapshot_committed(
        self, partition: int, duration_seconds: float, size_bytes: int, timestamp_seconds: float
    ) -> None:
        """Record a snapshot."""
        self.snapshot_duration.observe(duration_seconds)
        self.snapshot_size.labels(partition).set(size_bytes)
        self.snapshot_time.labels(partition).set(timestamp_seconds)

    def state_of(self, partition: int, processor: Processor) -> Published:
        """Return the state to publish for a partition once its present state is committed."""
        learner = processor.learner
        mixture = learner.mixture
        return Published(
            copied(processor.counters),
            processor.counts(),
            [
                sample
                for part in processor.parts()
                if part is not processor.counters
                for sample in part.metrics()
            ],
            learner,
            self.bounds.get(partition),
            mixture if mixture is not None and mixture.experts else None,
            processor.classes,
        )

    def publish(self, partition: int, state: Published) -> None:
        """Publish a partition's committed state."""
        self.published[partition] = self.last_published[partition] = state

    def withdraw(self, partition: int) -> None:
        """Stop publishing a partition, which another process takes over."""
        self.published.pop(partition, None)
        for gauge in (self.snapshot_size, self.snapshot_time):
            with contextlib.suppress(KeyError):
                gauge.remove(partition)

    def lag_of(self, partition: int) -> int | None:
        """Return how many records of a partition wait, over all topics; None if unknown."""
        lags = [count for (_, number), count in dict(self.lag).items() if number == partition]
        return sum(lags) if lags else None

    def collect(self) -> Iterator[Metric]:
        """Yield all families; published states are replaced, never changed, so no lock is needed."""
        published = dict(self.published)
        yield from committed_families(published)
        yield self.process_duration.family(
            "perceptron_process_duration",
            "Time to process one message: its share of the time its batch took, commit not included.",
            "seconds",
        )
        yield self.margin.family(
            "perceptron_margin", "y·a of labelled predictions: negative where the prediction was wrong."
        )
        yield self.label_delay.family(
            "perceptron_label_delay", "Event time from an event to its label.", "seconds"
        )
        lag = GaugeMetricFamily(
            "perceptron_consumer_lag_messages",
            "Records not yet consumed.",
            labels=["topic", "partition"],
            unit="messages",
        )
        for (topic, partition), count in dict(self.lag).items():
            lag.add_metric([topic, str(partition)], count)
        yield lag


class ThroughputLog:
    """Counts the committed events of this process, over all its partitions, and logs them.

    Parameters
    ----------
    metrics
        Provides the counts of each partition.
    clock
        Measures the time between two lines.

    """

    def __init__(self, metrics: Metrics, clock: Clock = SYSTEM_CLOCK) -> None:
        self._metrics = metrics
        self._clock = clock
        self._began = clock.monotonic()
        self._known: Mapping[int, tuple[Published, Totals]] = {}
        """The state at the last call: events that other processes commit are not counted."""
        self._done = Totals(0, 0, 0, 0)

    def observe(self) -> None:
        """Count the events committed since the last call; log them if a line is due."""
        known = {}
        for partition, state in dict(self._metrics.published).items():
            known[partition] = before = self._known.get(partition) or (state, state.counters.totals())
            if state is not before[0]:
                known[partition] = (state, totals := state.counters.totals())
                self._done = Totals(*map(add, self._done, map(sub, totals, before[1])))
        self._known = known
        seconds = self._clock.monotonic() - self._began
        if seconds >= LOG_INTERVAL_SECONDS:
            self._log_interval(seconds)
            self._began, self._done = self._clock.monotonic(), Totals(0, 0, 0, 0)

    def _log_interval(self, seconds: float) -> None:
        events, labelled, mistakes, rejected, skipped, *_ = self._done
        labels = self._done.labels()
        lag, rate = sum(self._metrics.lag.values()), events / seconds
        _log.info(
            "%d events in %.3g s (%.1f/s), %d labelled%s, %d mistakes, %d rejected, %d skipped; lag %d, "
            "%d partitions",
            *(events, seconds, rate, labelled, format_labels(labels), mistakes, rejected, skipped),
            *(lag, len(self._known)),
            extra={
                "seconds": round(seconds, 3),
                "events": events,
                "events_per_second": round(rate, 3),
                "labelled": labelled,
                **labels,
                "mistakes": mistakes,
                "rejected": rejected,
                "skipped": skipped,
                "lag_messages": lag,
                "partitions": sorted(self._known),
            },
        )
        for warning in warnings_of_labels(self._done, dict(self._metrics.published).values()):
            _log.warning("%s", warning)
