"""Read the checkpoint logs and inputs of many partitions at once, before their tasks are restored.

A kept state (`standby`) is continued with what was committed since.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Final, NamedTuple

from perceptron_core import DamagedError
from perceptron_core.elementary import ARITHMETIC
from service.checkpoints.config_fingerprint import is_continued_alike
from service.checkpoints.log import CheckpointLog, read_log
from service.checkpoints.snapshot import Snapshot, StoredSnapshot
from service.errors import CheckpointError
from service.loop.restore import Restored, RestorePoint
from service.settings.fields import fingerprint
from service.settings.load import Settings
from service.settings.topics import input_partitions, input_topics, task_partitions
from service.stream.protocol import ReadStream, Record, TopicPartition, Transport

_MAX_BYTES: Final = 256 * 1024 * 1024
"""Total bytes of the partitions of a topic that are read together; larger ones are read one by one."""
Range = tuple[int, int]


class KeptState(NamedTuple):
    """A restored state, and the end of the checkpoint log that it was restored from."""

    point: RestorePoint
    log: CheckpointLog
    """The log after the state, and the newest snapshots without their chunks."""
    next_offset: int
    """Where the log ended."""

    @classmethod
    def of(
        cls, restored: Restored, settings: Settings, log: CheckpointLog, next_offset: int
    ) -> KeptState | None:
        """Return the state to keep; None if later batches may be learned under other settings."""
        if restored.settings_changed or restored.losses or not log.snapshots:
            return None
        made_with = fingerprint(settings) | restored.fingerprint_extras
        snapshot = Snapshot(
            restored.sequence, restored.offsets, made_with, {"arithmetic": ARITHMETIC}, restored.topic_ids
        )
        wholes = [index for index, each in enumerate(log.snapshots) if each.before is None]
        snapshots = log.snapshots[[0, *wholes][-settings.snapshots_kept :][0] :]
        newest = snapshots[-1].sequence
        rest = CheckpointLog(
            log.progress[-1:],
            [replace(each, chunks=dict.fromkeys(each.chunks, b""), previous=None) for each in snapshots],
            [schema for schema in log.schemas if schema.sequence > restored.sequence],
            {sequence: offset for sequence, offset in log.offsets.items() if sequence > newest},
            log.unfinished,
        )
        return cls(RestorePoint(snapshot, restored.processor), rest, next_offset)

    def lies_in(self, first: int, end: int) -> bool:
        """Return whether a log with these bounds continues where this one ended."""
        return first <= self.next_offset <= end

    def continued_log(
        self, records: Sequence[Record] | None, first_offset: int, settings: Settings
    ) -> CheckpointLog | None:
        """Return the log with the records that follow; None if later batches did not continue this state.

        Parameters
        ----------
        records
            The records from `next_offset` on; None if they were too large.
        first_offset
            Where the log starts now; a snapshot must start there.
        settings
            The settings of this process. Later snapshots must have the same.

        """
        if records is None:
            return None
        try:
            log = read_log(records, settings.group, self.log)
            known = {snapshot.first_offset for snapshot in self.log.snapshots}
            following = [snapshot for snapshot in log.snapshots if snapshot.first_offset not in known]
            is_valid = first_offset <= log.snapshots[-1].needed_offset and all(
                _follows(each, log, settings) for each in following
            )
            log.progress_after(self.point.snapshot.sequence)
        except (CheckpointError, DamagedError):
            return None
        return log if is_valid else None


def _follows(stored: StoredSnapshot, log: CheckpointLog, settings: Settings) -> bool:
    """Return whether a snapshot belongs to a batch in the log, has these settings and this arithmetic."""
    if stored.sequence not in log.offsets:
        return False
    snapshot, _ = stored.read_own()  # an increment extends the state at hand
    return is_continued_alike(snapshot, settings)


class ReadAhead(ReadStream):
    """A stream that has already read what restoring tasks needs.

    Parameters
    ----------
    stream, settings
        The stream, and the topics.
    tasks
        The numbers of the tasks to restore. The commits of their former owners must be visible.
    kept
        States kept by `standby`, by task.

    Attributes
    ----------
    logs : dict[int, CheckpointLog]
        The checkpoint logs, by task; those that cannot be read are missing.
    kept : dict[int, KeptState]
        The kept states from which the present commit can be reached.

    """

    def __init__(
        self,
        stream: Transport,
        settings: Settings,
        tasks: Sequence[int],
        kept: Mapping[int, KeptState] = MappingProxyType({}),
    ) -> None:
        self._stream = stream
        self._log = settings.checkpoints_topic
        self._topic_id = cache(stream.topic_id)
        self._partition_count = cache(stream.partition_count)
        partitions = {each: task_partitions(settings, self, each) for each in tasks}
        topic_partitions = {each: input_partitions(settings, numbers) for each, numbers in partitions.items()}
        asked = [each for some in topic_partitions.values() for each in some]
        asked += [(self._log, each) for each in tasks]
        asked += [(settings.predictions_topic, each) for some in partitions.values() for each in some]
        self._bounds = stream.bounds_of([each for each in asked if each[1] < self.partition_count(each[0])])
        logs = {each: bounds for (topic, each), bounds in self._bounds.items() if topic == self._log}
        self.kept = {
            each: state for each, state in kept.items() if each in logs and state.lies_in(*logs[each])
        }
        starts = {each: state.next_offset for each, state in self.kept.items()}
        self._records = self._read_partitions(
            self._log, {each: (starts.get(each, first), end) for each, (first, end) in logs.items()}
        )
        self.logs = dict(self._valid_logs(settings))
        self._inputs: dict[str, dict[int, Range]] = {topic: {} for topic in input_topics(settings)}
        for each, log in self.logs.items():
            for (topic, partition), replayed in self._replayed(each, log, topic_partitions[each]).items():
                self._inputs[topic][partition] = replayed
        self._input_records = {
            (topic, partition): records
            for topic, ranges in self._inputs.items()
            for partition, records in self._read_partitions(topic, ranges).items()
        }

    def _read_partitions(self, topic: str, ranges: Mapping[int, Range]) -> dict[int, list[Record]]:
        """Return the records of several partitions; an empty result if they are too large together."""
        records: dict[int, list[Record]] = {partition: [] for partition in ranges}
        n_bytes = 0
        there = {
            partition: (max(start, self._bounds[topic, partition][0]), end)
            for partition, (start, end) in ranges.items()
        }
        for record in self._stream.read_partitions(topic, there):
            n_bytes += len(record.value or b"")
            if n_bytes > _MAX_BYTES and len(ranges) > 1:
                return {}
            records[record.partition].append(record)
        return records

    def _valid_logs(self, settings: Settings) -> Iterator[tuple[int, CheckpointLog]]:
        """Yield the readable logs; reading another one later raises its error."""
        for task, state in [*self.kept.items()]:
            first_offset = self._bounds[self._log, task][0]
            log = state.continued_log(self._records.pop(task, None), first_offset, settings)
            if log is None:
                del self.kept[task]
            else:
                yield task, log
        for task, records in self._records.items():
            with suppress(CheckpointError):
                yield task, read_log(records, settings.group)

    def take(self, task: int) -> tuple[CheckpointLog | None, RestorePoint | None]:
        """Remove and return a task's log and the state to restore from; each is None if there is none."""
        kept = self.kept.get(task)
        return self.logs.pop(task, None), None if kept is None else kept.point

    def log_end(self, task: int) -> int:
        """Return where the checkpoint log of a task ended."""
        return self._bounds[self._log, task][1]

    def _replayed(
        self, task: int, log: CheckpointLog, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, Range]:
        """Find which input records will be replayed."""
        newest = log.snapshots[-1].sequence if log.snapshots else log.last_sequence()
        starts = {each.sequence: each.offsets for each in log.progress}
        if task in self.kept:
            point = self.kept[task].point.snapshot
            newest, starts = point.sequence, {point.sequence: point.offsets}
        if log.last_sequence() <= newest or not (newest in starts or newest == 0):
            return {}
        start, end = starts.get(newest, {}), log.progress[-1].offsets
        known = [partition for partition in partitions if partition in self._bounds]
        return {partition: (start.get(partition, 0), end.get(partition, 0)) for partition in known}

    @property
    def offsets_are_dense(self) -> bool:
        """See `ReadStream`."""
        return self._stream.offsets_are_dense

    def topic_id(self, topic: str) -> str:
        """Return the id of a topic, asked once; see `ReadStream.topic_id`."""
        return self._topic_id(topic)

    def partition_count(self, topic: str) -> int:
        """Return the number of partitions, asked once; see `ReadStream.partition_count`."""
        return self._partition_count(topic)

    def bounds(self, topic: str, partition: int) -> Range:
        """Return the bounds as of the read-ahead; see `ReadStream.bounds`."""
        known = self._bounds.get((topic, partition))
        return self._stream.bounds(topic, partition) if known is None else known

    def read(self, topic: str, partition: int, start: int = 0, end: int | None = None) -> Iterator[Record]:
        """Yield records, once from memory if they were read ahead; see `ReadStream.read`."""
        if topic == self._log and (records := self._records.pop(partition, None)) is not None:
            return iter(records)
        first, last = self._inputs.get(topic, {}).get(partition, (0, 0))
        if end is not None and first <= start and end <= last:
            records = self._input_records.pop((topic, partition), None)
            if records is not None:
                return (record for record in records if start <= record.offset < end)
        return self._stream.read(topic, partition, start, end)
