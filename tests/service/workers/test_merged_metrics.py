import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.openmetrics import parser
from prometheus_client.registry import Collector

from service.monitoring.metrics import Metrics
from service.workers.merged_metrics import Exposition, merged, outlasting
from tests.service.building import Feed, event
from tests.service.sharing.streams import Party


def worker(events=0, partition=0, since=1.0):
    """Return what a process shows that has done some events of one partition."""
    metrics, feed = Metrics(CollectorRegistry()), Feed()
    feed.processor.observe = metrics.observe
    for number in range(events):
        feed(event(str(number), "win", label=True))
    metrics.publish(partition, metrics.state_of(partition, feed.processor))
    metrics.snapshot_committed(partition, 0.5, 100 * events, 1000.0)
    metrics.rebalances.inc()
    metrics.lag = {("events", partition): events}
    return Exposition(list(metrics.registry.collect()), {partition: since})


class Shown(Collector):
    """Families as a registry shows them."""

    def __init__(self, exposition):
        self.collect = lambda: iter(exposition.families)

    def describe(self):
        return []


def registry_of(*expositions):
    registry = CollectorRegistry()
    registry.register(Shown(merged(expositions)))
    return registry


def value(expositions, name, **labels):
    return registry_of(*expositions).get_sample_value(name, labels)


@pytest.mark.parametrize(
    ("name", "labels", "expected"),
    [
        ("perceptron_rebalances_total", {}, 2),
        ("perceptron_margin_bucket", {"le": "+Inf"}, 5),
        ("perceptron_checkpoint_duration_seconds_count", {}, 2),
        ("perceptron_checkpoint_duration_seconds_sum", {}, 1.0),
        ("perceptron_predictions_total", {"partition": "0"}, 2),
        ("perceptron_predictions_total", {"partition": "1"}, 3),
        ("perceptron_consumer_lag_messages", {"topic": "events", "partition": "1"}, 3),
        ("perceptron_checkpoint_size_bytes", {"partition": "0"}, 200),
    ],
)
def test_counts_add_up_and_each_partition_is_there(name, labels, expected):
    assert value([worker(2, 0), worker(3, 1)], name, **labels) == expected


@pytest.mark.parametrize("swapped", [False, True])
def test_of_a_partition_that_two_show_the_one_who_got_it_last_is_right(swapped):
    both = [worker(7, 0, since=1.0), worker(2, 0, since=2.0)]
    if swapped:
        both.reverse()
    assert value(both, "perceptron_predictions_total", partition="0") == 2
    assert value(both, "perceptron_consumer_lag_messages", topic="events", partition="0") == 2
    assert value(both, "perceptron_margin_bucket", le="+Inf") == 9  # what each has done stays done


def test_bytes_of_contributions_add_up_and_rounds_are_those_of_each_partition(stream):
    party = Party.of_three(stream)
    expositions = []
    for partition, (feed, member) in enumerate(zip(party.feeds, party.members, strict=True)):
        metrics = Metrics(CollectorRegistry(), lanes=party.lanes)
        metrics.publish(partition, metrics.state_of(partition, feed.processor, member))
        expositions.append(Exposition(list(metrics.registry.collect()), {partition: 1.0}))
    party.close()
    for direction in ("written", "read"):
        shown = [
            value(each, "perceptron_mix_bytes_total", direction=direction)
            for each in (expositions[:1], expositions)
        ]
        assert shown[1] == 3 * shown[0]
    rounds = [value(expositions, "perceptron_mix_rounds_total", partition=str(each)) for each in range(3)]
    assert rounds == [0, 0, 0]


def test_a_partition_that_nobody_claims_is_not_shown():
    shown = worker(2, 0)._replace(at_work_since={})
    assert value([shown], "perceptron_predictions_total", partition="0") is None


def test_who_has_ended_leaves_its_counts_behind_but_no_partition_and_no_gauge():
    registry = CollectorRegistry()
    Gauge("memory", "Memory.", registry=registry).set(7)
    Counter("turns", "Turns.", registry=registry).inc(3)
    ended = outlasting(Exposition([*worker(2, 0).families, *registry.collect()], {0: 1.0}))
    assert value([ended], "turns_total") == 3
    assert value([ended], "perceptron_rebalances_total") == 1
    assert value([ended], "memory") is None
    assert value([ended], "perceptron_predictions_total", partition="0") is None


def test_gauges_of_no_partition_add_up_beginnings_are_the_earliest_and_an_info_is_one():
    expositions = []
    for number in (1, 2):
        registry = CollectorRegistry()
        Gauge("memory", "Memory.", registry=registry).set(number)
        Gauge("process_start_time_seconds", "Beginning.", registry=registry).set(number)
        Info("build", "Version.", registry=registry).info({"version": "1"})
        Histogram("duration", "Duration.", registry=registry)
        expositions.append(Exposition(list(registry.collect()), {}))
    assert value(expositions, "memory") == 3
    assert value(expositions, "process_start_time_seconds") == 1
    assert value(expositions, "build_info", version="1") == 1
    created = [value([each], "duration_created") for each in expositions]
    assert value(expositions, "duration_created") == min(created)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), max_size=5), st.data())
def test_no_counter_goes_down_when_some_end(works, data):
    expositions = [worker(events, partition, since) for since, (events, partition) in enumerate(works)]
    ended = [each for each in expositions if data.draw(st.booleans())]
    rest = [each for each in expositions if not any(each is other for other in ended)]
    left = merged([outlasting(each) for each in ended])
    for name in ("perceptron_rebalances_total", "perceptron_checkpoint_duration_seconds_count"):
        assert value([left, *rest], name) == value(expositions, name)


def test_the_whole_is_valid_openmetrics_with_every_series_once():
    registry = registry_of(worker(2, 0, since=1.0), worker(3, 1), worker(4, 0, since=2.0))
    text = openmetrics.generate_latest(registry).decode()
    families = list(parser.text_string_to_metric_families(text))
    series = [(s.name, tuple(sorted(s.labels.items()))) for family in families for s in family.samples]
    assert len(series) == len(set(series)) > 50
    assert len(families) == len({family.name for family in families})


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")
def test_promtool_finds_nothing_to_complain_about():
    checked = subprocess.run(
        ["promtool", "check", "metrics"],
        input=generate_latest(registry_of(worker(2, 0), worker(3, 1))),
        capture_output=True,
        check=False,
    )
    assert (checked.returncode, checked.stderr + checked.stdout) == (0, b"")
