"""Send records one by one through kafka-python's published interface, and collect their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from kafka import Serializer
from kafka.errors import UnknownTopicOrPartitionError

from service.partitioner import partition_for_key
from service.records import Output
from service.transport.kafka.limits import MOMENT_SECONDS, seconds_left

_NO_VALUE: Final = object()


class NullableSerializer(Serializer):  # type: ignore[misc] # kafka-python has no types
    """Writes records with neither key nor value, which kafka-python refuses to send."""

    def serialize(self, topic: str, headers: object, data: object) -> object:  # noqa: ARG002 - as the client calls it
        """Return the bytes of a value."""
        return None if data is _NO_VALUE else data


class SentRecord:
    """A record that kafka-python was given."""

    def __init__(self, future: Any) -> None:  # noqa: ANN401 - kafka-python has no types
        self._future = future

    def wait_acknowledged(self, deadline: float) -> None:
        """Wait for the acknowledgement until a `time.monotonic` deadline; raise if there is none."""
        self._future.get(timeout=max(MOMENT_SECONDS, seconds_left(deadline)))


def arguments_of(outputs: Iterable[Output], n_partitions: Callable[[str], int]) -> Iterator[dict[str, Any]]:
    """Yield the arguments of `KafkaProducer.send` for each output."""
    for topic, key, value, headers, partition, timestamp_ms in outputs:
        count = n_partitions(topic)
        chosen = partition_for_key(key, count) if partition is None else partition
        if not 0 <= chosen < count:
            raise UnknownTopicOrPartitionError(f"{topic} has no partition {chosen}")
        yield {
            "topic": topic,
            "value": _NO_VALUE if value is None else value,
            "key": key,
            "headers": list(headers),
            "partition": chosen,
            "timestamp_ms": timestamp_ms,
        }
