"""What the service writes fits the topics it is written to, whatever the topics and the input are like."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from hashlib import sha256

import pytest
from kafka import KafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient

from service.dead_letters.replay import Redelivery
from service.settings.load import Settings
from tests.integration.conftest import Stream
from tests.support.kafka_place import KAFKA_CLIENTS

pytestmark = [pytest.mark.kafka, pytest.mark.parametrize("kafka_client", KAFKA_CLIENTS)]

NO_LIMIT = {"max_rejected_ratio": 1}
YEAR_80000_MS = 2_462_000_000_000_000
GOOD = b'{"id":"good","text":"x"}'


@pytest.fixture
def url(kafka_bootstrap: str) -> str:
    return f"kafka://{kafka_bootstrap}"


@pytest.fixture
def admin(kafka_bootstrap: str) -> Iterator[KafkaAdminClient]:
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=kafka_bootstrap)) as client:
        yield client


@pytest.fixture
def make_topic(stream: Stream, admin: KafkaAdminClient) -> Callable[..., None]:
    """Make one of the stream's topics with settings of its own."""

    def make(name: str, **configs: object) -> None:
        given = {key.replace("_", "."): str(value) for key, value in configs.items()}
        topic = stream.topics[name]
        admin.create_topics({topic: {"num_partitions": 1, "replication_factor": -1, "configs": given}})
        admin.wait_for_topics([topic], timeout_ms=10_000)

    return make


def set_limit(admin: KafkaAdminClient, topic: str, n_bytes: int) -> None:
    configs = {"max.message.bytes": str(n_bytes)}
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs=configs)])


def send(bootstrap: str, topic: str, *values: bytes, **options: object) -> None:
    """Send as a foreign producer does."""
    producer = KafkaProducer(bootstrap_servers=bootstrap, max_request_size=100_000_000, **options)
    with contextlib.closing(producer):
        for future in [producer.send(topic, value, key=b"k", partition=0) for value in values]:
            future.get(timeout=30)


def test_the_letter_of_a_compressed_record_of_five_megabytes_is_whole(stream, serve, kafka_bootstrap):
    large = b'{"id":"large","text":"' + b"spam " * 1_000_000 + b'"}'
    stream.create()
    for value in (b"junk", large, GOOD):
        send(kafka_bootstrap, stream.topics["events"], value, compression_type="gzip")
    assert serve("--exit-at-end", max_batch_records=1, **NO_LIMIT).wait() == 0
    assert [letter.value for letter in stream.records("dead-letters")] == [b"junk", large]
    assert [answer["id"] for answer in stream.answers()] == ["good"]


def test_the_letters_of_records_as_large_as_the_broker_takes_fit(stream, serve):
    sizes = range(1_048_400, 1_048_481, 10)
    stream.create()
    junk = [os.urandom(size) for size in sizes]
    for value in junk:
        stream.produce([value])
    stream.produce([GOOD])
    assert serve("--exit-at-end", **NO_LIMIT).wait() == 0
    letters = stream.records("dead-letters")
    assert len(letters) == len(junk)
    for letter, whole in zip(letters, junk, strict=True):
        told = dict(letter.headers)
        assert whole.startswith(letter.value)
        assert len(whole) - 1000 < len(letter.value) < len(whole)
        assert (told["error.truncated"], int(told["source.size"])) == (b"true", len(whole))
        assert told["source.sha256"].decode() == sha256(whole).hexdigest()
    assert [answer["id"] for answer in stream.answers()] == ["good"]


def test_letters_fit_a_topic_that_takes_less_than_the_events(stream, serve, make_topic):
    make_topic("dead-letters", max_message_bytes=20_000)
    noise = os.urandom(100_000)
    stream.create()
    stream.produce([noise, b"x" * 100_000, *[os.urandom(15_000) for _ in range(20)], GOOD])
    assert serve("--exit-at-end", **NO_LIMIT).wait() == 0
    cut, whole, *others = stream.records("dead-letters")
    assert noise.startswith(cut.value)
    assert 19_000 < len(cut.value) < 20_000
    assert whole.value == b"x" * 100_000, "compressed, it fits"
    assert {len(letter.value) for letter in others} == {15_000}


