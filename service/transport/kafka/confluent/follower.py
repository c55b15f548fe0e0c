"""Follow a topic with confluent-kafka: return the records appended since the last call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from confluent_kafka import TopicPartition

from service.errors import TransportUnavailable
from service.stream import Record
from service.transport.kafka.confluent.cluster import NO_GROUP, Cluster
from service.transport.kafka.confluent.errors import meaning_of, translate, translated
from service.transport.kafka.confluent.messages import PARTITION_EOF, as_record, consume

_MOST_RECORDS: Final = 5000


class ConfluentFollower:
    """Reads a topic's partitions as they grow; see `service.stream.Follower`."""

    def __init__(self, cluster: Cluster, topic: str, offsets: Mapping[int, int]) -> None:
        self._topic = topic
        self._client = cluster.open_consumer(NO_GROUP, {})
        try:
            with translated(topic):
                self._client.assign([TopicPartition(topic, each, at) for each, at in offsets.items()])
        except BaseException:
            self.close()
            raise

    def poll(self) -> Sequence[Record]:
        """Return the records that have come since; see `Follower.poll`."""
        with translated(self._topic):
            messages = consume(self._client, _MOST_RECORDS, 0)
        found = []
        for message in messages:
            error = message.error()
            if error is None:
                found.append(as_record(message))
            elif error.code() != PARTITION_EOF and (
                message.topic() or meaning_of(error) is not TransportUnavailable
            ):
                raise translate(error, self._topic)
        return found

    def close(self) -> None:
        """Close the client. Idempotent."""
        self._client.close()
