"""Follow a topic of the embedded stream: return the records appended since the last call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from service.stream import Record
from service.transport.sqlite.log import Log


class SqliteFollower:
    """Reads a topic's partitions as they grow; see `service.stream.Follower`."""

    def __init__(self, log: Log, topic: str, offsets: Mapping[int, int]) -> None:
        self._log = log
        self._topic = topic
        self._offsets = dict(offsets)

    def poll(self) -> Sequence[Record]:
        """Return the records that have come since; see `Follower.poll`."""
        found: list[Record] = []
        ends = self._log.ends(self._topic)
        for partition, offset in self._offsets.items():
            if offset < (end := ends[partition]):
                found += self._log.read(self._topic, partition, offset, end)
                self._offsets[partition] = end
        return found

    def close(self) -> None:
        """Release nothing: the transport has the database."""
