"""Topics that were deleted, emptied or made again: what the service says, with each client of Kafka."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing

import pytest
from kafka.admin import KafkaAdminClient
from prometheus_client import CollectorRegistry

from service.errors import CheckpointError
from service.health import Health
from service.kafka_settings import KafkaClient
from service.metrics import Metrics
from service.runner import Runner
from service.settings import Settings
from tests.integration.conftest import Stream
from tests.support.kafka_place import DEADLINE_SECONDS
from tests.support.reference_streams import phishing_events

pytestmark = pytest.mark.kafka

EVENTS = phishing_events()[:100]


@pytest.fixture
def stream(kafka_bootstrap: str, client: KafkaClient) -> Iterator[Stream]:
    opened = Stream(f"kafka://{kafka_bootstrap}", client)
    yield opened
    opened.transport.close()


@pytest.fixture
def admin(kafka_bootstrap: str) -> Iterator[KafkaAdminClient]:
    with closing(KafkaAdminClient(bootstrap_servers=kafka_bootstrap)) as opened:
        yield opened


def run(stream: Stream, **given: object) -> Metrics:
    """Run the service to the end of what is there, without a snapshot at the end."""
    metrics = Metrics(CollectorRegistry())
    settings = Settings(**stream.settings | {"http": "", "commit_interval_seconds": 0.01} | given)
    Runner(stream.transport, settings, metrics=metrics, health=Health()).run(exit_at_end=True)
    return metrics


def delete(admin: KafkaAdminClient, topic: str) -> None:
    admin.delete_topics([topic])
    deadline = time.monotonic() + DEADLINE_SECONDS
    while admin.describe_topics([topic])[0]["error_code"] == 0:
        assert time.monotonic() < deadline, "the topic was not deleted"
        time.sleep(0.05)


def test_a_deleted_checkpoints_topic_is_no_fresh_start(stream, admin):
    stream.create()
    stream.produce(EVENTS)
    run(stream)
    delete(admin, stream.topics["checkpoints"])
    with pytest.raises(CheckpointError, match="there is no checkpoint, but the group"):
        run(stream)
    assert len(stream.answers()) == len(EVENTS)
