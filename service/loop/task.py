"""A task: processes the records of its partitions, each batch within one transaction.

Uncommitted work has no effect: on any error the task is closed and opened again from its last commit.

A commit may continue while the next batch is processed. Its results are published when it succeeds, and only
then does the next commit begin.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext, suppress
from math import inf
from typing import Final, NamedTuple

from service.checkpoints.log import Address, Progress, progress_record, schema_records
from service.checkpoints.losses import Loss
from service.errors import RegistryUnavailable, TransportError, raise_first
from service.formats.schema import Schema
from service.formats.sources import Sources
from service.loop.context import Context
from service.loop.restore import Restored
from service.loop.snapshots import Snapshots
from service.messages.dead_letter import fit_all
from service.monitoring.health import Health
from service.monitoring.live_models import LiveModel
from service.monitoring.metrics import Published
from service.stream.batches import OutputBatch, RecordBatch
from service.stream.protocol import NO_LIMIT, Output, Record, RecordLimit, TopicPartition, Writer

_log = logging.getLogger(__name__)

HAND_OVER_BYTES: Final = 16 << 20
"""Largest snapshot at a hand-over: about half a second of packing and committing."""


class TaskWriter:
    """Combines the writers of a task's partitions: their commits share one transaction.

    Parameters
    ----------
    writers
        The writer of each partition; the first one writes the outputs.
    health
        Is notified while the loop waits for the commit.

    Attributes
    ----------
    partitions : frozenset of int
        The numbers of the partitions that are written.

    """

    def __init__(self, writers: Mapping[int, Writer], health: Health) -> None:
        self._writers = writers
        self._health = health
        self.partitions = frozenset(writers)

    def begin(
        self, outputs: Sequence[Output], offsets: Mapping[TopicPartition, int], *, compress: bool = False
    ) -> None:
        """Begin a commit; see `Writer.begin`."""
        with self._health.waiting_for_stream():
            for partition, writer in self._writers.items():
                mine = {topic: offset for (topic, each), offset in offsets.items() if each == partition}
                writer.begin(outputs, mine, compress=compress)
                outputs = ()

    def finish(self) -> None:
        """Wait for the end of a commit; see `Writer.finish`."""
        failures: list[TransportError] = []
        with self._health.waiting_for_stream():
            for writer in self._writers.values():
                try:
                    writer.finish()
                except TransportError as error:
                    failures.append(error)
        raise_first(failures)

    def close(self) -> None:
        """Release the writers; see `Writer.close`."""
        for writer in self._writers.values():
            writer.close()


class _Batch(NamedTuple):
    """A processed batch that is being committed."""

    sequence: int
    offsets: Mapping[TopicPartition, int]
    records: RecordBatch
    outputs: Sequence[Output]
    n_messages: int
    """How many outputs are predictions, outcomes or dead letters; the others are checkpoint records."""
    started: float
    """When processing started, in monotonic seconds."""


class Task:
    """Owns one partition, or all of them: their processor, and the only writer that may write for them.

    Parameters
    ----------
    context
        The shared parts of the loop.
    restored
        The state to continue from.
    writer
        Opened before the state was read, so that no other process can have committed since.
    live
        Publishes the model for the API and the page; None: it is not published.
    dead_letter_limit
        How large a dead letter may be.
    sources
        Sources of the schemas that batches need; None if records have no schema.

    Attributes
    ----------
    number : int
        Its number, which is also the partition of its checkpoint log.
    partitions : frozenset of int
        The partitions that it owns.
    snapshots : Snapshots
        Its snapshots.

    """

    def __init__(
        self,
        context: Context,
        restored: Restored,
        writer: TaskWriter,
        live: LiveModel | None = None,
        dead_letter_limit: RecordLimit = NO_LIMIT,
        sources: Sources | None = None,
    ) -> None:
        settings = context.settings
        self.number = restored.partition
        self._context = context
        self._processor = restored.processor
        self._sequence = restored.sequence
        self._offsets = dict(restored.offsets)
        self._address = Address(settings.checkpoints_topic, self.number, settings.group)
        self.snapshots = Snapshots(context, self._address, restored)
        self._writer, self.partitions = writer, writer.partitions
        self._live = live
        self._learning = live.learning if live else nullcontext()
        self._dead_letter_limit = dead_letter_limit
        self._sources = sources
        self._under_way: tuple[_Batch | None, Published | None] | None = None
        """The state and batch of the commit under way; None if it has only chunks of a snapshot."""
        self._committed = restored.sequence
        """The number of the last batch that was committed."""
        self.seconds = 0.0
        self.hand_over_bytes: float = HAND_OVER_BYTES
        """The largest snapshot that is made at a hand-over, in bytes."""
        self._commit_restored(restored)

    def _commit_restored(self, restored: Restored) -> None:
        """Begin to commit the parts of the restored state that later batches need; then publish it."""
        if restored.losses:
            self._continue_without(restored.losses)
        elif self.snapshots.is_empty or restored.settings_changed:
            # Later batches can only be replayed under the settings that a snapshot names.
            self._begin_snapshot()
            return
        elif not restored.offsets_are_committed:
            # Without this commit, the group's position would be unknown until its next batch.
            self._begin((), self._state())
            return
        self._publish(self._state())

    def _continue_without(self, losses: Sequence[Loss]) -> None:
        """Commit the state that recovery made of the remaining input, so that it is not computed again.

        It counts as a separate batch, so that no older snapshot can be mistaken for it.
        """
        self._sequence += 1
        self._commit_snapshot()
        for loss in losses:
            _log.warning("%s; continuing without (on_data_loss)", loss.what)
            self._context.metrics.events_lost.labels(loss.topic).inc(loss.records)

    @property
    def offsets(self) -> dict[TopicPartition, int]:
        """Next offset to process, by topic and partition."""
        return dict(self._offsets)

    def offsets_of(self, partition: int) -> dict[str, int]:
        """Return the next offset to process of one partition, by topic."""
        return {topic: offset for (topic, each), offset in self._offsets.items() if each == partition}

    @property
    def is_committing(self) -> bool:
        """Whether a commit is under way."""
        return self._under_way is not None

    # A batch: process, begin to commit, finish

    def process(self, records: RecordBatch) -> None:
        """Process a batch, finish the commit of the preceding batch, and begin to commit this one.

        The tasks of a process share a transaction. This task adds to it, in this order: predictions, outcomes
        and dead letters; new schemas; the progress record; a snapshot, if one is due; the consumer group's
        offsets.

        Raises
        ------
        RegistryUnavailable
            A schema is missing: nothing was processed, and this task may retry the same batch.
        TransportError
            The batch was not written, and maybe the preceding batch was not either; this task must be closed.

        """
        clock = self._context.clock
        started = clock.monotonic()
        try:
            schemas = self._find_schemas(records)
        except RegistryUnavailable:
            self.finish_commit()  # this may take long
            raise
        self._sequence += 1
        processing_time_ms = int(clock.time() * 1000)
        outputs, must_compress = self._predict_and_learn(records, processing_time_ms)
        n_messages = len(outputs)
        self._offsets |= records.next_offsets()
        state = self._state()
        outputs += schema_records(schemas, self._sequence, self._address)
        counts = state.counts, state.counters.consumed
        progress = Progress(self._sequence, self._offsets, *counts, processing_time_ms)
        outputs.append(progress_record(progress, self._address))
        batch = _Batch(self._sequence, self.offsets, records, outputs, n_messages, started)
        self.finish_commit()
        self._begin_batch(batch, state, must_compress=must_compress)

    def _predict_and_learn(
        self, records: Sequence[Record], processing_time_ms: int
    ) -> tuple[list[Output], bool]:
        """Return the outputs of a batch, and whether they must be compressed."""
        clock = self._context.clock
        started = clock.monotonic()
        with self._learning:
            outputs, dead_letters = self._processor.process_batch(records, processing_time_ms)
        self.seconds = clock.monotonic() - started
        if records:
            self._context.metrics.process_duration.observe_all([self.seconds / len(records)], len(records))
        if not dead_letters:
            return outputs, False
        return fit_all(outputs, self._context.settings.dead_letters_topic, self._dead_letter_limit)

    def _find_schemas(self, records: Sequence[Record]) -> Mapping[bytes, Schema]:
        """Return the schemas that this batch needs first; add them to the processor."""
        if self._sources is None or (known := self._processor.schemas) is None:
            return {}
        schemas = self._sources.find(known, records)
        known.add(schemas)
        return schemas

    def _begin_batch(self, batch: _Batch, state: Published, *, must_compress: bool) -> None:
        """Begin to commit a batch, with a snapshot if one is due."""
        self.snapshots.count(len(batch.records))
        outputs = batch.outputs
        if self.snapshots.may_begin() and not self.snapshots.is_large:
            self.snapshots.begin(batch.sequence, batch.offsets, self._processor)
        if chunks := self.snapshots.next_chunks():
            outputs = OutputBatch(outputs)
            outputs += chunks
        self._writer.begin(outputs, batch.offsets, compress=must_compress)
        self._under_way = batch, state

    def copy_state(self) -> None:
        """Copy the present state for a snapshot, if one is due, during the commit of the last batch.

        No prediction waits for it. Raises `TransportError` if the stream does not answer.
        """
        if self.snapshots.may_begin():
            self.snapshots.begin(self._sequence, self.offsets, self._processor)

    def begin_chunks(self) -> None:
        """Begin to commit chunks of the snapshot under way, without a batch. Raises as `finish_commit`."""
        self.finish_commit()
        self._begin(self.snapshots.next_chunks(), None)

    def _begin(self, outputs: Sequence[Output], state: Published | None) -> None:
        """Begin to commit outputs without a batch; publish `state`, if given, once they are committed."""
        self._writer.begin(outputs, self.offsets)
        self._under_way = None, state

    def finish_commit(self) -> None:
        """Wait for the commit under way, if any, and publish its state.

        Raises
        ------
        TransportError
            The commit failed, or its outcome is unknown; this task must be closed.

        """
        if self._under_way is None:
            return
        (batch, state), self._under_way = self._under_way, None
        self._writer.finish()
        self.snapshots.committed()
        if state is None:
            return
        if batch is None:
            self._publish(state)
            return
        self._committed = batch.sequence
        self._publish(state, batch.records, batch.outputs)
        seconds = self._context.clock.monotonic() - batch.started
        _log.debug(
            "partition %d: batch %d committed: %d records in, %d out, %.1f ms",
            *(self.number, batch.sequence, len(batch.records), batch.n_messages, 1000 * seconds),
        )

    def _state(self) -> Published:
        return self._context.metrics.state_of(self.number, self._processor)

    def _publish(
        self, state: Published, records: Sequence[Record] = (), outputs: Sequence[Output] = ()
    ) -> None:
        """Publish a committed state, with the records and outputs of its batch."""
        self._context.metrics.publish(self.number, state)
        if self._live:
            self._live.committed(state, records, outputs)

    # Snapshots without a batch: at the start, of a replaced model, at the end

    def _begin_snapshot(self, max_bytes: float = inf) -> int:
        """Begin to commit a snapshot without a batch, if it is not too large; return its size in bytes."""
        state = self._sequence, self.offsets, self._processor
        self.snapshots.begin(*state, at_once=True, max_bytes=max_bytes)
        chunks = self.snapshots.next_chunks()
        if not chunks:
            _log.info(
                "partition %d: no snapshot at hand-over, as it is large: batches %d to %d will be replayed",
                *(self.number, self.snapshots.sequence + 1, self._sequence),
            )
            return 0
        self._begin(chunks, self._state())
        return sum(len(chunk.value or b"") for chunk in chunks)

    def _commit_snapshot(self) -> None:
        """Commit a snapshot without a batch; then delete the log before the oldest kept snapshot."""
        self._begin_snapshot()
        self.finish_commit()
        self._committed = self._sequence

    def replace_model(self, dumped: bytes) -> None:
        """Replace the model and commit that; offsets, pending events and counts stay.

        It counts as a separate batch: if its snapshot is damaged, no older one can be mistaken for it.

        Parameters
        ----------
        dumped
            The `dump` of a learner of the same kind.

        Raises
        ------
        DamagedError
            The dump cannot be read.
        TransportError
            As `finish_commit`.

        """
        self.finish_commit()
        self._processor.replace_model(dumped)
        self._sequence += 1
        self._commit_snapshot()
        self._publish(self._state())

    def missing_fields(self) -> tuple[int, Collection[str]]:
        """Return the fields that settings name and no event had; see `Decoder.missing_fields`."""
        return self._processor.decoder.missing_fields()

    def hand_over(self) -> int:
        """Begin to commit a snapshot for the next owner, which then has nothing to replay; return its bytes.

        A snapshot of more than `hand_over_bytes` is skipped: the next owner replays instead of waiting for
        it.

        Raises
        ------
        TransportError
            The snapshot could not be committed.

        """
        self.finish_commit()
        if self._committed < self._sequence or self._sequence <= self.snapshots.sequence:
            return 0
        return self._begin_snapshot(self.hand_over_bytes)

    def close(self) -> None:
        """Wait for the commit under way, then close the task. Idempotent."""
        with suppress(TransportError):  # then the preceding commit is the last one
            self.finish_commit()
        self._writer.close()
        self._context.metrics.withdraw(self.number)
        # The observer refers to the model: without this, only a full garbage collection would free the cycle.
        self._processor.observe = lambda _: None
