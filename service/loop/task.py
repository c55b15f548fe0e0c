"""A task: processes the records of its partitions, each batch within one transaction.

Whatever a task has done and not committed is worth nothing: on any error it is closed and opened again.

A commit may continue while the next batch is processed. Nothing of it is published before it succeeds, and
no other commit is begun before.
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
"""About half a second of packing and committing."""


class TaskWriter:
    """The writers of a task's partitions, as one; the health of the service says when the loop waits for it.

    What they begin is committed in one transaction, or not at all.

    Parameters
    ----------
    writers
        By partition; the first one has the outputs.
    health
        Is told that the loop waits.

    """

    def __init__(self, writers: Mapping[int, Writer], health: Health) -> None:
        self._writers = writers
        self._health = health

    @property
    def partitions(self) -> frozenset[int]:
        """The partitions."""
        return frozenset(self._writers)

    def begin(
        self, outputs: Sequence[Output], offsets: Mapping[TopicPartition, int], *, compress: bool = False
    ) -> None:
        """Begin a commit; see `Writer.begin`."""
        with self._health.asking():
            for partition, writer in self._writers.items():
                mine = {topic: offset for (topic, each), offset in offsets.items() if each == partition}
                writer.begin(outputs, mine, compress=compress)
                outputs = ()

    def finish(self) -> None:
        """Wait for the end of a commit; see `Writer.finish`."""
        failures: list[TransportError] = []
        with self._health.asking():
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
    """A batch that was processed, and is being committed."""

    sequence: int
    offsets: Mapping[TopicPartition, int]
    records: RecordBatch
    outputs: Sequence[Output]
    n_answers: int
    """How many of them are predictions, outcomes and dead letters; the others are the service's own."""
    began: float
    """By the clock's `monotonic`."""


