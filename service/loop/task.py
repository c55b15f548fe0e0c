"""The task of one partition: processes its records, each batch within one transaction.

Whatever a task has done and not committed is worth nothing: on any error it is closed and opened again.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import Final

from service.batches import RecordBatch
from service.checkpoints.input_loss import Loss
from service.checkpoints.log import Address, Progress, progress_record, schema_records
from service.checkpoints.progress_counts import progress_counts
from service.clock import SYSTEM_CLOCK, Clock
from service.errors import RegistryUnavailable, TransportError
from service.formats.schema import Schema
from service.formats.sources import Sources
from service.formats.topics import replaced_files
from service.loop.commits import Batch, Commits
from service.loop.recovery import Restored
from service.messages.dead_letter import fit_all
from service.monitoring.live_models import LiveModel
from service.monitoring.metrics import Metrics
from service.partition.limits import RejectionLimit
from service.settings.load import Settings
from service.stream import NO_LIMIT, Output, Record, RecordLimit, Transport, Writer

_log = logging.getLogger(__name__)

HAND_OVER_BYTES: Final = 16 << 20
"""About half a second of packing and committing."""


class Task:
    """Owns one partition: its processor, and the writer that alone may write for it.

    Parameters
    ----------
    partition
        Its number.
    restored
        The state to go on from.
    writer
        Made before the state was read, so that nobody else can have committed since.
    transport, settings, metrics
        The stream, the settings, and where to report.
    live
        The model as published for the API and the page; None: nowhere.
    letter_limit
        How large a dead letter may be.
    sources
        Where schemas come from that a batch needs; None where records have none.
    clock
        Decides when a snapshot is due by its age, and bounds the events' times.

    """

    def __init__(
        self,
        partition: int,
        restored: Restored,
        writer: Writer,
        *,
        transport: Transport,
        settings: Settings,
        metrics: Metrics,
        live: LiveModel | None = None,
        letter_limit: RecordLimit = NO_LIMIT,
        sources: Sources | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.partition = partition
        self._processor = restored.processor
        self._sequence = restored.sequence
        self._offsets = dict(restored.offsets)
        self._address = Address(settings.checkpoints_topic, partition, settings.group)
        self._commits = Commits(
            self._address,
            restored,
            writer,
            transport=transport,
            settings=settings,
            metrics=metrics,
            live=live,
            clock=clock,
        )
        self._writer = writer
        self._settings = settings
        self._metrics = metrics
        self._learning = live.learning if live else nullcontext()
        self._letter_limit = letter_limit
        self._sources = sources
        self._clock = clock
        self._rejection_limit = RejectionLimit(settings.max_rejected_ratio, settings.rejected_window)
        self._is_clean, self.seconds = True, 0.0
        self.hand_over_bytes: float = HAND_OVER_BYTES
        """The largest snapshot that is made when the partition is handed over."""
        self._commit_restored(restored)

    def _commit_restored(self, restored: Restored) -> None:
        """Begin to commit what was restored, as far as what follows needs it; publish it then."""
        if restored.losses:
            self._continue_without(restored.losses)
        elif self._commits.snapshots.is_empty or restored.settings_changed:
            # What follows can be learned again under the settings it names only.
            self._commits.begin_snapshot(self._sequence, self.offsets)
            return
        elif not restored.offsets_are_committed:
            # Or nobody could tell where the group is until its next batch.
            self._commits.begin_offsets(self.offsets)
            return
        self._commits.publish()

    def _continue_without(self, losses: Sequence[Loss]) -> None:
        """Commit what recovery has made of the input that is left, so that it need not be made again.

        It counts as a batch of its own: no older snapshot can pass for it.
        """
        self._sequence += 1
        self._commit_snapshot()
        for loss in losses:
            _log.warning("%s; going on without (on_data_loss)", loss.what)
            self._metrics.events_lost.labels(loss.topic).inc(loss.records)

    @property
    def offsets(self) -> dict[str, int]:
        """Next offset to be processed, by input topic."""
        return dict(self._offsets)

    @property
    def is_committing(self) -> bool:
        """Whether a commit is under way."""
        return self._commits.is_under_way

    def process(self, records: RecordBatch) -> None:
        """Process a batch, finish the commit of the batch before it, and begin to commit this one.

        The transaction, which the partitions of a process share, holds of this one, in this order:
        predictions, outcomes and dead letters; schemas that are new; the progress record; a snapshot, if one
        is due; the consumer group's offsets.

        Raises
        ------
        RegistryUnavailable
            A schema is needed: nothing has been done, and this task may go on with the same batch.
        TransportError
            Nothing of the batch was written, nor perhaps of the one before it, as far as is known; this task
            must not go on.
        TooManyRejected
            The limit of rejections was passed; nothing was written.

        """
        began = self._clock.monotonic()
        try:
            schemas = self._find_schemas(records)
        except RegistryUnavailable:
            self.finish_commit()  # this may take long
            raise
        self._is_clean = False
        now_ms = int(self._clock.time() * 1000)
        outputs, must_compress = self._predict_and_learn(records, now_ms)
        n_answers = len(outputs)
        self._sequence += 1
        self._offsets |= records.next_offsets()
        outputs += schema_records(schemas, self._sequence, self._address)
        outputs.append(progress_record(self._progress(now_ms), self._address))
        self._commits.begin(
            Batch(self._sequence, self.offsets, records, outputs, n_answers, must_compress, began)
        )
        self._is_clean = True

    def finish_commit(self) -> None:
        """Wait for the commit that is under way, if any, and publish what it has committed.

        Raises
        ------
        TransportError
            Nothing of it was written, as far as is known; this task must not go on.

        """
        try:
            self._commits.finish()
        except BaseException:
            self._is_clean = False
            raise

    def _progress(self, now_ms: int) -> Progress:
        processor = self._processor
        return Progress(
            self._sequence,
            self._offsets,
            progress_counts(processor),
            processor.counters.consumed,
            now_ms,
        )

    def _find_schemas(self, records: Sequence[Record]) -> Mapping[bytes, Schema]:
        """Return the schemas that the batch is the first to need; the processor knows them then."""
        if self._sources is None or (known := self._processor.schemas) is None:
            return {}
        found = self._sources.find(known, records)
        found |= replaced_files(found, known, self._offsets, self._settings)
        known.add(found)
        return found

    def unfound(self) -> tuple[int, Collection[str]]:
        """Return what settings name and no event had; see `Decoder.unfound`."""
        return self._processor.decoder.unfound()

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
        self._commits.publish()

    def _predict_and_learn(self, records: Sequence[Record], now_ms: int) -> tuple[list[Output], bool]:
        """Return what is to be written, and whether it has to be compressed."""
        began = self._clock.monotonic()
        with self._learning:
            outputs, dead_letters = self._processor.process_batch(records, now_ms)
        self.seconds = self._clock.monotonic() - began
        if records:
            self._metrics.process_duration.observe(self.seconds / len(records), times=len(records))
        self._rejection_limit.observe(records, dead_letters)
        if not dead_letters:
            return outputs, False
        return fit_all(outputs, self._settings.dead_letters_topic, self._letter_limit)

    @property
    def has_chunks(self) -> bool:
        """Whether a snapshot is under way of which chunks are to be committed."""
        return self._commits.snapshots.has_chunks

    def copy_state(self) -> None:
        """Copy the present state for a snapshot, if one is due, while the commit of the last batch goes on.

        Raises `TransportError` where the stream does not answer.
        """
        self._commits.copy_state(self._sequence, self.offsets)

    def begin_chunks(self) -> None:
        """Begin to commit chunks of the snapshot under way, without records. Raises as `finish_commit`."""
        try:
            self._commits.begin_chunks(self.offsets)
        except BaseException:
            self._is_clean = False
            raise

    def hand_over(self) -> int:
        """Begin to leave a fresh snapshot behind, so that the next owner has nothing to learn again.

        Returns how many bytes it has.

        One of more than `hand_over_bytes` is left out: the next owner does not wait for it, but learns again.

        Raises
        ------
        TransportError
            There will be none.

        """
        self.finish_commit()
        if not self._is_clean or self._sequence <= self._commits.snapshots.sequence:
            return 0
        return self._commits.begin_snapshot(self._sequence, self.offsets, most_bytes=self.hand_over_bytes)

    def close(self) -> None:
        """Close the task; the partition stays as of the last commit, which ends first. Idempotent."""
        with suppress(TransportError):  # then it stays as of the one before
            self.finish_commit()
        self._writer.close()
        self._metrics.withdraw(self.partition)
        # The observer leads back to the model: nothing would free it before the next full collection.
        self._processor.observe = lambda _: None

    def _commit_snapshot(self) -> None:
        self._commits.commit_snapshot(self._sequence, self.offsets)
