"""Topics and a group that no other process uses, and members of a group there.

It makes transports, members that keep what they are told, and processes to be killed and frozen.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any, get_args

from kafka import KafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient

from service.errors import ServiceError
from service.settings.kafka import KafkaClient
from service.stream.opening import open_transport
from service.stream.protocol import Consumer, Output, Record, Transport, Writer
from tests.support.kafka_member import SESSION_SECONDS
from tests.support.speed import patience

KAFKA_CLIENTS = get_args(KafkaClient)
FIRST_CLIENT, *OTHER_CLIENTS = KAFKA_CLIENTS
DEADLINE_SECONDS = patience(40.0)


class Site:
    """Topics and a group that no other process uses, and the transports opened on them through `client`."""

    def __init__(self, address: str, client: KafkaClient, stack: contextlib.ExitStack) -> None:
        suffix = uuid.uuid4().hex[:8]
        self.address = address
        self.client = client
        self.group, self.events, self.predictions = (
            f"{name}-{suffix}" for name in ("group", "events", "predictions")
        )
        self._stack = stack

    def open(self, client: KafkaClient | None = None, **options: object) -> Transport:
        options = {"session_timeout_seconds": SESSION_SECONDS, **options}
        url = f"kafka://{self.address}"
        transport = open_transport(url, kafka=options, kafka_client=client or self.client)
        return self._stack.enter_context(contextlib.closing(transport))

    def end_of(self, consumer: Consumer) -> None:
        """Close it at the end, however the test ends: its thread would disturb all tests to come."""
        self._stack.enter_context(contextlib.suppress(ServiceError))
        self._stack.callback(consumer.close)

    def process(self, how: str, *instance: str, client: KafkaClient | None = None) -> subprocess.Popen[str]:
        """Start `tests.support.kafka_member`; it is killed at the end if it still runs."""
        names = (self.address, client or self.client, self.group, self.events, self.predictions)
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.kafka_member", *names, how, *instance],
            stdout=subprocess.PIPE,
            text=True,
        )
        self._stack.enter_context(process)
        self._stack.callback(process.kill)
        return process


class Member:
    """Starts each partition where its group stopped, with a writer, and keeps what it is told."""

    def __init__(self, transport: Transport, site: Site, *topics: str) -> None:
        self.writers: dict[int, Writer] = {}
        self.records: list[Record] = []
        self.when_revoked: Callable[[], None] = lambda: None
        self.lost: set[int] = set()
        self.consumer: Consumer = transport.join(site.group, topics, self)
        site.end_of(self.consumer)

    def partitions_assigned(self, partitions: frozenset[int]) -> None:
        for partition in partitions:
            self.writers[partition] = self.consumer.writer(partition)
            self.consumer.start(partition, self.consumer.take_over([partition])[partition])

    def partitions_revoked(self, partitions: frozenset[int]) -> None:
        self.when_revoked()
        self._forget(partitions)

    def partitions_lost(self, partitions: frozenset[int]) -> None:
        self.lost |= partitions
        self._forget(partitions)

    def _forget(self, partitions: frozenset[int]) -> None:
        for partition in partitions & self.writers.keys():
            self.writers.pop(partition).close()

    def poll(self) -> None:
        for records in self.consumer.poll(0.1, 1000).values():
            self.records += records


def eventually(claim: Callable[[], bool], *members: Any) -> None:
    """Poll the members until `claim` holds."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not claim():
        assert time.monotonic() < deadline, "this did not happen in time"
        for member in members:
            member.poll()
        time.sleep(0 if members else 0.05)


def owner(transport: Transport, site: Site, *, partitions: int = 1) -> Member:
    """Join and wait until all partitions are ours."""
    member = Member(transport, site, site.events)
    eventually(lambda: len(member.writers) == partitions, member)
    return member


def values(transport: Transport, topic: str) -> list[bytes | None]:
    return [record.value for record in transport.read(topic, 0)]


def numbered(topic: str, numbers: Sequence[int]) -> list[Output]:
    return [Output(topic, b"key-%d" % n, b"%d" % n, partition=0) for n in numbers]


def set_limit(admin: KafkaAdminClient, topic: str, n_bytes: int) -> None:
    """Let a topic take records up to this size."""
    limit = {"max.message.bytes": str(n_bytes)}
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, limit)])


def said(process: subprocess.Popen[str], *words: str) -> str:
    """Read the process's lines until one begins with one of these words."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(words):
            return line
    raise AssertionError(f"the process ended without saying {words}")


@contextlib.contextmanager
def raw_transaction(site: Site, name: str = "") -> Iterator[KafkaProducer]:
    """Open a transaction of a foreign producer; what happens to it is up to the test."""
    producer = KafkaProducer(bootstrap_servers=site.address, transactional_id=name or uuid.uuid4().hex)
    try:
        producer.init_transactions()
        producer.begin_transaction()
        yield producer
    finally:
        producer.close(timeout=5)
