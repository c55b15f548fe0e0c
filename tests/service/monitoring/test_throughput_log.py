"""The summary tells what this process has done since the last one, whichever partitions came and went."""

import logging

import pytest
from prometheus_client import CollectorRegistry

from service.monitoring.metrics import Metrics, ThroughputLog
from tests.service.building import Feed, SetClock, event, label


@pytest.fixture
def metrics():
    return Metrics(CollectorRegistry())


@pytest.fixture
def observed(metrics, caplog):
    """Observe the counts at a time; return the fields of the line logged then, if there was one."""
    caplog.set_level(logging.INFO)
    clock = SetClock()
    summed = ThroughputLog(metrics, clock)

    def observe(at_seconds):
        clock.seconds = at_seconds
        caplog.clear()
        summed.observe()
        return [vars(record) for record in caplog.records]

    return observe


def test_log_line_has_the_counts_of_its_interval(metrics, observed):
    feed = Feed()
    metrics.publish(0, metrics.state_of(0, feed.processor))
    assert observed(1) == []
    feed(event("a", "win", label=True))
    feed(b"junk")
    metrics.publish(0, metrics.state_of(0, feed.processor))
    metrics.lag = {("events", 0): 7, ("labels", 0): 1}
    (line,) = observed(60)
    assert (line["events"], line["labelled"], line["mistakes"], line["rejected"]) == (1, 1, 1, 1)
    assert (line["seconds"], line["events_per_second"], line["lag_messages"]) == (60, 0.017, 8)
    assert line["partitions"] == [0]
    (line,) = observed(120)
    assert (line["events"], line["mistakes"]) == (0, 0)


def test_throughput_excludes_records_counted_by_former_owners(metrics, observed):
    feed = Feed()
    feed(event("a"))  # by whom it was restored from
    metrics.publish(0, metrics.state_of(0, feed.processor))
    observed(1)
    feed(event("b"))
    metrics.publish(0, metrics.state_of(0, feed.processor))
    observed(2)
    metrics.withdraw(0)
    observed(3)
    feed(event("c"))  # elsewhere
    metrics.publish(0, metrics.state_of(0, feed.processor))
    (line,) = observed(60)
    assert line["events"] == 1


def test_throughput_log_hides_features_and_text(metrics, observed):
    feed = Feed()
    metrics.publish(0, metrics.state_of(0, feed.processor))
    observed(1)
    feed(event("secret-id", "secret text", secret_feature=1.0))
    metrics.publish(0, metrics.state_of(0, feed.processor))
    (line,) = observed(60)
    assert "secret" not in str(line)


def test_many_unmatched_labels_give_a_warning_by_kind(metrics, observed):
    feed = Feed(events={"label_on_timeout": "false"}, label_timeout_seconds=10)
    metrics.publish(0, metrics.state_of(0, feed.processor))
    observed(1)
    feed(event("a"))
    feed(event("b"))
    feed(label("stray", True), at_seconds=11)
    feed(label("a", True), at_seconds=12)
    feed(event("c"), at_seconds=22)
    metrics.publish(0, metrics.state_of(0, feed.processor))
    line, warning = observed(60)
    assert line["message"].startswith(
        "3 events in 60 s (0.1/s), 2 labelled (1 assumed, 1 real, 1 corrected, "
    )
    assert (line["assumed"], line["real"], line["corrected"], line["orphaned"]) == (1, 1, 1, 1)
    assert warning["levelname"] == "WARNING"
    assert warning["message"].startswith("1 of 2 labels match no event")
    assert warning["message"].endswith("or have other ids: 'stray'")


@pytest.mark.parametrize(("n_matched", "n_warnings"), [(0, 1), (1, 0)])
def test_only_waiting_labels_give_a_warning(metrics, observed, n_matched, n_warnings):
    feed = Feed()
    feed(event("a"))
    for n in range(20):
        feed(label(f"other-{n}", True))
    for _ in range(n_matched):
        feed(label("a", True))
    metrics.publish(0, metrics.state_of(0, feed.processor))
    _, *warnings = observed(60)
    assert [each["message"].startswith("no label has found its event") for each in warnings] == [
        True
    ] * n_warnings
