"""What a consumer fetches, with librdkafka's own mock of a cluster."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator, Sequence
from contextlib import closing

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition, cimpl

from service.batches import RecordBatch
from service.records import Place, Record
from service.transport.kafka.confluent.messages import PARTITION_EOF, as_record

pytest.importorskip("service.transport.kafka.confluent.accelerated.librdkafka", reason="it is compiled")

from service.transport.kafka.confluent.accelerated.librdkafka import FetchQueue

from service.transport.kafka.confluent.accelerated.handles import entry_points

ErrorFields = tuple[int, str, str | None, int, int]

EVENTS = ("events", 0)
LABELS = ("labels", 0)
WITHIN_SECONDS = 20.0


@pytest.fixture(scope="module")
def producer() -> Producer:
    """A producer, which is a cluster as well."""
    producer = Producer({"bootstrap.servers": "mock", "test.mock.num.brokers": 1})
    for number in range(10):
        producer.produce("events", b"%d" % number, b"key", partition=0, timestamp=1000 + number)
    producer.produce("labels", None, None, partition=0, timestamp=5)
    producer.produce("labels", b"", b"", partition=0, timestamp=6, headers=[("a", b"1"), ("b", None)])
    assert producer.flush(WITHIN_SECONDS) == 0
    return producer


@pytest.fixture
def client(producer: Producer) -> Iterator[Consumer]:
    brokers = producer.list_topics(timeout=WITHIN_SECONDS).brokers.values()
    options = {
        "bootstrap.servers": ",".join(f"{each.host}:{each.port}" for each in brokers),
        "group.id": "readers",
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
        "fetch.wait.max.ms": 50,
    }
    client = Consumer(options)
    yield client
    client.close()


@pytest.fixture
def queue(client: Consumer) -> Iterator[FetchQueue]:
    with closing(FetchQueue(client, entry_points(client))) as queue:
        yield queue


def assign(client: Consumer, place: Place, offset: int) -> None:
    client.incremental_assign([TopicPartition(*place, offset)])


def take_all(
    queue: FetchQueue, places: Sequence[Place], n_told: int = 1, most: int = 100
) -> tuple[dict[Place, RecordBatch], list[ErrorFields]]:
    """Take until so many errors were told, of which the end of a partition is one."""
    taken: dict[Place, RecordBatch] = {}
    told: list[ErrorFields] = []
    deadline = time.monotonic() + WITHIN_SECONDS
    while len(told) < n_told:
        assert time.monotonic() < deadline
        queue.forward(list(places))
        assert queue.poll(most, 0.1, taken, {0}, told) <= most
    return taken, told


def test_records_are_those_that_the_client_makes_of_its_messages(
    producer: Producer, client: Consumer, queue: FetchQueue
) -> None:
    queue.forward([EVENTS, LABELS])
    assign(client, EVENTS, 0)
    assign(client, LABELS, 0)
    taken, told = take_all(queue, [EVENTS, LABELS], n_told=2)
    assert [(record.value, record.timestamp_ms) for record in taken[EVENTS]] == [
        (b"%d" % number, 1000 + number) for number in range(10)
    ]
    assert list(taken[LABELS]) == [
        Record("labels", 0, 0, 5, None, None, ()),
        Record("labels", 0, 1, 6, b"", b"", (("a", b"1"), ("b", b""))),
    ]
    assert sorted((*place, offset, code) for code, _, *place, offset in told) == [
        (*EVENTS, 10, PARTITION_EOF),
        (*LABELS, 2, PARTITION_EOF),
    ]
    queue.close()
    client.incremental_unassign([TopicPartition(*EVENTS), TopicPartition(*LABELS)])
    again = Consumer({"bootstrap.servers": brokers_of(producer), "group.id": "others"})
    with closing(again):
        again.assign([TopicPartition(*EVENTS, 0), TopicPartition(*LABELS, 0)])
        messages = again.consume(12, WITHIN_SECONDS)
    for place in (EVENTS, LABELS):
        assert list(taken[place]) == [as_record(each) for each in messages if each.topic() == place[0]]


def test_records_come_with_their_headers_if_they_have_any(
    producer: Producer, client: Consumer, queue: FetchQueue
) -> None:
    lengths = (1, 63, 64, 300, 8191, 8192, 40_000)
    headers = [None, [("a", b"1")], [("a", None)] * 200]
    expected = [(bytes(n), each) for each in headers for n in lengths]
    for value, each in expected:
        producer.produce("headed", value, partition=0, headers=each)
    producer.produce("headed", b"", b"k", partition=0)
    assert producer.flush(WITHIN_SECONDS) == 0
    queue.forward([("headed", 0)])
    assign(client, ("headed", 0), 0)
    taken, _ = take_all(queue, [("headed", 0)])
    assert [(record.value, record.headers) for record in taken["headed", 0]] == [
        *[(value, tuple((name, content or b"") for name, content in each or ())) for value, each in expected],
        (b"", ()),
    ]


def brokers_of(producer: Producer) -> str:
    brokers = producer.list_topics(timeout=WITHIN_SECONDS).brokers.values()
    return ",".join(f"{each.host}:{each.port}" for each in brokers)


def test_a_record_with_a_header_whose_name_is_not_utf_8_comes_without_its_headers(
    producer: Producer, client: Consumer, queue: FetchQueue, caplog: pytest.LogCaptureFixture
) -> None:
    produce_with_header(producer, "foreign", b"\xff")
    queue.forward([("foreign", 0)])
    assign(client, ("foreign", 0), 0)
    taken, _ = take_all(queue, [("foreign", 0)])
    (record,) = taken["foreign", 0]
    assert (record.value, record.headers) == (b"value", ())
    assert "foreign[0]@0: read without its headers" in caplog.text


def test_later_ones_do_so_too_when_messages_are_read_one_by_one(
    producer: Producer, caplog: pytest.LogCaptureFixture
) -> None:
    bad = {3, 250, 251}
    for number in range(300):
        if number in bad:
            produce_with_header(producer, "many", b"\xff")
        else:
            producer.produce("many", b"value", partition=0, headers=[("a", b"1")])
    assert producer.flush(WITHIN_SECONDS) == 0
    with closing(Consumer({"bootstrap.servers": brokers_of(producer), "group.id": "others"})) as client:
        client.assign([TopicPartition("many", 0, 0)])
        records = [as_record(message) for message in client.consume(300, WITHIN_SECONDS)]
    assert [record.offset for record in records if not record.headers] == sorted(bad)
    assert len(records) == 300
    assert caplog.text.count("read without its headers") == len(bad)


def produce_with_header(producer: Producer, topic: str, name: bytes) -> None:
    """Produce a record with a header whose name confluent-kafka would refuse."""
    library = ctypes.CDLL(cimpl.__file__)
    found = entry_points(producer)
    assert found is not None
    library.rd_kafka_headers_new.restype = ctypes.c_void_p
    headers = ctypes.c_void_p(library.rd_kafka_headers_new(ctypes.c_size_t(1)))
    size = ctypes.c_ssize_t(len(name))
    library.rd_kafka_header_add(headers, name, size, b"x", ctypes.c_ssize_t(1))
    vtype_end, vtype_topic, vtype_partition, vtype_value, vtype_headers = map(ctypes.c_int, (0, 1, 3, 4, 10))
    error = library.rd_kafka_producev(
        ctypes.c_void_p(found[0]),
        vtype_topic,
        topic.encode(),
        vtype_partition,
        ctypes.c_int(0),
        vtype_value,
        b"value",
        ctypes.c_size_t(5),
        vtype_headers,
        headers,
        vtype_end,
    )
    assert error == 0
    assert producer.flush(WITHIN_SECONDS) == 0


def test_no_more_messages_are_taken_than_were_asked_for(client: Consumer, queue: FetchQueue) -> None:
    queue.forward([EVENTS])
    assign(client, EVENTS, 0)
    taken, _ = take_all(queue, [EVENTS], most=3)
    assert [record.offset for record in taken[EVENTS]] == [*range(10)]


@pytest.mark.parametrize("offset", [0, 5, 9])
def test_after_a_rewind_nothing_comes_that_was_fetched_before(
    client: Consumer, queue: FetchQueue, offset: int
) -> None:
    queue.forward([EVENTS])
    assign(client, EVENTS, 2)
    taken: dict[Place, RecordBatch] = {}
    while not taken:
        queue.poll(1, 0.1, taken, {0}, [])
    client.incremental_unassign([TopicPartition(*EVENTS)])
    assign(client, EVENTS, offset)
    taken, _ = take_all(queue, [EVENTS])
    assert [record.offset for record in taken[EVENTS]] == [*range(offset, 10)]


def test_records_of_a_partition_that_was_not_begun_are_thrown_away(
    client: Consumer, queue: FetchQueue
) -> None:
    queue.forward([EVENTS])
    assign(client, EVENTS, 0)
    taken: dict[Place, RecordBatch] = {}
    told: list[ErrorFields] = []
    while not told:
        queue.poll(100, 0.1, taken, {1, 2}, told)
    assert not taken


def test_a_position_without_a_record_is_told(client: Consumer, queue: FetchQueue) -> None:
    queue.forward([EVENTS])
    assign(client, EVENTS, 1000)
    _, told = take_all(queue, [EVENTS])
    code, said, topic, partition, offset = told[0]
    assert (code, topic, partition, offset) == (KafkaError._AUTO_OFFSET_RESET, "events", 0, 1000)
    assert "out of range" in said


def test_a_wait_ends_when_the_client_has_something_to_serve(client: Consumer, queue: FetchQueue) -> None:
    began = time.monotonic()
    assign(client, EVENTS, 0)  # not forwarded: its messages are the client's to serve
    while not (messages := client.consume(100, 0)):
        assert queue.poll(100, WITHIN_SECONDS, {}, {0}, []) == 0
    assert messages[0].topic() == "events"
    assert time.monotonic() - began < WITHIN_SECONDS / 2


def test_a_client_that_is_closed_with_records_waiting_ends_at_once(
    client: Consumer, queue: FetchQueue
) -> None:
    queue.forward([EVENTS])
    assign(client, EVENTS, 0)
    taken: dict[Place, RecordBatch] = {}
    while not taken:
        queue.poll(1, 0.1, taken, {0}, [])
    queue.close()
    began = time.monotonic()
    client.close()
    assert time.monotonic() - began < WITHIN_SECONDS / 2
