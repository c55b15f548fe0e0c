"""Streams on which the service has run, to be audited as they are or with something changed."""

import itertools
import json

from prometheus_client import CollectorRegistry

from service.audit.auditor import Auditor
from service.checkpoints.log import read_log
from service.dead_letters.replay import Redelivery
from service.dead_letters.temporary_member import TemporaryMember
from service.loop.reset import reset
from service.loop.runner import Runner
from service.monitoring.health import Health
from service.monitoring.metrics import Metrics
from service.partition.factory import make_processor
from service.stream import Output
from service.transport import open_transport
from service.transport.topics import input_topics
from tests.service.building import event, label, settings
from tests.support.copied_stream import copy_stream

numbers = itertools.count()


class Audited:
    """A stream in memory, and what the audit says of it."""

    def __init__(self, **given):
        self.transport = open_transport(f"memory://audited-{next(numbers)}")
        self.settings = settings(**({"commit_interval_seconds": 0.001, "max_batch_records": 3} | given))
        self.earlier_topics = ()

    def run(self, **given):
        """Run the service to the end of what is there."""
        metrics = Metrics(CollectorRegistry())
        used = self.settings.model_copy(update=given)
        Runner(self.transport, used, metrics=metrics, health=Health()).run(exit_at_end=True)
        return self

    def begin_anew(self):
        """Leave the position of each partition only, as `checkpoint import --no-restore` does."""
        topics = input_topics(self.settings)
        partitions = range(self.transport.partition_count(topics[0]))
        with TemporaryMember(self.transport, self.settings.group, topics, 1.0) as visitor:
            visitor.wait_for(partitions, hint="")
            for partition in partitions:
                processor = make_processor(self.settings)
                reset(self.transport, self.settings, partition, visitor.consumer, "committed", processor)
        return self

    def audit(self, **given):
        return Auditor(self.transport, self.settings.model_copy(update=given)).run()

    def snapshots(self):
        """Return the snapshots in the log of the first partition."""
        log = read_log(self.transport.read("checkpoints", 0), self.settings.group)
        return [stored.read() for stored in log.snapshots]

    def changed(self, topic, change, partition=0):
        """Copy the stream, with the records of one partition changed."""
        return self.changed_all({(topic, partition): change})

    def changed_all(self, changes):
        """Copy the stream, with the records of several partitions changed."""
        copy = Audited()
        copy.settings = self.settings
        copy_stream(self.transport, copy.transport, self.settings, changes, self.earlier_topics)
        return copy

    def close(self):
        self.transport.close()


LOG = [
    event("a", "win", True),
    event("b", "lose"),
    b"junk",
    event("c", "win"),
    label("b", False),
    event("d", "lose", False),
    label("c", True),
    b"more junk",
    event("e", "win"),
]
"""Makes predictions of a, b, c at 0, 1, 2, then the outcome of b, d, the outcome of c, e."""


def produce(stream, *messages, topic="events", partition=0):
    stream.transport.ensure_topics({topic: 1})
    stream.transport.produce(
        [
            Output(
                topic,
                message["id"].encode() if isinstance(message, dict) else None,
                json.dumps(message).encode() if isinstance(message, dict) else message,
                (),
                partition,
                at * 1000,
            )
            for at, message in enumerate(messages, start=1000)
        ]
    )


def findings(stream, **given):
    found = stream.audit(**given).findings.kept
    return [(each.fault, str(each.place), each.event_id) for each in found]


def without(at):
    return lambda records: [record for record in records if record.offset != at]


def doubled(at):
    return lambda records: [*records, records[at]]


def with_fields(at, **fields):
    def change(records):
        value = json.dumps(json.loads(records[at].value) | fields, separators=(",", ":")).encode()
        return [record._replace(value=value) if record.offset == at else record for record in records]

    return change


def replay(stream):
    settings = stream.settings.model_copy(update={"classes": ("ham", "spam")})
    list(Redelivery(stream.transport, settings).replay())
