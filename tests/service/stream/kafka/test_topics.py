"""Topics that are created on a cluster which is not ready yet, or never will be."""

from uuid import UUID

import pytest

from service.errors import ConfigurationError, TopicMissing
from service.stream.kafka.cluster import TopicDescription
from service.stream.kafka.limits import KEEP_FOREVER, TopicLimits
from service.stream.kafka.transport import KafkaTopics
from service.stream.protocol import Output

FENCED = "INVALID_REPLICATION_FACTOR: Unable to replicate the partition: All brokers are currently fenced."
TOO_MANY = "INVALID_REPLICATION_FACTOR: Unable to replicate 3 times: only 1 broker is registered."


class Cluster:
    """A cluster that creates no topic until its rejections are used up."""

    name = "cluster"

    def __init__(self, rejections):
        self.rejections = rejections
        self.lag = 0
        """How many questions about a topic that was created reach a broker that has not heard of it."""
        self.created = {}
        self.shown = []
        """What it says of a topic's options, in turn; the last time for good."""

    def create_topics(self, partitions, options):
        if self.rejections:
            raise ConfigurationError(self.rejections.pop(0))
        self.created |= partitions

    def describe(self, topic):
        if topic in self.created and self.lag:
            self.lag -= 1
            return None
        count = self.created.get(topic)
        return count and TopicDescription(count, UUID(int=0))

    def topic_options(self, topic, names):
        if topic in self.created and self.lag:
            self.lag -= 1
            raise TopicMissing(topic)
        shown = self.shown.pop(0) if len(self.shown) > 1 else self.shown[0]
        return {name: shown[name] for name in names}

    def set_topic_options(self, topic, options):
        pass


def topics(cluster):
    return KafkaTopics(cluster, TopicLimits())


def test_request_to_a_fenced_broker_is_repeated():
    cluster = Cluster([FENCED, FENCED])
    topics(cluster).ensure_topics({"events": 2})
    assert cluster.created == {"events": 2}


def test_replication_factor_beyond_the_cluster_is_rejected_at_once():
    cluster = Cluster([TOO_MANY])
    with pytest.raises(ConfigurationError, match="only 1 broker"):
        topics(cluster).ensure_topics({"events": 2})
    assert cluster.created == {}


@pytest.mark.parametrize("ask", ["partition_count", "topic_id", "record_limit"])
def test_new_topic_is_looked_up_again(ask, monkeypatch):
    monkeypatch.setattr("service.stream.kafka.transport.sleep", lambda _: None)
    cluster = Cluster([])
    cluster.shown = [{"max.message.bytes": "1000"}]
    found = topics(cluster)
    found.ensure_topics({"events": 2})
    cluster.lag = 3
    getattr(found, ask)("events")
    assert cluster.lag == 0


def test_topic_absent_beyond_the_metadata_timeout_is_missing(monkeypatch):
    clock = iter(range(0, 1000, 2))
    monkeypatch.setattr("service.stream.kafka.transport.monotonic", lambda: next(clock))
    monkeypatch.setattr("service.stream.kafka.transport.sleep", lambda _: None)
    cluster = Cluster([])
    found = topics(cluster)
    found.ensure_topics({"events": 2})
    cluster.lag = 100
    with pytest.raises(TopicMissing):
        found.partition_count("events")


def test_changed_options_are_awaited_until_the_cluster_shows_them():
    cluster = Cluster([])
    cluster.created["checkpoints"] = 1
    former = KEEP_FOREVER | {"retention.ms": "3600000"}
    cluster.shown = [former, former, former, KEEP_FOREVER]
    topics(cluster).ensure_topics({"checkpoints": 1}, keep_forever=True)
    assert cluster.shown == [KEEP_FOREVER]
    topics(cluster).ensure_topics({"checkpoints": 1}, create=False, keep_forever=True)


@pytest.mark.parametrize(
    ("retention_ms", "kind", "warnings"),
    [(1000, "CreateTime", 1), (-1, "CreateTime", 0), (1000, "LogAppendTime", 0)],
)
def test_records_older_than_the_retention_give_one_warning(caplog, retention_ms, kind, warnings):
    cluster = Cluster([])
    cluster.shown = [{"retention.ms": str(retention_ms), "message.timestamp.type": kind}]
    found = topics(cluster)
    for time_ms in (None, -1, 1, 1):
        found.warn_of_age([Output("labels", None, b"x", timestamp_ms=time_ms)])
    assert [each.levelname for each in caplog.records] == ["WARNING"] * warnings
