"""What every transport promises: `service.stream.protocol`, claim by claim.

The same tests run on a stream in memory, in a SQLite file and on a real Apache Kafka broker
through each of its clients.
Kafka needs seconds to share out partitions, so whoever waits does it in a loop with a deadline.
"""

from __future__ import annotations

import random
import threading
import time
import uuid
from contextlib import closing
from functools import partial
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import (
    ConfigurationError,
    MessageTooLarge,
    OffsetOutOfRange,
    OwnershipLost,
    TopicMissing,
    TransactionFailed,
)
from service.messages.dead_letter import record_bytes
from service.settings.kafka import KafkaClient
from service.stream.batches import OutputBatch
from service.stream.opening import open_transport
from service.stream.partitioner import partition_for_key
from service.stream.protocol import Output, Record
from tests.support.kafka_site import eventually

DEADLINE_SECONDS = 30.0
TOO_LARGE = bytes(17 * 1024 * 1024)
noise = random.Random(1).randbytes


class Stream:
    """One stream, to be opened as several processes would, with names no other process uses."""

    def __init__(self, url, kafka_client="kafka-python"):
        self.url = url
        self.kafka_client = kafka_client
        self.opened = []
        self.shares_partitions = url.startswith("kafka://")
        """Whether a group has several owners."""
        self._suffix = uuid.uuid4().hex[:8]

    def open(self):
        self.opened.append(open_transport(self.url, kafka_client=self.kafka_client))
        return self.opened[-1]

    def topic(self, name):
        return f"{name}-{self._suffix}"

    def group(self):
        return f"group-{self._suffix}"

    def close(self):
        for transport in self.opened:
            transport.close()


KAFKA_CLIENTS = get_args(KafkaClient)


@pytest.fixture(
    params=["memory", "sqlite", *(pytest.param(client, marks=pytest.mark.kafka) for client in KAFKA_CLIENTS)]
)
def stream(request, tmp_path):
    match request.param:
        case "memory":
            opened = Stream(f"memory://{tmp_path}")
        case "sqlite":
            opened = Stream(f"sqlite:///{tmp_path}/stream.db")
        case client:
            opened = Stream(f"kafka://{request.getfixturevalue('kafka_bootstrap')}", client)
    yield opened
    opened.close()


@pytest.fixture
def transport(stream):
    return stream.open()


@pytest.fixture
def topics(stream, transport):
    """Return the names of two topics of one partition each, for inputs and for outputs."""
    names = stream.topic("events"), stream.topic("predictions")
    transport.ensure_topics(dict.fromkeys(names, 1))
    return names


@pytest.fixture
def topic(topics):
    return topics[0]


class Member:
    """A consumer that starts each partition where its group stopped, and keeps what it is told."""

    def __init__(self, transport, stream, *topics, owner_topic=""):
        self.assigned = set()
        self.revoked = set()
        self.records = []
        self.when_revoked = lambda partitions: None
        self.consumer = transport.join(stream.group(), topics, self, owner_topic)

    def partitions_assigned(self, partitions):
        for partition in partitions:
            self.consumer.start(partition, self.consumer.take_over([partition])[partition])
        self.assigned |= partitions

    def partitions_revoked(self, partitions):
        self.when_revoked(partitions)
        self.revoked |= partitions
        self.assigned -= partitions

    def partitions_lost(self, partitions):
        self.assigned -= partitions

    def poll(self, max_records=1000):
        polled = self.consumer.poll(0.1, max_records)
        for records in polled.values():
            self.records += records
        return polled

    def values(self):
        return [record.value for record in self.records]

    def commit_all(self):
        """Commit, partition by partition, everything delivered so far."""
        for partition in self.assigned:
            writer = self.consumer.writer(partition)
            writer.commit([], self.consumer.positions(partition))
            writer.close()


def assigned(transport, stream, *topics, partitions=1):
    """Join and wait until all partitions are ours."""
    member = Member(transport, stream, *topics)
    eventually(lambda: len(member.assigned) == partitions, member)
    return member


def values(transport, topic, partition=0):
    return [record.value for record in transport.read(topic, partition)]


def numbered(topic, count, partition=0):
    return [Output(topic, b"key-%d" % n, b"%d" % n, partition=partition) for n in range(count)]


def texts(*numbers):
    return [b"%d" % n for n in numbers]


# Topics


