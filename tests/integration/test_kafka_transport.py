"""What only a real broker can show: transactions of the dead, the frozen and the unlucky.

What every transport promises is in ``tests/conformance/test_transport_contract.py``.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import pytest
from kafka import KafkaProducer
from kafka.producer.sender import Sender
from kafka.producer.transaction_manager import ProducerIdAndEpoch, TransactionManager

from service.errors import (
    AccessRefused,
    OwnershipLost,
    ServiceError,
    TopicMissing,
    TransactionFailed,
    TransportUnavailable,
)
from service.transport.base import Output, Record, Transport
from service.transport.kafka_python import KafkaPythonTransport
from service.transport.kafka_python.consumer import KafkaPythonConsumer
from service.transport.kafka_python.producer import DeadlineProducer
from service.transport.kafka_python.writer import KafkaPythonWriter
from tests.support.kafka_broker import KafkaBroker
from tests.support.kafka_member import SESSION_SECONDS

pytestmark = pytest.mark.kafka

DEADLINE_SECONDS = 40.0
TRANSACTION_TIMEOUT_SECONDS = 60.0
INVALID_PRODUCER_EPOCH = 47
Result = TypeVar("Result")


class Place:
    """Topics and a group that nobody else uses, and the transports opened on them."""

    def __init__(self, address: str, stack: contextlib.ExitStack) -> None:
        suffix = uuid.uuid4().hex[:8]
        self.address = address
        self.group, self.events, self.predictions = (
            f"{name}-{suffix}" for name in ("group", "events", "predictions")
        )
        self._stack = stack

    def open(self, **options: object) -> KafkaPythonTransport:
        options = {"session_timeout_seconds": SESSION_SECONDS, **options}
        return self._stack.enter_context(contextlib.closing(KafkaPythonTransport([self.address], **options)))

    def end_of(self, consumer: KafkaPythonConsumer) -> None:
        """Close it at the end, however the test ends: its thread would disturb all tests to come."""
        self._stack.enter_context(contextlib.suppress(ServiceError))
        self._stack.callback(consumer.close)

    def process(self, how: str, *instance: str) -> subprocess.Popen[str]:
        """Start `tests.support.kafka_member`; it is killed at the end if it still runs."""
        arguments = (self.address, self.group, self.events, self.predictions, how, *instance)
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.kafka_member", *arguments],
            stdout=subprocess.PIPE,
            text=True,
        )
        self._stack.enter_context(process)
        self._stack.callback(process.kill)
        return process


@pytest.fixture
def place(kafka_bootstrap: str) -> Iterator[Place]:
    with contextlib.ExitStack() as stack:
        yield Place(kafka_bootstrap, stack)


@pytest.fixture
def own_place(own_kafka_broker: KafkaBroker) -> Iterator[Place]:
    with contextlib.ExitStack() as stack:
        yield Place(own_kafka_broker.address, stack)


@pytest.fixture
def transport(place: Place) -> KafkaPythonTransport:
    opened = place.open()
    opened.ensure_topics({place.events: 1, place.predictions: 1})
    return opened


class Member:
    """Starts each partition where its group stopped, with a writer, and keeps what it is told."""

    def __init__(self, transport: KafkaPythonTransport, place: Place, *topics: str) -> None:
        self.writers: dict[int, KafkaPythonWriter] = {}
        self.records: list[Record] = []
        self.when_revoked: Callable[[], None] = lambda: None
        self.lost: set[int] = set()
        self.consumer: KafkaPythonConsumer = transport.join(place.group, topics, self)
        place.end_of(self.consumer)

    def partitions_assigned(self, partitions: frozenset[int]) -> None:
        for partition in partitions:
            self.writers[partition] = self.consumer.writer(partition)
            self.consumer.start(partition, self.consumer.committed(partition))

    def partitions_revoked(self, partitions: frozenset[int]) -> None:
        self.when_revoked()
        self._forget(partitions)

    def partitions_lost(self, partitions: frozenset[int]) -> None:
        self.lost |= partitions
        self._forget(partitions)

    def _forget(self, partitions: frozenset[int]) -> None:
        for partition in partitions:
            self.writers.pop(partition).close()

    def poll(self) -> None:
        for records in self.consumer.poll(0.1, 1000).values():
            self.records += records


def eventually(claim: Callable[[], bool], *members: Member) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not claim():
        assert time.monotonic() < deadline, "this did not happen in time"
        for member in members:
            member.poll()
        time.sleep(0 if members else 0.05)


def owner(transport: KafkaPythonTransport, place: Place, *, partitions: int = 1) -> Member:
    """Join and wait until all partitions are ours."""
    member = Member(transport, place, place.events)
    eventually(lambda: len(member.writers) == partitions, member)
    return member


def values(transport: Transport, topic: str) -> list[bytes | None]:
    return [record.value for record in transport.read(topic, 0)]


def numbered(topic: str, numbers: Sequence[int]) -> list[Output]:
    return [Output(topic, b"key-%d" % n, b"%d" % n, partition=0) for n in numbers]


def said(process: subprocess.Popen[str], *words: str) -> str:
    """Read the process's lines until one begins with one of these words."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(words):
            return line
    raise AssertionError(f"the process ended without saying {words}")


