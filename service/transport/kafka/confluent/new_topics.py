"""Wait until every broker of the cluster knows topics that were just created."""

from __future__ import annotations

from collections.abc import Collection
from time import monotonic, sleep

from confluent_kafka.admin import AdminClient

from service.transport.kafka.confluent.cluster import Cluster
from service.transport.kafka.confluent.errors import FOREIGN
from service.transport.kafka.errors import away
from service.transport.kafka.limits import CONNECT_TIMEOUT_SECONDS, SETTLE_SECONDS, TOPIC_TIMEOUT_SECONDS


def await_topics(cluster: Cluster, topics: Collection[str]) -> None:
    """Wait until each broker knows the topics, and the leaders of their partitions.

    Questions go to any broker, and one that has not heard of a topic yet says that there is none.
    """
    deadline = monotonic() + TOPIC_TIMEOUT_SECONDS
    for address in cluster.addresses():
        client = cluster.open_admin({"bootstrap.servers": address})
        while not all(_knows(client, topic) for topic in topics):
            if monotonic() > deadline:
                raise away(f"{cluster.name}: {address} or a leader of the new topics")
            sleep(SETTLE_SECONDS / 100)


def _knows(client: AdminClient, topic: str) -> bool:
    """Ask the one broker that a client is connected to; one that does not answer is not waited for.

    It hears of all that happened meanwhile before the cluster counts it as alive again.
    """
    try:
        found = client.list_topics(topic, timeout=CONNECT_TIMEOUT_SECONDS).topics[topic]
    except FOREIGN:
        return True
    return found.error is None and all(each.leader >= 0 for each in found.partitions.values())
