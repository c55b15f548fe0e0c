"""The whole service on a real Apache Kafka broker, and what a foreign client sees of it."""

import json
import shutil
import signal
import subprocess
import time

import pytest
from kafka import KafkaConsumer, TopicPartition

from tests.integration.claims import ClientClaims, ids, numbered
from tests.support.kafka_site import KAFKA_CLIENTS
from tests.support.reference_streams import phishing_events, run_bare, without_time
from tests.support.speed import patience

pytestmark = pytest.mark.kafka

FREEZES = 30


class TestServiceOnKafka(ClientClaims):
    """Everything `serve` promises, on Kafka."""


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


def test_readers_of_committed_records_see_no_open_transaction(stream, serve, kafka_bootstrap):
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
    outputs = stream.outputs()
    assert [output["id"] for output in outputs] == ids(events)[: len(committed)]
    process.signal(signal.SIGCONT)
    process.eventually(lambda: process.metric("perceptron_predictions_total") == len(events))
    assert [output["id"] for output in stream.outputs()] == ids(events)


@pytest.mark.parametrize("kafka_client", KAFKA_CLIENTS)
@pytest.mark.parametrize("topic", ["predictions", "checkpoints"])
def test_topic_deleted_while_running_ends_it_with_its_name(stream, serve, admin, topic):
    stream.create()
    process = serve().ready()
    admin.delete_topics([stream.topics[topic]])
    assert process.wait(patience(30)) == 1
    assert (
        f"'{stream.topics[topic]}' does not exist: the topic was deleted while the service ran"
        in process.errors[-1]
    )


@pytest.fixture
def kcat(kafka_bootstrap):
    """Run kcat, a client that shares no code with ours, and give what it prints."""
    program = shutil.which("kcat") or shutil.which("kafkacat")
    if program is None:
        pytest.skip("no kcat (formerly kafkacat) on the PATH")

    def run(*arguments, stdin=None):
        command = [program, "-q", "-b", kafka_bootstrap, *map(str, arguments)]
        return subprocess.run(
            command, input=stdin, capture_output=True, check=True, timeout=patience(60)
        ).stdout

    return run


READ = ("-C", "-e", "-o", "beginning", "-X", "isolation.level=read_committed")


def test_foreign_client_produces_events_and_reads_predictions(stream, serve, kcat):
    events = phishing_events()
    stream.create()
    lines = b"".join(json.loads(event)["id"].encode() + b"\t" + event + b"\n" for event in events)
    kcat("-P", "-t", stream.topics["events"], "-K", "\t", stdin=lines)
    assert serve("--exit-at-end").wait() == 0
    read = kcat(*READ, "-t", stream.topics["predictions"], "-f", "%k\t%s\n").splitlines()
    found = [line.split(b"\t") for line in read]
    assert [without_time(json.loads(value)) for _, value in found] == run_bare(events).predictions
    assert all(key.decode() == json.loads(value)["id"] for key, value in found)
