"""The partitions of one member, as librdkafka's rebalance callbacks report them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf
from time import monotonic

from confluent_kafka import Consumer, ConsumerGroupState, TopicPartition
from confluent_kafka.admin import ConsumerGroupDescription

from service.stream import Assignee
from service.transport.kafka.membership import KafkaMembership


class ConfluentMembership(KafkaMembership):
    """Listens to the rebalances of one consumer and keeps the set of its partitions.

    librdkafka calls it inside `consume` and `close`, on the thread that polls, while its own threads keep
    the heart beating: so the assignee may take its time, and there is no lock. Whatever the assignee
    raises is kept until the call is over: an exception would make `consume` discard the records it has.

    A partition that the group has assigned is not fetched before `begin` says where: librdkafka's
    assignment holds what was begun, and the further topics beside the group's leading one.

    Parameters
    ----------
    client
        The consumer.
    topics
        All topics, the leading one first: the group shares out the partitions of that one.
    assignee
        Informed of every rebalance.
    describe
        Returns the group's members, as its coordinator reports them.
    count_partitions
        Asks how many partitions the leading topic has.

    """

    def __init__(
        self,
        client: Consumer,
        topics: Sequence[str],
        assignee: Assignee,
        describe: Callable[[], ConsumerGroupDescription],
        count_partitions: Callable[[], int],
    ) -> None:
        super().__init__(assignee)
        self._client = client
        self._topics = topics
        self._describe = describe
        self._count_partitions = count_partitions
        self._is_settled: bool | None = None
        self.resumed_at = -inf
        """When (monotonic seconds) a rebalance had last paused all partitions and let them go on."""
        client.subscribe(
            [topics[0]], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
        )

    def begin(self, places: Sequence[TopicPartition]) -> None:
        """Fetch the places, one partition of each topic, from their offsets on; also to rewind."""
        partition = places[0].partition
        if partition in self.begun:
            self._client.incremental_unassign(self._places([partition]))
        self._client.incremental_assign(list(places))
        self._client.resume(list(places))  # they may have been paused when we had them before

    def is_settled(self) -> bool:
        """Return whether every partition of the leading topic has an owner, and this member has all its own.

        Asks the group once after each rebalance, and until it is so.
        """
        if self._is_settled is False and not self._arrived:
            group = self._describe()
            shares = {
                member.member_id: {place.partition for place in member.assignment.topic_partitions}
                for member in group.members
            }
            self._is_settled = (
                group.state is ConsumerGroupState.STABLE
                and shares.get(self._client.memberid()) == self.owned
                and set().union(*shares.values()) >= set(range(self._count_partitions()))
            )
        return bool(self._is_settled)

    def _on_assign(self, client: Consumer, assigned: Sequence[TopicPartition]) -> None:
        """Note the assignment; without this, the client would fetch the partitions from where it likes."""
        client.incremental_assign([])
        self.resumed_at = monotonic()
        self._arrived |= {each.partition for each in assigned}
        self._is_settled = False

    def _on_revoke(self, _: Consumer, revoked: Sequence[TopicPartition]) -> None:
        """Call the assignee, which may commit, then release the partitions."""
        self._release(self._assignee.partitions_revoked, revoked)

    def _on_lost(self, _: Consumer, lost: Sequence[TopicPartition]) -> None:
        """Notify the assignee that the partitions were lost."""
        self._release(self._assignee.partitions_lost, lost)

    def _release(self, callback: Callable[[frozenset[int]], None], gone: Sequence[TopicPartition]) -> None:
        partitions = frozenset(each.partition for each in gone)
        known = partitions & self.owned
        if known:
            self._call_assignee(callback, known)
        self._is_settled = False
        fetched = sorted(partitions & self.begun)
        self._remove(partitions)
        self._client.incremental_unassign(self._places(fetched))
        self.resumed_at = monotonic()

    def _places(self, partitions: Iterable[int]) -> list[TopicPartition]:
        return [TopicPartition(topic, partition) for partition in partitions for topic in self._topics]
