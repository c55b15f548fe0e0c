"""Topics that are created on a cluster which is not ready yet, or never will be."""

from types import SimpleNamespace

import pytest

from service.errors import ConfigurationError
from service.transport.kafka.limits import KEEP_FOREVER, TopicLimits
from service.transport.kafka.topics import KafkaTopics

FENCED = "INVALID_REPLICATION_FACTOR: Unable to replicate the partition: All brokers are currently fenced."
TOO_MANY = "INVALID_REPLICATION_FACTOR: Unable to replicate 3 times: only 1 broker is registered."


class Topics(KafkaTopics):
    """Topics of a cluster that refuses to create any until its refusals are used up."""

    def __init__(self, refusals):
        super().__init__(SimpleNamespace(name="cluster"), TopicLimits())
        self.refusals = refusals
        self.created = {}
        self.shown = []
        """What the cluster says of a topic's options, in turn; the last time for good."""

    def _create(self, partitions, options):
        if self.refusals:
            raise ConfigurationError(self.refusals.pop(0))
        self.created |= partitions

    def _describe(self, topic):
        return self.created.get(topic)

    def _add_partitions(self, topic, wanted):
        raise NotImplementedError

    def _id_of(self, topic):
        raise NotImplementedError

    def _options_of(self, topic, names):
        shown = self.shown.pop(0) if len(self.shown) > 1 else self.shown[0]
        return {name: shown[name] for name in names}

    def _set_options(self, topic, options):
        pass


def test_a_broker_that_is_still_fenced_is_asked_again():
    topics = Topics([FENCED, FENCED])
    topics.ensure_topics({"events": 2})
    assert topics.created == {"events": 2}


def test_a_replication_factor_that_no_cluster_of_this_size_has_is_refused_at_once():
    topics = Topics([TOO_MANY])
    with pytest.raises(ConfigurationError, match="only 1 broker"):
        topics.ensure_topics({"events": 2})
    assert topics.created == {}


def test_options_that_were_set_are_waited_for_until_the_cluster_shows_them():
    topics = Topics([])
    topics.created["checkpoints"] = 1
    former = KEEP_FOREVER | {"retention.ms": "3600000"}
    topics.shown = [former, former, former, KEEP_FOREVER]
    topics.ensure_topics({"checkpoints": 1}, keep_forever=True)
    assert topics.shown == [KEEP_FOREVER]
    topics.ensure_topics({"checkpoints": 1}, create=False, keep_forever=True)
