import re
import shutil
import subprocess
import sys
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics import exposition, parser

from perceptron_core import COMPILED, __version__
from service.monitoring.metrics import Buckets, Metrics
from tests.service.building import Feed, event, label


@pytest.fixture
def feed():
    return Feed()


@pytest.fixture
def metrics(feed):
    metrics = Metrics(CollectorRegistry())
    feed.processor.observe = metrics.observe
    for message in (event("a", "win", True), event("b", "win"), b"junk", event("c", "win", False)):
        feed(message)
    feed(label("b", True), at_seconds=5, topic="labels")
    metrics.publish(0, metrics.state_of(0, feed.processor))
    metrics.lag = {("events", 0): 7}
    return metrics


@pytest.mark.parametrize(
    ("sample", "labels", "value"),
    [
        ("perceptron_messages_consumed_total", {"topic": "events", "partition": "0"}, 4),
        ("perceptron_messages_consumed_total", {"topic": "labels", "partition": "0"}, 1),
        ("perceptron_messages_rejected_total", {"reason": "invalid_json", "partition": "0"}, 1),
        ("perceptron_predictions_total", {"partition": "0"}, 3),
        ("perceptron_labels_total", {"outcome": "matched", "partition": "0"}, 1),
        ("perceptron_mistakes_total", {"partition": "0"}, 2),
        ("perceptron_labelled_total", {"truth": "true", "predicted": "false", "partition": "0"}, 1),
        ("perceptron_updates_total", {"partition": "0"}, 3),
        ("perceptron_pending_labels", {"partition": "0"}, 0),
        ("perceptron_prequential_error_ratio", {"window": "lifetime", "partition": "0"}, 2 / 3),
        ("perceptron_prequential_error_ratio", {"window": "1000", "partition": "0"}, 2 / 3),
        ("perceptron_margin_bucket", {"le": "+Inf"}, 3),
        ("perceptron_label_delay_seconds_sum", {}, 5),
        ("perceptron_nonzero_weights", {"partition": "0"}, 1),
        ("perceptron_weight_norm", {"partition": "0"}, 1),
        ("perceptron_consumer_lag_messages", {"topic": "events", "partition": "0"}, 7),
        ("perceptron_rebalances_total", {}, 0),
    ],
)
def test_each_metric_has_the_value_of_the_counts(metrics, sample, labels, value):
    assert metrics.registry.get_sample_value(sample, labels) == pytest.approx(value)


def test_revoked_partition_is_hidden_but_its_counts_are_kept(metrics):
    metrics.withdraw(0)
    assert metrics.registry.get_sample_value("perceptron_predictions_total", {"partition": "0"}) is None
    assert metrics.last_published[0].counters.predictions == 3


def test_shows_the_mistake_bound_once_a_separator_is_known():
    metrics, feed = Metrics(CollectorRegistry()), Feed()
    feed.processor.observe = metrics.watch(0, feed.processor.learner)
    for number in range(120):
        feed({"id": str(number), "features": {"x": 1 if number % 2 else -1}, "label": bool(number % 2)})
        metrics.publish(0, metrics.state_of(0, feed.processor))
        bound = metrics.registry.get_sample_value("perceptron_mistake_bound", {"partition": "0"})
        assert (bound is None) == (number < 101)
    assert bound == pytest.approx(2.0)  # (sqrt(2) / 1) squared: the bias counts as a feature


def test_calibration_is_shown_only_for_log_odds(metrics):
    feed = Feed(model="coin-betting")
    for message in (event("a", "win", label=True), event("b", "win", label=False)):
        feed(message)
    metrics.publish(1, metrics.state_of(1, feed.processor))
    calibration = feed.counters.calibration
    for name, value in (
        ("perceptron_expected_calibration_error_ratio", calibration.expected_calibration_error()),
        ("perceptron_log_loss", calibration.log_loss()),
    ):
        assert metrics.registry.get_sample_value(name, {"partition": "1"}) == pytest.approx(value)
        assert metrics.registry.get_sample_value(name, {"partition": "0"}) is None


