"""The loop makes an intake ready: fenced first, then past all that others have appended."""

import itertools
import json
from unittest import mock

import pytest
from prometheus_client import CollectorRegistry

from service.errors import TransportUnavailable
from service.intake.submissions import SubmissionReader, Ticket
from service.loop.context import Context
from service.loop.queues import RecordQueues
from service.loop.runner import Runner
from service.loop.topics import IntakeOpener
from service.monitoring.live_models import LiveModels
from service.monitoring.metrics import Metrics
from service.stream.batches import RecordBatch
from service.stream.opening import open_transport
from service.stream.protocol import Output, Record
from tests.service.building import event, settings

_names = itertools.count()


class Service:
    """A loop that continues step by step, on a stream in memory."""

    def __init__(self, **given):
        self.settings = settings(commit_interval_seconds=0.001, **given)
        self.transport = open_transport(f"memory://intake-{next(_names)}")
        self.live = LiveModels(self.settings)
        self.read = SubmissionReader(self.settings)
        metrics = Metrics(CollectorRegistry())
        self.runner = Runner(Context(self.transport, self.settings, metrics, live=self.live))
        self.until(lambda: self.live.partitions() == list(range(self.settings.partitions)))

    def until(self, claim, steps=200):
        for _ in range(steps):
            if claim():
                return
            self.runner.step()
        raise AssertionError("this did not happen")

    def submit(self, message, partition=0):
        ticket = Ticket(self.read.event(json.dumps(message).encode()))
        self.live.intakes[partition].submit([ticket], max_open=100)
        return ticket

    def produce(self, *messages):
        self.transport.produce([Output("events", None, json.dumps(m).encode(), (), 0) for m in messages])

    def ids(self, topic="events"):
        return [json.loads(record.value)["id"] for record in self.transport.read(topic, 0)]


@pytest.fixture
def service():
    opened = Service()
    yield opened
    opened.runner.close()
    opened.transport.close()


def test_submitted_record_is_appended_and_predicted(service):
    ticket = service.submit(event("a", "win"))
    service.until(ticket.result.done)
    assert service.ids() == ["a"]
    (record,) = service.transport.read("predictions", 0)
    assert ticket.result.result() == json.loads(record.value)


@pytest.mark.parametrize("n_before", [1, 5])
def test_records_of_the_topic_are_processed_before_any_decision(service, n_before):
    service.produce(*(event(f"e{n}") for n in range(n_before)))
    ticket = service.submit(event(f"e{n_before - 1}"))
    service.until(ticket.appended.done)
    assert ticket.repeated
    assert len(service.ids()) == n_before


@pytest.mark.parametrize(
    ("position", "waiting", "is_open"),
    [(2, None, False), (3, None, True), (3, 2, False), (5, 2, False), (5, 3, True), (0, None, False)],
)
def test_end_waits_for_undelivered_and_unprocessed_records(position, waiting, is_open):
    queues, consumer = RecordQueues(["events"]), mock.Mock()
    consumer.positions.return_value = {"events": position}
    queues.open(0, [0])
    if waiting is not None:
        queues.add(0, RecordBatch([Record("events", 0, waiting, 0, None, None)]))
    intake = mock.Mock(partition=0, wants_writer=False, ends={"events": 3})
    IntakeOpener(Context(None, settings(labels_topic=""), None), consumer, queues).advance([intake])
    assert intake.open.called is is_open


def test_waiting_request_gets_the_error_of_opening_a_writer(service, monkeypatch):
    def away(*_):
        raise TransportUnavailable("the stream does not answer")

    with monkeypatch.context() as patch:
        patch.setattr(service.transport, "bounds", away)
        ticket = service.submit(event("a"))
        service.until(ticket.appended.done)
    assert isinstance(ticket.appended.result(), TransportUnavailable)
    ticket = service.submit(event("a"))
    service.until(ticket.result.done)
    assert service.ids() == ["a"]


def test_reopened_partition_recognizes_appended_records(service):
    service.until(service.submit(event("a")).appended.done)
    tasks = service.runner._tasks
    tasks.partitions_lost(frozenset({0}))
    assert service.live.intakes.get(0) is None
    tasks.partitions_assigned(frozenset({0}))
    service.until(lambda: service.live.intakes.get(0) is not None)
    again = service.submit(event("a"))
    service.until(again.appended.done)
    assert again.repeated
    assert service.ids() == ["a"]
