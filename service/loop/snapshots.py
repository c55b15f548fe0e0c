"""Make a partition's snapshots when they are due, and delete old ones."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping, Sequence

from service.checkpoints.identity import EARLIER, identity
from service.checkpoints.log import Address, snapshot_records
from service.checkpoints.snapshot import Snapshot
from service.clock import Clock
from service.errors import TransportError
from service.loop.recovery import Restored
from service.monitoring.metrics import Metrics
from service.partition.processor import Processor
from service.settings.load import Settings
from service.stream import Output, Transport

_log = logging.getLogger(__name__)


class Snapshots:
    """The snapshots of one partition in the checkpoints topic.

    Parameters
    ----------
    address
        Where they go.
    restored
        The state that the partition goes on from.
    transport, settings, metrics, clock
        The stream; how often and how many; where to report; and the time.

    Attributes
    ----------
    sequence : int
        Number of the batch behind the newest one.
    size_bytes : int
        Size of the one that was made last.

    """

    def __init__(
        self,
        address: Address,
        restored: Restored,
        *,
        transport: Transport,
        settings: Settings,
        metrics: Metrics,
        clock: Clock,
    ) -> None:
        self.sequence = restored.snapshot_sequence
        self._earlier = {EARLIER: restored.earlier} if restored.earlier else {}
        self._address = address
        self._offsets = deque(restored.snapshot_offsets)
        """Where the kept ones begin, oldest first."""
        self._transport = transport
        self._settings = settings
        self._metrics = metrics
        self._clock = clock
        self._topic_ids = restored.topic_ids
        self._log_end = restored.log_end
        self._records = 0
        self._committed_at = clock.monotonic()
        self._began_at = 0.0
        self._first_offset = 0
        self._next_sequence = 0
        self.size_bytes = 0
        if restored.snapshot_seconds is not None:
            metrics.snapshot_time.labels(address.partition).set(restored.snapshot_seconds)

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

    def make(self, sequence: int, offsets: Mapping[str, int], processor: Processor) -> Sequence[Output]:
        """Return the records of a snapshot of the present state, after batch `sequence`."""
        self._began_at = self._clock.monotonic()
        state = processor.packed_state()
        made_with = identity(self._settings) | self._earlier
        snapshot = Snapshot(sequence, offsets, made_with, state, self._topic_ids)
        records = snapshot_records(snapshot, self._address)
        # Nobody else writes here: what is committed next lies at or after the present end.
        end, self._log_end = self._log_end, None
        if end is None:
            end = self._transport.bounds(self._address.topic, self._address.partition)[1]
        self._first_offset = end
        self._next_sequence = sequence
        self.size_bytes = sum(len(record.value or b"") for record in records)
        return records

    def committed(self) -> None:
        """Note that what `make` returned is committed; delete what lies before the oldest one kept."""
        self.sequence = self._next_sequence
        now = self._clock.monotonic()
        self._metrics.snapshot_committed(
            self._address.partition, now - self._began_at, self.size_bytes, self._clock.time()
        )
        self._offsets.append(self._first_offset)
        self._records = 0
        self._committed_at = now
        excess = len(self._offsets) - self._settings.snapshots_kept
        if excess <= 0:
            return
        for _ in range(excess):
            self._offsets.popleft()
        try:
            self._transport.delete_before(self._address.topic, self._address.partition, self._offsets[0])
        except TransportError as error:  # tidying up must not stop the stream; the next snapshot tries again
            _log.warning("partition %d: old checkpoints stay: %s", self._address.partition, error)
