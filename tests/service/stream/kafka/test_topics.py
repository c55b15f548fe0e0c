"""Topics that are created on a cluster which is not ready yet, or never will be."""

from uuid import UUID

import pytest

from service.errors import ConfigurationError
from service.stream.kafka.cluster import TopicDescription
from service.stream.kafka.limits import KEEP_FOREVER, TopicLimits
from service.stream.kafka.transport import KafkaTopics

FENCED = "INVALID_REPLICATION_FACTOR: Unable to replicate the partition: All brokers are currently fenced."
TOO_MANY = "INVALID_REPLICATION_FACTOR: Unable to replicate 3 times: only 1 broker is registered."


class Cluster:
    """A cluster that refuses to create any topic until its refusals are used up."""

    name = "cluster"

    def __init__(self, refusals):
        self.refusals = refusals
        self.created = {}
        self.shown = []
        """What it says of a topic's options, in turn; the last time for good."""

    def create_topics(self, partitions, options):
        if self.refusals:
            raise ConfigurationError(self.refusals.pop(0))
        self.created |= partitions

    def describe(self, topic):
        count = self.created.get(topic)
        return count and TopicDescription(count, UUID(int=0))

    def topic_options(self, topic, names):
        shown = self.shown.pop(0) if len(self.shown) > 1 else self.shown[0]
        return {name: shown[name] for name in names}

    def set_topic_options(self, topic, options):
        pass


def topics(cluster):
    return KafkaTopics(cluster, TopicLimits())


def test_a_broker_that_is_still_fenced_is_asked_again():
    cluster = Cluster([FENCED, FENCED])
    topics(cluster).ensure_topics({"events": 2})
    assert cluster.created == {"events": 2}


def test_a_replication_factor_that_no_cluster_of_this_size_has_is_refused_at_once():
    cluster = Cluster([TOO_MANY])
    with pytest.raises(ConfigurationError, match="only 1 broker"):
        topics(cluster).ensure_topics({"events": 2})
    assert cluster.created == {}


def test_options_that_were_set_are_waited_for_until_the_cluster_shows_them():
    cluster = Cluster([])
    cluster.created["checkpoints"] = 1
    former = KEEP_FOREVER | {"retention.ms": "3600000"}
    cluster.shown = [former, former, former, KEEP_FOREVER]
    topics(cluster).ensure_topics({"checkpoints": 1}, keep_forever=True)
    assert cluster.shown == [KEEP_FOREVER]
    topics(cluster).ensure_topics({"checkpoints": 1}, create=False, keep_forever=True)
