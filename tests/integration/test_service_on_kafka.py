"""The whole service on a real Apache Kafka broker, and what a foreign client sees of it."""

import json
import shutil
import signal
import subprocess
import time

import pytest
from kafka import KafkaConsumer, TopicPartition
from kafka.admin import KafkaAdminClient

from tests.integration.claims import ClientClaims, GroupClaims, ServiceClaims, ids, numbered
from tests.integration.format_claims import FormatClaims
from tests.support.kafka_place import KAFKA_CLIENTS, OTHER_CLIENTS
from tests.support.reference_streams import phishing_events, run_bare, without_time

pytestmark = pytest.mark.kafka

FREEZES = 30


@pytest.fixture
def url(kafka_bootstrap):
    return f"kafka://{kafka_bootstrap}"


class TestServiceOnKafka(GroupClaims, ServiceClaims):
    """Everything `serve` promises, on Kafka."""


class TestFormatsOnKafka(FormatClaims):
    """Records with schemas, on Kafka."""


@pytest.mark.parametrize("kafka_client", OTHER_CLIENTS)
class TestServiceThroughOtherClients(GroupClaims, ClientClaims):
    """What the client has a part in, with the other one."""


@pytest.mark.parametrize("kafka_client", OTHER_CLIENTS)
class TestServiceAgainThroughOtherClients(GroupClaims, ServiceClaims):
    """Everything, with the other one."""


def offsets_seen(bootstrap, topic, isolation_level):
    """Return the offsets of the records that a reader of this kind gets."""
    reader = KafkaConsumer(
        bootstrap_servers=[bootstrap], isolation_level=isolation_level, enable_auto_commit=False
    )
    try:
        place = TopicPartition(topic, 0)
        reader.assign([place])
        reader.seek_to_beginning(place)
        end = reader.end_offsets([place])[place]
        seen = []
        while reader.position(place) < end:
            seen += [record.offset for record in reader.poll(timeout_ms=200).get(place, ())]
        return seen
    finally:
        reader.close(autocommit=False)


def test_records_of_an_open_transaction_are_visible_to_no_reader_of_committed_ones(
    stream, serve, kafka_bootstrap
):
    events = numbered(2)
    stream.create()
    stream.produce(events)
    topic = stream.topics["predictions"]
    process = serve(max_batch_records=20).ready()
    process.eventually(lambda: process.metric("perceptron_predictions_total") > 0)
    for _ in range(FREEZES):
        process.signal(signal.SIGSTOP)
        written = offsets_seen(kafka_bootstrap, topic, "read_uncommitted")
        committed = offsets_seen(kafka_bootstrap, topic, "read_committed")
        assert committed == written[: len(committed)]
        if len(committed) < len(written):
            break
        process.signal(signal.SIGCONT)
        time.sleep(0.01)
    else:
        pytest.fail(f"frozen {FREEZES} times, but never in a transaction that had written something")
    answers = stream.answers()
    assert [answer["id"] for answer in answers] == ids(events)[: len(committed)]
    process.signal(signal.SIGCONT)
    process.eventually(lambda: process.metric("perceptron_predictions_total") == len(events))
    assert [answer["id"] for answer in stream.answers()] == ids(events)


@pytest.mark.parametrize("kafka_client", KAFKA_CLIENTS)
@pytest.mark.parametrize("topic", ["predictions", "checkpoints"])
def test_a_topic_deleted_while_it_runs_ends_it_with_the_topics_name(stream, serve, kafka_bootstrap, topic):
    stream.create()
    process = serve().ready()
    admin = KafkaAdminClient(bootstrap_servers=[kafka_bootstrap])
    admin.delete_topics([stream.topics[topic]])
    admin.close()
    assert process.wait(30) == 1
    assert f"'{stream.topics[topic]}': it was deleted while the service ran" in process.errors[-1]


@pytest.fixture
def kcat(kafka_bootstrap):
    """Run kcat, a client that shares no code with ours, and give what it prints."""
    program = shutil.which("kcat") or shutil.which("kafkacat")
    if program is None:
        pytest.skip("no kcat (formerly kafkacat) on the PATH")

    def run(*arguments, stdin=None):
        command = [program, "-q", "-b", kafka_bootstrap, *map(str, arguments)]
        return subprocess.run(command, input=stdin, capture_output=True, check=True, timeout=60).stdout

    return run


READ = ("-C", "-e", "-o", "beginning", "-X", "isolation.level=read_committed")


def test_a_foreign_client_produces_events_and_reads_predictions(stream, serve, kcat):
    events = phishing_events()
    stream.create()
    lines = b"".join(json.loads(event)["id"].encode() + b"\t" + event + b"\n" for event in events)
    kcat("-P", "-t", stream.topics["events"], "-K", "\t", stdin=lines)
    assert serve("--exit-at-end").wait() == 0
    read = kcat(*READ, "-t", stream.topics["predictions"], "-f", "%k\t%s\n").splitlines()
    found = [line.split(b"\t") for line in read]
    assert [without_time(json.loads(value)) for _, value in found] == run_bare(events).predictions
    assert all(key.decode() == json.loads(value)["id"] for key, value in found)


def test_a_foreign_client_reads_dead_letters_with_their_headers(stream, serve, kcat, tmp_path):
    poison = {"binary": b"\x00\xff\n\x01" * 10, "nan": b'{"id":"a","features":{"f":NaN}}', "junk": b"a\nb"}
    paths = []
    for name, value in poison.items():
        paths.append(tmp_path / name)
        paths[-1].write_bytes(value)
    stream.create()
    kcat("-P", "-t", stream.topics["events"], "-k", "their key", "-H", "origin=kcat", *paths)
    assert serve("--exit-at-end", max_rejected_ratio=1).wait() == 0
    topic = stream.topics["dead-letters"]
    keys_and_headers = kcat(*READ, "-t", topic, "-f", "%k|%h\n").decode().splitlines()
    for offset, (line, reason) in enumerate(
        zip(keys_and_headers, ["invalid_utf8", "not_finite", "invalid_json"], strict=True)
    ):
        key, headers = line.split("|", 1)
        assert key == "their key"
        assert headers.startswith(f"origin=kcat,error.reason={reason},error.message=")
        origin = f"source.topic={stream.topics['events']},source.partition=0,source.offset={offset}"
        assert f",{origin},source.timestamp=" in headers
    assert kcat(*READ, "-t", topic, "-f", "%s") == b"".join(poison.values())


def test_a_record_with_neither_key_nor_value_is_a_dead_letter_like_any_other(stream, serve, kcat):
    # kafka-python's producer refuses to send one; kcat, as other clients, does not.
    stream.create()
    kcat("-P", "-t", stream.topics["events"], "-Z", "-K", "\t", stdin=b"\t\n")
    (sent,) = stream.records("events")
    assert (sent.key, sent.value) == (None, None)
    stream.produce(phishing_events()[:1])
    assert serve("--exit-at-end", max_rejected_ratio=1).wait() == 0
    (letter,) = stream.records("dead-letters")
    assert (letter.key, letter.value) == (None, None)
    assert dict(letter.headers)["error.reason"] == b"empty"
    assert len(stream.answers()) == 1
