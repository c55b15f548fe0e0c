"""Streams on which the service has run, to be audited as they are or with something changed."""

import itertools

from prometheus_client import CollectorRegistry

from service.audit.auditor import Auditor
from service.dead_letters.temporary_member import TemporaryMember
from service.loop.reset import reset
from service.loop.runner import Runner
from service.monitoring.health import Health
from service.monitoring.metrics import Metrics
from service.partition.factory import make_processor
from service.transport import open_transport
from service.transport.topics import input_topics
from tests.service.building import settings
from tests.support.copied_stream import copy_stream

numbers = itertools.count()


class Audited:
    """A stream in memory, and what the audit says of it."""

    def __init__(self, **given):
        self.transport = open_transport(f"memory://audited-{next(numbers)}")
        self.settings = settings(**({"commit_interval_seconds": 0.001, "max_batch_records": 3} | given))

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

    def changed(self, topic, change, partition=0):
        """Copy the stream, with the records of one partition changed."""
        copy = Audited()
        copy.settings = self.settings
        copy_stream(self.transport, copy.transport, self.settings, {(topic, partition): change})
        return copy

    def close(self):
        self.transport.close()