def test_metrics_have_version_and_compilation(metrics):
    told = {"version": __version__, "compiled": "true" if COMPILED else "false"}
    assert metrics.registry.get_sample_value("perceptron_build_info", told) == 1


def test_every_name_has_a_help_text_and_base_units(metrics):
    text = generate_latest(metrics.registry).decode()
    for name in re.findall(r"^# TYPE (\S+)", text, re.MULTILINE):
        assert re.search(rf"^# HELP {name} \S+", text, re.MULTILINE), name
        assert not re.search("milli|micro|percent", name)


def test_metrics_are_valid_openmetrics(metrics):
    text = exposition.generate_latest(metrics.registry).decode()
    families = {family.name for family in parser.text_string_to_metric_families(text)}
    assert {"perceptron_mistakes", "perceptron_margin", "perceptron_build"} <= families


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")
def test_promtool_accepts_the_metrics(metrics):
    checked = subprocess.run(
        ["promtool", "check", "metrics"],
        input=generate_latest(metrics.registry),
        capture_output=True,
        check=False,
    )
    assert (checked.returncode, checked.stderr + checked.stdout) == (0, b"")


@pytest.mark.skipif(sys.platform != "linux", reason="the client library reads /proc")
def test_process_memory_and_cpu_are_exported(metrics):
    assert metrics.registry.get_sample_value("process_resident_memory_bytes") > 1_000_000
    assert metrics.registry.get_sample_value("process_cpu_seconds_total") > 0


def cells_shown(feed):
    metrics = Metrics(CollectorRegistry())
    metrics.publish(0, metrics.state_of(0, feed.processor))
    found = {}
    for family in metrics.registry.collect():
        for sample in family.samples:
            if {"truth", "predicted"} <= sample.labels.keys() and sample.name.endswith("_total"):
                cell = sample.labels["truth"], sample.labels["predicted"]
                found.setdefault(sample.name, {})[cell] = sample.value
    return found


def test_counts_labels_by_the_names_of_the_classes():
    feed = Feed(classes="ham,spam")
    feed(event("a", "win", label="spam"))
    labelled = {("ham", "ham"): 0, ("spam", "ham"): 1, ("spam", "spam"): 0}
    assert cells_shown(feed)["perceptron_labelled_total"] == labelled


def test_no_count_falls_when_a_label_is_corrected():
    feed = Feed()
    feed(event("a", "win", label=True))
    feed(label("a", False), topic="labels")
    none = {("true", "true"): 0, ("false", "false"): 0}
    assert cells_shown(feed) == {
        "perceptron_labelled_total": none | {("true", "false"): 1, ("false", "false"): 1},
        "perceptron_revoked_labels_total": none | {("true", "false"): 1},
    }


def test_classes_beyond_the_first_32_are_merged_into_others():
    names = [f"c{number}" for number in range(40)]
    feed = Feed(classes=",".join(names), model="multiclass-perceptron")
    for name in names:
        feed(event(name, name, label=name))
    cells = cells_shown(feed)["perceptron_labelled_total"]
    assert len({truth for truth, _ in cells}) == 33
    assert sum(count for (truth, _), count in cells.items() if truth == "(others)") == 8


EDGES = (-1.0, 0.0, 1.0, 2.0)


@given(st.lists(st.floats(-3, 3) | st.sampled_from(EDGES)), st.integers(1, 3))
def test_bucket_counts_the_values_up_to_its_bound(found, times):
    buckets = Buckets(EDGES)
    buckets.observe_all(array("d", found), times)
    samples = buckets.family("x", "x").samples
    counts = {sample.labels["le"]: sample.value for sample in samples if "le" in sample.labels}
    assert [counts[repr(edge)] for edge in EDGES] == [
        times * sum(each <= edge for each in found) for edge in EDGES
    ]
    assert counts["+Inf"] == times * len(found)