class Task:
    """Owns one partition, or all of them: their processor, and the writer that alone may write for them.

    Parameters
    ----------
    context
        The stream, the settings, where to report, and the time.
    restored
        The state to continue from.
    writer
        Made before the state was read, so that no other process can have committed since.
    live
        The model as published for the API and the page; None: nowhere.
    letter_limit
        How large a dead letter may be.
    sources
        Where schemas come from that a batch needs; None where records have none.

    Attributes
    ----------
    partition : int
        Its number: that of its checkpoint log.
    snapshots : Snapshots
        Those of the state.

    """

    def __init__(
        self,
        context: Context,
        restored: Restored,
        writer: TaskWriter,
        live: LiveModel | None = None,
        letter_limit: RecordLimit = NO_LIMIT,
        sources: Sources | None = None,
    ) -> None:
        settings = context.settings
        self.partition = restored.partition
        self._context = context
        self._processor = restored.processor
        self._sequence = restored.sequence
        self._offsets = dict(restored.offsets)
        self._address = Address(settings.checkpoints_topic, self.partition, settings.group)
        self.snapshots = Snapshots(context, self._address, restored)
        self._writer = writer
        self._live = live
        self._learning = live.learning if live else nullcontext()
        self._letter_limit = letter_limit
        self._sources = sources
        self._under_way: tuple[_Batch | None, Published | None] | None = None
        """What the commit under way has committed besides chunks of a snapshot."""
        self._is_clean, self.seconds = True, 0.0
        self.hand_over_bytes: float = HAND_OVER_BYTES
        """The largest snapshot that is made when the task is handed over."""
        self._commit_restored(restored)

    def _commit_restored(self, restored: Restored) -> None:
        """Begin to commit what was restored, as far as what follows needs it; publish it then."""
        if restored.losses:
            self._continue_without(restored.losses)
        elif self.snapshots.is_empty or restored.settings_changed:
            # What follows can be replayed under the settings it names only.
            self._begin_snapshot()
            return
        elif not restored.offsets_are_committed:
            # Or no one could tell where the group is until its next batch.
            self._begin((), self._state())
            return
        self._publish(self._state())

    def _continue_without(self, losses: Sequence[Loss]) -> None:
        """Commit what recovery has made of the input that is left, so that it need not be made again.

        It counts as a batch of its own: no older snapshot can pass for it.
        """
        self._sequence += 1
        self._commit_snapshot()
        for loss in losses:
            _log.warning("%s; continuing without (on_data_loss)", loss.what)
            self._context.metrics.events_lost.labels(loss.topic).inc(loss.records)

    @property
    def offsets(self) -> dict[TopicPartition, int]:
        """Next offset to be processed, by topic and partition."""
        return dict(self._offsets)

    @property
    def partitions(self) -> frozenset[int]:
        """The partitions that it owns."""
        return self._writer.partitions

    def offsets_of(self, partition: int) -> dict[str, int]:
        """Return the next offset to be processed of one of them, by topic."""
        return {topic: offset for (topic, each), offset in self._offsets.items() if each == partition}

    @property
    def is_committing(self) -> bool:
        """Whether a commit is under way."""
        return self._under_way is not None

    # A batch: process, begin to commit, finish

    def process(self, records: RecordBatch) -> None:
        """Process a batch, finish the commit of the batch before it, and begin to commit this one.

        The transaction, which the tasks of a process share, holds of this one, in this order: predictions,
        outcomes and dead letters; schemas that are new; the progress record; a snapshot, if one is due; the
        consumer group's offsets.

        Raises
        ------
        RegistryUnavailable
            A schema is needed: nothing has been done, and this task may continue with the same batch.
        TransportError
            Nothing of the batch was written, nor perhaps of the one before it, as far as is known; this task
            must not continue.

        """
        clock = self._context.clock
        began = clock.monotonic()
        try:
            schemas = self._find_schemas(records)
        except RegistryUnavailable:
            self.finish_commit()  # this may take long
            raise
        self._is_clean = False
        processing_time_ms = int(clock.time() * 1000)
        outputs, must_compress = self._predict_and_learn(records, processing_time_ms)
        n_answers = len(outputs)
        self._sequence += 1
        self._offsets |= records.next_offsets()
        outputs += schema_records(schemas, self._sequence, self._address)
        outputs.append(progress_record(self._progress(processing_time_ms), self._address))
        batch = _Batch(self._sequence, self.offsets, records, outputs, n_answers, began)
        state = self._state()
        self.finish_commit()
        self._is_clean = False
        self._begin_batch(batch, state, must_compress=must_compress)
        self._is_clean = True

    def _predict_and_learn(
        self, records: Sequence[Record], processing_time_ms: int
    ) -> tuple[list[Output], bool]:
        """Return what is to be written, and whether it has to be compressed."""
        clock = self._context.clock
        began = clock.monotonic()
        with self._learning:
            outputs, dead_letters = self._processor.process_batch(records, processing_time_ms)
        self.seconds = clock.monotonic() - began
        if records:
            self._context.metrics.process_duration.observe_all([self.seconds / len(records)], len(records))
        if not dead_letters:
            return outputs, False
        return fit_all(outputs, self._context.settings.dead_letters_topic, self._letter_limit)

    def _progress(self, processing_time_ms: int) -> Progress:
        processor = self._processor
        return Progress(
            self._sequence, self._offsets, processor.counts(), processor.counters.consumed, processing_time_ms
        )

    def _find_schemas(self, records: Sequence[Record]) -> Mapping[bytes, Schema]:
        """Return the schemas that the batch is the first to need; the processor knows them then."""
        if self._sources is None or (known := self._processor.schemas) is None:
            return {}
        found = self._sources.find(known, records)
        known.add(found)
        return found

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
        """Copy the present state for a snapshot, if one is due, while the commit of the last batch continues.

        No answer waits for it. Raises `TransportError` where the stream does not answer.
        """
        if self.snapshots.may_begin():
            self.snapshots.begin(self._sequence, self.offsets, self._processor)

    def begin_chunks(self) -> None:
        """Begin to commit chunks of the snapshot under way, without records. Raises as `finish_commit`."""
        self.finish_commit()
        self._begin(self.snapshots.next_chunks(), None)

    def _begin(self, outputs: Sequence[Output], state: Published | None) -> None:
        """Begin to commit outputs without a batch, and then to publish a state, if one is given."""
        try:
            self._writer.begin(outputs, self.offsets)
        except BaseException:
            self._is_clean = False
            raise
        self._under_way = None, state

    def finish_commit(self) -> None:
        """Wait for the commit that is under way, if any, and publish what it has committed.

        Raises
        ------
        TransportError
            Nothing of it was written, as far as is known; this task must not continue.

        """
        if self._under_way is None:
            return
        (batch, state), self._under_way = self._under_way, None
        try:
            self._writer.finish()
        except BaseException:
            self._is_clean = False
            raise
        self.snapshots.committed()
        if state is None:
            return
        if batch is None:
            self._publish(state)
            return
        self._publish(state, batch.records, batch.outputs)
        self._log(batch, self._context.clock.monotonic() - batch.began)

    def _state(self) -> Published:
        return self._context.metrics.state_of(self.partition, self._processor)

    def _publish(
        self, state: Published, records: Sequence[Record] = (), outputs: Sequence[Output] = ()
    ) -> None:
        """Publish a state that was committed, with the records and outputs of its batch."""
        self._context.metrics.publish(self.partition, state)
        if self._live:
            self._live.committed(state, records, outputs)

    def _log(self, batch: _Batch, seconds: float) -> None:
        _log.debug(
            "partition %d: batch %d committed: %d records in, %d out, %.1f ms",
            *(self.partition, batch.sequence, len(batch.records), batch.n_answers, 1000 * seconds),
        )

    # Snapshots alone: at the beginning, of another model, at the end

    def _begin_snapshot(self, most_bytes: float = inf) -> int:
        """Begin to commit a snapshot alone, if it is not too large; return how many bytes it has."""
        state = self._sequence, self.offsets, self._processor
        self.snapshots.begin(*state, at_once=True, most_bytes=most_bytes)
        chunks = self.snapshots.next_chunks()
        if not chunks:
            _log.info(
                "partition %d: no snapshot at exit, as it is large: batches %d to %d will be replayed",
                *(self.partition, self.snapshots.sequence + 1, self._sequence),
            )
            return 0
        self._begin(chunks, self._state())
        return sum(len(each.value or b"") for each in chunks)

    def _commit_snapshot(self) -> None:
        """Commit a snapshot; then delete what lies before the oldest one kept."""
        self._begin_snapshot()
        self.finish_commit()

    def replace_model(self, dumped: bytes) -> None:
        """Replace the model and commit that; offsets, pending labels and counts stay.

        It counts as a batch of its own: should its snapshot be damaged, no older one can pass for it.

        Parameters
        ----------
        dumped
            What the `dump` of a learner of the same kind wrote.

        Raises
        ------
        DamagedError
            It cannot be read.
        TransportError
            As `finish_commit`.

        """
        self.finish_commit()
        self._is_clean = False
        self._processor.replace_model(dumped)
        self._sequence += 1
        self._commit_snapshot()
        self._is_clean = True
        self._publish(self._state())

    def unfound(self) -> tuple[int, Collection[str]]:
        """Return what settings name and no event had; see `Decoder.unfound`."""
        return self._processor.decoder.unfound()

    def hand_over(self) -> int:
        """Begin to leave a fresh snapshot behind, so that the next owner has nothing to replay.

        Returns how many bytes it has.

        One of more than `hand_over_bytes` is left out: the next owner does not wait for it, but replays.

        Raises
        ------
        TransportError
            There will be none.

        """
        self.finish_commit()
        if not self._is_clean or self._sequence <= self.snapshots.sequence:
            return 0
        return self._begin_snapshot(self.hand_over_bytes)

    def close(self) -> None:
        """Close the task; its partitions stay as of the last commit, which ends first. Idempotent."""
        with suppress(TransportError):  # then they stay as of the one before
            self.finish_commit()
        self._writer.close()
        self._context.metrics.withdraw(self.partition)
        # The observer leads back to the model: nothing would free it before the next full collection.
        self._processor.observe = lambda _: None
