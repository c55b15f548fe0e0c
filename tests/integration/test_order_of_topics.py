"""A backlog of events and of their labels, each on a topic of its own, is taken in the order of time.

`PERCEPTRON_ORDER_RECORDS=200000` makes it a long one.
"""

import itertools
import json
import os
import random
import time

import pytest

from service.stream import Output
from tests.support.kafka_place import KAFKA_CLIENTS
from tests.support.taken_order import backlog, taken_too_early

RECORDS = int(os.environ.get("PERCEPTRON_ORDER_RECORDS", "3000"))
LIMIT_SECONDS = 120 + RECORDS / 100
KILLS = 3
CASES = [*itertools.product([1, 4, 6], [5, 1000], [0, KILLS])]
"""Partitions, records in a batch, kills."""
KINDS_AND_CASES = [
    pytest.param(kind, *case, marks=[pytest.mark.kafka] if kind in KAFKA_CLIENTS else [])
    for kind, case in itertools.product(["sqlite", *KAFKA_CLIENTS], CASES)
]

pytestmark = pytest.mark.timeout(2 * LIMIT_SECONDS)


@pytest.fixture
def kafka_client(kind):
    return kind if kind in KAFKA_CLIENTS else KAFKA_CLIENTS[0]


@pytest.fixture
def url(request, kind, tmp_path):
    if kind == "sqlite":
        return f"sqlite:///{tmp_path}/stream.db"
    return f"kafka://{request.getfixturevalue('kafka_bootstrap')}"


def write(stream, partitions):
    """Write the whole backlog, each event and its label to the partition of its id."""
    made = backlog(RECORDS, start_ms=int(time.time() * 1000) - RECORDS - 3_600_000)
    stream.create(partitions)
    for topic, timed in (("events", made.events), ("labels", made.labels)):
        outputs = [
            Output(stream.topics[topic], json.loads(value)["id"].encode(), value, timestamp_ms=time_ms)
            for time_ms, value in timed
        ]
        for start in range(0, len(outputs), 5000):
            stream.transport.produce(outputs[start : start + 5000])


def too_early(stream, partitions):
    return sum(
        taken_too_early(
            *(
                list(stream.transport.read(stream.topics[topic], partition))
                for topic in ("predictions", "events", "labels")
            )
        )
        for partition in range(partitions)
    )


@pytest.mark.parametrize(("kind", "partitions", "batch", "kills"), KINDS_AND_CASES)
def test_a_backlog_on_two_topics_is_taken_in_order_of_time(stream, serve, partitions, batch, kills):
    write(stream, partitions)
    given = {
        "max_batch_records": batch,
        "label_timeout_seconds": 1e8,
        "max_pending": 1_000_000,
        "session_timeout_seconds": 1,
        "snapshot_interval_records": 20_000,
    }
    moment = random.Random(batch)
    began = time.monotonic()
    for _ in range(kills):
        process = serve(**given)
        process.eventually(lambda now=process: now.partitions() != set())
        time.sleep(moment.uniform(0, min(1.0, RECORDS / 20_000)))
        process.kill()
    assert serve("--exit-at-end", **given).wait(LIMIT_SECONDS) == 0
    seconds = time.monotonic() - began
    found = too_early(stream, partitions)
    print(f"{found} of {RECORDS} records too early; {seconds:.1f} s")  # noqa: T201
    assert found == 0
