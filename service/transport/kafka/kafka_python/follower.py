"""Follow a topic with kafka-python: return the records appended since the last call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final

from kafka.structs import TopicPartition

from service.stream import Record
from service.transport.kafka.kafka_python.cluster import Cluster, learn_topics
from service.transport.kafka.kafka_python.errors import translated

_MOST_RECORDS: Final = 5000


class KafkaPythonFollower:
    """Reads a topic's partitions as they grow; see `service.stream.Follower`."""

    def __init__(self, cluster: Cluster, topic: str, offsets: Mapping[int, int]) -> None:
        self._topic = topic
        self._client = cluster.open_consumer(auto_offset_reset="earliest")
        try:
            with translated(topic):
                self._client.assign([TopicPartition(topic, each) for each in offsets])
                learn_topics(self._client, [topic])
                for partition, offset in offsets.items():
                    self._client.seek(TopicPartition(topic, partition), offset)
        except BaseException:
            self.close()
            raise

    def poll(self) -> Sequence[Record]:
        """Return the records that have come since; see `Follower.poll`."""
        with translated(self._topic):
            batches = self._client.poll(timeout_ms=0, max_records=_MOST_RECORDS)
        return list(chain.from_iterable(batches.values()))

    def close(self) -> None:
        """Close the client. Idempotent."""
        self._client.close(autocommit=False)
