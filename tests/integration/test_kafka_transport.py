"""What only a real broker can show: transactions of the dead, the frozen and the unlucky; with each client.

What every transport promises is in ``tests/conformance/test_transport_contract.py``.
"""

from __future__ import annotations

import contextlib
import itertools
import signal
import subprocess
import sys
import threading
import time
from typing import TypeVar

import pytest

from service.errors import (
    ConfigurationError,
    OwnershipLost,
    ServiceError,
    TopicMissing,
    TransactionFailed,
    TransportUnavailable,
)
from service.stream.kafka.confluent.producer import BulkProducer
from service.stream.kafka.kafka_python.producer import DeadlineProducer
from service.stream.protocol import Output
from tests.support.kafka_broker import KafkaBroker
from tests.support.kafka_member import HURRY_SECONDS
from tests.support.kafka_site import (
    DEADLINE_SECONDS,
    KAFKA_CLIENTS,
    Member,
    eventually,
    numbered,
    owner,
    raw_transaction,
    said,
    set_limit,
    values,
)
from tests.support.speed import patience

pytestmark = pytest.mark.kafka

TRANSACTION_TIMEOUT_SECONDS = 60.0
PRODUCERS = {"kafka-python": DeadlineProducer, "confluent": BulkProducer}
FROM_ONE_CLIENT_TO_THE_OTHER = pytest.mark.parametrize(
    ("client", "successor_client"), list(itertools.product(KAFKA_CLIENTS, repeat=2))
)
Result = TypeVar("Result")


# Read committed


def test_no_reader_sees_an_open_or_aborted_transaction(site, transport):
    transport.produce(numbered(site.events, [1]))
    member = owner(transport, site)
    with raw_transaction(site) as foreign:
        foreign.send(site.events, key=b"key", value=b"open", partition=0)
        foreign.flush()
        transport.produce(numbered(site.events, [2]))
        assert transport.bounds(site.events, 0) == (0, 1)
        assert values(transport, site.events) == [b"1"]
        eventually(member.consumer.at_end, member)
        foreign.abort_transaction()
    eventually(lambda: len(member.records) == 2, member)
    assert [record.value for record in member.records] == [b"1", b"2"]
    assert values(transport, site.events) == [b"1", b"2"]
    member.consumer.close()


@pytest.mark.parametrize("committed", [True, False])
def test_trailing_markers_stop_neither_a_reader_nor_a_member(site, transport, *, committed):
    with raw_transaction(site) as foreign:
        foreign.send(site.events, key=b"key", value=b"1", partition=0)
        foreign.flush()
        foreign.commit_transaction() if committed else foreign.abort_transaction()
    expected = [b"1"] if committed else []
    assert transport.bounds(site.events, 0) == (0, 2), "the marker has an offset of its own"
    assert values(transport, site.events) == expected
    assert [record.value for record in transport.read(site.events, 0, 1)] == []
    member = owner(transport, site)
    eventually(member.consumer.at_end, member)
    assert [record.value for record in member.records] == expected
    assert member.consumer.positions(0) == {site.events: 2}
    assert member.consumer.lag() == {(site.events, 0): 0}
    member.consumer.close()


# The dead and the frozen


@pytest.mark.parametrize(
    ("client", "successor_client", "instance"),
    list(itertools.product(KAFKA_CLIENTS, KAFKA_CLIENTS, ["", "static"])),
)
def test_killed_owners_transaction_ends_when_its_successor_begins(
    site, transport, successor_client, instance
):
    transport.produce(numbered(site.events, [1]))
    process = site.process("dangle", *filter(None, [instance]))
    said(process, "dangling")
    process.kill()
    began = time.monotonic()
    successor = owner(site.open(successor_client, instance_id=instance or None), site)
    assert values(transport, site.predictions) == []
    assert successor.consumer.take_over([0])[0] == {site.events: 0}
    successor.writers[0].commit(numbered(site.predictions, [1]), {site.events: 1})
    assert values(transport, site.predictions) == [b"1"]
    assert time.monotonic() - began < TRANSACTION_TIMEOUT_SECONDS / 3
    successor.consumer.close()


def has_committed(member, site):
    with contextlib.suppress(OwnershipLost):  # the other one's writer has fenced ours
        member.writers[0].commit([], {site.events: 1})
    return True


def test_member_with_a_taken_instance_id_reports_it(site, transport):
    first = owner(site.open(instance_id="same"), site)
    second = Member(site.open(instance_id="same"), site, site.events)
    eventually(lambda: bool(second.writers), second)
    with pytest.raises(ConfigurationError, match=r"the same `kafka\.instance_id`") as caught:
        eventually(lambda: not has_committed(first, site), first)
    assert "give each process its own `kafka.instance_id`" in caught.value.hint


