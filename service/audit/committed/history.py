"""Audit a partition's checkpoint log: find its last commit and its contradictions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from perceptron_core import DamagedError
from perceptron_core.errors import NewerError
from service.audit.committed.progress import Batch, read_progress
from service.audit.findings import Fault, Findings, Place
from service.checkpoints.identity import BEGAN, BESIDE, EARLIER, START, START_MS
from service.checkpoints.log import KINDS
from service.checkpoints.snapshot import Snapshot, changes_from_chunks, from_chunks, mark_of
from service.errors import NewerRelease
from service.formats.schema import Schema, from_bytes
from service.partition.decisions.part import Decisions
from service.partition.part import ModelPart
from service.partition.parts import counts_of
from service.stream import Record

_GROWING: Final = ("predictions", "labelled", "mistakes", "rejected", "skipped")
"""Counts that never fall while a model lives."""
TOPIC_SETTINGS: Final = ("events_topic", "labels_topic")
"""Settings in a snapshot's identity that name what the group reads."""


class Jump(NamedTuple):
    """A snapshot that goes on elsewhere than the batch before it ended."""

    place: Place
    sequence: int
    before: Mapping[str, int]
    after: Mapping[str, int]


@dataclass(slots=True)
class _Chunks:
    """A snapshot whose records are being read."""

    place: Place
    sequence: int
    count: int
    is_increment: bool
    chunks: list[bytes] = field(default_factory=list)