@contextlib.contextmanager
def raw_transaction(place: Place) -> Iterator[KafkaProducer]:
    """Open a transaction of a foreign producer; what happens to it is up to the test."""
    producer = KafkaProducer(bootstrap_servers=place.address, transactional_id=uuid.uuid4().hex)
    try:
        producer.init_transactions()
        producer.begin_transaction()
        yield producer
    finally:
        producer.close(timeout=5)


# Read committed


def test_nobody_sees_an_open_or_aborted_transaction(place: Place, transport: KafkaPythonTransport) -> None:
    transport.produce(numbered(place.events, [1]))
    member = owner(transport, place)
    with raw_transaction(place) as foreign:
        foreign.send(place.events, key=b"key", value=b"open", partition=0)
        foreign.flush()
        transport.produce(numbered(place.events, [2]))
        assert transport.bounds(place.events, 0) == (0, 1)
        assert values(transport, place.events) == [b"1"]
        eventually(member.consumer.at_end, member)
        foreign.abort_transaction()
    eventually(lambda: len(member.records) == 2, member)
    assert [record.value for record in member.records] == [b"1", b"2"]
    assert values(transport, place.events) == [b"1", b"2"]
    member.consumer.close()


@pytest.mark.parametrize("committed", [True, False])
def test_markers_at_the_end_stop_neither_a_reader_nor_a_member(
    place: Place, transport: KafkaPythonTransport, *, committed: bool
) -> None:
    with raw_transaction(place) as foreign:
        foreign.send(place.events, key=b"key", value=b"1", partition=0)
        foreign.flush()
        foreign.commit_transaction() if committed else foreign.abort_transaction()
    expected = [b"1"] if committed else []
    assert transport.bounds(place.events, 0) == (0, 2), "the marker has an offset of its own"
    assert values(transport, place.events) == expected
    assert [record.value for record in transport.read(place.events, 0, 1)] == []
    member = owner(transport, place)
    eventually(member.consumer.at_end, member)
    assert [record.value for record in member.records] == expected
    assert member.consumer.positions(0) == {place.events: 2}
    assert member.consumer.lag() == {(place.events, 0): 0}
    member.consumer.close()


def test_a_commit_beyond_the_last_record_is_the_end_for_the_next_member(
    place: Place, transport: KafkaPythonTransport
) -> None:
    with raw_transaction(place) as foreign:
        foreign.send(place.events, key=b"key", value=b"1", partition=0)
        foreign.commit_transaction()
    first = owner(transport, place)
    eventually(lambda: len(first.records) == 1, first)
    first.writers[0].commit([], {place.events: 1})
    first.consumer.close()
    second = owner(transport, place)
    eventually(second.consumer.at_end, second)
    assert second.records == []
    second.consumer.close()


# The dead and the frozen