def test_existing_topic_keeps_its_partitions(stream, transport):
    topic = stream.topic("events")
    transport.ensure_topics({topic: 3})
    stream.open().ensure_topics({topic: 5})
    assert transport.partition_count(topic) == 3


def test_added_partitions_are_assigned_and_read(stream, transport, topic):
    member = assigned(transport, stream, topic)
    other = stream.open()
    other.add_partitions({topic: 3})
    other.add_partitions({topic: 2})
    assert other.partition_count(topic) == 3
    other.produce([Output(topic, b"key", b"new", partition=2)])
    eventually(lambda: member.assigned == {0, 1, 2} and member.values() == [b"new"], member)
    for added in ({3}, {4}, {5}):
        other.add_partitions({topic: max(added) + 1})
        eventually(partial(added.__le__, member.assigned), member)
    eventually(member.consumer.at_end, member)
    with pytest.raises(TopicMissing):
        transport.add_partitions({stream.topic("absent"): 2})
    member.consumer.close()


def test_missing_topic_is_named_if_creation_is_disallowed(stream, transport):
    topic = stream.topic("absent")
    with pytest.raises(TopicMissing, match=topic):
        transport.ensure_topics({topic: 1}, create=False)
    with pytest.raises(TopicMissing, match=topic):
        transport.partition_count(topic)
    with pytest.raises(TopicMissing, match=topic):
        transport.join(stream.group(), [topic], Member.__new__(Member))
    assert topic not in transport.topics()
    transport.ensure_topics({topic: 1})
    assert topic in transport.topics()


def test_topics_consumed_together_must_have_equal_partitions(stream, transport):
    events, labels = stream.topic("events"), stream.topic("labels")
    transport.ensure_topics({events: 2, labels: 3})
    with pytest.raises(ConfigurationError, match=labels):
        transport.join(stream.group(), [events, labels], Member.__new__(Member))


# Records


def test_records_are_read_back_byte_for_byte_and_in_order(stream, transport, topic):
    outputs = [
        Output(topic, b"key", b"value", (("name", b"\xff\x00"), ("name", b""), ("größe", b"2")), 0, 1234),
        Output(topic, None, b"no key", (), 0, 1),
        Output(topic, b"no value", None, (), 0, 1_700_000_000_000),
        Output(topic, b"", b"", (), 0, 5),
        Output(topic, bytes(range(256)), b"\xff\xfe\x00" * 100, (), 0, 6),
    ]
    transport.produce(outputs[:2])
    transport.produce(outputs[2:])
    records = list(stream.open().read(topic, 0))
    assert [
        Output(r.topic, r.key, r.value, r.headers, r.partition, r.timestamp_ms) for r in records
    ] == outputs
    offsets = [record.offset for record in records]
    assert offsets == sorted(set(offsets))


def test_timestamp_of_zero_is_accepted(stream, transport, topic):
    transport.produce([Output(topic, b"key", b"value", timestamp_ms=0)])
    (record,) = transport.read(topic, 0)
    assert record.timestamp_ms == (1 if stream.kafka_client == "confluent" else 0)


def test_key_is_sent_to_the_partition_kafka_would_choose(stream, transport):
    topic = stream.topic("events")
    transport.ensure_topics({topic: 4})
    transport.produce(
        [*numbered(topic, 38, partition=None), Output(topic, None, b""), Output(topic, b"", b"")]
    )
    records = [record for partition in range(4) for record in transport.read(topic, partition)]
    assert len(records) == 40
    assert all(record.partition == partition_for_key(record.key, 4) for record in records)


def test_read_returns_records_between_start_and_end(transport, topic):
    transport.produce(numbered(topic, 10))
    offsets = [record.offset for record in transport.read(topic, 0)]
    part = transport.read(topic, 0, offsets[3], offsets[6])
    assert [record.value for record in part] == texts(3, 4, 5)
    assert [record.value for record in transport.read(topic, 0, offsets[8])] == texts(8, 9)
    assert list(transport.read(topic, 0, transport.bounds(topic, 0)[1])) == []


def test_first_record_after_a_time_is_found_in_any_order(stream, transport):
    topic, processing_time_ms = stream.topic("events"), int(time.time() * 1000)
    transport.ensure_topics({topic: 1})
    ages = [9, 5, 8, 2, 7, 3]  # minutes
    transport.produce([Output(topic, None, b"", (), 0, processing_time_ms - 60_000 * age) for age in ages])
    offsets = [record.offset for record in transport.read(topic, 0)]
    for age, first in ((10, 0), (6, 1), (5, 1), (4, 3), (2, 3)):
        assert transport.first_at(topic, 0, processing_time_ms - 60_000 * age) == offsets[first]
    assert transport.first_at(topic, 0, processing_time_ms) == transport.bounds(topic, 0)[1]
    transport.delete_before(topic, 0, offsets[4])
    assert transport.first_at(topic, 0, processing_time_ms - 60_000 * 10) == offsets[4]


