"""The partitions of one member, as kafka-python's rebalance listener reports them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kafka import ConsumerRebalanceListener
from kafka.errors import InconsistentGroupProtocolError
from kafka.structs import MemberState, TopicPartition

from service.stream import Assignee
from service.transport.kafka.membership import KafkaMembership


class KafkaPythonMembership(KafkaMembership, ConsumerRebalanceListener):  # type: ignore[misc] # kafka-python has no types
    """Listens to the rebalances of one consumer and keeps the set of its partitions.

    kafka-python calls it on its I/O thread, while the polling thread waits inside `poll` or `close` for the
    rebalance to end: so there is one writer at a time, and no lock. No heartbeat is sent meanwhile.

    Parameters
    ----------
    assignee
        Informed of every rebalance.
    consumer
        Subscribes to `topic`, the group's leading one.

    """

    def __init__(self, assignee: Assignee, consumer: Any, topic: str) -> None:  # noqa: ANN401 - kafka-python has no types
        super().__init__(assignee)
        self._consumer = consumer
        consumer.subscribe([topic], listener=self)

    @contextmanager
    def joined_anew(self) -> Iterator[None]:
        """Ignore the group's answer if it is about a generation that a heartbeat has ended meanwhile.

        kafka-python compares the answer with a generation that is no more, or takes the answer and then
        looks for the protocol of that generation, and complains of another; it joins again.
        """
        try:
            yield
        except InconsistentGroupProtocolError as error:
            if "SyncGroupResponse protocol_name" not in str(error):
                raise
        except ValueError as error:
            if "invalid assignment protocol: None" not in str(error):
                raise

    @property
    def is_stable(self) -> bool:
        """Whether this is a member of the group's present generation, as far as it knows."""
        return self._consumer.group_metadata().state is MemberState.STABLE

    def is_settled(self) -> bool:
        """Return whether this is a member of the present generation and knows all its partitions."""
        return self.is_stable and not self._arrived

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        """Hold new partitions still until `Consumer.start`."""
        self._consumer.assign_paused(assigned)
        self._arrived |= {each.partition for each in assigned}

    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """Call the assignee, which may commit, then release the partitions."""
        self._release(self._assignee.partitions_revoked, revoked)

    def on_partitions_lost(self, lost: set[TopicPartition]) -> None:
        """Notify the assignee that the partitions were lost."""
        self._release(self._assignee.partitions_lost, lost)

    def _release(self, callback: Callable[[frozenset[int]], None], gone: set[TopicPartition]) -> None:
        partitions = frozenset(each.partition for each in gone)
        if known := partitions & self.owned:
            self._call_assignee(callback, known)
        self._remove(partitions)
