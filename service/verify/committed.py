"""Read the commits of a group: the progress records and snapshots of each task, checked as a chain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from typing import Any, Final, NamedTuple, Self

from perceptron_core import DamagedError
from perceptron_core.validation import NewerError
from service.checkpoints.config_fingerprint import EARLIER, NOT_SETTINGS, ORIGIN, START, START_MS
from service.checkpoints.log import CheckpointLog, Progress, add_record
from service.checkpoints.losses import topic_ids
from service.checkpoints.snapshot import Snapshot, mark_of
from service.errors import CheckpointError, NewerRelease
from service.formats.schema import Schema
from service.partition.parts.counters import SCORED
from service.partition.parts.decisions import Decisions
from service.partition.parts.kinds import ModelPart, counts_of
from service.settings.declaration import Decides
from service.settings.fields import KEPT, MAPPING, defaults, names_that_decide
from service.settings.topics import input_topics
from service.stream.protocol import TopicPartition, flat
from service.verify.findings import Fault, RecordPosition, Stream

_TOPICS: Final = ("events_topic", "labels_topic")
_OTHERS: Final = (*_TOPICS, "classes", "max_message_bytes", *names_that_decide(Decides.JOIN))
COMPARED: Final = tuple(name for name in KEPT if name in {*_OTHERS, *MAPPING})
"""Settings in snapshots that decide what is expected of a record."""
_GROWING: Final = (*SCORED, "rejected", "skipped")
"""Counts of a model that never decrease."""


class Step(NamedTuple):
    """The state of a task after a batch."""

    position: RecordPosition
    sequence: int
    offsets: Mapping[TopicPartition, int]
    """Next offsets by input topic and partition."""
    counts: Mapping[str, int]
    consumed: Mapping[str, int]
    """Number of records processed since the start, by input topic."""
    is_snapshot: bool = False
    """Whether it comes from a snapshot without a progress record: the input or the model was replaced."""


class Committed:
    """The contents of a task's checkpoint log; contradictions in it are reported.

    Parameters
    ----------
    stream, number
        The stream, and the number of the task, which is the partition of the log.

    Attributes
    ----------
    position
        The partition of the log.
    steps
        The oldest known state and each batch since, as far as they form a chain.
    origin, start_ms
        The offsets at which its input started, by topic and partition, and the event time before which
        records are skipped.
    start
        The offsets from which on it is verified.
    reasons
        Why it is not verified from the origin.
    config_fingerprint, n_changes
        The settings in the newest snapshot, and how often they have changed.
    recreated
        The topics that were recreated since.
    old_ends
        The end of each partition before its topic was recreated, if the group reads the new topic; infinite
        if the log no longer has the end.
    schemas, vectors
        The schemas of its records, and the lengths of their vectors.
    owners
        The groups with records in the log.

    """

    def __init__(self, stream: Stream, number: int) -> None:
        self.position = RecordPosition(stream.settings.checkpoints_topic, number)
        self.steps: list[Step] = []
        self.origin: Mapping[TopicPartition, int] = {}
        self.start: dict[TopicPartition, int] = {}
        self.start_ms = self.n_changes = 0
        self.reasons: list[str] = []
        self.config_fingerprint: Mapping[str, Any] = {}
        self.recreated: set[str] = set()
        self.old_ends: dict[TopicPartition, float] = {}
        self.schemas: dict[bytes, Schema] = {}
        self.vectors: Mapping[str, int] = {}
        self.owners: set[bytes | None] = set()
        self._stream, self._flag = stream, stream.flag
        self._log = CheckpointLog()
        self._by_sequence: dict[int, Step] = {}
        self._named: set[str] = set()
        """The topics that the settings have named since the start."""
        self._newest = -1
        """The number of the batch of the newest snapshot."""

    @property
    def offsets(self) -> Mapping[TopicPartition, int]:
        """Return the next offsets at the last commit, by topic and partition."""
        return self.steps[-1].offsets if self.steps else {}

    def begin_at(self, offsets: Mapping[TopicPartition, int], why: str) -> None:
        """Exclude records processed before these offsets from the verification."""
        for partition, at in offsets.items():
            begun_at = self.start.get(partition, self.origin.get(partition, 0))
            if at > begun_at:
                self.start[partition] = at
                self.reasons.append(f"{RecordPosition(*partition)}: records {begun_at}-{at - 1} {why}")

    def read(self) -> Self:
        """Read the log; check that batches follow each other, and that each snapshot matches its batch."""
        log, group = self._log, self._stream.settings.group
        for record in self._stream.read(*self.position[:2]):
            self.owners.add(record.key)
            try:
                add_record(log, record, group)
            except NewerRelease:
                raise
            except CheckpointError as error:
                fault = Fault.WRONG if record.key == group.encode() else Fault.UNEXPECTED
                self._flag(fault, RecordPosition.of(record), str(error).partition(": ")[2])
        log.snapshots = [each for each in log.snapshots if not each.is_unfinished]
        if (is_trimmed := self._stream.transport.bounds(*self.position[:2])[0] > 0) and log.snapshots:
            first_one = log.snapshots[0]  # its beginning, or the snapshot that it continues, may be deleted
            del log.snapshots[: 0 not in first_one.chunks or first_one.before is not None]
        self._stream.report.progress_records += len(log.progress)
        self._stream.report.snapshots += len(log.snapshots)
        self.schemas |= {each.key: each.schema for each in log.schemas}
        for each in log.progress:
            self._add_progress(each)
        first = log.progress[0].sequence if log.progress else None
        for position, snapshot in self._snapshots():
            self._note_settings(position, snapshot)
            self._compare(position, snapshot)
        # A commit under way when a snapshot is begun stays, as its end in the log is unknown.
        if first is not None and all(each.sequence > first + 1 for each in log.snapshots):
            message = f"missing snapshot before batch {first}"
            self._flag(Fault.MISSING, self._by_sequence[first].position, message)
        for step in (self._by_sequence[each] for each in sorted(self._by_sequence)):
            if is_trimmed and self.steps and self.steps[-1].sequence + 1 < step.sequence == first:
                self.steps.clear()  # a snapshot ends after progress of later batches, which may be deleted
            self._check_step(self.steps[-1] if self.steps else None, step)
            self.steps.append(step)
        return self

    def _add_progress(self, each: Progress) -> None:
        position = self.position._replace(offset=self._log.offsets[each.sequence])
        last = max(self._by_sequence, default=-1)
        if each.sequence <= last:
            self._flag(Fault.DUPLICATE, position, f"duplicate batch {each.sequence}, after batch {last}")
        elif not each.processing_time_ms:
            self._flag(Fault.WRONG, position, "progress record without processing_time_ms")
        step = Step(position, each.sequence, each.offsets, each.counts, each.consumed)
        self._by_sequence.setdefault(each.sequence, step)

    def _snapshots(self) -> Iterator[tuple[RecordPosition, Snapshot]]:
        for stored in self._log.snapshots:
            position = self.position._replace(offset=stored.first_offset)
            try:
                snapshot, mark = stored.read_own()
                before = stored.previous
                is_torn = stored.before is not None and (before is None or mark != mark_of(before.in_order()))
            except NewerError as error:
                raise NewerRelease.wrote(f"{position}: {error}") from None
            except DamagedError as error:
                self._flag(Fault.WRONG, position, f"unreadable snapshot: {error}")
            else:
                if is_torn:
                    message = "broken increment chain: its parent is not the preceding snapshot"
                    self._flag(Fault.WRONG, position, message)
                yield position, snapshot

    def _note_settings(self, position: RecordPosition, snapshot: Snapshot) -> None:
        """Note the settings in a snapshot, and the offsets from which on they applied."""
        config_fingerprint = snapshot.config_fingerprint
        settings = {name: value for name, value in config_fingerprint.items() if name not in NOT_SETTINGS}
        is_again = snapshot.sequence == self._newest and settings == self.config_fingerprint
        if is_again or snapshot.sequence < self._newest:
            self._flag(Fault.DUPLICATE, position, f"duplicate snapshot after batch {snapshot.sequence}")
        origin, earlier = config_fingerprint.get(ORIGIN, {}), config_fingerprint.get(EARLIER, ())
        self.origin, self.start_ms = flat(origin.get(START, {})), origin.get(START_MS, 0)
        self._newest, self.config_fingerprint, self.n_changes = snapshot.sequence, settings, len(earlier)
        for each in (settings, *(each["settings"] for each in earlier)):
            self._named |= {each[name] for name in _TOPICS if name in each}
        for each in earlier:
            before, since = defaults() | each["settings"], defaults() | settings
            if any(before[name] != since[name] for name in (*COMPARED, "share_model")):
                until = flat(each["until"])
                self.begin_at(until, "were read before the settings changed")
        topics = [*input_topics(self._stream.settings)]
        present = topic_ids(self._stream.transport, [each for each in topics if each in snapshot.topic_ids])
        self.recreated = {each for each, topic_id in present.items() if topic_id != snapshot.topic_ids[each]}
        self.vectors = snapshot.state.get("vectors") or self.vectors
        kept = snapshot.state.get("schemas", ())
        self.schemas |= {key: Schema(kind, tuple(parts)) for key, kind, parts in kept}

    def _compare(self, position: RecordPosition, snapshot: Snapshot) -> None:
        """Compare a snapshot with its batch."""
        state, sequence, offsets = snapshot.state, snapshot.sequence, snapshot.offsets
        counts, consumed = _counts(state), state["counters"]["consumed"]
        its = self._by_sequence.setdefault(
            sequence, Step(position, sequence, offsets, counts, consumed, is_snapshot=True)
        )
        if any(its.offsets.get(each, at) != at for each, at in offsets.items()):
            self._flag(Fault.WRONG, position, "position differs between the snapshot and its batch")
        elif its.consumed != consumed or any(
            counts.get(name, count) != count for name, count in its.counts.items()
        ):
            self._flag(Fault.WRONG, position, "counts differ between the snapshot and its batch")

    def _check_step(self, last: Step | None, step: Step) -> None:
        """Check that a step follows the last one."""
        for topic in sorted({topic for topic, _ in step.offsets} - self._named) if self._named else ():
            self._flag(Fault.WRONG, step.position, f"unexpected position: the group does not read {topic}")
        if last is None:
            # A topic with more processed records than offsets held records before it was recreated.
            for each in step.offsets:
                n_offsets = sum(at for other, at in step.offsets.items() if other[0] == each[0])
                if step.consumed.get(each[0], 0) > n_offsets:
                    self.old_ends[each] = inf
            return
        if step.sequence > last.sequence + 1:
            missing = f"{last.sequence + 1} to {step.sequence - 1}"
            self._flag(Fault.MISSING, step.position, f"missing progress records: batches {missing}")
        elif step.is_snapshot:
            self._check_replaced(last, step)
            return
        fallen = [f"the position in {RecordPosition(*each)}" for each in _fallen(last.offsets, step.offsets)]
        fallen += [name for name in _fallen(last.counts, step.counts) if name in _GROWING]
        if fallen:
            self._flag(Fault.WRONG, step.position, f"{', '.join(fallen)} decreased in batch {step.sequence}")

    def _check_replaced(self, last: Step, step: Step) -> None:
        """Distinguish lost or recreated input from a missing progress record."""
        before, bounds = last.offsets, self._stream.transport.bounds
        moved = {partition: at for partition, at in step.offsets.items() if before.get(partition, at) != at}
        has_fewer = any(_fallen(last.consumed, step.consumed)) and any(bounds(*at)[0] for at in step.offsets)
        if any(before[partition] < at > bounds(*partition)[0] for partition, at in moved.items()):
            self._flag(Fault.MISSING, step.position, f"missing progress record: batch {step.sequence}")
        elif moved or has_fewer:
            if has_fewer:
                self.reasons.append(f"partition {self.position[1]}: processed records were lost unreplayed")
            for partition, at in moved.items():
                lost = f"records {before[partition]}-{at - 1} were lost unread"
                why = lost if at > before[partition] else "the topic was recreated"
                if at < before[partition]:
                    self.old_ends[partition] = max(before[partition], self.old_ends.get(partition, 0))
                self.reasons.append(f"{RecordPosition(*partition)}: {why}")
            self.start, self.steps = dict(step.offsets), []


def _fallen(before: Mapping[Any, int], after: Mapping[Any, int]) -> Iterator[Any]:
    return (name for name, count in before.items() if after.get(name, 0) < count)


def _counts(state: Mapping[str, Any]) -> Mapping[str, int]:
    """Return the counts of all parts but the model, which takes long to read, and decisions set later."""
    parts = {name: part for name, part in state.items() if name != ModelPart.name}
    if Decisions.is_younger(parts):
        del parts[Decisions.name]
    return {name: count for name, count in counts_of(parts).items() if count is not None}
