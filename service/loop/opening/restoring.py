"""Restore the state of partitions beside the loop."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from service.checkpoints.log import CheckpointLog
from service.errors import CheckpointError, ServiceError
from service.loop.opening.bootstrap import Bootstrap
from service.loop.opening.read_ahead import ReadAhead
from service.loop.opening.standby import Standby
from service.loop.opening.start_position import from_start
from service.loop.recovery import Base, Restored, restore
from service.settings.load import Settings
from service.stream import Consumer, RecordLimit, Transport, Writer
from service.transport.topics import output_topics

_log = logging.getLogger(__name__)


class Restoration(NamedTuple):
    """What there is to go on from."""

    restored: Restored
    limits: Mapping[str, RecordLimit]
    """How large a record of each output topic may be."""


@dataclass(eq=False, slots=True)
class Opening:
    """A partition that is being opened: its writer is made before its state is read."""

    partition: int
    writer: Writer
    cuts_letters: bool
    """Whether dead letters are cut to 16 KiB, whatever their topic is said to take."""
    since: float
    """When it was begun, in monotonic seconds."""
    found: Future[Restoration] = field(default_factory=Future)
    """Cancelled when the partition is not ours any more."""

    def drop(self) -> None:
        """Cancel the opening and close its writer."""
        self.found.cancel()
        self.writer.close()


class Restoring:
    """Restores partitions that were assigned together, on any thread.

    Parameters
    ----------
    transport, settings, consumer
        The stream, the settings, and the member of the group whose partitions these are.
    bootstrap
        What a partition without a checkpoint begins with.
    standby
        The states that were kept of partitions of other members; None where there are none.
    is_over
        Whether nobody waits for it any more.

    """

    def __init__(
        self,
        transport: Transport,
        settings: Settings,
        consumer: Consumer,
        bootstrap: Bootstrap,
        standby: Standby | None,
        is_over: Callable[[], bool],
    ) -> None:
        self._transport = transport
        self._settings = settings
        self._consumer = consumer
        self._bootstrap = bootstrap
        self._standby = standby
        self._is_over = is_over

    def run(self, openings: Sequence[Opening]) -> None:
        """Restore each, and tell what came of it: what was committed by its former owner, or an error."""
        wanted = [each for each in openings if not each.found.cancelled()]
        if not wanted or self._is_over():
            return
        try:
            limits = {topic: self._transport.record_limit(topic) for topic in output_topics(self._settings)}
            numbers = [each.partition for each in wanted]
            committed = self._consumer.take_over(numbers, self._settings.checkpoints_topic)
            kept = {} if self._standby is None else self._standby.take(numbers)
            ahead = ReadAhead(self._transport, self._settings, numbers, kept)
        except BaseException as error:  # noqa: BLE001 - raised again by the loop
            for opening in wanted:
                _fail(opening, error)
            return
        for opening in wanted:
            if opening.found.cancelled() or self._is_over():
                continue
            try:
                restored = self._restore(ahead, opening.partition, committed[opening.partition])
                restored = self._bootstrap.start(self._transport, opening.partition, restored)
                restored = from_start(self._transport, self._settings, opening.partition, restored)
            except BaseException as error:  # noqa: BLE001 - raised again by the loop
                _fail(opening, error)
            else:
                with suppress(InvalidStateError):  # cancelled
                    opening.found.set_result(Restoration(restored, limits))

    def _restore(self, ahead: ReadAhead, partition: int, committed: Mapping[str, int]) -> Restored:
        """Restore what was committed; from the stream again if what was read ahead is refused.

        A process that was frozen meanwhile may have read what is another's.
        """
        log, base = ahead.take(partition)
        try:
            return self._restored(cast("Transport", ahead), partition, committed, log, base)
        except CheckpointError as error:
            known = self._consumer.take_over([partition], self._settings.checkpoints_topic)
            _log.debug("partition %d: restored again: %s", partition, error)
        try:
            return self._restored(self._transport, partition, known[partition])
        except CheckpointError:
            self._consumer.take_over([partition])  # raises if the partition is not ours any more
            raise

    def _restored(
        self,
        stream: Transport,
        partition: int,
        committed: Mapping[str, int],
        log: CheckpointLog | None = None,
        base: Base | None = None,
    ) -> Restored:
        return restore(stream, self._settings, partition, committed, log=log, base=base)


def _fail(opening: Opening, error: BaseException) -> None:
    """Set the error of an opening, a copy for each."""
    with suppress(InvalidStateError):  # cancelled
        opening.found.set_exception(error.copied() if isinstance(error, ServiceError) else error)
