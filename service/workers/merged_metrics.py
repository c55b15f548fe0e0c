"""Merge the metrics of several processes into one exposition.

A partition's series come from the process that owns it now; all other counts are added up. No counter goes
down when a partition moves between processes or a process ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import add
from typing import Final, NamedTuple

from prometheus_client.core import Metric
from prometheus_client.samples import Sample

_CUMULATIVE: Final = frozenset({"counter", "histogram"})
_BEGINNINGS: Final = ("_created", "_start_time_seconds")
"""What names of points in time end with, whose common value is the earliest."""


class Exposition(NamedTuple):
    """What one process shows."""

    families: Sequence[Metric]
    at_work_since: Mapping[int, float]
    """When (monotonic seconds) the process got each partition that it works on."""


NOTHING: Final = Exposition((), {})


def merged(expositions: Sequence[Exposition]) -> Exposition:
    """Show together what the processes show one by one.

    Series with a label `partition` are those of the process that got the partition last: one that is
    frozen, or answered before a rebalance, still shows what is no longer its own. Of all others counters,
    histograms and gauges are added up, beginnings are the earliest, and an info stays as it is.
    """
    newest = _newest(expositions)
    families: dict[str, Metric] = {}
    values: dict[str, dict[object, Sample]] = {}
    for exposition in expositions:
        for family in exposition.families:
            families.setdefault(family.name, family)
            found = values.setdefault(family.name, {})
            for sample in family.samples:
                partition = sample.labels.get("partition")
                if partition is None or newest.get(int(partition)) is exposition:
                    key = sample.name, *sorted(sample.labels.items())
                    found[key] = _together(family.type, found[key], sample) if key in found else sample
    shown = [_with_samples(family, values[name].values()) for name, family in families.items()]
    return Exposition(shown, {p: each.at_work_since[p] for p, each in newest.items()})


def outlasting(exposition: Exposition) -> Exposition:
    """Return what stays of a process that has ended: the counts that belong to no partition."""
    counts = [family for family in exposition.families if family.type in _CUMULATIVE]
    return merged([Exposition(counts, {})])


def _newest(expositions: Iterable[Exposition]) -> dict[int, Exposition]:
    """Find for each partition the process that got it last."""
    newest: dict[int, Exposition] = {}
    for exposition in expositions:
        for partition, since in exposition.at_work_since.items():
            if partition not in newest or newest[partition].at_work_since[partition] < since:
                newest[partition] = exposition
    return newest


def _together(kind: str, one: Sample, other: Sample) -> Sample:
    if kind == "info":
        return one
    combine = min if one.name.endswith(_BEGINNINGS) else add
    return Sample(one.name, one.labels, combine(one.value, other.value))


def _with_samples(family: Metric, samples: Iterable[Sample]) -> Metric:
    shown = Metric(family.name, family.documentation, family.type, family.unit)
    shown.samples = list(samples)
    return shown
