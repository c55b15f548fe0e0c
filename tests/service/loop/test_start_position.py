"""A partition that begins may do so at a time."""

import json

import pytest

from service.stream.protocol import Output
from service.verify.verify import verify
from tests.service.building import event, settings, without_final_snapshot
from tests.service.loop.test_bootstrap import run

HERE = {"events": {}, "start_from": "1970-01-01T00:00:05Z"}
JUMBLED = [0, 7, 1, 2, 6, 3, 8, 4, 5, 1]
"""Seconds, of which the first at or after the start is the second one."""


@pytest.fixture(autouse=True)
def _topic(stream):
    stream.ensure_topics({"events": 1})


def produce(stream, seconds):
    messages = [(json.dumps(event(f"e{at}", x=1.0)).encode(), 1000 * at) for at in seconds]
    stream.produce([Output("events", None, message, (), 0, at) for message, at in messages])


def test_earlier_records_are_not_processed_and_the_rest_is_proved(stream):
    produce(stream, range(10))
    metrics = run(stream, **HERE)
    assert metrics.last_published[0].counters.predictions == 5
    produce(stream, range(10, 20))
    metrics = run(stream, events={})
    assert metrics.last_published[0].counters.predictions == 15
    report = verify(stream, settings(labels_topic=""))
    assert report.is_proved
    assert not report.notes


@pytest.mark.parametrize("mapping", [{}, {"timestamp": "at", "features": ["x"]}], ids=["own", "mapped"])
def test_records_before_the_start_position_are_skipped_also_after_crashes(stream, mapping, monkeypatch):
    without_final_snapshot(monkeypatch)
    if mapping:
        values = [json.dumps({"id": f"e{at}", "x": 1.0, "at": at}).encode() for at in JUMBLED]
        stream.produce([Output("events", None, value, (), 0, 9000) for value in values])
    else:
        produce(stream, JUMBLED)
    for given in (HERE, {}):  # the second run need not know the setting
        metrics = run(stream, **{**given, "events": mapping})
        counters = metrics.last_published[0].counters
        assert (counters.predictions, counters.skipped.total()) == (4, 6 if mapping else 5)
    report = verify(stream, settings(labels_topic="", events=mapping))
    assert report.is_proved
    assert report.skipped == counters.skipped.total()


def test_prediction_of_a_record_before_the_start_is_refuted(stream):
    produce(stream, range(10))
    run(stream, **HERE)
    value = next(stream.read("predictions", 0)).value.replace(b"e5", b"e1")
    stream.produce([Output("predictions", None, value, (), 0, 0)])
    assert not verify(stream, settings(labels_topic="")).is_proved


LATER = {**HERE, "start_from": "1970-01-01T00:00:07Z"}


@pytest.mark.parametrize(
    ("n_records", "before", "given", "warning"),
    [
        (3, None, HERE, "start_from: events[0] starts at offset 3; the topic has offsets 0 to 2"),
        (3, {"events": {}}, HERE, "start_from has no effect: partition 0 started without it"),
        (10, HERE, LATER, "start_from has no effect: partition 0 started at another time"),
        (10, HERE, HERE, ""),
    ],
)
def test_ineffective_start_position_gives_a_warning(stream, caplog, n_records, before, given, warning):
    produce(stream, range(n_records))
    if before is not None:
        run(stream, **before)
    caplog.clear()
    run(stream, **given)
    assert warning in caplog.text
    assert ("start_from" in caplog.text) is bool(warning)
