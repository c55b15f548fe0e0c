"""A drift of a partition's error is written as a signal, once, whatever crashes."""

import json
import random

from perceptron_core.formats.packed import pack, unpack
from service.partition.factory import make_processor
from service.partition.parts.kinds import counts_of
from service.settings.mapping import EventSettings
from tests.service import building
from tests.service.building import Feed, event, label

ON = {"drift": {"reaction": "record", "labels_between_false_alarms": 10_000}}


def turning(n=1200, at=700, seed=3):
    """Return events whose classes change places."""
    draw = random.Random(seed)
    signs = [draw.random() < 0.5 for _ in range(n)]
    return [
        event(f"e{k}", x=2 * sign - 1, label=sign if k < at else draw.random() < 0.5)
        for k, sign in enumerate(signs)
    ]


def signals(outputs):
    return [output for output in outputs if output.topic == "signals"]


def fed(messages=None, size=50, **given):
    """Return a processor that has processed messages, and the signals that it wrote."""
    feed, found = Feed(**ON, **given), []
    log = [feed.record(message) for message in messages or turning()]
    for begin in range(0, len(log), size):
        found += signals(feed.processor.process_batch(log[begin : begin + size]).outputs)
    return feed, found


def test_drift_is_a_signal_with_rates_before_and_after():
    _, (signal, *_) = fed()
    assert (signal.key, signal.partition) == (b"0", 0)
    fields = json.loads(signal.value)
    data = fields.pop("data")
    assert fields == {"id": "drift-0-1", "type": "drift"}
    assert (data["signal"], data["partition"]) == ("error", 0)
    assert (data["before"] < 0.05, data["after"] > 0.25) == (True, True)
    assert 700 <= data["offsets"]["events"]["0"] <= 900


def test_drift_signals_survive_restarts_exactly_once():
    quiet, wanted = fed()
    given, found = building.settings(**ON), []
    feed = Feed(**ON)
    log = [feed.record(message) for message in turning()]
    processor = make_processor(given)
    for begin in range(0, len(log), 50):
        found += signals(processor.process_batch(log[begin : begin + 50]).outputs)
        snapshot, processor = b"".join(processor.state().chunks), make_processor(given)
        processor.restore(unpack(snapshot))
    assert found == wanted
    assert pack(processor.state()) == pack(quiet.processor.state())


def test_correcting_labels_count_on_arrival():
    given = {"events": EventSettings(label_on_timeout="false"), "label_timeout_seconds": 1.0}
    feed = Feed(**ON, **given, label_correction_seconds=1e6)
    rows = [(event(f"e{k}"), k) for k in range(600)] + [(label(f"e{k}", True), 601) for k in range(300)]
    log = [feed.record(message, at_seconds=at) for message, at in rows]
    (signal, *_) = signals(feed.processor.process_batch(log).outputs)
    data = json.loads(signal.value)["data"]
    assert (data["before"], data["after"] > 0.2) == (0.0, True)


def test_drift_count_is_in_progress_snapshots_metrics_and_summaries():
    feed, found = fed()
    (part,) = feed.processor.optional_parts
    assert part.counts() == {"drifts": len(found)}
    assert part.summary({}) == {"drifts": len(found)}
    assert counts_of(unpack(pack(feed.processor.state())))["drifts"] == len(found)
    (figure,) = part.metrics()
    assert (figure.metric, figure.by, figure.value) == ("drifts", "signal", {"error": len(found)})


def test_snapshot_without_drift_state_restarts_detection():
    feed, _ = fed()
    feed.processor.restore(unpack(pack(Feed().processor.state())))
    assert feed.processor.optional_parts[0].counts() == {"drifts": 0}