@FROM_ONE_CLIENT_TO_THE_OTHER
def test_thawed_former_owner_cannot_commit(site, transport, successor_client):
    process = site.process("commit")
    said(process, "committed 3")
    process.send_signal(signal.SIGSTOP)
    successor = owner(site.open(successor_client), site)
    before = values(transport, site.predictions)
    offsets = successor.consumer.take_over([0])[0]
    assert offsets == {site.events: len(before)}, "what was written and how far it got agree"
    successor.writers[0].commit([Output(site.predictions, b"successor", b"-")], {site.events: 1000})
    process.send_signal(signal.SIGCONT)
    assert said(process, "OwnershipLost", "Trans").startswith("OwnershipLost")
    assert process.wait(patience(10)) == 0
    successor.writers[0].commit([Output(site.predictions, b"successor", b"-")], {site.events: 1001})
    assert values(transport, site.predictions) == [*before, b"-", b"-"]
    assert successor.consumer.take_over([0])[0] == {site.events: 1001}
    successor.consumer.close()


def test_owner_thawed_after_its_commit_deadline_loses_ownership(site, transport):
    process = site.process("hurry")
    said(process, "committed 3")
    process.send_signal(signal.SIGSTOP)
    frozen = time.monotonic()
    successor = owner(site.open(), site)
    time.sleep(max(0.0, frozen + HURRY_SECONDS - time.monotonic()))
    process.send_signal(signal.SIGCONT)
    assert said(process, "OwnershipLost", "Trans").startswith("OwnershipLost")
    assert process.wait(patience(10)) == 0
    successor.consumer.close()


# Failures inside a transaction


def test_slow_transaction_fails_without_losing_the_partition(site, monkeypatch):
    transport = site.open(transaction_timeout_seconds=1, session_timeout_seconds=30)
    transport.ensure_topics({site.events: 1, site.predictions: 1})
    member = owner(transport, site)
    producers = PRODUCERS[site.client]
    send_outputs = producers.send_outputs

    def send_slowly(producer, outputs, deadline):
        send_outputs(producer, outputs, deadline)
        # The broker aborts: a record and a marker.
        eventually(lambda: transport.bounds(site.predictions, 0)[1] == 2)

    monkeypatch.setattr(producers, "send_outputs", send_slowly)
    with pytest.raises(TransactionFailed):
        member.writers[0].commit(numbered(site.predictions, [1]), {site.events: 1})
    monkeypatch.undo()
    member.writers[0] = member.consumer.writer(0)
    member.writers[0].commit(numbered(site.predictions, [2]), {site.events: 1})
    assert values(transport, site.predictions) == [b"2"]
    member.consumer.close()


def test_missing_output_topic_is_named_at_once(site, transport):
    member = owner(transport, site)
    began = time.monotonic()
    with pytest.raises(TopicMissing, match="nowhere"):
        member.writers[0].commit([Output("nowhere", b"key", b"1")], {site.events: 1})
    with pytest.raises(TopicMissing, match="nowhere"):
        transport.produce([Output("nowhere", b"key", b"1")])
    assert time.monotonic() - began < 5
    member.consumer.close()


# Readers


_LEAVES_A_READ = """
import sys
from service.stream.opening import open_transport

url, client, topic = sys.argv[1:]
transport = open_transport(url, kafka_client=client)
records = transport.read(topic, 0)
next(records)
transport.close()
"""


def test_process_with_an_unfinished_read_ends(site, transport, client):
    transport.produce(numbered(site.events, range(10)))
    arguments = f"kafka://{site.address}", client, site.events
    subprocess.run([sys.executable, "-c", _LEAVES_A_READ, *arguments], check=True, timeout=DEADLINE_SECONDS)


# Rebalances


@pytest.mark.parametrize("client", ["kafka-python"])  # librdkafka fails all of such a batch
def test_batch_larger_than_a_lowered_topic_limit_is_split(site, transport, admin):
    transport.ensure_topics({site.events: 1})
    transport.produce(numbered(site.events, [1]))  # opens the producer, with batches as they may be now
    set_limit(admin, site.events, 5000)
    transport.produce(numbered(site.events, range(2, 1000)))
    assert values(transport, site.events) == [b"%d" % number for number in range(1, 1000)]


def test_member_can_commit_before_losing_partitions(site, transport):
    topic = f"{site.events}-four"
    transport.ensure_topics({topic: 4})
    first = Member(transport, site, topic)
    eventually(lambda: len(first.writers) == 4, first)
    threads = []

    def commit():
        threads.append(threading.current_thread().name)
        for partition, writer in first.writers.items():
            assert first.consumer.take_over([partition])[partition] == {}
            writer.commit([], {topic: 10 + partition})

    first.when_revoked = commit
    second = Member(site.open(), site, topic)
    eventually(lambda: len(second.writers) == 2, first, second)
    assert threads
    for partition in second.writers:
        assert second.consumer.take_over([partition])[partition] == {topic: 10 + partition}
    first.when_revoked = lambda: None
    first.consumer.close()
    second.consumer.close()


