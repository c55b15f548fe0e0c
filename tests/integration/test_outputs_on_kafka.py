"""What the service writes fits the topics it is written to, whatever the topics and the input are like."""

from __future__ import annotations

import contextlib
import os
import time
from hashlib import sha256

import pytest
from kafka import KafkaProducer

from tests.support.kafka_site import KAFKA_CLIENTS, set_limit

pytestmark = [pytest.mark.kafka, pytest.mark.parametrize("kafka_client", KAFKA_CLIENTS)]

YEAR_80000_MS = 2_462_000_000_000_000
GOOD = b'{"id":"good","text":"x"}'


@pytest.fixture
def make_topic(stream, admin):
    """Make one of the stream's topics with settings of its own."""

    def make(name, **configs):
        given = {key.replace("_", "."): str(value) for key, value in configs.items()}
        topic = stream.topics[name]
        admin.create_topics({topic: {"num_partitions": 1, "replication_factor": -1, "configs": given}})
        admin.wait_for_topics([topic], timeout_ms=10_000)

    return make


def send(bootstrap, topic, *values, **options):
    """Send as a foreign producer does."""
    producer = KafkaProducer(bootstrap_servers=bootstrap, max_request_size=100_000_000, **options)
    with contextlib.closing(producer):
        for future in [producer.send(topic, value, key=b"k", partition=0) for value in values]:
            future.get(timeout=30)


def test_dead_letters_of_the_largest_records_fit(stream, serve):
    sizes = range(1_048_400, 1_048_481, 10)
    stream.create()
    junk = [os.urandom(size) for size in sizes]
    for value in junk:
        stream.produce([value])
    stream.produce([GOOD])
    assert serve("--exit-at-end").wait() == 0
    dead_letters = stream.records("dead-letters")
    assert len(dead_letters) == len(junk)
    for letter, whole in zip(dead_letters, junk, strict=True):
        told = dict(letter.headers)
        assert whole.startswith(letter.value)
        assert len(whole) - 1000 < len(letter.value) < len(whole)
        assert (told["error.truncated"], int(told["source.size"])) == (b"true", len(whole))
        assert told["source.sha256"].decode() == sha256(whole).hexdigest()
    assert [output["id"] for output in stream.outputs()] == ["good"]


def test_lowered_record_limit_cuts_dead_letters_of_a_running_service(stream, serve, admin):
    stream.create()
    process = serve().ready()
    stream.produce([os.urandom(50_000)])
    process.eventually(lambda: len(stream.records("dead-letters")) == 1)
    set_limit(admin, stream.topics["dead-letters"], 30_000)
    noise = os.urandom(50_000)
    stream.produce([noise, GOOD])
    process.eventually(lambda: len(stream.outputs()) == 1)
    _, cut = stream.records("dead-letters")
    assert noise.startswith(cut.value)
    assert 29_000 < len(cut.value) < 30_000
    assert process.stop() == 0


def test_event_time_rejected_by_output_topics_makes_a_dead_letter(stream, serve, make_topic):
    """The output topics take what is one hour ahead at most; this events topic takes any time."""
    make_topic("events", message_timestamp_after_max_ms=2**63 - 1)
    make_topic("predictions", message_timestamp_after_max_ms=3_600_000)
    make_topic("dead-letters", message_timestamp_after_max_ms=3_600_000)
    stream.transport.ensure_topics({stream.topics["labels"]: 1})
    now = time.time_ns() // 1_000_000
    times = [now, now + 3 * 3_600_000, YEAR_80000_MS, now]
    stream.produce([b'{"id":"%d","text":"x"}' % n for n in range(4)], times_ms=times)
    assert serve("--exit-at-end").wait() == 0
    assert [output["id"] for output in stream.outputs()] == ["0", "3"]
    dead_letters = stream.records("dead-letters")
    told = [dict(letter.headers) for letter in dead_letters]
    assert [each["error.reason"] for each in told] == [b"event_time_out_of_range"] * 2
    assert [int(each["source.timestamp"]) for each in told] == times[1:3]
    assert all(now <= letter.timestamp_ms < now + 120_000 for letter in dead_letters)


def test_compacted_output_topic_ends_the_service_with_advice(stream, serve, make_topic):
    stream.create()
    make_topic("dead-letters", cleanup_policy="compact")
    stream.produce([b"junk without a key"])
    process = serve("--exit-at-end")
    assert process.wait() == 1
    assert "set `cleanup.policy=delete`" in process.stderr


@pytest.fixture
def foreign(stream, serve, kafka_bootstrap):
    """Begin a transaction that writes to the checkpoints topic of a service that has stopped."""
    stream.create()
    stream.produce([GOOD])
    assert serve("--exit-at-end").wait() == 0
    producer = KafkaProducer(bootstrap_servers=kafka_bootstrap, transactional_id=f"{time.time_ns()}")
    with contextlib.closing(producer):
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(stream.topics["checkpoints"], b"junk", key=b"k", partition=0)
        producer.flush()
        yield producer


def test_foreign_record_in_checkpoints_ends_a_restart_with_its_name(serve, foreign):
    foreign.commit_transaction()
    process = serve()
    assert process.wait() == 1
    assert "another program has written to the topic" in process.errors[0]


def test_foreign_open_transaction_in_checkpoints_delays_a_restart(serve, foreign):
    process = serve()
    process.eventually(lambda: "a transaction of its former owner is still open" in process.stderr)
    foreign.abort_transaction()
    assert process.ready().stop() == 0
