"""Lines that are posted, relay, increments and growth, on SQLite and on Kafka."""

import json
from collections import Counter

import httpx

from service.loop.restore import restore
from service.partition.factory import make_processor
from service.settings.load import Settings
from service.stream.partitioner import partition_for_key
from service.stream.protocol import Output
from tests.integration.claims import ids, numbered
from tests.integration.conftest import ON_SQLITE_AND_KAFKA
from tests.support.perceptron_process import NO_CERTIFICATES
from tests.support.webhook_server import WebhookServer

pytestmark = ON_SQLITE_AND_KAFKA


def settings_of(stream, **given):
    return Settings(**{**stream.settings, "http": "", **given})


def model_bytes(stream, partition, **given):
    """Return the committed model of a partition, and that of an undisturbed run over the same records."""
    settings = settings_of(stream, **given)
    bare = make_processor(settings)
    records = stream.transport.read(stream.topics["events"], partition)
    bare.process_batch([*records], None)
    return restore(stream.transport, settings, partition).processor.learner.dump(), bare.learner.dump()


def keyed(stream, events):
    return [
        Output(stream.topics["events"], name.encode(), event)
        for name, event in zip(ids(events), events, strict=True)
    ]


def test_lines_posted_to_two_processes_are_appended_once(stream, serve, kafka_client):
    stream.create(2)
    processes = [serve().ready() for _ in range(1 if kafka_client == "sqlite" else 2)]
    processes[0].eventually(lambda: sum(len(each.partitions()) for each in processes) == 2)
    events = numbered(1)[:300]
    owners = [
        next(each for each in processes if str(partition) in each.partitions()) for partition in range(2)
    ]
    for owner in dict.fromkeys(owners):
        mine = [e for e in events if owners[partition_for_key(json.loads(e)["id"].encode(), 2)] is owner]
        for _ in range(2):  # the id is the key: repeated lines are there already
            body, headers = b"\n".join(mine), {"content-type": "application/x-ndjson"}
            response = httpx.post(
                f"{owner.address}/events", content=body, headers=headers, verify=NO_CERTIFICATES, timeout=60
            )
            assert response.status_code in {200, 202}, response.text
    processes[0].eventually(lambda: len(stream.outputs()) >= len(events))
    assert Counter(output["id"] for output in stream.outputs()) == Counter(ids(events))
    assert [each.stop() for each in processes] == [0] * len(processes)


def test_killed_relay_resumes(stream, start, serve):
    events = numbered(1)
    stream.create(2)
    assert serve("--exit-at-end").wait() == 0  # which creates the topic of predictions
    with WebhookServer() as receiver:
        hooks = json.dumps([{"url": receiver.url, "on": "mistake"}])
        assert start("relay", "--exit-at-end", webhooks=hooks).wait() == 0
        stream.transport.produce(keyed(stream, events))
        assert serve("--exit-at-end").wait() == 0
        mistakes = {
            f"{record.topic}-{record.partition}-{record.offset}"
            for record in stream.records("predictions")
            if json.loads(record.value)["mistake"]
        }
        relay = start("relay", webhooks=hooks)
        relay.eventually(lambda: len(receiver.accepted) > len(mistakes) // 3)
        relay.kill()
        assert start("relay", "--exit-at-end", webhooks=hooks).wait() == 0
        assert set(receiver.ids()) == mistakes


def test_increments_are_restored_to_the_byte_after_a_kill(stream, serve):
    events, made_with = numbered(8), {"labels_topic": "", "hash_bits": 16}
    given = made_with | {"snapshot_interval_records": 500, "max_batch_records": 100}
    stream.create()
    stream.produce(events)
    process = serve(**given).ready()
    process.eventually(
        lambda: any(("kind", b"increment") in record.headers for record in stream.records("checkpoints"))
    )
    process.kill()
    assert serve("--exit-at-end", **given).wait() == 0
    assert [output["id"] for output in stream.outputs()] == ids(events)
    restored, bare = model_bytes(stream, 0, **made_with)
    assert restored == bare


def test_models_are_identical_to_the_byte_after_partitions_were_added(stream, serve):
    old, new = numbered(1, "old"), numbered(1, "new")
    stream.create(2)
    stream.transport.produce(keyed(stream, old))
    assert serve("--exit-at-end", labels_topic="").wait() == 0
    stream.transport.add_partitions({stream.topics["events"]: 3})
    stream.transport.produce(keyed(stream, new))
    assert serve("--exit-at-end", labels_topic="").wait() == 0
    assert stream.transport.partition_count(stream.topics["predictions"]) == 3
    assert Counter(output["id"] for output in stream.outputs()) == Counter(ids(old + new))
    for partition in range(3):
        restored, bare = model_bytes(stream, partition, labels_topic="")
        assert restored == bare
