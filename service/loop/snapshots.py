"""Make a partition's snapshots when they are due, and delete old ones.

A snapshot is packed from a copy of the state that is taken between two batches. A small snapshot is committed
with its batch. A large one is copied during that commit, packed on a thread next to the loop, and written in
chunks with the next batches: it counts once its last chunk is committed. Increments with the changes since
follow a whole snapshot until together they are as large.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf
from threading import Lock, Thread
from typing import Final, NamedTuple

from perceptron_core.formats.packed import PackedMapping
from service.checkpoints.log import Address, snapshot_records
from service.checkpoints.snapshot import Snapshot, mark_of
from service.errors import TransportError
from service.loop.context import Context
from service.loop.restore import Restored
from service.partition.processor import Processor
from service.settings.fields import fingerprint
from service.stream.protocol import Output, TopicPartition

_log = logging.getLogger(__name__)


AT_ONCE_BYTES: Final = 1 << 20
"""Up to about this size, a snapshot is packed and committed with its batch: that takes milliseconds."""

COMMIT_BYTES: Final = 2 << 20
"""Bytes of a larger snapshot that are written with each commit."""


INCREMENT_RATIO: Final = 0.5
"""Largest increment, as a fraction of the whole snapshot; beyond it, a whole snapshot is worth its cost."""

CHAIN_RATIO: Final = 1.0
"""Total size of the increments, as a fraction of the whole snapshot, at which the next snapshot is whole."""

MAX_INCREMENTS: Final = 100
"""Increments in a chain, at most: the next owner reads each, and the stream keeps each."""


_TURN: Final = Lock()
"""Held while a snapshot is packed: the copy of a state takes as much memory as the state."""


class Packing:
    """Packs one snapshot; a process packs one at a time, whichever partition's.

    Parameters
    ----------
    pack
        Returns the snapshot's records.

    """

    def __init__(self, pack: Callable[[], Sequence[Output]]) -> None:
        self._records: Sequence[Output] = ()
        self._error: BaseException | None = None
        _TURN.acquire()
        self._thread = Thread(target=self._pack, args=(pack,), name="snapshot", daemon=True)
        self._thread.start()

    @staticmethod
    def is_free() -> bool:
        """Return whether no snapshot is being packed."""
        return not _TURN.locked()

    def is_done(self) -> bool:
        """Return whether the records are packed."""
        return not self._thread.is_alive()

    def records(self) -> Sequence[Output]:
        """Wait for the records. Raises the error of packing."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._records

    def _pack(self, pack: Callable[[], Sequence[Output]]) -> None:
        try:
            self._records = pack()
        except BaseException as error:  # noqa: BLE001  raised where it is asked for
            self._error = error
        finally:
            _TURN.release()


class _Chain(NamedTuple):
    """A whole snapshot and its increments, all committed."""

    sequence: int
    """Number of the batch after the newest snapshot."""
    mark: bytes
    """Mark of the newest snapshot, which the next increment names as its parent."""
    whole_bytes: int
    size_bytes: int = 0
    """Total size of the increments."""
    n_increments: int = 0

    @property
    def may_grow(self) -> bool:
        """Whether another increment costs less than a whole snapshot."""
        return self.size_bytes < CHAIN_RATIO * self.whole_bytes and self.n_increments < MAX_INCREMENTS

    def with_increment(self, sequence: int, mark: bytes, size_bytes: int) -> _Chain:
        """Return the chain with another increment."""
        return _Chain(sequence, mark, self.whole_bytes, self.size_bytes + size_bytes, self.n_increments + 1)


class _UnderWay:
    """A snapshot that is not fully committed yet.

    Parameters
    ----------
    sequence
        Number of the batch after the snapshot.
    log_offset
        The first log offset that recovery from it needs: the offset of the progress record after its batch.
    packed
        Its records, all for the next commit; or the `Packing` that makes them.
    chain
        The chain that it extends as an increment; None: it is whole.

    """

    def __init__(
        self, sequence: int, log_offset: int, packed: Sequence[Output] | Packing, chain: _Chain | None
    ) -> None:
        self.sequence = sequence
        self.chain = chain
        self.mark = b""
        self.log_offset = log_offset
        self.size_bytes = 0
        self._packing = packed if isinstance(packed, Packing) else None
        self._commit_bytes = inf if self._packing is None else COMMIT_BYTES
        self._left: deque[Output] = deque() if isinstance(packed, Packing) else deque(packed)

    @property
    def has_chunks(self) -> bool:
        """Whether the next commit has records of it."""
        return bool(self._left) if self._packing is None else self._packing.is_done()

    @property
    def is_written(self) -> bool:
        """Whether its last record was given to a commit."""
        return self._packing is None and not self._left

    def next_chunks(self) -> Sequence[Output]:
        """Return the records for the next commit."""
        if self._packing is not None:
            self._left, self._packing = deque(self._packing.records()), None
        chunks: list[Output] = []
        n_bytes = 0
        if not self.size_bytes:
            self.mark = mark_of([self._left[0].value or b""])
        while self._left and n_bytes < self._commit_bytes:
            chunks.append(self._left.popleft())
            n_bytes += len(chunks[-1].value or b"")
        self.size_bytes += n_bytes
        return chunks

    def committed(self) -> _Chain:
        """Return the chain that the next increment extends."""
        if self.chain is None:
            return _Chain(self.sequence, self.mark, self.size_bytes)
        return self.chain.with_increment(self.sequence, self.mark, self.size_bytes)