@pytest.mark.parametrize(("client", "successor_client"), list(itertools.permutations(KAFKA_CLIENTS)))
def test_members_with_different_clients_share_and_hand_over_partitions(site, transport, successor_client):
    topic = f"{site.events}-four"
    transport.ensure_topics({topic: 4})
    transport.produce([Output(topic, b"%d" % n, b"%d" % n) for n in range(40)])
    first = Member(transport, site, topic)
    eventually(lambda: len(first.writers) == 4, first)
    second = Member(site.open(successor_client), site, topic)
    eventually(lambda: len(first.writers) == len(second.writers) == 2, first, second)
    eventually(lambda: len({record.key for record in first.records + second.records}) == 40, first, second)
    for partition, writer in first.writers.items():
        writer.commit([Output(site.predictions, b"k", b"first")], first.consumer.positions(partition))
    taken_over = set(first.writers)
    first.consumer.close()
    eventually(lambda: len(second.writers) == 4, second)
    for partition in taken_over:
        assert second.consumer.take_over([partition])[partition] == second.consumer.positions(partition)
        second.writers[partition].commit([Output(site.predictions, b"k", b"second")], {topic: 77})
    assert values(transport, site.predictions) == [b"first", b"first", b"second", b"second"]
    eventually(second.consumer.at_end, second)
    assert not taken_over & {record.partition for record in second.records}, "they were committed"
    second.consumer.close()


# A broker in trouble


def test_commit_against_a_frozen_broker_ends_with_its_deadline(own_place, own_kafka_broker):
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
    done = member.consumer.take_over([0])[0][own_place.events]
    written = again(lambda: values(transport, own_place.predictions))
    assert written == [b"%d" % n for n in range(1, done + 1)]
    writer.commit(numbered(own_place.predictions, [done + 1]), {own_place.events: done + 1})
    assert member.consumer.take_over([0])[0] == {own_place.events: done + 1}
    member.consumer.close()


@pytest.mark.parametrize(
    ("client", "end"),
    [
        pytest.param("kafka-python", KafkaBroker.kill, id="kafka-python-killed"),
        pytest.param("confluent", KafkaBroker.kill, id="confluent-killed"),
        pytest.param("kafka-python", KafkaBroker.stop, id="kafka-python-stopped"),
        pytest.param("confluent", KafkaBroker.stop, id="confluent-stopped"),
    ],
)
def test_member_survives_a_restart_of_its_broker(own_place, own_kafka_broker, end):
    transport = own_place.open(commit_timeout_seconds=3, session_timeout_seconds=4)
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


def copy_the_rest(member, site, end):
    """Continue from the last commit and copy the events up to `end`; a failed commit may have succeeded."""
    member.poll()
    writer = member.consumer.writer(0)
    offsets = member.consumer.take_over([0])[0]
    member.consumer.start(0, offsets)
    member.records.clear()
    if (left := end - offsets[site.events]) > 0:
        eventually(lambda: len(member.records) >= left, member)
        copies = [Output(site.predictions, b"-", record.value, partition=0) for record in member.records]
        writer.commit(copies, {site.events: end})


def again(act):
    """Try until the stream is back, and the partition ours again, as the service does.

    A member that joins again waits until the broker that has come back misses its former self.
    """
    deadline = time.monotonic() + 2 * DEADLINE_SECONDS
    while True:
        try:
            return act()
        except (TransportUnavailable, OwnershipLost):
            assert time.monotonic() < deadline, "the stream did not come back"
            time.sleep(0.2)


def test_permanent_topic_is_protected_from_losing_records(site, admin, caplog):
    """Whoever made it: by age, size and compaction."""
    transport = site.open()
    options = {"retention.ms": "3600000", "retention.bytes": "1000", "cleanup.policy": "compact,delete"}
    admin.create_topics({site.events: {"num_partitions": 1, "configs": options}})
    admin.wait_for_topics([site.events], timeout_ms=10_000)
    with pytest.raises(ConfigurationError, match=r"retention\.ms=3600000") as rejected:
        transport.ensure_topics({site.events: 1}, create=False, keep_forever=True)
    assert "cleanup.policy=delete" in rejected.value.hint
    transport.ensure_topics({site.events: 1}, keep_forever=True)
    assert "would have deleted required records" in caplog.text
    transport.ensure_topics({site.events: 1}, create=False, keep_forever=True)