def test_deletion_moves_the_start_offset_and_offsets_keep_growing(stream, transport, topic):
    transport.produce(numbered(topic, 5))
    offsets = [record.offset for record in transport.read(topic, 0)]
    transport.delete_before(topic, 0, offsets[3])
    assert transport.bounds(topic, 0)[0] == offsets[3]
    assert values(transport, topic) == texts(3, 4)
    end = transport.bounds(topic, 0)[1]
    transport.delete_before(topic, 0, end)
    assert values(transport, topic) == []
    transport.produce([Output(topic, b"key", b"later", partition=0)])
    (record,) = stream.open().read(topic, 0)
    assert record.offset >= end


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_any_bytes_are_read_as_written(kind, tmp_path):
    url = "memory://" if kind == "memory" else f"sqlite:///{tmp_path}/stream.db"
    transport = open_transport(url)
    transport.ensure_topics({"events": 3})
    maybe_bytes = st.none() | st.binary()
    headers = st.lists(st.tuples(st.text(), st.binary()), max_size=3).map(tuple)

    @given(maybe_bytes, maybe_bytes, headers, st.integers(0, 2), st.integers(0, 2**53))
    def round_trip(key, value, headers, partition, timestamp_ms):
        offset = transport.bounds("events", partition)[1]
        transport.produce([Output("events", key, value, headers, partition, timestamp_ms)])
        (record,) = transport.read("events", partition, offset)
        assert record == Record("events", partition, offset, timestamp_ms, key, value, headers)

    round_trip()
    transport.close()


# Polling


def test_poll_returns_at_most_the_requested_number_of_records(stream, transport):
    topic = stream.topic("events")
    transport.ensure_topics({topic: 4})
    transport.produce([output for p in range(4) for output in numbered(topic, 5, p)])
    member = Member(transport, stream, topic)
    deadline = time.monotonic() + DEADLINE_SECONDS
    while len(member.records) < 20 and time.monotonic() < deadline:
        assert sum(map(len, member.poll(max_records=3).values())) <= 3
    for partition in range(4):
        assert [r.value for r in member.records if r.partition == partition] == texts(*range(5))


def test_partition_delivers_nothing_before_its_start(stream, transport, topic):
    class Waiting(Member):
        def partitions_assigned(self, partitions):
            self.assigned |= partitions

    transport.produce(numbered(topic, 3))
    member = Waiting(transport, stream, topic)
    eventually(lambda: member.assigned == {0}, member)
    assert member.poll() == {}
    assert not member.consumer.at_end()
    member.consumer.start(0, {})
    eventually(lambda: member.values() == texts(0, 1, 2), member)


def test_restarting_a_partition_rewinds_it(stream, transport, topic):
    transport.produce(numbered(topic, 5))
    member = assigned(transport, stream, topic)
    eventually(lambda: len(member.records) == 5, member)
    third = member.records[2].offset
    member.records.clear()
    member.consumer.start(0, {topic: third})
    assert member.consumer.positions(0) == {topic: third}
    eventually(lambda: len(member.records) >= 3, member)
    assert member.values() == texts(2, 3, 4)


def test_second_topic_comes_with_its_partition_after_the_first(stream, transport):
    events, labels = stream.topic("events"), stream.topic("labels")
    transport.ensure_topics({events: 2, labels: 2})
    for partition in range(2):
        transport.produce(numbered(labels, 5, partition) + numbered(events, 5, partition))
    member = Member(transport, stream, events, labels)
    deadline = time.monotonic() + DEADLINE_SECONDS
    while len(member.records) < 20 and time.monotonic() < deadline:
        for partition, records in member.poll().items():
            assert {record.partition for record in records} == {partition}
            order = [((events, labels).index(record.topic), record.offset) for record in records]
            assert order == sorted(order)
    delivered = {(r.topic, r.partition, r.value) for r in member.records}
    assert delivered == {(t, p, v) for t in (events, labels) for p in range(2) for v in texts(*range(5))}
    assert len(member.records) == 20


