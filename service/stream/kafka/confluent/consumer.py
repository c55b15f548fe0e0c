"""One member of a consumer group, through confluent-kafka."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Final

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, ConsumerGroupState, KafkaError, Message
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient, ConsumerGroupDescription, OffsetSpec

from service.errors import (
    OffsetOutOfRange,
    OwnershipLost,
    ServiceError,
    TransactionFailed,
    TransportUnavailable,
)
from service.stream.batches import RecordBatch
from service.stream.kafka.confluent.errors import FOREIGN, as_exception, translate
from service.stream.kafka.confluent.messages import OUT_OF_RANGE, PARTITION_EOF, consume, keep
from service.stream.kafka.errors import out_of_range, unreachable
from service.stream.kafka.limits import AWAY_AFTER_SECONDS, LOOK_SECONDS, heartbeat_interval_ms
from service.stream.kafka.member import KafkaMember, KafkaMembership
from service.stream.protocol import Assignee, TopicPartition

if TYPE_CHECKING:  # cluster imports this module
    from service.stream.kafka.confluent.cluster import ConfluentCluster


class ConfluentMembership(KafkaMembership):
    """Listens to the rebalances of one consumer and keeps the set of its partitions.

    librdkafka calls it inside `consume` and `close`, on the polling thread, while its own threads send
    heartbeats: so the assignee may take long, and no lock is needed. Errors of the assignee are stored until
    the call is over: an exception would make `consume` discard its records.

    An assigned partition is not fetched before `begin` sets its offset: librdkafka's assignment contains the
    started partitions, also of the further topics.

    Parameters
    ----------
    client
        The consumer.
    topics
        All topics, the leading one first, whose partitions the group distributes.
    assignee
        Is notified of every rebalance.
    describe
        Asks the group's coordinator for its members.
    count_partitions
        Asks for the number of partitions of the leading topic.
    owner_topic
        The topic whose only partition determines the owner of all partitions; empty: there is none.

    """

    def __init__(
        self,
        client: Consumer,
        topics: Sequence[str],
        assignee: Assignee,
        describe: Callable[[], ConsumerGroupDescription],
        count_partitions: Callable[[], int],
        owner_topic: str,
    ) -> None:
        super().__init__(assignee, count_partitions if owner_topic else None)
        self._client = client
        self._topics = topics
        self._describe = describe
        self._count_partitions = count_partitions
        self._is_settled: bool | None = None
        self.resumed_at = -inf
        """When (monotonic seconds) the last rebalance resumed all partitions."""
        leading = [owner_topic or topics[0]]
        client.subscribe(leading, on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost)

    def begin(self, topic_partitions: Sequence[ClientPartition]) -> None:
        """Start to fetch topic partitions, one of each topic, from their offsets on; also used to rewind."""
        partition = topic_partitions[0].partition
        if partition in self.begun:
            self._client.incremental_unassign(self._partitions([partition]))
        self._client.incremental_assign(list(topic_partitions))
        self._client.resume(list(topic_partitions))  # an earlier assignment may have left them paused

    def is_settled(self) -> bool:
        """Return whether all partitions of the leading topic have owners, and this member has all of its own.

        Asks the group after each rebalance, until that is so.
        """
        if self._is_settled is False and self._is_announced:
            group = self._describe()
            shares = {
                member.member_id: {partition.partition for partition in member.assignment.topic_partitions}
                for member in group.members
            }
            ours = {0} & self.owned if self._count_all else self.owned
            self._is_settled = (
                group.state is ConsumerGroupState.STABLE
                and shares.get(self._client.memberid()) == ours
                and set().union(*shares.values())
                >= {*range(1 if self._count_all else self._count_partitions())}
            )
        return bool(self._is_settled)

    def _on_assign(self, client: Consumer, assigned: Sequence[ClientPartition]) -> None:
        """Note the assignment; otherwise the client would fetch the partitions from offsets of its choice."""
        client.incremental_assign([])
        self.resumed_at = monotonic()
        self._note_assigned(each.partition for each in assigned)
        self._is_settled = False

    def _on_revoke(self, _: Consumer, revoked: Sequence[ClientPartition]) -> None:
        """Call the assignee, which may commit, then release the partitions."""
        self._release(self._assignee.partitions_revoked, revoked)

    def _on_lost(self, _: Consumer, lost: Sequence[ClientPartition]) -> None:
        """Notify the assignee that the partitions were lost."""
        self._release(self._assignee.partitions_lost, lost)

    def _release(self, callback: Callable[[frozenset[int]], None], gone: Sequence[ClientPartition]) -> None:
        partitions = self._going(each.partition for each in gone)
        known = partitions & self.owned
        if known:
            self._call_assignee(callback, known)
        self._is_settled = False
        fetched = sorted(partitions & self.begun)
        self._remove(partitions)
        self._client.incremental_unassign(self._partitions(fetched))
        self.resumed_at = monotonic()

    def _partitions(self, partitions: Iterable[int]) -> list[ClientPartition]:
        return [ClientPartition(topic, partition) for partition in partitions for topic in self._topics]


# A member that has not polled for this long is removed; time for restoring a partition counts, too.
_MAX_PAUSE_SECONDS: Final = 300.0
# How long partitions may take to resume after a rebalance; also the timeout of wake-up requests.
_WAKE_SECONDS: Final = 0.3

_REJOIN_SECONDS: Final = 2.0
"""How long after a rebalance another may follow: a partition that moves is revoked in the first and assigned
in the second."""
_METADATA_SECONDS: Final = 0.1
"""Time between two requests for metadata meanwhile."""
_AT_ONCE: Final = 250
"""Messages to request at a time: few enough that their memory stays in the processor's cache."""