@pytest.mark.parametrize("instance", ["", "static"])
def test_a_killed_owners_transaction_ends_when_its_successor_begins(
    place: Place, transport: KafkaPythonTransport, instance: str
) -> None:
    transport.produce(numbered(place.events, [1]))
    process = place.process("dangle", *filter(None, [instance]))
    said(process, "dangling")
    process.kill()
    began = time.monotonic()
    successor = owner(place.open(instance_id=instance or None), place)
    assert values(transport, place.predictions) == []
    assert successor.consumer.committed(0) == {}
    successor.writers[0].commit(numbered(place.predictions, [1]), {place.events: 1})
    assert values(transport, place.predictions) == [b"1"]
    assert time.monotonic() - began < TRANSACTION_TIMEOUT_SECONDS / 3
    successor.consumer.close()


def test_a_thawed_owner_can_commit_nothing_more(place: Place, transport: KafkaPythonTransport) -> None:
    process = place.process("commit")
    said(process, "committed 3")
    process.send_signal(signal.SIGSTOP)
    successor = owner(transport, place)
    before = values(transport, place.predictions)
    offsets = successor.consumer.committed(0)
    assert offsets == {place.events: len(before)}, "what was written and how far it got agree"
    successor.writers[0].commit([Output(place.predictions, b"successor", b"-")], {place.events: 1000})
    process.send_signal(signal.SIGCONT)
    assert said(process, "OwnershipLost", "Trans").startswith("OwnershipLost")
    assert process.wait(10) == 0
    successor.writers[0].commit([Output(place.predictions, b"successor", b"-")], {place.events: 1001})
    assert values(transport, place.predictions) == [*before, b"-", b"-"]
    assert successor.consumer.committed(0) == {place.events: 1001}
    successor.consumer.close()


# Failures inside a transaction


