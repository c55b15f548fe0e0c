from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

from service.errors import TransportUnavailable
from service.stream.kafka.confluent import cluster as cluster_module
from service.stream.kafka.confluent.cluster import ConfluentCluster

KNOWN, WITHOUT_LEADER, UNHEARD_OF = (
    SimpleNamespace(error=error, partitions={0: SimpleNamespace(leader=leader)})
    for error, leader in ((None, 1), (None, -1), (KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART), 1))
)
SILENT = KafkaException(KafkaError(KafkaError._TRANSPORT))


class Cluster:
    """Brokers that say in turn, when they are asked, what they know; the last of it for good."""

    name = "cluster"

    def __init__(self, **told):
        self.told = told
        self.n_asked = dict.fromkeys(told, 0)

    def addresses(self):
        return [*self.told]

    def client(self, _, options):
        address = options["bootstrap.servers"]

        def list_topics(topic, timeout):
            self.n_asked[address] += 1
            told = self.told[address]
            found = told.pop(0) if len(told) > 1 else told[0]
            if found is SILENT:
                raise found
            return SimpleNamespace(topics={topic: found})

        return SimpleNamespace(list_topics=list_topics)


def test_every_broker_is_queried_until_it_reports_the_leaders():
    cluster = Cluster(one=[KNOWN], two=[UNHEARD_OF, WITHOUT_LEADER, KNOWN], three=[UNHEARD_OF, KNOWN])
    ConfluentCluster._await_topics(cluster, ["events"])
    assert cluster.n_asked == {"one": 1, "two": 3, "three": 2}


def test_unresponsive_broker_is_skipped():
    cluster = Cluster(one=[KNOWN], two=[SILENT])
    ConfluentCluster._await_topics(cluster, ["events", "labels"])
    assert cluster.n_asked == {"one": 2, "two": 2}


def test_broker_without_topic_metadata_is_named(monkeypatch):
    monkeypatch.setattr(cluster_module, "TOPIC_TIMEOUT_SECONDS", 0.05)
    with pytest.raises(TransportUnavailable, match="cluster: two or a leader of the new topics"):
        ConfluentCluster._await_topics(Cluster(one=[KNOWN], two=[UNHEARD_OF]), ["events"])
