"""Read snapshots as they lie in a log: whole ones, and the increments that go on from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from perceptron_core import DamagedError
from service.checkpoints.snapshot import Snapshot, changes_from_chunks, from_chunks, mark_of
from service.partition.parts.kinds import with_changes


@dataclass(slots=True)
class StoredSnapshot:
    """A snapshot as it lies in the log."""

    first_offset: int
    needed_offset: int
    """Where the log that it needs begins: at the progress of its batch, far before its own chunks perhaps."""
    timestamp_ms: int
    sequence: int
    n_chunks: int
    before: int | None = None
    """Of an increment: the number of the batch behind the snapshot that it goes on from."""
    previous: StoredSnapshot | None = None
    """That snapshot; None if it is not there."""
    chunks: dict[int, bytes] = field(default_factory=dict)

    @property
    def is_unfinished(self) -> bool:
        """Whether its last chunks were never written, or not yet."""
        return self.chunks.keys() == {*range(len(self.chunks))} and len(self.chunks) < self.n_chunks

    @property
    def size_bytes(self) -> int:
        """Bytes of the chunks found."""
        return sum(map(len, self.chunks.values()))

    def read(self) -> Snapshot:
        """Read it, an increment with all that it goes on from.

        Raises `DamagedError` if a chunk or a snapshot is missing or anything in it is not as it was written.
        """
        chain = self._chain()
        snapshot, _ = chain[0].read_own()
        states = [snapshot.state]
        for before, stored in pairwise(chain):
            snapshot, mark = stored.read_own()
            if mark != mark_of(before.in_order()):
                raise DamagedError(f"it goes on from another snapshot than that after batch {stored.before}")
            states.append(snapshot.state)
        if len(states) == 1:
            return snapshot
        try:
            return snapshot._replace(state=with_changes(states))
        except DamagedError:
            raise
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise DamagedError(f"what it says of the one before it cannot be read: {error!r}") from error

    def _chain(self) -> Sequence[StoredSnapshot]:
        """Return the whole snapshot, and each that goes on from the one before; it is the last."""
        chain = [self]
        while chain[-1].before is not None:
            if chain[-1].previous is None:
                raise DamagedError(
                    f"the one that it goes on from, after batch {chain[-1].before}, is not there"
                )
            chain.append(chain[-1].previous)
        return chain[::-1]

    def read_own(self) -> tuple[Snapshot, bytes]:
        """Read its chunks; return the mark of the snapshot that it goes on from, too."""
        chunks = self.in_order()
        snapshot, mark = (from_chunks(chunks), b"") if self.before is None else changes_from_chunks(chunks)
        if snapshot.sequence != self.sequence:
            raise DamagedError(f"it is of batch {snapshot.sequence}, its headers say {self.sequence}")
        return snapshot, mark

    def in_order(self) -> Sequence[bytes]:
        """Return its chunks. Raises `DamagedError` if one is missing."""
        if len(self.chunks) != self.n_chunks or max(self.chunks) >= self.n_chunks:
            raise DamagedError(f"{len(self.chunks)} of its {self.n_chunks} chunks are there")
        return [self.chunks[number] for number in range(self.n_chunks)]
