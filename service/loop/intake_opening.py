"""Make the intakes ready to append.

An intake may append once no other process can, and all that others have appended is processed: its writer is
made first, then the topics' ends are read, then the loop goes on to these ends as it would anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from service.errors import TransportError
from service.intake.partition import PartitionIntake
from service.loop.queues.record_queue import RecordQueues
from service.stream import Consumer, Transport


class IntakeOpener:
    """Makes intakes ready, on the thread of the loop.

    Parameters
    ----------
    transport, consumer
        The stream, and this process as a member of the group.
    queues
        Where records wait that were polled.
    topics
        Of events, and of labels if they have their own.

    """

    def __init__(
        self, transport: Transport, consumer: Consumer, queues: RecordQueues, topics: Sequence[str]
    ) -> None:
        self._transport = transport
        self._consumer = consumer
        self._queues = queues
        self._topics = topics

    def advance(self, intakes: Iterable[PartitionIntake]) -> None:
        """Advance each intake by one step; called between two batches."""
        for intake in intakes:
            try:
                if intake.wants_writer:
                    self._fence(intake)
                if intake.ends is not None and self._has_passed(intake):
                    intake.open()
            except TransportError as error:
                intake.refuse(error)

    def _fence(self, intake: PartitionIntake) -> None:
        writer = self._consumer.appender(intake.partition)
        try:
            limits = {topic: self._transport.record_limit(topic).n_bytes for topic in self._topics}
            ends = {topic: self._transport.bounds(topic, intake.partition)[1] for topic in self._topics}
        except BaseException:
            writer.close()
            raise
        intake.fence(writer, ends, limits)

    def _has_passed(self, intake: PartitionIntake) -> bool:
        """Return whether everything before the ends is committed: nothing polled before them waits here."""
        assert intake.ends is not None
        partition = intake.partition
        positions = self._consumer.positions(partition)
        for topic, end in intake.ends.items():
            waiting = self._queues.first_offset(topic, partition)
            at = positions.get(topic, 0) if waiting is None else waiting
            if at < end:
                return False
        return True
