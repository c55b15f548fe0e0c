"""Replay dead letters: send those that are now accepted back to their source.

A dead letter is *outstanding* from the offset that `<group>.dead-letters` has committed. A replay
processes the dead letters that were outstanding when it began, in transactions of outputs and offset:
accepted dead letters go back to their source topic, the others to the end of the dead-letter topic. So each
goes back once, none is lost, and a crash repeats nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from time import time
from typing import NamedTuple

from service.messages.dead_letter import REPLAYED_FROM, DeadLetter, record_bytes
from service.messages.decoder import TimeBounds
from service.messages.rejection import Rejection
from service.partition.factory import InputReader
from service.settings.load import Settings
from service.settings.topics import input_topics, partition_counts
from service.stream.protocol import Output, Record, Transport
from service.stream.temporary_member import TemporaryMember


class ReplayDecision(NamedTuple):
    """A dead letter, its destination, and the reason if it stays a dead letter."""

    dead_letter: DeadLetter
    output: Output
    why: str = ""

    @property
    def is_replayed(self) -> bool:
        """Whether it goes back to its source."""
        return not self.why


class Redelivery:
    """Lists and replays a group's outstanding dead letters.

    Parameters
    ----------
    transport, settings
        The stream, and the settings of the group whose dead letters are replayed.

    """

    def __init__(self, transport: Transport, settings: Settings) -> None:
        self._transport = transport
        self._settings = settings
        self._topic = settings.dead_letters_topic
        self._group = f"{settings.group}.dead-letters"
        self._reader = InputReader(settings)
        self._decoder = self._reader.decoder
        self._times = TimeBounds(settings.max_event_time_ahead_seconds)
        self._partitions = partition_counts(transport, input_topics(settings))

    def outstanding(self) -> Iterator[DeadLetter]:
        """Yield the outstanding dead letters; several partitions are merged by time."""
        partitions = [map(DeadLetter.of, self._read(partition, start)) for partition, start in self._starts()]
        yield from heapq.merge(*partitions, key=lambda dead_letter: dead_letter.record.timestamp_ms)

    def replay(self) -> Iterator[ReplayDecision]:
        """Replay the dead letters that are outstanding now; yield each decision once it is committed.

        Raises
        ------
        OwnershipLost
            Another replay is running.
        TransportError
            The decisions yielded so far are committed; the rest stays outstanding.

        """
        ends = {partition: self._transport.bounds(self._topic, partition)[1] for partition in self._all()}
        with TemporaryMember(
            self._transport, self._group, [self._topic], self._settings.session_timeout_seconds
        ) as visitor:
            visitor.wait_for(ends, hint="wait until the other `perceptron dead-letters replay` ends")
            for partition, end in ends.items():
                yield from self._replay_partition(visitor, partition, end)

    def _replay_partition(
        self, visitor: TemporaryMember, partition: int, end: int
    ) -> Iterator[ReplayDecision]:
        limits = {topic: self._transport.record_limit(topic) for topic in (*self._partitions, self._topic)}
        with closing(visitor.consumer.writer(partition)) as writer:
            # No other process can replay it now.
            start = visitor.consumer.take_over([partition])[partition].get(self._topic, 0)
            records = self._read(partition, start, end)
            while batch := list(islice(records, self._settings.written_at_once)):
                decisions = self._decide(batch)
                moving = decisions[: self._count_moving(decisions)]
                if moving:
                    visitor.stay()
                    outputs = [decision.output for decision in moving]
                    compress = any(record_bytes(output) > limits[output.topic].n_bytes for output in outputs)
                    writer.commit(
                        outputs, {self._topic: moving[-1].dead_letter.record.offset + 1}, compress=compress
                    )
                yield from decisions

    def _count_moving(self, decisions: Sequence[ReplayDecision]) -> int:
        """Count the dead letters to be moved: those after the last that goes back may stay."""
        if len(decisions) == self._settings.written_at_once:
            return len(decisions)  # more may follow
        replayed = (n for n, decision in enumerate(decisions, 1) if decision.is_replayed)
        return max(replayed, default=0)

    def _decide(self, batch: Sequence[Record]) -> list[ReplayDecision]:
        dead_letters = [DeadLetter.of(record) for record in batch]
        self._reader.prepare([each.source_record(each.record.value) for each in dead_letters])
        return [*map(self._decide_one, dead_letters)]

    def _decide_one(self, dead_letter: DeadLetter) -> ReplayDecision:
        why, value = "", dead_letter.record.value
        if dead_letter.is_truncated:
            why = f"it was truncated to fit: {len(value or b'')} of {dead_letter.full_size} bytes are here"
        elif not dead_letter.source_topic:
            why = "its headers do not name a source topic"
        elif dead_letter.source_topic not in self._partitions:
            why = f"it came from {dead_letter.source_topic!r}, which the present settings do not read"
        else:
            try:
                self._check(dead_letter, value)
            except Rejection as rejection:
                why = str(rejection)
        if why:
            record = dead_letter.record
            again = Output(self._topic, record.key, record.value, record.headers, record.partition)
            return ReplayDecision(dead_letter, again, why)
        return ReplayDecision(dead_letter, self._back(dead_letter, value))

    def _check(self, dead_letter: DeadLetter, value: bytes | None) -> None:
        """Raise `Rejection` for a record that the service would reject again."""
        record = dead_letter.source_record(value)
        mapped_ms = self._decoder.decode(value, record).timestamp_ms
        time_ms = dead_letter.event_time_ms if mapped_ms is None else mapped_ms
        self._times.check(time_ms, int(time() * 1000), self._decoder.time_location(record))

    def _back(self, dead_letter: DeadLetter, value: bytes | None) -> Output:
        """Send a dead letter back to its source: the same partition, where its label may wait."""
        partition = dead_letter.source_partition
        if partition is not None and partition >= self._partitions[dead_letter.source_topic]:
            partition = None
        headers = (*dead_letter.own_headers(), (REPLAYED_FROM, dead_letter.location.encode()))
        key, time_ms = dead_letter.record.key, dead_letter.event_time_ms
        return Output(dead_letter.source_topic, key, value, headers, partition, time_ms)

    def _all(self) -> range:
        return range(self._transport.partition_count(self._topic))

    def _starts(self) -> list[tuple[int, int]]:
        """Return where the outstanding dead letters begin, without joining the group."""
        return [
            (partition, self._transport.committed(self._group, [self._topic], partition).get(self._topic, 0))
            for partition in self._all()
        ]

    def _read(self, partition: int, start: int, end: int | None = None) -> Iterator[Record]:
        return self._transport.read(self._topic, partition, start, end)