def test_a_limit_lowered_under_a_running_service_cuts_its_letters(stream, serve, admin):
    stream.create()
    process = serve(**NO_LIMIT).ready()
    stream.produce([os.urandom(50_000)])
    process.eventually(lambda: len(stream.records("dead-letters")) == 1)
    set_limit(admin, stream.topics["dead-letters"], 30_000)
    noise = os.urandom(50_000)
    stream.produce([noise, GOOD])
    process.eventually(lambda: len(stream.answers()) == 1)
    _, cut = stream.records("dead-letters")
    assert noise.startswith(cut.value)
    assert 29_000 < len(cut.value) < 30_000
    assert process.stop() == 0


def test_answers_about_the_longest_ids_fit_a_small_topic(stream, serve, make_topic):
    """Ids of 256 characters in any script: their keys have 1 KiB, their JSON up to 1.5 KiB."""
    make_topic("predictions", max_message_bytes=20_000)
    ids = [f"{n:03}" + letter * 253 for n in range(100) for letter in ("a", "ж", "漢", "𐍈", "\x01", "\x7f")]
    stream.create()
    stream.produce([json.dumps({"id": each, "text": "x"}).encode() for each in ids])
    stream.produce([json.dumps({"id": each, "label": True}).encode() for each in ids])
    assert serve("--exit-at-end").wait() == 0
    answers = stream.answers()
    assert [answer["id"] for answer in answers if "score" in answer] == ids
    assert [answer["id"] for answer in answers if "predicted" in answer] == ids


def test_event_times_that_no_output_topic_takes_are_dead_letters_and_stop_nothing(stream, serve, make_topic):
    """The output topics take what is one hour ahead at most; this events topic takes any time."""
    make_topic("events", message_timestamp_after_max_ms=2**63 - 1)
    make_topic("predictions", message_timestamp_after_max_ms=3_600_000)
    make_topic("dead-letters", message_timestamp_after_max_ms=3_600_000)
    stream.transport.ensure_topics({stream.topics["labels"]: 1})
    now = time.time_ns() // 1_000_000
    times = [now, now + 3 * 3_600_000, YEAR_80000_MS, now]
    stream.produce([b'{"id":"%d","text":"x"}' % n for n in range(4)], times_ms=times)
    assert serve("--exit-at-end", **NO_LIMIT).wait() == 0
    assert [answer["id"] for answer in stream.answers()] == ["0", "3"]
    letters = stream.records("dead-letters")
    told = [dict(letter.headers) for letter in letters]
    assert [each["error.reason"] for each in told] == [b"event_time_out_of_range"] * 2
    assert [int(each["source.timestamp"]) for each in told] == times[1:3]
    assert all(now <= letter.timestamp_ms < now + 120_000 for letter in letters)


def test_predictions_of_an_old_backlog_live_from_the_time_they_are_written(stream, serve, make_topic):
    """A retention of seven days would delete those of events ten days old that had their time."""
    make_topic("predictions", retention_ms=7 * 86_400_000)
    stream.create()
    now = time.time_ns() // 1_000_000
    old = now - 10 * 86_400_000
    stream.produce([GOOD, b'{"id":"good","label":true}', b"junk"], times_ms=[old, old + 1, old + 2])
    assert serve("--exit-at-end", **NO_LIMIT).wait() == 0
    written = stream.records("predictions")
    assert [json.loads(record.value)["event_time_ms"] for record in written] == [old, old]
    assert all(now <= record.timestamp_ms < now + 120_000 for record in written)
    (letter,) = stream.records("dead-letters")
    assert int(dict(letter.headers)["source.timestamp"]) == old + 2
    settings = Settings(**stream.settings)
    assert [each.event_time_ms for each in Redelivery(stream.transport, settings).outstanding()] == [old + 2]


def test_a_letter_that_was_compressed_goes_back_whole(stream, serve, kafka_bootstrap):
    large = b'{"id":"large","text":"' + b"spam " * 500_000 + b'"}'
    stream.create()
    send(kafka_bootstrap, stream.topics["events"], large, compression_type="gzip")
    assert serve("--exit-at-end", **NO_LIMIT).wait() == 0
    settings = Settings(**stream.settings, max_message_bytes=5_000_000)
    (decision,) = Redelivery(stream.transport, settings).replay()
    assert decision.action == "replayed"
    assert [record.value for record in stream.records("events")] == [large, large]
