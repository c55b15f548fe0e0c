"""A partition's checkpoint log, audited. In: its records. Out: its last commit, and what contradicts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from perceptron_core import DamagedError
from service.audit.findings import Fault, Findings, Place
from service.checkpoints.snapshot import Snapshot, from_chunks
from service.formats.schema import Schema, from_bytes
from service.stream import Record

_GROWING: Final = ("predictions", "labelled", "mistakes", "rejected")
"""Counts that never fall while a model lives."""


LIMITS: Final = ("label_timeout_seconds", "max_pending", "max_pending_bytes")
"""Settings that decide how long an event is kept for its label."""
_ON_TIMEOUT: Final = "events.label_on_timeout"


class Jump(NamedTuple):
    """A snapshot that goes on elsewhere than the batch before it ended."""

    place: Place
    sequence: int
    before: Mapping[str, int]
    after: Mapping[str, int]


class Batch(NamedTuple):
    """One progress record."""

    place: Place
    sequence: int
    offsets: Mapping[str, int]
    counts: Mapping[str, int]
    consumed: Mapping[str, int]


@dataclass(slots=True)
class _Chunks:
    """A snapshot whose records are being read."""

    place: Place
    sequence: int
    count: int
    chunks: list[bytes] = field(default_factory=list)


class CommitHistory:
    """What the checkpoint log of one partition tells.

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
        Records ever processed by input topic; None where a release wrote the log that did not count them.
    limits_changed
        Settings that decide how long an event is kept and differ between two snapshots.
    end
        Where the log goes on.
    schemas
        Those that the records were written with, by key.
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
        self.identity: Mapping[str, Any] = {}
        self.limits_changed: list[str] = []
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

    @classmethod
    def of(cls, records: Iterable[Record], group: str) -> CommitHistory:
        """Read a log."""
        history = cls(group)
        for record in records:
            history._take(record)
        history._finish_snapshot()
        return history

    def offsets_since(self, records: Iterable[Record]) -> Mapping[str, int]:
        """Return the offsets of the last commit by now; `records` are those that the log has got since."""
        offsets = dict(self.offsets)
        for record in records:
            if record.key == self._key and dict(record.headers).get("kind") == b"progress":
                batch = _read_progress(Place(*record[:3]), record.value)
                offsets |= batch.offsets if batch else {}
        return offsets

    def _take(self, record: Record) -> None:
        place, headers = Place(*record[:3]), dict(record.headers)
        self.end = record.offset + 1
        self.owners.add(record.key)
        kind = headers.get("kind")
        if kind not in {b"progress", b"snapshot", b"schema"}:
            self.findings.add(Fault.FOREIGN, place, "no checkpoint record: another program has written it")
        elif record.key != self._key:
            owner = (record.key or b"").decode(errors="replace")
            self.findings.add(Fault.FOREIGN, place, f"a record of the group {owner!r} in the checkpoint log")
        elif kind == b"progress":
            self._finish_snapshot()
            self._take_progress(place, record.value)
        elif kind == b"schema":
            self._finish_snapshot()
            self._take_schema(place, headers, record.value)
        else:
            self._take_chunk(place, headers, record.value)

    def _take_progress(self, place: Place, value: bytes | None) -> None:
        batch = _read_progress(place, value)
        if batch is None:
            self.findings.add(Fault.WRONG, place, "progress that cannot be read")
            return
        self._check_follows(place, batch.sequence)
        self._check_offsets(place, batch.offsets)
        if self.counts and (
            fallen := [n for n in _GROWING if batch.counts.get(n, 0) < self.counts.get(n, 0)]
        ):
            self.findings.add(Fault.WRONG, place, f"the counts of {', '.join(fallen)} fell")
        self.sequence, self.offsets, self.counts = batch.sequence, batch.offsets, batch.counts
        self.consumed = batch.consumed or None
        self.batches.append(batch)

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

    def _take_schema(self, place: Place, headers: Mapping[str, bytes], value: bytes | None) -> None:
        try:
            self.schemas[headers["schema"]] = from_bytes(value or b"")
        except (DamagedError, KeyError) as error:
            self.findings.add(Fault.WRONG, place, f"a schema that cannot be read: {error}")

    def _take_chunk(self, place: Place, headers: Mapping[str, bytes], value: bytes | None) -> None:
        try:
            sequence, number, count = (int(headers[name]) for name in ("sequence", "chunk", "chunks"))
        except (KeyError, ValueError):
            self.findings.add(Fault.WRONG, place, "a piece of a snapshot without its numbers")
            return
        if number == 0:
            self._finish_snapshot()
            self._chunks = _Chunks(place, sequence, count)
        if self._chunks is not None and len(self._chunks.chunks) == number:
            self._chunks.chunks.append(value or b"")

    def _finish_snapshot(self) -> None:
        stored, self._chunks = self._chunks, None
        if stored is None:
            return
        self.n_snapshots += 1
        try:
            snapshot = from_chunks(stored.chunks)
        except DamagedError as error:
            self.findings.add(Fault.WRONG, stored.place, f"a snapshot that cannot be read: {error}")
            return
        self._check_snapshot(stored.place, snapshot)
        self._note_changed_limits(snapshot.identity)
        self.identity = snapshot.identity
        kept = snapshot.state.get("schemas", ())
        self.schemas |= {key: Schema(kind, tuple(parts)) for key, kind, parts in kept}
        if self.sequence is None or snapshot.sequence > self.sequence:
            self.sequence, self.offsets = snapshot.sequence, snapshot.offsets
            self.counts, self.consumed = _counts(snapshot), snapshot.state["counters"]["consumed"]

    def _note_changed_limits(self, identity: Mapping[str, Any]) -> None:
        for name in LIMITS:
            used = self.identity.get(name), identity.get(name)
            if None not in used and used[0] != used[1] and name not in self.limits_changed:
                self.limits_changed.append(name)
        on_timeout = {each.get(_ON_TIMEOUT, "") for each in (self.identity or identity, identity)}
        if len(on_timeout) > 1 and _ON_TIMEOUT not in self.limits_changed:
            self.limits_changed.append(_ON_TIMEOUT)

    def _check_snapshot(self, place: Place, snapshot: Snapshot) -> None:
        """Check that it is the state after the last batch, or another model put in behind it."""
        if self.sequence is None:
            return
        where = {topic: at for topic, at in snapshot.offsets.items() if topic in self.offsets}
        if snapshot.sequence not in {self.sequence, self.sequence + 1}:
            self._check_follows(place, snapshot.sequence)
        elif any(self.offsets[topic] != at for topic, at in where.items()):
            if snapshot.sequence > self.sequence:
                self.jumps.append(Jump(place, snapshot.sequence, dict(self.offsets), dict(snapshot.offsets)))
            else:
                self.findings.add(Fault.WRONG, place, "the snapshot's position is not that of its batch")
        elif snapshot.sequence == self.sequence:
            counts = _counts(snapshot)
            if any(counts[name] != count for name, count in self.counts.items() if name in counts):
                self.findings.add(Fault.WRONG, place, "the snapshot's counts are not those of its batch")


def _read_progress(place: Place, value: bytes | None) -> Batch | None:
    try:
        fields: dict[str, Any] = json.loads(value or b"")
        if fields["version"] != 1:
            return None
        offsets = {str(topic): int(offset) for topic, offset in fields["offsets"].items()}
        counts = {str(name): int(count) for name, count in fields["counts"].items()}
        consumed = {str(topic): int(count) for topic, count in fields.get("consumed", {}).items()}
        if fields.get("now_ms", 1) <= 0:
            return None
        return Batch(place, int(fields["sequence"]), offsets, counts, consumed)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _counts(snapshot: Snapshot) -> Mapping[str, int]:
    counters = snapshot.state["counters"]
    counts = {name: counters[name] for name in ("predictions", "labelled", "mistakes")}
    pending = sum(truth is None for *_, truth in (each[:6] for each in snapshot.state["join"]["examples"]))
    return {**counts, "rejected": sum(counters["rejected"].values()), "pending": pending}