class Snapshots:
    """The snapshots of one task in the checkpoints topic.

    Parameters
    ----------
    context
        The shared parts of the loop; its settings decide how often and how many.
    address
        Where snapshots are written.
    restored
        The state that the task continues from.

    Attributes
    ----------
    sequence : int
        Number of the batch after the newest snapshot.

    """

    def __init__(self, context: Context, address: Address, restored: Restored) -> None:
        self.sequence = restored.snapshot_sequence
        self._fingerprint_extras = restored.fingerprint_extras
        self._address = address
        self._offsets = deque(restored.snapshot_offsets)
        """The first log offset of each kept whole snapshot, oldest first."""
        self._stream = context.stream
        self._settings = context.settings
        self._metrics = context.metrics
        self._clock = context.clock
        self._topic_ids = restored.topic_ids
        self._records = 0
        self._began_at = self._clock.monotonic() - _age_seconds(restored, self._clock.time())
        self._under_way: _UnderWay | None = None
        self._chain: _Chain | None = None
        """The chain that the next increment extends, if this process has noted every change since."""
        self._state_bytes = 0
        """The approximate size of the last whole snapshot."""
        if restored.snapshot_seconds is not None:
            self._metrics.snapshot_time.labels(address.partition).set(restored.snapshot_seconds)

    @property
    def is_empty(self) -> bool:
        """Whether there is no snapshot yet."""
        return not self._offsets

    def count(self, n_records: int) -> None:
        """Count records that were processed since the last snapshot."""
        self._records += n_records

    @property
    def has_chunks(self) -> bool:
        """Whether the next commit should have chunks of the snapshot under way."""
        return self._under_way is not None and self._under_way.has_chunks

    def may_begin(self) -> bool:
        """Return whether a snapshot is due, and none is under way, here or for another partition."""
        is_due = (
            self._records >= self._settings.snapshot_interval_records
            or self._clock.monotonic() - self._began_at >= self._settings.snapshot_interval_seconds
        )
        return is_due and self._under_way is None and Packing.is_free()

    @property
    def is_large(self) -> bool:
        """Whether the next snapshot is probably large: it is then copied during the commit of its batch."""
        return self._state_bytes > AT_ONCE_BYTES

    def begin(
        self,
        sequence: int,
        offsets: Mapping[TopicPartition, int],
        processor: Processor,
        *,
        at_once: bool = False,
        max_bytes: float = inf,
    ) -> None:
        """Begin a snapshot of the present state, after batch `sequence`; it replaces one under way.

        It is packed here if `at_once` or if it is small. A snapshot of more than `max_bytes` is not made.
        """
        self._under_way = None
        self._records, self._began_at = 0, self._clock.monotonic()
        made_with = fingerprint(self._settings) | self._fingerprint_extras
        chain, state = self._copy(processor)
        if state.size_bytes > max_bytes:
            return
        snapshot = Snapshot(sequence, offsets, made_with, state, self._topic_ids)
        if at_once:  # a hand-over does not ask the stream: the preceding snapshot's offset is early enough
            log_offset = self._offsets[-1] if self._offsets else 0
        else:  # no other process writes here: later records lie at or after the present end
            log_offset = self._stream.bounds(self._address.topic, self._address.partition)[1]
        before = None if chain is None else (chain.sequence, chain.mark)
        pack = partial(snapshot_records, snapshot, self._address, before)
        at_once = at_once or state.size_bytes <= AT_ONCE_BYTES
        self._under_way = _UnderWay(sequence, log_offset, pack() if at_once else Packing(pack), chain)

    def _copy(self, processor: Processor) -> tuple[_Chain | None, PackedMapping]:
        """Return the chain to extend and the changes since the newest snapshot; or None and the whole state.

        From now on changes are noted relative to this copy: until it is committed, there is no chain.
        """
        chain, self._chain = self._chain, None
        if chain is not None and chain.may_grow:
            changes = processor.changes()
            if changes is not None and changes.size_bytes <= INCREMENT_RATIO * chain.whole_bytes:
                return chain, changes
        state = processor.state()
        self._state_bytes = state.size_bytes
        if self.is_large:
            processor.changes()
        return None, state

    def next_chunks(self) -> Sequence[Output]:
        """Return the chunks for the next commit: all, if the snapshot was packed at once."""
        return self._under_way.next_chunks() if self._under_way is not None and self.has_chunks else ()

    def committed(self) -> bool:
        """Note that the chunks returned so far are committed; return whether that completes a snapshot.

        A complete snapshot deletes the log before the oldest kept whole snapshot.
        """
        done = self._under_way
        if done is None or not done.is_written:
            return False
        self._under_way, self.sequence = None, done.sequence
        self._chain = done.committed() if self.is_large else None
        seconds = self._clock.monotonic() - self._began_at
        self._metrics.snapshot_committed(
            self._address.partition, seconds, done.size_bytes, self._clock.time()
        )
        if done.chain is None:
            self._offsets.append(done.log_offset)
            self._delete_old()
        return True

    def _delete_old(self) -> None:
        excess = len(self._offsets) - self._settings.snapshots_kept
        if excess <= 0:
            return
        for _ in range(excess):
            self._offsets.popleft()
        try:
            self._stream.delete_before(self._address.topic, self._address.partition, self._offsets[0])
        except TransportError as error:  # deletion must not stop the stream; the next snapshot retries
            _log.warning("partition %d: old checkpoints were not deleted: %s", self._address.partition, error)


def _age_seconds(restored: Restored, now: float) -> float:
    """Return the age of the newest snapshot if batches were replayed, as the next one may be due; else 0."""
    if restored.snapshot_seconds is None or restored.sequence == restored.snapshot_sequence:
        return 0.0
    return max(0.0, now - restored.snapshot_seconds)
