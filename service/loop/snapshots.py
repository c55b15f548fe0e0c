"""When snapshots are due, and which are kept. In: records processed, offsets. Out: a schedule; deletions."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable

from service.clock import Clock
from service.errors import TransportError
from service.settings.load import Settings
from service.stream import Transport

_log = logging.getLogger(__name__)


class SnapshotSchedule:
    """The snapshots of one partition in the checkpoints topic.

    Parameters
    ----------
    partition
        Its number.
    offsets
        Where the kept snapshots begin, oldest first.
    transport, settings, clock
        The stream, how often and how many, and the time.

    """

    def __init__(
        self, partition: int, offsets: Iterable[int], transport: Transport, settings: Settings, clock: Clock
    ) -> None:
        self._partition = partition
        self._offsets = deque(offsets)
        self._transport = transport
        self._settings = settings
        self._clock = clock
        self._records = 0
        self._committed_at = clock.monotonic()

    @property
    def is_empty(self) -> bool:
        """Whether there is no snapshot yet."""
        return not self._offsets

    def count(self, n_records: int) -> None:
        """Count records that were processed since the last snapshot."""
        self._records += n_records

    def is_due(self) -> bool:
        """Return whether the next commit is to have a snapshot."""
        return (
            self._records >= self._settings.snapshot_interval_records
            or self._clock.monotonic() - self._committed_at >= self._settings.snapshot_interval_seconds
        )

    def committed(self, first_offset: int) -> None:
        """Note a snapshot that begins at this offset; delete what lies before the oldest one kept."""
        self._offsets.append(first_offset)
        self._records = 0
        self._committed_at = self._clock.monotonic()
        excess = len(self._offsets) - self._settings.snapshots_kept
        if excess <= 0:
            return
        for _ in range(excess):
            self._offsets.popleft()
        try:
            self._transport.delete_before(self._settings.checkpoints_topic, self._partition, self._offsets[0])
        except TransportError as error:  # tidying up must not stop the stream; the next snapshot tries again
            _log.warning("partition %d: old checkpoints stay: %s", self._partition, error)
