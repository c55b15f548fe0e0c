"""Topics that were deleted, emptied or made again: what the service says, with each client of Kafka."""

from __future__ import annotations

import time
from contextlib import closing

import pytest
from prometheus_client import CollectorRegistry

from service.errors import CheckpointError, InputLost
from service.loop.context import Context
from service.loop.runner import Runner
from service.monitoring.metrics import Metrics
from service.settings.load import Settings
from tests.integration.conftest import Stream
from tests.support.kafka_site import DEADLINE_SECONDS
from tests.support.reference_streams import phishing_events

pytestmark = pytest.mark.kafka

EVENTS = phishing_events()[:100]


@pytest.fixture
def stream(kafka_bootstrap, client):
    opened = Stream(f"kafka://{kafka_bootstrap}", client)
    yield opened
    opened.transport.close()


def run(stream, **given):
    """Run the service to the end of what is there, without a snapshot at the end."""
    metrics = Metrics(CollectorRegistry())
    settings = Settings(**stream.settings | {"http": "", "commit_interval_seconds": 0.01} | given)
    Runner(Context(stream.transport, settings, metrics)).run(exit_at_end=True)
    return metrics


def delete(admin, topic):
    admin.delete_topics([topic])
    deadline = time.monotonic() + DEADLINE_SECONDS
    while admin.describe_topics([topic])[0]["error_code"] == 0:
        assert time.monotonic() < deadline, "the topic was not deleted"
        time.sleep(0.05)


def test_deleted_checkpoints_topic_is_not_a_fresh_start(stream, admin):
    stream.create()
    stream.produce(EVENTS)
    run(stream)
    delete(admin, stream.topics["checkpoints"])
    with pytest.raises(CheckpointError, match="checkpoint missing, but the group"):
        run(stream)
    assert len(stream.outputs()) == len(EVENTS)


def test_expired_offsets_are_committed_again(stream, admin):
    """As it does a week after the last member has left."""
    stream.create()
    stream.produce(EVENTS)
    run(stream)
    group = stream.settings["group"]
    admin.delete_groups([group])
    run(stream)
    committed = stream.transport.committed(group, [stream.topics["events"]], 0)
    assert committed == {stream.topics["events"]: len(EVENTS)}
    delete(admin, stream.topics["checkpoints"])
    with pytest.raises(CheckpointError, match="checkpoint missing, but the group"):
        run(stream)
    assert len(stream.outputs()) == len(EVENTS)


def test_fresh_start_next_to_predictions_gives_a_warning(stream, admin, caplog):
    stream.create()
    stream.produce(EVENTS)
    run(stream)
    admin.delete_groups([stream.settings["group"]])
    delete(admin, stream.topics["checkpoints"])
    run(stream)
    assert "has neither checkpoints nor committed offsets" in caplog.text


@pytest.mark.parametrize("n_new", [10, 100])
def test_recreated_topic_is_detected(stream, admin, n_new):
    """With fewer records than were processed of the one before, and with more."""
    stream.create()
    stream.produce(EVENTS[:50])
    run(stream)
    delete(admin, stream.topics["events"])
    again = Stream(stream.url, stream.settings["kafka_client"])
    again.topics, again.settings = stream.topics, stream.settings
    with closing(again.transport):
        again.create()
        again.produce(EVENTS[:n_new])
        with pytest.raises(InputLost, match="the topic was deleted and recreated"):
            run(again)
        run(again, on_data_loss="continue")
        assert len(again.outputs()) == 50 + n_new
