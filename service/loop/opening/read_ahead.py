"""Ask a stream about many partitions at once, before each of them is restored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

from service.settings.load import Settings
from service.stream import Record, Transport
from service.transport.topics import input_topics

_MOST_BYTES: Final = 256 * 1024 * 1024
"""What logs that are read together may take; larger ones are read one by one."""


class ReadAhead:
    """A `Transport` that knows already what restoring partitions asks for.

    Parameters
    ----------
    transport, settings
        The stream, and the topics.
    partitions
        Which of them. What was committed by their former owners must be visible.

    """

    def __init__(self, transport: Transport, settings: Settings, partitions: Sequence[int]) -> None:
        self._transport = transport
        self._log = settings.checkpoints_topic
        self.topic_id = cache(transport.topic_id)
        self.partition_count = cache(transport.partition_count)
        topics = (*input_topics(settings), self._log, settings.predictions_topic)
        self._bounds = {topic: transport.bounds_of(topic, self._there(topic, partitions)) for topic in topics}
        self._records = self._read_logs()

    def _there(self, topic: str, partitions: Sequence[int]) -> Sequence[int]:
        n_partitions = self.partition_count(topic)
        return [each for each in partitions if each < n_partitions]

    def _read_logs(self) -> dict[int, list[Record]]:
        ranges = self._bounds[self._log]
        found: dict[int, list[Record]] = {partition: [] for partition in ranges}
        n_bytes = 0
        for record in self._transport.read_together(self._log, ranges):
            n_bytes += len(record.value or b"")
            if n_bytes > _MOST_BYTES and len(ranges) > 1:
                return {}
            found[record.partition].append(record)
        return found

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the stream has
        return getattr(self._transport, name)

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the bounds as they were; see `Transport.bounds`."""
        known = self._bounds.get(topic, {}).get(partition)
        return self._transport.bounds(topic, partition) if known is None else known

    def read(self, topic: str, partition: int, start: int = 0, end: int | None = None) -> Iterator[Record]:
        """Yield records, those of a whole log from what was read already, once; see `Transport.read`."""
        if topic == self._log and (records := self._records.pop(partition, None)) is not None:
            return iter(records)
        return self._transport.read(topic, partition, start, end)