class ConfluentConsumer(KafkaMember):
    """A member of a group with one client, which also gets the partitions of further topics."""

    _cluster: ConfluentCluster
    _membership: ConfluentMembership

    def _open(self, assignee: Assignee) -> None:
        self._positions: dict[TopicPartition, int] = {}
        """The next offset to deliver, known from a record or from the end of the partition."""
        self._ends: dict[TopicPartition, int] = {}
        """The ends of partitions whose last record was fetched; markers may follow the record."""
        self._error: ServiceError | None = None
        self._gone: dict[int, OffsetOutOfRange] = {}
        """The error of each partition whose position is out of range: librdkafka reports it once."""
        self._heartbeat_seconds = heartbeat_interval_ms(self._options.session_timeout_seconds) / 1000
        self._heartbeat_due = 0.0
        client, owner_topic = self._open_member(), self._options.owner_topic
        with self._translated(self._cluster.name):
            self._membership = ConfluentMembership(
                client, self._topics, assignee, self._describe, self._count_partitions, owner_topic
            )
        self._client: Consumer | None = client

    def _open_member(self) -> Consumer:
        session_ms = int(self._options.session_timeout_seconds * 1000)
        static = {"group.instance.id": self._options.instance_id} if self._options.instance_id else {}
        return self._cluster.client(
            Consumer,
            {
                "group.id": self._group,
                "partition.assignment.strategy": "cooperative-sticky",
                "session.timeout.ms": session_ms,
                "heartbeat.interval.ms": heartbeat_interval_ms(self._options.session_timeout_seconds),
                "max.poll.interval.ms": max(session_ms, int(_MAX_PAUSE_SECONDS * 1000)),
                "error_cb": self._note_error,
                # Continuing elsewhere would silently lose or repeat records.
                "auto.offset.reset": "error",
                **static,
            },
        )

    @property
    def _open_client(self) -> Consumer:
        if self._client is None:
            raise RuntimeError("the consumer is closed")
        return self._client

    def _pause(self, pause: Collection[TopicPartition], resume: Collection[TopicPartition]) -> None:
        """Pause and resume; fetched records of a paused partition are discarded and fetched again."""
        self._open_client.pause([ClientPartition(*partition) for partition in pause])
        self._open_client.resume([ClientPartition(*partition) for partition in resume])

    def _poll_client(self, wait_seconds: float, max_records: int) -> None:
        self._wake_fetching()
        self._wake_membership()
        room = self._undelivered.n_free(max_records)
        if not self._fetch(room, 0.0 if self._undelivered else wait_seconds):
            self._cluster.serve()  # while idle

    def _wake_fetching(self) -> None:
        """Request offsets from the leaders for a while after a rebalance: a response ends a one-second pause.

        A rebalance pauses all partitions, and no fetch is under way. When they resume, librdkafka (2.16) does
        not wake the thread of a broker, which checks only when something arrives.
        """
        if monotonic() - self._membership.resumed_at < _WAKE_SECONDS:
            begun = [ClientPartition(self._topics[0], each, OFFSET_END) for each in self._membership.begun]
            with suppress(*FOREIGN):
                self._open_client.offsets_for_times(begun, _WAKE_SECONDS)

    def _wake_membership(self) -> None:
        """Request metadata, which makes the client's main thread send a due heartbeat.

        Otherwise that thread checks only once a second (librdkafka 2.16). A member learns of joining and
        leaving members from the heartbeat's response, and until all members have joined, moving partitions
        have no owner. Nor does it join twice within a second, unless metadata arrives in between.
        """
        if (now := monotonic()) < self._heartbeat_due:
            return
        self._heartbeat_due = now + self._heartbeat_seconds
        with suppress(*FOREIGN):
            if now - self._membership.resumed_at < _REJOIN_SECONDS:
                self._heartbeat_due = now + _METADATA_SECONDS
                self._open_client.list_topics(self._topics[0], _WAKE_SECONDS)
            else:
                self._open_client.memberid()

    def _fetch(self, room: int, wait_seconds: float) -> int:
        """Fetch the available records; return the number of messages."""
        count = 0
        while count < room:
            wanted = min(room - count, _AT_ONCE)
            messages = consume(self._open_client, wanted, 0.0 if count else wait_seconds)
            keep(messages, self._undelivered.by_partition, self._membership.begun, self._note)
            count += len(messages)
            if len(messages) < wanted:
                break
        return count

    def _note(self, error: KafkaError, message: Message) -> None:
        """Handle a message without a record: the end of a partition, or an error."""
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        if error.code() in OUT_OF_RANGE and topic is not None and partition is not None:
            if partition in self._membership.begun:
                self._gone[partition] = out_of_range(topic, partition, offset or 0)
        elif error.code() != PARTITION_EOF:
            self._note_error(error, f"{topic}[{partition}]" if topic else self._cluster.name)
        elif partition in self._membership.begun:
            self._ends[str(topic), partition] = offset or 0

    def _note_error(self, error: KafkaError, where: str = "") -> None:
        self._error = translate(error, where or self._cluster.name)

    def _check_alive(self) -> None:
        """Raise if the stream is unreachable: librdkafka reports the start of an outage, but not its end.

        Errors about generations and rebalances are ignored, as a rebalance follows.
        """
        if self._gone:
            raise self._gone.popitem()[1]
        failure, self._error = self._error, None
        if isinstance(failure, TransportUnavailable):
            try:
                self._open_client.list_topics(self._topics[0], timeout=AWAY_AFTER_SECONDS)
            except FOREIGN as error:
                self._error = failure
                raise unreachable(self._cluster.name) from as_exception(error)
        elif failure is not None and not isinstance(failure, (OwnershipLost, TransactionFailed)):
            raise failure

    def _deliver(self) -> dict[int, RecordBatch]:
        """Return the fetched records, and count them as delivered."""
        ends, self._ends = self._ends, {}
        self._positions |= {
            partition: records[-1].offset + 1 for partition, records in self._undelivered.by_partition.items()
        }
        for partition, end in ends.items():
            self._positions[partition] = max(end, self._positions.get(partition, 0))
        return super()._deliver()

    def _begin(self, partition: int, offsets: Mapping[str, int]) -> None:
        self._gone.pop(partition, None)
        topic_partitions = [(topic, partition) for topic in self._topics]
        for topic_partition in topic_partitions:
            self._ends.pop(topic_partition, None)
            self._positions.pop(topic_partition, None)
        self._membership.begin(
            [ClientPartition(*each, offsets.get(each[0], OFFSET_BEGINNING)) for each in topic_partitions]
        )
        self._positions |= {(topic, partition): offset for topic, offset in offsets.items()}

    def _group_metadata(self) -> object:
        metadata = self._open_client.consumer_group_metadata()
        return metadata if self._open_client.memberid() else None  # a removed member has no id until it polls

    def _member_id(self) -> str:
        return str(self._open_client.memberid())

    def _known_end(self, partition: TopicPartition) -> int | None:
        _, end = self._open_client.get_watermark_offsets(ClientPartition(*partition), cached=True)
        return end if end >= 0 else None

    def _known_position(self, partition: TopicPartition) -> int | None:
        return self._positions.get(partition)

    def _fetch_ends(self, topic_partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        partitions = [ClientPartition(*each) for each in topic_partitions]
        return self._cluster.offsets(partitions, OffsetSpec.latest(), timeout_seconds=LOOK_SECONDS)

    def _leave(self) -> None:
        try:
            self._open_client.close()
        finally:
            self._client = None

    def __del__(self) -> None:
        """Leave without notifying the assignee, if the consumer was not closed.

        The client's own destructor would never return: it revokes the assignment, and does not know
        partitions that were not fetched.
        """
        if getattr(self, "_client", None) is not None:
            self._membership.stop_notifying()
            with suppress(*FOREIGN):
                self._leave()

    def _describe(self) -> ConsumerGroupDescription:
        """Ask the group's coordinator for the members and their partitions."""
        return self._cluster.ask(AdminClient.describe_consumer_groups, [self._group], "{}")[self._group]
