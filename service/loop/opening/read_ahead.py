"""Ask a stream about many partitions at once, before each of them is restored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from service.checkpoints.log import CheckpointLog, read_log
from service.errors import CheckpointError
from service.loop.opening.kept_state import KeptState
from service.loop.recovery import Base
from service.settings.load import Settings
from service.stream import Record, Transport
from service.transport.topics import input_topics

_MOST_BYTES: Final = 256 * 1024 * 1024
"""What partitions of a topic that are read together may take; larger ones are read one by one."""
Range = tuple[int, int]


class ReadAhead:
    """A `Transport` that knows already what restoring partitions asks for.

    Parameters
    ----------
    transport, settings
        The stream, and the topics.
    partitions
        Which of them. What was committed by their former owners must be visible.
    kept
        States that were restored before, by partition.

    Attributes
    ----------
    logs : dict[int, CheckpointLog]
        The checkpoint logs, by partition; those that cannot be read are missing.
    kept : dict[int, KeptState]
        The states among those given that lead to what is committed now.

    """

    def __init__(
        self,
        transport: Transport,
        settings: Settings,
        partitions: Sequence[int],
        kept: Mapping[int, KeptState] = MappingProxyType({}),
    ) -> None:
        self._transport = transport
        self._log = settings.checkpoints_topic
        self.topic_id = cache(transport.topic_id)
        self.partition_count = cache(transport.partition_count)
        topics = (*input_topics(settings), self._log, settings.predictions_topic)
        places = [(topic, each) for topic in topics for each in self._there(topic, partitions)]
        self._bounds = transport.bounds_of(places)
        logs = {each: bounds for (topic, each), bounds in self._bounds.items() if topic == self._log}
        self.kept = {
            each: state for each, state in kept.items() if each in logs and state.lies_in(*logs[each])
        }
        starts = {each: state.next_offset for each, state in self.kept.items()}
        self._records = self._read_together(
            self._log, {each: (starts.get(each, first), end) for each, (first, end) in logs.items()}
        )
        self.logs = dict(self._sound_logs(settings))
        self._inputs = {topic: self._relearned(topic) for topic in input_topics(settings)}
        self._input_records = {
            (topic, partition): records
            for topic, ranges in self._inputs.items()
            for partition, records in self._read_together(topic, ranges).items()
        }

    def _there(self, topic: str, partitions: Sequence[int]) -> Sequence[int]:
        n_partitions = self.partition_count(topic)
        return [each for each in partitions if each < n_partitions]

    def _read_together(self, topic: str, ranges: Mapping[int, Range]) -> dict[int, list[Record]]:
        """Return the records of several partitions; of none, if they are large together."""
        found: dict[int, list[Record]] = {partition: [] for partition in ranges}
        n_bytes = 0
        there = {
            partition: (max(start, self._bounds[topic, partition][0]), end)
            for partition, (start, end) in ranges.items()
        }
        for record in self._transport.read_together(topic, there):
            n_bytes += len(record.value or b"")
            if n_bytes > _MOST_BYTES and len(ranges) > 1:
                return {}
            found[record.partition].append(record)
        return found

    def _sound_logs(self, settings: Settings) -> Iterator[tuple[int, CheckpointLog]]:
        """Yield the logs that can be read; who asks for another one is told why it cannot."""
        for partition, state in [*self.kept.items()]:
            first_offset = self._bounds[self._log, partition][0]
            log = state.continued(self._records.pop(partition, None), first_offset, settings)
            if log is None:
                del self.kept[partition]
            else:
                yield partition, log
        for partition, records in self._records.items():
            with suppress(CheckpointError):
                yield partition, read_log(records, settings.group)

    def take(self, partition: int) -> tuple[CheckpointLog | None, Base | None]:
        """Remove and return the log of a partition, and what to restore from; None where there is none."""
        kept = self.kept.get(partition)
        return self.logs.pop(partition, None), None if kept is None else kept.base

    def log_end(self, partition: int) -> int:
        """Return where the checkpoint log of a partition ended."""
        return self._bounds[self._log, partition][1]

    def _relearned(self, topic: str) -> dict[int, Range]:
        """Find which records of an input topic are to be learned again, by partition."""
        found = {}
        for partition, log in self.logs.items():
            newest = log.snapshots[-1].sequence if log.snapshots else log.last_sequence()
            starts = {each.sequence: each.offsets.get(topic, 0) for each in log.progress}
            if partition in self.kept:
                base = self.kept[partition].base.snapshot
                newest, starts = base.sequence, {base.sequence: base.offsets.get(topic, 0)}
            if log.last_sequence() > newest and (newest in starts or newest == 0):
                found[partition] = (starts.get(newest, 0), log.progress[-1].offsets.get(topic, 0))
        return found

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the stream has
        return getattr(self._transport, name)

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the bounds as they were; see `Transport.bounds`."""
        known = self._bounds.get((topic, partition))
        return self._transport.bounds(topic, partition) if known is None else known

    def read(self, topic: str, partition: int, start: int = 0, end: int | None = None) -> Iterator[Record]:
        """Yield records, those that were read already from memory, once; see `Transport.read`."""
        if topic == self._log and (records := self._records.pop(partition, None)) is not None:
            return iter(records)
        first, last = self._inputs.get(topic, {}).get(partition, (0, 0))
        if end is not None and first <= start and end <= last:
            records = self._input_records.pop((topic, partition), None)
            if records is not None:
                return (each for each in records if start <= each.offset < end)
        return self._transport.read(topic, partition, start, end)
