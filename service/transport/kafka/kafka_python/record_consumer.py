"""kafka-python's consumer, whose records are those of the service."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from time import monotonic, sleep
from typing import Any, Final

from kafka import KafkaConsumer
from kafka.errors import (
    CorruptRecordError,
    KafkaError,
    KafkaTimeoutError,
    UnknownTopicOrPartitionError,
    UnstableOffsetCommitError,
    UnsupportedCodecError,
)
from kafka.structs import TopicPartition

from service.batches import RecordBatch
from service.records import Record
from service.transport.kafka.kafka_python.private import deliver_resumed
from service.transport.kafka.limits import seconds_left

_LEADER_WAIT_SECONDS: Final = 0.05
_COORDINATOR_SECONDS: Final = 0.7
"""How long a new client may take to find the coordinator of its group."""
_NO_TIME_MS: Final = -1
"""As Kafka itself says that a record has no time."""
_BEYOND: Final = 2**63
"""The first number that is none of Kafka's."""


class RecordConsumer(KafkaConsumer):  # type: ignore[misc] # kafka-python has no types
    """A `KafkaConsumer` whose `fetched` returns `RecordBatch`es; it takes no deserializers."""

    _unreadable: Exception | None = None

    def fetched(self, max_records: int, wait_seconds: float) -> Mapping[TopicPartition, RecordBatch]:
        """Return the records that are there; wait for the first one only.

        kafka-python raises an error of its decoding once; the next poll would not return.
        """
        deliver_resumed(self)
        if self._unreadable is not None:
            raise self._unreadable
        try:
            found: dict[TopicPartition, list[Any]] = self.poll(
                timeout_ms=wait_seconds * 1000, max_records=max_records
            )
            return {place: RecordBatch([as_record(each, place) for each in found[place]]) for place in found}
        except Exception as error:
            is_of_decoding = isinstance(error, (CorruptRecordError, UnsupportedCodecError))
            if is_of_decoding or not isinstance(error, (KafkaError, OSError)):
                self._unreadable = error
            raise

    def known_position(self, place: TopicPartition) -> int | None:
        """Return the next offset to be delivered, without asking the broker."""
        offset: int | None = self.position(place, timeout_ms=0)
        return offset

    def learn_topics(self, topics: Iterable[str]) -> None:
        """Find the leaders of `topics`, which it has just subscribed to or been assigned.

        It asks for them by itself, but forgets it when the answer to an earlier question, before it knew
        these topics, comes in between: then it knows no partitions for five minutes.
        """
        for topic in topics:
            if not self.partitions_for_topic(topic):
                raise UnknownTopicOrPartitionError(topic)

    def assign_paused(self, places: Collection[TopicPartition]) -> None:
        """Keep new partitions of its assignment from being fetched until `Consumer.start` says from where.

        They get any position: a client that may not choose one itself raises when a partition has none.
        """
        if places:
            self.pause(*places)
        for place in places:
            self.seek(place, 0)

    def ends(self, places: Sequence[TopicPartition], within_seconds: float) -> Mapping[TopicPartition, int]:
        """Ask where partitions end, also such as are new or have no leader at the moment.

        Of these the client asks nothing, and fails with a KeyError in the end. Raises `KafkaTimeoutError` if
        `within_seconds` were not enough for all attempts together.
        """
        deadline = monotonic() + within_seconds
        while True:
            try:
                found: Mapping[TopicPartition, int] = self.end_offsets(
                    places, timeout_ms=seconds_left(deadline) * 1000
                )
            except KeyError as error:
                if monotonic() >= deadline:
                    raise KafkaTimeoutError(f"{error.args[0]}: no leader is known") from error
            else:
                return found
            sleep(_LEADER_WAIT_SECONDS)

    def committed_by_topic(
        self, topics: Sequence[str], partitions: Iterable[int], within_seconds: float
    ) -> dict[int, Mapping[str, int]]:
        """Ask for the committed offsets of its group; see `KafkaCluster.committed`.

        kafka-python itself asks again until the time is over, and does not say what it has waited for.
        """
        found: dict[int, Mapping[str, int]] = {}
        seconds = within_seconds + _COORDINATOR_SECONDS
        for partition in partitions:
            offsets = {}
            for topic in topics:
                try:
                    offset = self.committed(TopicPartition(topic, partition), timeout_ms=seconds * 1000)
                except (KafkaTimeoutError, UnstableOffsetCommitError):
                    return found
                seconds = within_seconds
                if offset is not None:
                    offsets[topic] = offset
            found[partition] = offsets
        return found


def as_record(found: Any, place: TopicPartition) -> Record:  # noqa: ANN401 - kafka-python has no types
    """Return a record of `place` that the client has read. Format 0 has no time.

    The format has times of 64 bits, of which other clients drop what does not fit. So does this.
    """
    timestamp_ms = _NO_TIME_MS if found.timestamp is None else found.timestamp
    timestamp_ms = (timestamp_ms + _BEYOND) % (2 * _BEYOND) - _BEYOND
    if not -_BEYOND <= found.offset < _BEYOND:
        raise CorruptRecordError(f"Record for partition {place} at offset {found.offset}")
    headers = tuple((name, value or b"") for name, value in found.headers)
    return Record(place.topic, place.partition, found.offset, timestamp_ms, found.key, found.value, headers)