def test_records_of_a_held_topic_arrive_only_after_its_release(stream, transport):
    events, labels = stream.topic("events"), stream.topic("labels")
    transport.ensure_topics({events: 1, labels: 1})
    member = assigned(transport, stream, events, labels)
    transport.produce(numbered(events, 500) + numbered(labels, 500))
    held = {(events, 0)}
    while len(member.records) < 500:
        for records in member.consumer.poll(0.1, 100, held).values():
            member.records += records
    assert {record.topic for record in member.records} == {labels}
    assert member.consumer.poll(0.2, 1000, held) == {}
    eventually(lambda: len(member.records) >= 1000, member)
    assert [record.value for record in member.records if record.topic == events] == texts(*range(500))


def test_held_topic_continues_where_it_stopped(stream, transport):
    topic, other = stream.topic("events"), stream.topic("labels")
    transport.ensure_topics({topic: 3, other: 3})
    member = assigned(transport, stream, topic, other, partitions=3)
    transport.produce([output for partition in range(3) for output in numbered(topic, 300, partition)])
    for n in range(12):
        for records in member.consumer.poll(0.1, 100, {(topic, n % 3), (topic, (n + 1) % 3)}).values():
            member.records += records
    eventually(lambda: len(member.records) >= 900, member)
    for partition in range(3):
        found = [record.value for record in member.records if record.partition == partition]
        assert found == texts(*range(300))


def test_lag_is_counted_to_the_current_end(stream, transport):
    events, labels = stream.topic("events"), stream.topic("labels")
    transport.ensure_topics({events: 1, labels: 1})
    member = assigned(transport, stream, events, labels)
    places = [(events, 0), (labels, 0)]
    assert member.consumer.remaining(places) == dict.fromkeys(places, 0)
    transport.produce(numbered(labels, 5))
    assert member.consumer.remaining(places) == {(events, 0): 0, (labels, 0): 5}
    eventually(lambda: len(member.records) == 5, member)
    assert member.consumer.remaining(places) == dict.fromkeys(places, 0)
    assert member.consumer.remaining([(events, 7)]) == {}


def test_topic_ending_in_transaction_markers_is_delivered_completely(stream, transport):
    events, labels = stream.topic("events"), stream.topic("labels")
    transport.ensure_topics({events: 1, labels: 1})
    member = assigned(transport, stream, events, labels)
    writer = member.consumer.writer(0)
    writer.commit(numbered(labels, 3), {})
    writer.close()
    eventually(lambda: len(member.records) == 3, member)
    eventually(lambda: member.consumer.remaining([(labels, 0)]) == {(labels, 0): 0}, member)


def test_lag_and_end_follow_delivery(stream, transport, topic):
    transport.produce(numbered(topic, 10))
    member = Member(transport, stream, topic)
    while not member.records:
        member.poll(max_records=4)
    undelivered = 10 - len(member.records)
    assert member.consumer.lag()[topic, 0] >= undelivered
    assert not member.consumer.at_end()
    eventually(member.consumer.at_end, member)
    assert member.values() == texts(*range(10))
    eventually(lambda: member.consumer.lag() == {(topic, 0): 0}, member)
    transport.produce(numbered(topic, 1))
    assert not member.consumer.at_end()


def test_member_has_joined_even_after_an_empty_assignment(stream, transport, topic):
    one = Member(transport, stream, topic)
    assert not one.consumer.has_joined()
    eventually(one.consumer.has_joined, one)
    eventually(lambda: one.assigned == {0}, one)
    other = Member(stream.open(), stream, topic)
    assert not other.consumer.has_joined()
    eventually(other.consumer.has_joined, one, other)
    eventually(lambda: len(one.assigned) + len(other.assigned) == 1, one, other)
    eventually(lambda: one.consumer.at_end() and other.consumer.at_end(), one, other)


# Commits


def test_outputs_and_offsets_are_committed_together(stream, transport, topics):
    events, predictions = topics
    transport.produce(numbered(events, 3))
    member = assigned(transport, stream, events)
    assert member.consumer.take_over([0])[0] == {}
    eventually(lambda: len(member.records) == 3, member)
    after = member.records[-1].offset + 1
    writer = member.consumer.writer(0)
    headers = (("n", b"1"),)
    writer.commit([Output(predictions, b"a", b"1", headers, 0, 7)], {events: after - 1})
    writer.commit([Output(predictions, b"b", b"2")], {events: after})
    writer.close()
    written = list(stream.open().read(predictions, 0))
    assert [(r.key, r.value) for r in written] == [(b"a", b"1"), (b"b", b"2")]
    assert (written[0].headers, written[0].timestamp_ms) == (headers, 7)
    assert member.consumer.take_over([0])[0] == {events: after}


