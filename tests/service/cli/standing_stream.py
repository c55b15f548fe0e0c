"""Streams on which the service has run, for the commands that look at what it left."""

import json

from prometheus_client import CollectorRegistry

from service.loop.context import Context
from service.loop.runner import Runner
from service.monitoring.metrics import Metrics
from service.stream.protocol import Output
from tests.service.building import settings


def produce(stream, *messages, topic="events", partition=0, headers=()):
    """Append messages: objects keyed by their id, or bytes without a key."""
    for message in messages:
        key = message["id"].encode() if isinstance(message, dict) else None
        value = json.dumps(message).encode() if isinstance(message, dict) else message
        stream.produce([Output(topic, key, value, headers, partition, 1_700_000_000_000)])


def serve(stream, **given):
    """Run the service to the end of what is there."""
    given = {"commit_interval_seconds": 0.001} | given
    Runner(Context(stream, settings(**given), Metrics(CollectorRegistry()))).run(exit_at_end=True)


def crash(stream, monkeypatch, **given):
    """Run the service to the end, and let it leave without the snapshot of an orderly end."""
    with monkeypatch.context() as patch:
        patch.setattr("service.loop.task.Task.hand_over", lambda task, *_: task.close())
        serve(stream, **given)


def damage(stream, monkeypatch, *offsets):
    """Let the checkpoint records of partition 0 at these offsets read as something else from now on."""
    read = type(stream).read

    def damaged(self, topic, partition, start=0, end=None):
        for record in read(self, topic, partition, start, end):
            bad = (topic, partition) == ("checkpoints", 0) and record.offset in offsets
            yield record._replace(value=b"junk") if bad else record

    monkeypatch.setattr(type(stream), "read", damaged)
