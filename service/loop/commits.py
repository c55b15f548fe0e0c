"""The commits of one partition: write a batch in a transaction, then publish its counts.

A commit may go on while the next batch is processed. Nothing of it is published before it has succeeded, and
no other commit is begun before.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple

from service.batches import OutputBatch, RecordBatch
from service.checkpoints.log import Address
from service.clock import Clock
from service.formats.answers import ANSWER_KEY, AnswerWriter
from service.loop.recovery import Restored
from service.loop.snapshots import Snapshots
from service.monitoring.live_models import LiveModel
from service.monitoring.metrics import Metrics, Published
from service.settings.load import Settings
from service.stream import Output, Record, Transport, Writer

_log = logging.getLogger(__name__)


class Batch(NamedTuple):
    """A batch that was processed, and is to be committed."""

    sequence: int
    offsets: Mapping[str, int]
    """Next offsets, by input topic."""
    records: RecordBatch
    outputs: Sequence[Output]
    n_answers: int
    """How many of them are predictions, outcomes and dead letters; the others are the service's own."""
    must_compress: bool
    began: float
    """By the clock's `monotonic`."""


class Commits:
    """Commits what a task has done, and then publishes it.

    Parameters
    ----------
    address
        Where progress and snapshots are written.
    restored
        The state that the partition goes on from; its processor is the task's.
    writer
        Commits.
    transport, settings, metrics
        The stream, the settings, and where to publish.
    live
        The model as published for the API and the page; None: nowhere.
    clock
        Decides when a snapshot is due by its age.

    """

    def __init__(
        self,
        address: Address,
        restored: Restored,
        writer: Writer,
        *,
        transport: Transport,
        settings: Settings,
        metrics: Metrics,
        live: LiveModel | None,
        clock: Clock,
    ) -> None:
        self._partition = address.partition
        self._processor = restored.processor
        self._writer = writer
        self._metrics = metrics
        self._live = live
        self._clock = clock
        written = settings.predictions_format
        self._answers = None if written == "json" else AnswerWriter(written, settings.predictions_topic)
        self.snapshots = Snapshots(
            address, restored, transport=transport, settings=settings, metrics=metrics, clock=clock
        )
        self._under_way: tuple[Batch | None, Published | None] | None = None
        """What the commit under way has committed beside chunks of a snapshot."""

    @property
    def is_under_way(self) -> bool:
        """Whether a commit was begun and has not been finished."""
        return self._under_way is not None

    def begin(self, batch: Batch) -> None:
        """Finish the commit before; begin to commit a batch, with a snapshot if one is due.

        Raises
        ------
        TransportError
            One of the two has failed: nothing of it was written, as far as is known.

        """
        state = self._state()
        self.finish()
        self.snapshots.count(len(batch.records))
        outputs = batch.outputs
        if self.snapshots.may_begin() and not self.snapshots.is_large:
            self.snapshots.begin(batch.sequence, batch.offsets, self._processor)
        if chunks := self.snapshots.next_chunks():
            outputs = OutputBatch(outputs)
            outputs += chunks
        self._writer.begin(self._written(outputs), batch.offsets, compress=batch.must_compress)
        self._under_way = batch, state

    def copy_state(self, sequence: int, offsets: Mapping[str, int]) -> None:
        """Begin a snapshot, if one is due, behind a batch whose commit has begun: no answer waits for it."""
        if self.snapshots.may_begin():
            self.snapshots.begin(sequence, offsets, self._processor)

    def begin_chunks(self, offsets: Mapping[str, int]) -> None:
        """Begin to commit chunks of the snapshot under way, without a batch. Raises as `begin`."""
        self.finish()
        self._writer.begin(self.snapshots.next_chunks(), offsets)
        self._under_way = None, None

    def finish(self) -> None:
        """Wait for the commit that is under way, if any; publish what it has committed. Raises as `begin`."""
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
        self._publish(state, batch.records, batch.outputs)
        self._log(batch, self._clock.monotonic() - batch.began)

    def begin_offsets(self, offsets: Mapping[str, int]) -> None:
        """Begin to commit the group's next offsets alone."""
        self._writer.begin((), offsets)
        self._under_way = None, self._state()

    def begin_snapshot(self, sequence: int, offsets: Mapping[str, int], *, most_bytes: float = inf) -> int:
        """Begin to commit a snapshot alone, if it is not too large; return how many bytes it has."""
        self.snapshots.begin(sequence, offsets, self._processor, at_once=True, most_bytes=most_bytes)
        chunks = self.snapshots.next_chunks()
        if not chunks:
            _log.info(
                "partition %d: left without a snapshot, which would take long: batches %d to %d will be "
                "learned again",
                *(self._partition, self.snapshots.sequence + 1, sequence),
            )
            return 0
        self._writer.begin(chunks, offsets)
        self._under_way = None, self._state()
        return sum(len(each.value or b"") for each in chunks)

    def commit_snapshot(self, sequence: int, offsets: Mapping[str, int]) -> None:
        """Commit a snapshot; then delete what lies before the oldest one kept."""
        self.begin_snapshot(sequence, offsets)
        self.finish()

    def publish(self) -> None:
        """Publish the present state, which was committed."""
        self._publish(self._state())

    def _written(self, outputs: Sequence[Output]) -> Sequence[Output]:
        """Return the outputs with their answers in the format of the predictions topic."""
        known = self._processor.schemas
        if self._answers and known is not None and (schema := known[ANSWER_KEY]) is not None:
            return self._answers.write(outputs, schema)
        return outputs

    def _state(self) -> Published:
        return self._metrics.state_of(self._partition, self._processor)

    def _publish(
        self, state: Published, records: Sequence[Record] = (), outputs: Sequence[Output] = ()
    ) -> None:
        self._metrics.publish(self._partition, state)
        if self._live:
            self._live.committed(state, records, outputs)

    def _log(self, batch: Batch, seconds: float) -> None:
        n_records = len(batch.records)
        _log.debug(
            "partition %d: batch %d committed: %d records in, %d out, %.1f ms",
            *(self._partition, batch.sequence, n_records, batch.n_answers, 1000 * seconds),
            extra={
                "partition": self._partition,
                "sequence": batch.sequence,
                "records": n_records,
                "outputs": batch.n_answers,
                "seconds": round(seconds, 6),
                "offsets": batch.offsets,
            },
        )