def test_groups_committed_offsets_are_read_without_joining_it(stream, transport):
    events, labels = stream.topic("events"), stream.topic("labels")
    transport.ensure_topics({events: 1, labels: 1})
    transport.produce(numbered(events, 3))
    other = stream.open()
    assert other.committed(stream.group(), [events, labels], 0) == {}
    member = assigned(transport, stream, events, labels)
    with closing(member.consumer.writer(0)) as writer:
        writer.commit([], {events: 2})
    assert other.committed(stream.group(), [events, labels], 0) == {events: 2}
    assert other.committed(stream.group() + "-other", [events, labels], 0) == {}
    member.poll()
    assert member.assigned == {0}


def test_thousands_of_outputs_are_committed_in_their_order(stream, transport, topics):
    events, predictions = topics
    member = assigned(transport, stream, events)
    outputs = OutputBatch([Output(predictions, b"%d" % n, b"x" * 500) for n in range(8000)])
    with closing(member.consumer.writer(0)) as writer:
        for number in (1, 2):
            writer.commit(outputs, {events: number})
    assert [int(record.key or b"") for record in transport.read(predictions, 0)] == [*range(8000)] * 2
    assert member.consumer.take_over([0])[0] == {events: 2}


def test_closing_a_writer_waits_for_its_running_commit(stream, transport, topics):
    events, predictions = topics
    member = assigned(transport, stream, events)
    writer = member.consumer.writer(0)
    writer.begin([Output(predictions, b"key", b"value")], {events: 1})
    writer.close()
    member.consumer.writer(0).close()
    assert values(transport, predictions) == [b"value"]


def test_offsets_are_dense_if_the_stream_promises_it(stream, transport, topics):
    events, predictions = topics
    member = assigned(transport, stream, events)
    writer = member.consumer.writer(0)
    with pytest.raises(MessageTooLarge):
        writer.commit([Output(predictions, b"1", b"1"), Output(predictions, b"2", TOO_LARGE)], {events: 5})
    writer = member.consumer.writer(0)
    assert member.consumer.take_over([0])[0] == {}
    for number in range(3):
        writer.commit([Output(predictions, b"key", b"value")] * 2, {events: number})
    offsets = [record.offset for record in transport.read(predictions, 0)]
    assert transport.offsets_are_dense == (offsets == list(range(*transport.bounds(predictions, 0))))
    assert len(offsets) == 6
    writer.close()


def test_record_at_the_limit_is_accepted_and_above_rejected(transport, topic):
    """A Kafka broker's limit is of the batch, whose framing is counted generously."""
    limit = transport.record_limit(topic).n_bytes
    headers = (("a", b"1"), ("b", b""))
    bare = Output(topic, b"key", b"", headers)
    transport.produce([bare._replace(value=noise(limit - record_bytes(bare)))])
    with pytest.raises(MessageTooLarge):
        transport.produce([bare._replace(value=noise(limit + 200))])
    assert len(values(transport, topic)) == 1


