"""Poll kafka-python's consumer for `RecordBatch`es."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kafka import KafkaConsumer
from kafka.errors import CorruptRecordError, KafkaError, UnsupportedCodecError
from kafka.structs import TopicPartition

from service.batches import RecordBatch
from service.records import Record
from service.transport.kafka.kafka_python.connections import Connections
from service.transport.kafka.kafka_python.private import ASKING, READING, may_use

_NO_TIME_MS: Final = -1
"""As Kafka itself says that a record has no time."""
_BEYOND: Final = 2**63
"""The first number that is none of Kafka's."""


class RecordConsumer(KafkaConsumer):  # type: ignore[misc] # kafka-python has no types
    """A `KafkaConsumer` whose `poll` returns `RecordBatch`es; it takes no deserializers."""

    connections: Connections
    """Set by `Cluster.open`."""
    _decodes = True
    _unreadable: Exception | None = None

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self._decodes = may_use(READING)
        if self._decodes:
            # It cannot be imported where the release lacks what it extends.
            from service.transport.kafka.kafka_python.reading.fetched_records import FetchedRecords  # noqa: PLC0415

            self._fetcher.PartitionRecords = FetchedRecords

    def poll(self, *args: object, **options: object) -> dict[TopicPartition, RecordBatch]:
        """Return the records that are there; see `KafkaConsumer.poll`."""
        if self._decodes:
            found = super().poll(*args, **options)
            return {place: joined(parts) for place, parts in found.items()}
        found = self._poll(*args, **options)
        return {
            place: RecordBatch([as_record(each, place) for each in records])
            for place, records in found.items()
        }

    def _poll(self, *args: object, **options: object) -> dict[TopicPartition, list[Any]]:
        """Return the records that are there, each an object.

        kafka-python raises an error of its decoding once; the next poll would not return.
        """
        if self._unreadable is not None:
            raise self._unreadable
        try:
            found: dict[TopicPartition, list[Any]] = super().poll(*args, **options)
        except Exception as error:
            is_of_decoding = isinstance(error, (CorruptRecordError, UnsupportedCodecError))
            if is_of_decoding or not isinstance(error, (KafkaError, OSError)):
                self._unreadable = error
            raise
        return found


def joined(parts: list[RecordBatch]) -> RecordBatch:
    """Return batches as one; a single one as it is."""
    if len(parts) == 1:
        return parts[0]
    whole = RecordBatch()
    for part in parts:
        whole.extend(part)
    return whole


def poll_batches(
    client: Any,  # noqa: ANN401 - kafka-python has no types
    max_records: int,
    wait_seconds: float,
) -> Mapping[TopicPartition, RecordBatch]:
    """Return the records that are there; wait for the first one only."""
    _unpark(client)
    found: Mapping[TopicPartition, RecordBatch] = client.poll(
        timeout_ms=wait_seconds * 1000, max_records=max_records
    )
    return found


def has_fetched(client: Any) -> bool:  # noqa: ANN401 - kafka-python has no types
    """Return whether the client has something to deliver, without asking it; True where that is unknown."""
    if not may_use(ASKING):
        return True
    fetcher = client._fetcher  # noqa: SLF001 - nothing public reaches it
    return bool(
        fetcher._completed_fetches  # noqa: SLF001
        or fetcher._next_partition_records  # noqa: SLF001
        or fetcher._paused_partition_records  # noqa: SLF001
    )


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


def _unpark(client: Any) -> None:  # noqa: ANN401 - kafka-python has no types
    """Deliver records that the client had fetched of partitions that were paused and are not any more.

    kafka-python (3.0.12) only does it when nothing else is in line, and takes what it has used up for
    something. What is parked is not fetched again: it would never come.
    """
    fetcher = client._fetcher  # noqa: SLF001 - nothing public reaches it
    if fetcher._paused_partition_records and not fetcher._next_partition_records:  # noqa: SLF001
        fetcher._next_partition_records = None  # noqa: SLF001
