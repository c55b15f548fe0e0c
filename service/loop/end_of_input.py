"""Whether a group has processed all records of its input."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from service.clock import SYSTEM_CLOCK, Clock
from service.errors import TransportUnavailable
from service.loop.growth import Growth
from service.stream import Consumer, Transport

_LOOK_SECONDS: Final = 1.0
"""How often to look what the others have committed: on Kafka that takes a client of its own."""


class EndOfInput:
    """Detects the end of input, of this member's partitions and of all others.

    A member that left when its own are done would hand its partitions over to members in the middle of their
    work; and the partitions of a member that was killed may have no owner yet.

    Parameters
    ----------
    transport, consumer
        The stream, and this member of the group.
    topics
        What the group reads.
    growth
        Says how many partitions they have.
    clock
        Decides when to look again.

    """

    def __init__(
        self,
        transport: Transport,
        consumer: Consumer,
        group: str,
        topics: Sequence[str],
        growth: Growth,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._transport = transport
        self._consumer = consumer
        self._group = group
        self._topics = topics
        self._growth = growth
        self._clock = clock
        self._look_at_others = 0.0

    def is_reached(self, ours: Collection[int]) -> bool:
        """Return whether all is processed, `ours` being open here; False if the stream is unreachable."""
        others = set(range(self._growth.n_partitions)).difference(ours)
        try:
            return self._consumer.at_end() and self._others_are_done(others)
        except TransportUnavailable:
            return False

    def _others_are_done(self, others: Collection[int]) -> bool:
        if others and self._clock.monotonic() < self._look_at_others:
            return False
        self._look_at_others = self._clock.monotonic() + _LOOK_SECONDS
        return all(map(self._is_done, others))

    def _is_done(self, partition: int) -> bool:
        committed = self._transport.committed(self._group, self._topics, partition)
        return all(
            next(self._transport.read(topic, partition, committed.get(topic, 0)), None) is None
            for topic in self._topics
        )
