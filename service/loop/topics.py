"""The input topics of the loop: new partitions, the end of the input, and when the API may append."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from typing import Final

from service.errors import TopicMissing, TransportError, TransportUnavailable
from service.intake.partition import PartitionIntake
from service.loop.context import Context
from service.loop.queues import RecordQueues
from service.settings.topics import ensure_topics, input_topics, output_topics
from service.stream.protocol import Consumer

_log = logging.getLogger(__name__)

_CHECK_SECONDS: Final = 3.0
"""How often to ask for the events topic's number of partitions; the group learns it within 5 s."""

_CHECK_INTERVAL_SECONDS: Final = 1.0
"""How often to read what other members have committed: on Kafka that needs a separate client."""


class Growth:
    """Adds partitions to the other topics when the events topic grows.

    Parameters
    ----------
    context
        The shared parts of the loop; the topics must exist.

    Attributes
    ----------
    n_partitions : int
        The known number of partitions of each topic.
    check_at : float
        When (monotonic seconds) to `check` next.

    """

    def __init__(self, context: Context) -> None:
        self._stream = context.stream
        self._settings = context.settings
        self._clock = context.clock
        self.n_partitions = ensure_topics(self._stream, self._settings)
        self.check_at = self._clock.monotonic() + _CHECK_SECONDS
        self._is_missing = False

    def check(self) -> None:
        """Check whether the events topic has grown.

        Raises
        ------
        ConfigurationError, AccessDenied
            Another topic has fewer partitions, and the service must not add any.
        TopicMissing
            A topic was deleted.

        """
        self.check_at = self._clock.monotonic() + _CHECK_SECONDS
        try:
            if self._stream.partition_count(self._settings.events_topic) > self.n_partitions:
                self._follow()
            for topic in output_topics(self._settings):
                self._stream.partition_count(topic)
        except TransportUnavailable:
            return  # the next read or write reports it
        except TopicMissing as error:
            if not self._is_missing:  # on a busy cluster, a broker may not know a topic yet
                self._is_missing = True
                return
            raise TopicMissing(
                f"{error}: the topic was deleted while the service ran",
                hint="restore the topic; or create it empty, and restart",
            ) from error
        self._is_missing = False

    def ensure_partition(self, partition: int) -> None:
        """Make sure that every topic has this partition. Raises as `check`, and `TransportUnavailable`."""
        if partition >= self.n_partitions:
            self._follow()
        if partition >= self.n_partitions:
            topic = self._settings.events_topic
            raise TransportUnavailable(f"{topic}[{partition}] is not yet known to every broker")

    def _follow(self) -> None:
        before, self.n_partitions = self.n_partitions, ensure_topics(self._stream, self._settings)
        if self.n_partitions <= before:
            return
        moved = "keys move, and a label in another partition than its event is an orphan"
        if self._settings.share_model:
            moved = "and the shared model learns their records"
        _log.warning(
            "%s has %d partitions now, %d before: %s",
            *(self._settings.events_topic, self.n_partitions, before, moved),
            extra={"partitions": self.n_partitions, "partitions_before": before},
        )


class EndOfInput:
    """Detects the end of the input: of this member's partitions and of all others.

    A member that left once its own partitions are done would hand them over to members that are still
    working; and the partitions of a killed member may not have a new owner yet.

    Parameters
    ----------
    context, consumer
        The shared parts of the loop; this member of the group.
    growth
        Has the number of partitions.

    """

    def __init__(self, context: Context, consumer: Consumer, growth: Growth) -> None:
        self._stream = context.stream
        self._consumer = consumer
        self._group = context.settings.group
        self._topics = input_topics(context.settings)
        self._growth = growth
        self._clock = context.clock
        self._check_others_at = 0.0

    def is_reached(self, ours: Collection[int]) -> bool:
        """Return whether all input is processed, `ours` being open here; False without a response."""
        others = set(range(self._growth.n_partitions)).difference(ours)
        try:
            return self._consumer.at_end() and self._others_are_done(others)
        except TransportUnavailable:
            return False

    def _others_are_done(self, others: Collection[int]) -> bool:
        if others and self._clock.monotonic() < self._check_others_at:
            return False
        self._check_others_at = self._clock.monotonic() + _CHECK_INTERVAL_SECONDS
        return all(map(self._is_done, others))

    def _is_done(self, partition: int) -> bool:
        committed = self._stream.committed(self._group, self._topics, partition)
        return all(
            next(self._stream.read(topic, partition, committed.get(topic, 0)), None) is None
            for topic in self._topics
        )


class IntakeOpener:
    """Prepares intakes, which append posted records to the input topics, on the thread of the loop.

    An intake may append once no other process can and all records appended by others are processed. So its
    writer is opened first, then the topics' ends are read, and then the loop processes the records up to
    these ends.

    Parameters
    ----------
    context, consumer
        The shared parts of the loop; this member of the group.
    queues
        The queued records.

    """

    def __init__(self, context: Context, consumer: Consumer, queues: RecordQueues) -> None:
        self._stream = context.stream
        self._consumer = consumer
        self._queues = queues
        self._topics = input_topics(context.settings)

    def advance(self, intakes: Iterable[PartitionIntake]) -> None:
        """Advance each intake by one step. Called between two batches."""
        for intake in intakes:
            try:
                if intake.wants_writer:
                    self._fence(intake)
                if intake.ends is not None and self._has_passed(intake):
                    intake.open()
            except TransportError as error:
                intake.reject(error)

    def _fence(self, intake: PartitionIntake) -> None:
        writer = self._consumer.appender(intake.partition)
        try:
            limits = {topic: self._stream.record_limit(topic).n_bytes for topic in self._topics}
            ends = {topic: self._stream.bounds(topic, intake.partition)[1] for topic in self._topics}
        except BaseException:
            writer.close()
            raise
        intake.fence(writer, ends, limits)

    def _has_passed(self, intake: PartitionIntake) -> bool:
        """Return whether every record before the ends is processed and committed."""
        assert intake.ends is not None
        partition = intake.partition
        positions = self._consumer.positions(partition)
        for topic, end in intake.ends.items():
            waiting = self._queues.first_offset(topic, partition)
            at = positions.get(topic, 0) if waiting is None else waiting
            if at < end:
                return False
        return True
