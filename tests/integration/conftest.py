"""A stream for `serve` to work on: names no other process uses, and a look at what comes out."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Callable
from functools import partial
from itertools import repeat

import pytest
from kafka.admin import KafkaAdminClient

from service.stream.opening import open_transport
from service.stream.protocol import Output
from tests.support.kafka_site import KAFKA_CLIENTS, Site
from tests.support.perceptron_process import PerceptronProcess
from tests.support.reference_streams import without_time

pytest.register_assert_rewrite("tests.integration.claims")

TOPICS = ("events", "labels", "predictions", "dead-letters", "checkpoints")
BATCH_RECORDS = 1000


class Stream:
    """Topics and a group of one's own at `url`; `settings` point a `perceptron` at them."""

    def __init__(self, url, kafka_client):
        suffix = uuid.uuid4().hex[:8]
        self.url = url
        self.topics = {name: f"{name}-{suffix}" for name in TOPICS}
        self.settings = {
            "broker": url,
            "group": f"group-{suffix}",
            "http": "127.0.0.1:0",
            "create_topics": "all",
            **{f"{name.replace('-', '_')}_topic": topic for name, topic in self.topics.items()},
        }
        if kafka_client != "sqlite":
            self.settings["kafka_client"] = kafka_client
        self.transport = open_transport(url, kafka_client=kafka_client)

    def create(self, partitions=1):
        topics = [self.topics["events"], self.topics["labels"]]
        self.transport.ensure_topics(dict.fromkeys(topics, partitions))

    def produce(self, values, topic="events", partitions=1, times_ms=None):
        """Write the values to the partitions in turn; as of now, if not as of other times."""
        outputs = [
            Output(self.topics[topic], None, value, partition=n % partitions, timestamp_ms=time_ms)
            for n, (value, time_ms) in enumerate(zip(values, times_ms or repeat(None), strict=False))
        ]
        for start in range(0, len(outputs), BATCH_RECORDS):
            self.transport.produce(outputs[start : start + BATCH_RECORDS])

    def records(self, topic):
        """Return the committed records of a topic, partition by partition."""
        name = self.topics[topic]
        count = self.transport.partition_count(name)
        return [record for partition in range(count) for record in self.transport.read(name, partition)]

    def outputs(self):
        """Return what stands on the predictions topic, without the time of the events."""
        return [without_time(json.loads(record.value or b"")) for record in self.records("predictions")]


Serve = Callable[..., PerceptronProcess]


ON_SQLITE_AND_KAFKA = pytest.mark.parametrize(
    "kafka_client", ["sqlite", *(pytest.param(client, marks=pytest.mark.kafka) for client in KAFKA_CLIENTS)]
)


@pytest.fixture
def kafka_client():
    """Return the client for `kafka://`; a test file may have others, or "sqlite"."""
    return "kafka-python"


@pytest.fixture
def url(request, kafka_client, tmp_path):
    """Return where the stream is; a test file may have it elsewhere."""
    if kafka_client == "sqlite":
        return f"sqlite:///{tmp_path}/stream.db"
    return f"kafka://{request.getfixturevalue('kafka_bootstrap')}"


@pytest.fixture
def stream(url, kafka_client):
    """Open a stream at the `url`."""
    opened = Stream(url, kafka_client)
    yield opened
    opened.transport.close()


@pytest.fixture
def start(stream, tmp_path):
    """Start commands on the stream as often as wanted; whatever is left of them is killed at the end."""
    with contextlib.ExitStack() as stack:

        def started(*arguments, **given):
            settings = stream.settings | given
            return stack.enter_context(PerceptronProcess(*arguments, folder=tmp_path, settings=settings))

        yield started


@pytest.fixture
def serve(start):
    """Start `serve`, as `start` does."""
    return partial(start, "serve")


@pytest.fixture(params=KAFKA_CLIENTS)
def client(request):
    """Return each client in turn; a test file may have one of them only."""
    return request.param


@pytest.fixture
def site(kafka_bootstrap, client):
    with contextlib.ExitStack() as stack:
        yield Site(kafka_bootstrap, client, stack)


@pytest.fixture
def admin(kafka_bootstrap):
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=kafka_bootstrap)) as client:
        yield client


@pytest.fixture
def own_place(own_kafka_broker, client):
    with contextlib.ExitStack() as stack:
        yield Site(own_kafka_broker.address, client, stack)


@pytest.fixture
def transport(site):
    """Open a transport on the site, its topics made."""
    opened = site.open()
    opened.ensure_topics({site.events: 1, site.predictions: 1})
    return opened
