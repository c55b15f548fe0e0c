"""Log the throughput of this process, one line an interval."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from operator import add, sub

from service.clock import SYSTEM_CLOCK, Clock
from service.logs import LOG_INTERVAL_SECONDS
from service.monitoring.metrics import Metrics, Published, warnings_of_labels
from service.partition.parts.counters import Totals, format_labels

_log = logging.getLogger(__name__)


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
