"""Partitions that are added to the events topic while `serve` runs, and while it does not."""

from __future__ import annotations

import time
from collections import Counter

import pytest

from service.stream.kafka.limits import METADATA_SECONDS
from service.stream.partitioner import partition_for_key
from service.stream.protocol import Output
from tests.integration.claims import ids, labels_apart, numbered
from tests.integration.conftest import ON_SQLITE_AND_KAFKA

BEFORE, AFTER = 4, 6
NOTICED_WITHIN_SECONDS = 10


@pytest.fixture
def stream(stream):
    stream.create(BEFORE)
    return stream


def produce(stream, events, topic="events", *, seconds_ago=0):
    """Write events or labels to the partitions that their ids choose now."""
    time_ms = int(1000 * (time.time() - seconds_ago))
    stream.transport.produce(
        [
            Output(stream.topics[topic], key.encode(), value, timestamp_ms=time_ms)
            for key, value in zip(ids(events), events, strict=True)
        ]
    )


def grow(stream):
    stream.transport.add_partitions({stream.topics["events"]: AFTER})


def let_producers_know(stream):
    if stream.url.startswith("kafka:"):
        time.sleep(METADATA_SECONDS + 1)


def counts(stream):
    return {topic: stream.transport.partition_count(name) for topic, name in stream.topics.items()}


def is_done_once(stream, events):
    predicted = Counter(output["id"] for output in stream.outputs() if "score" in output)
    return predicted == Counter(ids(events))


@ON_SQLITE_AND_KAFKA
def test_partitions_added_while_running_are_served_with_their_labels(stream, serve):
    old, new = numbered(1, "old"), numbered(1, "new")
    produce(stream, old)
    process = serve().ready()
    process.eventually(lambda: is_done_once(stream, old))
    began = time.monotonic()
    grow(stream)
    process.eventually(lambda: process.partitions() == {str(n) for n in range(AFTER)})
    took = time.monotonic() - began
    let_producers_know(stream)
    assert set(counts(stream).values()) == {AFTER}
    events, labels = labels_apart(new)
    produce(stream, events)
    produce(stream, labels, "labels")
    process.eventually(lambda: is_done_once(stream, old + new))
    process.eventually(
        lambda: (
            process.metric("perceptron_labels_total", outcome="matched")
            + process.metric("perceptron_labels_total", outcome="late")
            >= len(new)
        )
    )
    assert process.metric("perceptron_labels_total", outcome="orphan") == 0
    assert process.stop() == 0
    assert took < NOTICED_WITHIN_SECONDS
    assert serve("--exit-at-end").wait() == 0, "it starts again"


@ON_SQLITE_AND_KAFKA
def test_topic_that_cannot_get_more_partitions_is_named(stream, serve):
    assert serve("--exit-at-end").wait() == 0
    grow(stream)
    process = serve("--exit-at-end", create_topics="none")
    assert process.wait() == 2
    assert f"'{stream.topics['labels']}' has {BEFORE} partitions" in process.stderr
    assert f"add partitions to '{stream.topics['labels']}'" in process.stderr


@ON_SQLITE_AND_KAFKA
def test_label_in_another_partition_than_its_event_is_orphaned(stream, serve):
    events, labels = labels_apart(numbered(1))
    moved = [key for key in ids(events) if moves(key)]
    produce(stream, events, seconds_ago=300)
    process = serve(label_timeout_seconds=60).ready()
    process.eventually(lambda: is_done_once(stream, events))
    grow(stream)
    process.eventually(lambda: process.partitions() == {str(n) for n in range(AFTER)})
    let_producers_know(stream)
    produce(stream, labels, "labels", seconds_ago=290)
    stayed = len(labels) - len(moved)
    process.eventually(lambda: outcomes(stream) == stayed)
    produce(stream, numbered(1, "later"))  # which lets time pass in every partition
    process.eventually(lambda: process.metric("perceptron_labels_total", outcome="orphan") == len(moved))
    assert process.stop() == 0


def moves(key):
    return partition_for_key(key.encode(), BEFORE) != partition_for_key(key.encode(), AFTER)


def outcomes(stream):
    return sum("predicted" in output for output in stream.outputs())
