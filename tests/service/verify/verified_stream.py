"""Streams on which the service has run, to be verified as they are or with something changed."""

import itertools
import json

from prometheus_client import CollectorRegistry

from service.dead_letters.replay import Redelivery
from service.loop.context import Context
from service.loop.reset import reset
from service.loop.runner import Runner
from service.monitoring.metrics import Metrics
from service.settings.topics import input_topics
from service.stream.opening import open_transport
from service.stream.protocol import Output
from service.stream.sqlite.log import row_id_of
from service.stream.temporary_member import TemporaryMember
from service.verify.verify import verify
from tests.service.building import event, label, settings
from tests.support.copied_stream import copy_stream

numbers = itertools.count()

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


class VerifiedStream:
    """A stream in memory, and what `verify` says of it."""

    def __init__(self, **given):
        self.transport = open_transport(f"memory://verified-{next(numbers)}")
        self.settings = settings(**({"commit_interval_seconds": 1.0, "max_batch_records": 3} | given))

    def produce(self, *messages, topic="events", partition=0, at_ms=1_000_000):
        """Append messages, a second apart."""
        self.transport.ensure_topics({topic: 1})
        self.transport.produce(
            [
                Output(
                    topic,
                    message["id"].encode() if isinstance(message, dict) else None,
                    json.dumps(message).encode() if isinstance(message, dict) else message,
                    (),
                    partition,
                    at_ms + 1000 * n,
                )
                for n, message in enumerate(messages)
            ]
        )
        return self

    def run(self, **given):
        """Run the service to the end of what is there."""
        metrics = Metrics(CollectorRegistry())
        used = self.settings.model_copy(update=given)
        Runner(Context(self.transport, used, metrics)).run(exit_at_end=True)
        return self

    def begin_anew(self):
        """Leave the position of each partition only, as `checkpoint reset` does."""
        topics = input_topics(self.settings)
        partitions = range(self.transport.partition_count(topics[0]))
        with TemporaryMember(self.transport, self.settings.group, topics, 1.0) as visitor:
            visitor.wait_for(partitions, hint="")
            for partition in partitions:
                reset(self.transport, self.settings, partition, visitor.consumer, "committed")
        return self

    def replay_letters(self):
        """Change the classes, and send dead letters back that are accepted now."""
        self.settings = self.settings.model_copy(update={"classes": ("ham", "spam")})
        list(Redelivery(self.transport, self.settings).replay())
        return self

    def delete_rows(self, topic, *offsets, partition=0):
        """Delete records by hand, as compaction or a fault might."""
        row_ids = [(row_id_of(self.transport.log(topic, partition), offset),) for offset in offsets]
        with self.transport._database.writing() as connection:
            connection.executemany("DELETE FROM records WHERE row_id = ?", row_ids)
        return self

    def delete_before(self, topic, offset):
        self.transport.delete_before(topic, 0, offset)
        return self

    def verify(self, **given):
        return verify(self.transport, self.settings.model_copy(update=given))

    def findings(self):
        found = self.verify().findings.kept
        return [(str(each.fault), str(each.position), each.event_id) for each in found]

    def changed(self, topic, change, partition=0):
        """Copy the stream, with the records of one partition changed."""
        return self.changed_all({(topic, partition): change})

    def changed_all(self, changes):
        """Copy the stream, with the records of several partitions changed."""
        copy = VerifiedStream()
        copy.settings = self.settings
        copy_stream(self.transport, copy.transport, self.settings, changes)
        return copy

    def records(self, topic, partition=0):
        return list(self.transport.read(topic, partition))

    def close(self):
        self.transport.close()


def without(at):
    return lambda records: [each for n, each in enumerate(records) if n != at % len(records)]


def again(at):
    return lambda records: [*records, records[at]]


def moved(at, to):
    """Move a record before the one that is at another place, or to the end."""

    def change(records):
        rest = without(at)(records)
        return [*rest[:to], records[at], *rest[to:]]

    return change


def replaced(at, **parts):
    """Replace parts of a record; a function makes one of what was there."""

    def change(records):
        record = records[at]
        made = {name: part(getattr(record, name)) if callable(part) else part for name, part in parts.items()}
        return [*records[:at], record._replace(**made), *records[at:][1:]]

    return change


def with_fields(at, **fields):
    """Change fields of a message; None takes one out."""

    def change(value):
        changed = json.loads(value) | fields
        left = {name: each for name, each in changed.items() if each is not None}
        return json.dumps(left, separators=(",", ":")).encode()

    return replaced(at, value=change)


def with_headers(at, **changed):
    return replaced(at, headers=lambda all_: tuple((name, changed.get(name, value)) for name, value in all_))


def _grown(count, n):
    if isinstance(count, dict):  # by partition
        return {partition: each + n for partition, each in count.items()}
    return count + n


def with_progress(number, **fields):
    """Change one progress record: entries of tables grow, other fields are replaced."""

    def change(records):
        at = [n for n, record in enumerate(records) if ("kind", b"progress") in record.headers][number]
        told = json.loads(records[at].value)
        for name, value in fields.items():
            if not isinstance(value, dict):
                told[name] = value
                continue
            for entry, n in value.items():
                told[name][entry] = _grown(told[name].get(entry, 0), n)
        return replaced(at, value=json.dumps(told, separators=(",", ":")).encode())(records)

    return change