class CommitHistory:
    """The contents of one partition's checkpoint log.

    Parameters
    ----------
    group
        Whose log it is.

    Attributes
    ----------
    sequence
        Number of the last committed batch; None before the first snapshot.
    offsets
        Next offset to be processed by input topic, at the last commit.
    counts
        What the model had done by then.
    batches
        The progress records.
    jumps
        Snapshots that go on elsewhere: where input was lost, or a progress record is.
    consumed
        Records ever processed by input topic; None if the release that wrote the log did not count them.
    begin
        The first snapshot; None if there is none.
    begins_with_snapshot
        Whether one lies before all progress but that which was committed with it.
    earlier
        The settings that held before those of `identity`, as far as they are known: `earlier_settings`.
    start, start_ms
        Of `start_from`: the first offset by topic, and the event time before which records were skipped.
    end
        Where the log goes on.
    schemas
        Those that the records were written with, by key.
    vectors
        How many numbers the lists of `events.vectors` have.
    identity
        The settings that the newest snapshot names; empty before the first.
    findings
        What contradicts.

    """

    def __init__(self, group: str) -> None:
        self._key = group.encode()
        self._chunks: _Chunks | None = None
        self.sequence: int | None = None
        self.offsets: Mapping[str, int] = {}
        self.counts: Mapping[str, int] = {}
        self.batches: list[Batch] = []
        self.jumps: list[Jump] = []
        self.consumed: Mapping[str, int] | None = {}
        self.schemas: dict[bytes, Schema] = {}
        self.vectors: Mapping[str, int] = {}
        self.identity: Mapping[str, Any] = {}
        self.begin: Batch | None = None
        self.begins_with_snapshot = True
        self.earlier: Sequence[Mapping[str, Any]] = ()
        self.start, self.start_ms = dict[str, int](), 0
        self._last_snapshot = -1
        self._mark = b""
        self.n_snapshots = 0
        self.end = 0
        self.owners: set[bytes | None] = set()
        self.findings = Findings()

    @property
    def begun_again_at(self) -> int:
        """Return the number of the last batch before a topic was created again; -1 if none was."""
        back = (
            jump.sequence
            for jump in self.jumps
            if any(jump.after[topic] < jump.before.get(topic, 0) for topic in jump.after)
        )
        return max(back, default=-1)

    def earlier_names(self, setting: str) -> set[str]:
        """Return what a setting named before."""
        return {each["settings"][setting] for each in self.earlier if setting in each["settings"]}

    @classmethod
    def of(cls, records: Iterable[Record], group: str) -> CommitHistory:
        """Read a log."""
        history = cls(group)
        for record in records:
            history._read_record(record)
        history._check_begin()
        return history

    def offsets_since(self, records: Iterable[Record]) -> Mapping[str, int]:
        """Return the offsets of the last commit by now; `records` are those that the log has got since."""
        offsets = dict(self.offsets)
        for record in records:
            if record.key == self._key and dict(record.headers).get("kind") == b"progress":
                batch = read_progress(Place.of(record), record.value)
                offsets |= batch.offsets if batch else {}
        return offsets

    def _read_record(self, record: Record) -> None:
        place, headers = Place.of(record), dict(record.headers)
        self.end = record.offset + 1
        self.owners.add(record.key)
        kind = headers.get("kind")
        if kind not in {None, *KINDS} and record.key == self._key:
            raise NewerRelease.wrote(f"{place}: a record of the kind {kind!r:.50}")
        if kind not in KINDS:
            self.findings.add(Fault.FOREIGN, place, "no checkpoint record: another program has written it")
        elif record.key != self._key:
            owner = (record.key or b"").decode(errors="replace")
            self.findings.add(Fault.FOREIGN, place, f"a record of the group {owner!r} in the checkpoint log")
        elif kind == b"progress":
            self._read_progress(place, record.value)
        elif kind == b"schema":
            self._read_schema(place, headers, record.value)
        else:
            self._read_chunk(place, headers, record.value)

    def _read_progress(self, place: Place, value: bytes | None) -> None:
        batch = read_progress(place, value)
        if batch is None:
            self.findings.add(Fault.WRONG, place, "progress that cannot be read")
            return
        self._check_follows(place, batch.sequence)
        self._check_offsets(place, batch.offsets)
        self._check_topics(place, batch.offsets, self.identity)
        if self.counts and (
            fallen := [n for n in _GROWING if batch.counts.get(n, 0) < self.counts.get(n, 0)]
        ):
            self.findings.add(Fault.WRONG, place, f"the counts of {', '.join(fallen)} fell")
        self.sequence, self.offsets, self.counts = batch.sequence, batch.offsets, batch.counts
        self.consumed = batch.consumed
        self.batches.append(batch)

    def _check_begin(self) -> None:
        """Check that a log begins with a snapshot, or with the batch that it follows or precedes."""
        first = self.batches[0] if self.batches else None
        if first is not None and (self.begin is None or self.begin.sequence > first.sequence):
            self.begins_with_snapshot = False
            self.findings.add(Fault.MISSING, first.place, f"no snapshot before batch {first.sequence}")

    def _check_follows(self, place: Place, sequence: int) -> None:
        if self.sequence is None or sequence == self.sequence + 1:
            return
        if sequence <= self.sequence:
            self.findings.add(Fault.DOUBLED, place, f"batch {sequence} again, after batch {self.sequence}")
        else:
            missing = (
                f"{self.sequence + 1} to {sequence - 1}" if sequence > self.sequence + 2 else sequence - 1
            )
            self.findings.add(Fault.MISSING, place, f"no progress record of batch {missing} before this one")

    def _check_offsets(self, place: Place, offsets: Mapping[str, int]) -> None:
        for topic in offsets.keys() & self.offsets.keys():
            if offsets[topic] < self.offsets[topic]:
                fell = f"the position in {topic} went back from {self.offsets[topic]} to {offsets[topic]}"
                self.findings.add(Fault.WRONG, place, fell)

    def _check_topics(self, place: Place, offsets: Mapping[str, int], identity: Mapping[str, Any]) -> None:
        """Check that positions are of topics that the group reads, or has read before."""
        if self.sequence is None or any(name not in identity for name in TOPIC_SETTINGS):
            return
        for topic in sorted(
            offsets.keys() - self.offsets.keys() - {identity[name] for name in TOPIC_SETTINGS}
        ):
            self.findings.add(Fault.WRONG, place, f"a position in {topic}, which the group does not read")

    def _read_schema(self, place: Place, headers: Mapping[str, bytes], value: bytes | None) -> None:
        try:
            self.schemas[headers["schema"]] = from_bytes(value or b"")
        except (DamagedError, KeyError) as error:
            self.findings.add(Fault.WRONG, place, f"a schema that cannot be read: {error}")

    def _read_chunk(self, place: Place, headers: Mapping[str, bytes], value: bytes | None) -> None:
        try:
            sequence, number, count = (int(headers[name]) for name in ("sequence", "chunk", "chunks"))
        except (KeyError, ValueError):
            self.findings.add(Fault.WRONG, place, "a piece of a snapshot without its numbers")
            return
        if number == 0:  # one before it that is not whole was given up
            self._chunks = _Chunks(place, sequence, count, headers["kind"] == b"increment")
        if (stored := self._chunks) is None:
            return
        if (sequence, number, count) != (stored.sequence, len(stored.chunks), stored.count):
            self.findings.add(Fault.WRONG, stored.place, "a snapshot that cannot be read: a piece is missing")
            self._chunks = None
            return
        stored.chunks.append(value or b"")
        if len(stored.chunks) == count:
            self._chunks = None
            self._read_snapshot(stored)

    def _read_snapshot(self, stored: _Chunks) -> None:
        self.n_snapshots += 1
        try:
            snapshot = self._read_whole_or_changes(stored)
        except NewerError as error:
            raise NewerRelease.wrote(f"{stored.place}: {error}") from None
        except DamagedError as error:
            self.findings.add(Fault.WRONG, stored.place, f"a snapshot that cannot be read: {error}")
            return
        self._check_snapshot(stored.place, snapshot)
        self._check_topics(stored.place, snapshot.offsets, snapshot.identity)
        self._note_settings(snapshot)
        self.vectors = snapshot.state.get("vectors") or self.vectors
        kept = snapshot.state.get("schemas", ())
        self.schemas |= {key: Schema(kind, tuple(parts)) for key, kind, parts in kept}
        counts, consumed = _counts(snapshot), snapshot.state["counters"]["consumed"]
        if self.sequence is None or snapshot.sequence > self.sequence:
            self.sequence, self.offsets = snapshot.sequence, snapshot.offsets
            self.counts, self.consumed = counts, consumed
        if self.begin is None:
            self.begin = Batch(stored.place, snapshot.sequence, snapshot.offsets, counts, consumed)

    def _read_whole_or_changes(self, stored: _Chunks) -> Snapshot:
        """Read a snapshot; or an increment, which says all but the model."""
        before, self._mark = self._mark, b""
        if stored.is_increment:
            snapshot, mark = changes_from_chunks(stored.chunks)
            if mark != before:
                raise DamagedError("the one that it goes on from is not the one before it")
        else:
            snapshot = from_chunks(stored.chunks)
        self._mark = mark_of(stored.chunks)
        return snapshot

    def _note_settings(self, snapshot: Snapshot) -> None:
        """Add the settings up to here, from `earlier` or from the difference to the last snapshot."""
        identity, earlier = _split(snapshot.identity)
        began = snapshot.identity.get(BEGAN, {})
        self.start, self.start_ms = began.get(START, {}), began.get(START_MS, 0)
        if earlier:
            before = (each for each in self.earlier if _is_before(each["until"], earlier[0]["until"]))
            self.earlier = [*before, *earlier]
        elif self.identity and identity != self.identity:
            self.earlier = [*self.earlier, {"until": snapshot.offsets, "settings": self.identity}]
        self.identity, self._last_snapshot = identity, snapshot.sequence

    def _check_snapshot(self, place: Place, snapshot: Snapshot) -> None:
        """Check that it is the state after its batch, or another model put in behind the last one."""
        if self.sequence is None:
            return
        is_same = snapshot.sequence == self._last_snapshot and _split(snapshot.identity)[0] == self.identity
        if is_same or snapshot.sequence < self._last_snapshot:
            self.findings.add(Fault.DOUBLED, place, f"the snapshot after batch {snapshot.sequence} again")
        elif snapshot.sequence < self.sequence:
            self._check_late(place, snapshot)
        elif snapshot.sequence == self.sequence:
            self._compare(place, snapshot, self.offsets, self.counts, self.consumed)
        elif snapshot.sequence > self.sequence + 1:
            self._check_follows(place, snapshot.sequence)
        elif _differ(self.offsets, snapshot.offsets):
            self.jumps.append(Jump(place, snapshot.sequence, dict(self.offsets), dict(snapshot.offsets)))

    def _check_late(self, place: Place, snapshot: Snapshot) -> None:
        """Check a snapshot that was written with later batches; its own may be deleted, but none after it."""
        first = self.batches[0] if self.batches else None
        its = next((each for each in self.batches if each.sequence == snapshot.sequence), None)
        if its is not None:
            self._compare(place, snapshot, its.offsets, its.counts, its.consumed)
        elif first is None or first.sequence > snapshot.sequence + 1:
            self._check_follows(place, snapshot.sequence)

    def _compare(
        self,
        place: Place,
        snapshot: Snapshot,
        offsets: Mapping[str, int],
        counts: Mapping[str, int],
        consumed: Mapping[str, int] | None,
    ) -> None:
        """Compare a snapshot with its batch."""
        if _differ(offsets, snapshot.offsets):
            self.findings.add(Fault.WRONG, place, "the snapshot's position is not that of its batch")
            return
        told = _counts(snapshot)
        differ = consumed is not None and dict(consumed) != dict(snapshot.state["counters"]["consumed"])
        if differ or any(told[name] != count for name, count in counts.items() if name in told):
            self.findings.add(Fault.WRONG, place, "the snapshot's counts are not those of its batch")


def _split(identity: Mapping[str, Any]) -> tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]:
    """Return the present settings of a snapshot's identity, and the earlier ones."""
    present = {name: value for name, value in identity.items() if name not in BESIDE}
    return present, identity.get(EARLIER, ())


def _differ(offsets: Mapping[str, int], others: Mapping[str, int]) -> bool:
    return any(offsets[topic] != at for topic, at in others.items() if topic in offsets)


def _is_before(offsets: Mapping[str, int], others: Mapping[str, int]) -> bool:
    return offsets != others and all(at <= others.get(topic, 0) for topic, at in offsets.items())


def _counts(snapshot: Snapshot) -> Mapping[str, int]:
    """Return the counts of all parts but the model, which takes long to read, and decisions set later."""
    parts = {name: part for name, part in snapshot.state.items() if name != ModelPart.name}
    if Decisions.is_younger(parts):
        del parts[Decisions.name]
    counts = counts_of(parts)
    return {name: count for name, count in counts.items() if count is not None}