def test_compressing_writer_accepts_larger_records_where_the_stream_does(stream, transport):
    events, dead_letters = stream.topic("events"), stream.topic("dead-letters")
    transport.ensure_topics({events: 1, dead_letters: 1})
    limit = transport.record_limit(dead_letters)
    large = Output(dead_letters, b"key", b"spam" * min(2_000_000, (limit.uncompressed_bytes - 100) // 4))
    member = assigned(transport, stream, events)
    writer = member.consumer.writer(0)
    outputs = [Output(dead_letters, None, b"before"), large, Output(dead_letters, None, b"after")]
    writer.commit(outputs, {events: 1}, compress=True)
    writer.commit([Output(dead_letters, None, b"next")], {events: 2})
    assert values(transport, dead_letters) == [b"before", large.value, b"after", b"next"]
    assert member.consumer.take_over([0])[0] == {events: 2}
    writer.close()


def test_new_writer_fences_the_previous_writer(stream, transport, topics):
    events, predictions = topics
    member = assigned(transport, stream, events)
    old = member.consumer.writer(0)
    old.commit([Output(predictions, b"key", b"before")], {events: 1})
    new = member.consumer.writer(0)
    with pytest.raises(OwnershipLost):
        old.commit([Output(predictions, b"key", b"fenced")], {events: 9})
    assert values(transport, predictions) == [b"before"]
    assert member.consumer.take_over([0])[0] == {events: 1}
    new.commit([Output(predictions, b"key", b"after")], {events: 2})
    assert values(transport, predictions) == [b"before", b"after"]
    old.close()
    new.close()
    new.close()


def test_appender_writes_input_without_changing_offsets(stream, transport, topic):
    member = assigned(transport, stream, topic)
    appender = member.consumer.appender(0)
    for value in (b"one", b"two"):
        appender.commit([Output(topic, b"key", value, (("h", b"v"),), 0)], {})
    appender.close()
    eventually(lambda: member.values() == [b"one", b"two"], member)
    assert [(record.key, record.headers) for record in member.records] == [(b"key", (("h", b"v"),))] * 2
    assert member.consumer.take_over([0])[0] == {}


def test_appender_of_a_new_owner_fences_the_former_one(stream, transport, topic):
    former = assigned(transport, stream, topic)
    appender = former.consumer.appender(0)
    appender.commit([Output(topic, None, b"one", (), 0)], {})
    former.consumer.close()
    owner = assigned(stream.open(), stream, topic)
    successor = owner.consumer.appender(0)
    assert transport.bounds(topic, 0)[1] > 0
    with pytest.raises((OwnershipLost, TransactionFailed)):
        appender.commit([Output(topic, None, b"late", (), 0)], {})
    successor.commit([Output(topic, None, b"two", (), 0)], {})
    assert values(transport, topic) == [b"one", b"two"]
    successor.close()


def test_appender_works_on_its_own_thread(stream, transport, topic):
    member = assigned(transport, stream, topic)
    appender = member.consumer.appender(0)
    outputs = [Output(topic, None, b"%d" % number, (), 0) for number in range(20)]
    thread = threading.Thread(target=lambda: [appender.commit([output], {}) for output in outputs])
    thread.start()
    eventually(lambda: len(member.records) == len(outputs), member)
    thread.join()
    appender.close()
    assert member.values() == [output.value for output in outputs]


def test_unassigned_partition_has_no_appender(stream, transport, topic):
    member = assigned(transport, stream, topic)
    with pytest.raises(OwnershipLost):
        member.consumer.appender(1)


# Groups


def test_restarted_member_continues_at_its_groups_offsets(stream, transport, topic):
    transport.produce(numbered(topic, 10))
    first = assigned(transport, stream, topic)
    eventually(lambda: len(first.records) == 10, first)
    writer = first.consumer.writer(0)
    writer.commit([], {topic: first.records[6].offset})
    writer.close()
    first.consumer.close()
    second = assigned(stream.open(), stream, topic)
    eventually(lambda: len(second.records) >= 4, second)
    assert second.values() == texts(6, 7, 8, 9)


def test_members_share_partitions_and_each_record_arrives_once(stream, transport):
    topic = stream.topic("events")
    transport.ensure_topics({topic: 4})
    one = Member(transport, stream, topic)
    eventually(one.consumer.has_joined, one)
    two = Member(stream.open(), stream, topic)
    n_shared = 2 if stream.shares_partitions else 0
    eventually(lambda: two.consumer.has_joined() and len(two.assigned) == n_shared, one, two)
    eventually(lambda: len(one.assigned) == 4 - n_shared, one, two)
    assert one.assigned | two.assigned == {0, 1, 2, 3}
    transport.produce(numbered(topic, 100, partition=None))
    eventually(lambda: len(one.records) + len(two.records) >= 100, one, two)
    assert sorted(one.values() + two.values()) == sorted(texts(*range(100)))
    assert {record.partition for record in one.records} <= one.assigned


def test_leaving_members_partitions_move_to_other_members(stream, transport):
    topic = stream.topic("events")
    transport.ensure_topics({topic: 4})
    one = Member(transport, stream, topic)
    eventually(lambda: len(one.assigned) == 4, one)
    two = Member(stream.open(), stream, topic)
    n_shared = 2 if stream.shares_partitions else 0
    eventually(lambda: two.consumer.has_joined() and len(two.assigned) == n_shared, one, two)
    transport.produce(numbered(topic, 40, partition=None))
    eventually(lambda: len(one.records) + len(two.records) >= 40, one, two)
    one.commit_all()
    stayed = set(two.assigned)
    one.consumer.close()
    transport.produce(numbered(topic, 40, partition=None))
    eventually(lambda: len(one.records) + len(two.records) >= 80, two)
    assert two.assigned == {0, 1, 2, 3}
    assert not stayed & two.revoked, "partitions that do not move are not disturbed"
    assert sorted(one.values() + two.values()) == sorted(texts(*range(40)) * 2)


def test_only_partition_belongs_to_one_member(stream, transport):
    events, labels = stream.topic("events"), stream.topic("labels")
    predictions, one_partition = stream.topic("predictions"), stream.topic("one")
    transport.ensure_topics({events: 3, labels: 3, predictions: 1, one_partition: 1})
    one = Member(transport, stream, events, labels, owner_topic=one_partition)
    eventually(lambda: one.assigned == {0, 1, 2} and one.consumer.has_joined(), one)
    two = Member(stream.open(), stream, events, labels, owner_topic=one_partition)
    transport.produce([*numbered(events, 30, partition=None), *numbered(labels, 30, partition=None)])
    eventually(lambda: len(one.records) >= 60, one, two)
    assert sorted(one.values()) == sorted(texts(*range(30)) * 2)
    assert (one.assigned, two.assigned, one.revoked) == ({0, 1, 2}, set(), set())
    writers = {partition: one.consumer.writer(partition) for partition in range(3)}
    for partition, writer in writers.items():
        outputs = [] if partition else [Output(predictions, b"k", b"done")]
        writer.begin(outputs, one.consumer.positions(partition))
    one.consumer.send()
    for writer in writers.values():
        writer.finish()
    one.consumer.close()
    transport.produce([*numbered(events, 6, partition=None)])
    eventually(lambda: len(two.records) >= 6, two)
    assert two.assigned == {0, 1, 2}
    assert sorted(two.values()) == sorted(texts(*range(6))), "it starts where the other has committed"


def test_leaving_member_can_commit_one_last_time(stream, transport, topics):
    events, predictions = topics
    transport.produce([Output(events, b"k", b"1"), Output(events, b"k", b"2"), Output(events, b"k", b"3")])
    member = assigned(transport, stream, events)
    writer = member.consumer.writer(0)
    member.when_revoked = lambda partitions: writer.commit([Output(predictions, b"k", b"last")], {events: 3})
    member.consumer.close()
    member.consumer.close()
    assert member.revoked == {0}
    assert values(stream.open(), predictions) == [b"last"]
    assert assigned(stream.open(), stream, events).consumer.take_over([0])[0] == {events: 3}


def test_transport_can_be_closed_twice(stream, transport):
    transport.ensure_topics({stream.topic("events"): 1})
    transport.close()
    transport.close()
    assert stream.open().partition_count(stream.topic("events")) == 1


def test_topic_id_is_stable_and_unique(stream, transport):
    events, labels = stream.topic("events"), stream.topic("labels")
    transport.ensure_topics({events: 2, labels: 2})
    known = transport.topic_id(events)
    assert known
    assert stream.open().topic_id(events) == known != transport.topic_id(labels)
    with pytest.raises(TopicMissing):
        transport.topic_id(stream.topic("absent"))


@pytest.mark.parametrize("further", [False, True])
def test_position_without_records_is_an_error(stream, transport, further):
    events, labels = stream.topic("events"), stream.topic("labels")
    transport.ensure_topics({events: 2, labels: 2})
    topic = labels if further else events
    transport.produce([*numbered(topic, 5, 0), *numbered(topic, 5, 1)])
    member = assigned(transport, stream, events, labels, partitions=2)
    eventually(lambda: len(member.records) == 10, member)
    offsets = [record.offset for record in transport.read(topic, 0)]
    transport.delete_before(topic, 0, offsets[3])
    for wrong in (offsets[0], 1000):
        member.consumer.start(0, {topic: wrong})
        with pytest.raises(OffsetOutOfRange, match=rf"{topic}\[0\]@{wrong}") as caught:
            eventually(lambda: False, member)
        assert caught.value.partition == 0
    transport.produce([Output(topic, None, b"others continue", partition=1)])
    eventually(lambda: b"others continue" in member.values(), member)
    member.consumer.start(0, {topic: offsets[3]})
    member.records.clear()
    eventually(lambda: member.values() == texts(3, 4), member)
    member.consumer.close()