def fail_first_batch(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Turn the broker's first acknowledgement into INVALID_PRODUCER_EPOCH."""
    done: list[bool] = []
    complete = Sender._complete_batch

    def complete_or_fail(sender: Sender, batch: object, answer: object) -> None:
        if not done and sender._transaction_manager.is_transactional():
            done.append(True)
            answer.error_code = INVALID_PRODUCER_EPOCH
        complete(sender, batch, answer)

    monkeypatch.setattr(Sender, "_complete_batch", complete_or_fail)
    return done


def test_kafka_python_alone_loses_a_transaction_without_a_word(
    place: Place, transport: KafkaPythonTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason for the care in `producer.py`; when this fails, some of it may go."""
    failed = fail_first_batch(monkeypatch)
    with raw_transaction(place) as naive:
        naive.send(place.predictions, key=b"key", value=b"1", partition=0)
        naive.commit_transaction()
    assert failed
    assert values(transport, place.predictions) == []


def test_a_batch_that_fails_in_the_flush_fails_the_commit(
    place: Place, transport: KafkaPythonTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = owner(transport, place)
    failed = fail_first_batch(monkeypatch)
    with pytest.raises(TransactionFailed):
        member.writers[0].commit(numbered(place.predictions, [1]), {place.events: 1})
    assert failed
    with pytest.raises(TransactionFailed):
        member.writers[0].commit(numbered(place.predictions, [1]), {place.events: 1})
    member.writers[0] = member.consumer.writer(0)
    assert values(transport, place.predictions) == []
    assert member.consumer.committed(0) == {}
    member.writers[0].commit(numbered(place.predictions, [1]), {place.events: 1})
    assert values(transport, place.predictions) == [b"1"]
    assert member.consumer.committed(0) == {place.events: 1}
    member.consumer.close()


def test_a_new_epoch_during_the_commit_fails_it(
    place: Place, transport: KafkaPythonTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_commit = TransactionManager.begin_commit

    def bump(manager: TransactionManager) -> object:
        result = begin_commit(manager)
        manager.producer_id_and_epoch = ProducerIdAndEpoch(1, 77)
        return result

    member = owner(transport, place)
    monkeypatch.setattr(TransactionManager, "begin_commit", bump)
    with pytest.raises(ServiceError) as caught:
        member.writers[0].commit(numbered(place.predictions, [1]), {place.events: 1})
    assert type(caught.value) in {TransactionFailed, OwnershipLost}
    monkeypatch.undo()
    member.consumer.close()


def test_a_transaction_that_takes_too_long_fails_but_does_not_cost_the_partition(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    transport = place.open(transaction_timeout_seconds=1)
    transport.ensure_topics({place.events: 1, place.predictions: 1})
    member = owner(transport, place)
    send_outputs = DeadlineProducer.send_outputs

    def send_slowly(producer: DeadlineProducer, outputs: Sequence[Output], deadline: float) -> None:
        send_outputs(producer, outputs, deadline)
        # The broker aborts: a record and a marker.
        eventually(lambda: transport.bounds(place.predictions, 0)[1] == 2)

    monkeypatch.setattr(DeadlineProducer, "send_outputs", send_slowly)
    with pytest.raises(TransactionFailed):
        member.writers[0].commit(numbered(place.predictions, [1]), {place.events: 1})
    monkeypatch.undo()
    member.writers[0] = member.consumer.writer(0)
    member.writers[0].commit(numbered(place.predictions, [2]), {place.events: 1})
    assert values(transport, place.predictions) == [b"2"]
    member.consumer.close()


def test_a_missing_output_topic_is_named_at_once(place: Place, transport: KafkaPythonTransport) -> None:
    member = owner(transport, place)
    began = time.monotonic()
    with pytest.raises(TopicMissing, match="nowhere"):
        member.writers[0].commit([Output("nowhere", b"key", b"1")], {place.events: 1})
    with pytest.raises(TopicMissing, match="nowhere"):
        transport.produce([Output("nowhere", b"key", b"1")])
    assert time.monotonic() - began < 5
    member.consumer.close()


def test_a_record_with_neither_key_nor_value_can_be_passed_on(
    place: Place, transport: KafkaPythonTransport
) -> None:
    transport.produce([Output(place.events, None, None)])
    assert [(record.key, record.value) for record in transport.read(place.events, 0)] == [(None, None)]


# Rebalances


def test_a_member_that_gives_partitions_up_can_commit_first(
    place: Place, transport: KafkaPythonTransport
) -> None:
    topic = f"{place.events}-four"
    transport.ensure_topics({topic: 4})
    first = Member(transport, place, topic)
    eventually(lambda: len(first.writers) == 4, first)
    threads: list[str] = []

    def commit() -> None:
        threads.append(threading.current_thread().name)
        for partition, writer in first.writers.items():
            assert first.consumer.committed(partition) == {}
            writer.commit([], {topic: 10 + partition})

    first.when_revoked = commit
    second = Member(place.open(), place, topic)
    eventually(lambda: len(second.writers) == 2, first, second)
    assert threads
    for partition in second.writers:
        assert second.consumer.committed(partition) == {topic: 10 + partition}
    first.when_revoked = lambda: None
    first.consumer.close()
    second.consumer.close()


def test_what_an_assignee_raises_comes_out_of_the_poll(place: Place, transport: KafkaPythonTransport) -> None:
    topic = f"{place.events}-two"
    transport.ensure_topics({topic: 2})
    first = Member(transport, place, topic)
    eventually(lambda: len(first.writers) == 2, first)

    def refuse() -> None:
        raise LookupError("no")

    first.when_revoked = refuse
    second = Member(place.open(), place, topic)
    with pytest.raises(LookupError, match="no"):
        eventually(lambda: False, first, second)
    first.when_revoked = lambda: None
    first.consumer.close()
    second.consumer.close()


def test_a_poll_that_fails_forgets_no_records(
    place: Place, transport: KafkaPythonTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = owner(transport, place)
    transport.produce(numbered(place.events, range(5)))

    def fail(consumer: KafkaPythonConsumer) -> None:
        if consumer._taken:
            raise TransportUnavailable("away")

    monkeypatch.setattr(KafkaPythonConsumer, "_check_alive", fail)
    with pytest.raises(TransportUnavailable, match="away"):
        eventually(lambda: False, member)
    assert not member.consumer.at_end()
    monkeypatch.undo()
    eventually(member.consumer.at_end, member)
    assert [record.value for record in member.records] == [b"%d" % n for n in range(5)]
    member.consumer.close()


# A broker in trouble


def test_a_commit_against_a_frozen_broker_ends_with_its_deadline(
    own_place: Place, own_kafka_broker: KafkaBroker
) -> None:
    transport = own_place.open(commit_timeout_seconds=3, session_timeout_seconds=30)
    transport.ensure_topics({own_place.events: 1, own_place.predictions: 1})
    member = owner(transport, own_place)
    member.writers[0].commit(numbered(own_place.predictions, [1]), {own_place.events: 1})
    own_kafka_broker.pause()
    began = time.monotonic()
    with pytest.raises(TransportUnavailable):
        member.writers[0].commit(numbered(own_place.predictions, [2]), {own_place.events: 2})
    assert time.monotonic() - began < 6
    with pytest.raises(TransportUnavailable, match="does not answer"):
        eventually(lambda: False, member)
    own_kafka_broker.resume()
    writer = again(lambda: member.consumer.writer(0))
    done = member.consumer.committed(0)[own_place.events]
    assert values(transport, own_place.predictions) == [b"%d" % n for n in range(1, done + 1)]
    writer.commit(numbered(own_place.predictions, [done + 1]), {own_place.events: done + 1})
    assert member.consumer.committed(0) == {own_place.events: done + 1}
    member.consumer.close()


@pytest.mark.parametrize("end", [KafkaBroker.stop, KafkaBroker.kill], ids=["stopped", "killed"])
def test_a_member_survives_a_restart_of_its_broker(
    own_place: Place, own_kafka_broker: KafkaBroker, end: Callable[[KafkaBroker], None]
) -> None:
    transport = own_place.open(commit_timeout_seconds=5, session_timeout_seconds=10)
    transport.ensure_topics({own_place.events: 1, own_place.predictions: 1})
    transport.produce(numbered(own_place.events, [1, 2]))
    member = owner(transport, own_place)
    eventually(lambda: len(member.records) == 2, member)
    member.writers[0].commit(numbered(own_place.predictions, [1]), {own_place.events: 1})
    end(own_kafka_broker)
    with pytest.raises(ServiceError):
        member.writers[0].commit(numbered(own_place.predictions, [2]), {own_place.events: 2})
    with pytest.raises(TransportUnavailable, match="does not answer"):
        eventually(lambda: False, member)
    own_kafka_broker.start()
    again(lambda: transport.produce(numbered(own_place.events, [3])))
    again(lambda: copy_the_rest(member, own_place, 3))
    assert values(transport, own_place.predictions) == [b"1", b"2", b"3"]
    member.consumer.close()


def copy_the_rest(member: Member, place: Place, end: int) -> None:
    """Go on from the last commit and copy the events up to `end`; a failed commit may have succeeded."""
    writer = member.consumer.writer(0)
    offsets = member.consumer.committed(0)
    member.consumer.start(0, offsets)
    member.records.clear()
    if (left := end - offsets[place.events]) > 0:
        eventually(lambda: len(member.records) == left, member)
        copies = [Output(place.predictions, b"-", record.value, partition=0) for record in member.records]
        writer.commit(copies, {place.events: end})


def again(act: Callable[[], Result]) -> Result:
    """Try until the stream is back, as the service does."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        try:
            return act()
        except TransportUnavailable:
            assert time.monotonic() < deadline, "the stream did not come back"
            time.sleep(0.2)


def test_a_wrong_password_is_refused_and_named(make_kafka_broker: Callable[..., KafkaBroker]) -> None:
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    secured = {
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:SASL_PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.plaintext.plain.sasl.jaas.config": (
            f'{login} username="broker" password="b" user_broker="b" user_perceptron="right";'
        ),
    }
    options = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "perceptron",
    }
    with make_kafka_broker(settings=secured) as broker:
        right = KafkaPythonTransport(
            [broker.address], client_options=options | {"sasl_plain_password": "right"}
        )
        right.ensure_topics({"events": 1})
        right.close()
        with pytest.raises(AccessRefused, match="SaslAuthenticationFailed") as caught:
            KafkaPythonTransport([broker.address], client_options=options | {"sasl_plain_password": "wrong"})
    assert "kafka.sasl_" in caught.value.hint
