"""What `serve` promises on any stream; the test files of this folder say on which."""

from __future__ import annotations

import json
import signal
import time

import pytest

from service.partition.factory import make_processor
from service.settings.load import Settings
from service.stream.protocol import Record
from tests.support.reference_streams import phishing_events, run_bare, without_time


class ClientClaims:
    """Claims that a client of Kafka has a part in; to be inherited by a test class for each stream."""

    @pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
    def test_service_stopped_halfway_resumes_with_the_same_model(self, stream, serve, number, code):
        events = numbered(8)
        stream.create()
        stream.produce(events)
        process = serve(max_batch_records=10).ready()
        process.eventually(lambda: process.metric("perceptron_predictions_total") > 0)
        process.signal(number)
        assert process.wait() == code
        done = len(stream.outputs())
        assert 0 < done < len(events), "it was to be stopped on the way"
        assert done % 10 == 0, "a batch was committed in part"
        assert f"stopped: {done} events" in process.stderr
        assert "Traceback" not in process.stderr
        assert serve("--exit-at-end").wait() == 0
        assert stream.outputs() == run_bare(events).predictions

    def test_member_without_partitions_is_ready_and_idle(self, stream, serve):
        stream.create()
        one = serve().ready()
        other = serve().ready()
        one.eventually(lambda: len(one.partitions()) + len(other.partitions()) == 1)
        idle, worker = (one, other) if other.partitions() else (other, one)
        idle.eventually(lambda: "idle" in idle.get("/readyz").json()["reason"])
        assert worker.stop() == 0
        stream.produce(phishing_events())
        idle.eventually(lambda: len(stream.outputs()) == len(phishing_events()))
        assert idle.get("/readyz").json() == {"state": "ready", "reason": ""}

    def test_backlog_of_two_topics_is_learned_in_time_order(self, stream, serve):
        """Labels came 20 s after their events, of which there was one a second."""
        events, labels = labels_apart(numbered(5))
        start_ms = 1000 * (int(time.time()) - len(events) - 100)
        event_times = [start_ms + 1000 * n for n in range(len(events))]
        label_times = [time_ms + 20_500 for time_ms in event_times]
        stream.create()
        stream.produce(events, times_ms=event_times)
        stream.produce(labels, topic="labels", times_ms=label_times)
        assert serve("--exit-at-end").wait() == 0
        came = sorted([*zip(event_times, events, strict=True), *zip(label_times, labels, strict=True)])
        assert stream.outputs() == outputs_of_one_topic([value for _, value in came], [t for t, _ in came])


def labels_apart(events):
    """Take the labels out of events."""
    decoded = [json.loads(event) for event in events]
    labels = [json.dumps({"id": event["id"], "label": event.pop("label")}).encode() for event in decoded]
    return [json.dumps(event).encode() for event in decoded], labels


def outputs_of_one_topic(values, times_ms):
    """Process messages in this order, on no stream at all."""
    records = [
        Record("events", 0, n, time_ms, None, value)
        for n, (value, time_ms) in enumerate(zip(values, times_ms, strict=True))
    ]
    return [
        without_time(json.loads(output.value or b""))
        for output in make_processor(Settings()).process_batch(records).outputs
    ]


def numbered(times, name="time"):
    """Return the phishing events several times over, each time under other ids."""
    events = phishing_events()
    return [event.replace(b"page", f"{name}-{n}-page".encode(), 1) for n in range(times) for event in events]


def ids(events):
    return [json.loads(event)["id"] for event in events]
