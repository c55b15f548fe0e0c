"""Snapshots: the whole state of a task, in chunks that any broker takes.

A snapshot is MessagePack in an envelope with version and checksum. Only a River model in it is a pickle, and
that pickle is signed (`service.models.river`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, NamedTuple

from perceptron_core import DamagedError
from perceptron_core.formats.packed import checksum, pack_row, seal_chunks, unpack, unseal
from perceptron_core.validation import NewerError
from service.partition.parts.kinds import with_changes
from service.stream.protocol import TopicPartition, flat, nested

_KIND: Final = b"perceptron-snapshot"
_INCREMENT: Final = b"perceptron-increment"
LOG_VERSION: Final = 1
"""Version of snapshots and progress records: a release that changes their contents increases it."""
_CHUNK_BYTES: Final = 512 * 1024
"""Half of what Kafka brokers accept by default, to leave room for headers and batch overhead."""


class Snapshot(NamedTuple):
    """The state with which a task resumes after the batch with number `sequence`."""

    sequence: int
    offsets: Mapping[TopicPartition, int]
    """Next offset by input topic and partition; written by topic, then by partition."""
    config_fingerprint: Mapping[str, Any]
    """The settings that made the state."""
    state: Mapping[str, Any]
    """`Processor.state`, possibly already packed."""
    topic_ids: Mapping[str, str]
    """Ids of the input topics of the offsets."""


def to_chunks(snapshot: Snapshot, before: bytes = b"") -> Sequence[bytes]:
    """Write a snapshot in chunks of at most half a mebibyte.

    With `before`, the mark of the snapshot before it, it is an increment: its state has only the changes.
    """
    fields = [snapshot.sequence, nested(snapshot.offsets), *snapshot[2:-1], dict(snapshot.topic_ids)]
    kind = _KIND
    if before:
        kind = _INCREMENT
        fields.append(before)
    chunks, waiting = [], bytearray()
    for chunk in seal_chunks(kind, LOG_VERSION, pack_row(fields).iter_chunks()):
        waiting += chunk
        while len(waiting) > _CHUNK_BYTES:
            chunks.append(bytes(waiting[:_CHUNK_BYTES]))
            del waiting[:_CHUNK_BYTES]
    return [*chunks, bytes(waiting)]


def from_chunks(chunks: Sequence[bytes]) -> Snapshot:
    """Read a snapshot.

    Raises
    ------
    DamagedError
        A chunk is missing, damaged, or of a version this release does not know.
    NewerError
        A newer release wrote it.

    """
    snapshot, _ = _read(_KIND, chunks)
    return snapshot


def changes_from_chunks(chunks: Sequence[bytes]) -> tuple[Snapshot, bytes]:
    """Read an increment; return also the mark of the snapshot before it, which its state changes.

    Raises as `from_chunks` does.
    """
    snapshot, others = _read(_INCREMENT, chunks, n_others=1)
    return snapshot, others[0]


def mark_of(chunks: Sequence[bytes]) -> bytes:
    """Return the mark of a snapshot or increment, which identifies it."""
    return checksum(_INCREMENT if chunks[0].startswith(_INCREMENT) else _KIND, chunks[0])


def _read(kind: bytes, chunks: Sequence[bytes], n_others: int = 0) -> tuple[Snapshot, tuple[Any, ...]]:
    """Read a snapshot, and `n_others` fields after its own."""
    _, body = unseal(kind, range(1, LOG_VERSION + 1), b"".join(chunks))
    name, n_fields = kind.decode(), len(Snapshot._fields)
    try:
        fields = tuple(unpack(body))
        snapshot, others = Snapshot(*fields[:n_fields]), fields[n_fields:]
        snapshot = snapshot._replace(offsets=flat(snapshot.offsets))  # type: ignore[arg-type] # as written
        offsets = all(isinstance(offset, int) for offset in snapshot.offsets.values())
    except (TypeError, ValueError, AttributeError) as error:
        raise DamagedError(f"this {name} cannot be read: {error}") from error
    if len(others) > n_others:
        raise NewerError(f"this {name} has {len(fields)} fields: a newer release wrote it")
    are_mappings = offsets and all(isinstance(each, Mapping) for each in snapshot[1:])
    if not (are_mappings and isinstance(snapshot.sequence, int) and len(others) == n_others):
        raise DamagedError(f"this {name} is damaged: its fields have wrong types")
    return snapshot, others


@dataclass(slots=True)
class StoredSnapshot:
    """A snapshot in the log."""

    first_offset: int
    needed_offset: int
    """First offset of the log that a restore needs: the batch's progress, maybe far before the chunks."""
    timestamp_ms: int
    sequence: int
    n_chunks: int
    before: int | None = None
    """For an increment: the batch number of the snapshot that it continues from."""
    previous: StoredSnapshot | None = None
    """The snapshot that it continues from; None if that is missing."""
    chunks: dict[int, bytes] = field(default_factory=dict)

    @property
    def is_unfinished(self) -> bool:
        """Whether its last chunks are missing, or not written yet."""
        return self.chunks.keys() == {*range(len(self.chunks))} and len(self.chunks) < self.n_chunks

    @property
    def size_bytes(self) -> int:
        """Bytes of the present chunks."""
        return sum(map(len, self.chunks.values()))

    def read(self) -> Snapshot:
        """Read the snapshot; an increment is applied to the chain before it.

        Raises `DamagedError` if a chunk or a snapshot of the chain is missing or damaged.
        """
        chain = self._chain()
        snapshot, _ = chain[0].read_own()
        states = [snapshot.state]
        for before, stored in pairwise(chain):
            snapshot, mark = stored.read_own()
            if mark != mark_of(before.in_order()):
                raise DamagedError(
                    f"broken increment chain: its parent is not the snapshot after batch {stored.before}"
                )
            states.append(snapshot.state)
        if len(states) == 1:
            return snapshot
        try:
            return snapshot._replace(state=with_changes(states))
        except DamagedError:
            raise
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise DamagedError(f"unreadable increment: {error!r}") from error

    def _chain(self) -> Sequence[StoredSnapshot]:
        """Return the chain: the whole snapshot, then each increment up to this one."""
        chain = [self]
        while chain[-1].before is not None:
            if chain[-1].previous is None:
                raise DamagedError(
                    f"broken increment chain: its parent, after batch {chain[-1].before}, is missing"
                )
            chain.append(chain[-1].previous)
        return chain[::-1]

    def read_own(self) -> tuple[Snapshot, bytes]:
        """Read its own chunks; return also the mark of the snapshot that it continues from."""
        chunks = self.in_order()
        snapshot, mark = (from_chunks(chunks), b"") if self.before is None else changes_from_chunks(chunks)
        if snapshot.sequence != self.sequence:
            raise DamagedError(f"expected batch {self.sequence} as in the headers, got {snapshot.sequence}")
        return snapshot, mark

    def in_order(self) -> Sequence[bytes]:
        """Return its chunks. Raises `DamagedError` if one is missing."""
        if len(self.chunks) != self.n_chunks or max(self.chunks) >= self.n_chunks:
            raise DamagedError(f"expected {self.n_chunks} chunks, got {len(self.chunks)}")
        return [self.chunks[number] for number in range(self.n_chunks)]
