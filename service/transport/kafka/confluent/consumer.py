"""One member of a consumer group. In: a cluster's topics. Out: their records, partition by partition."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from time import monotonic
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition
from confluent_kafka.admin import AdminClient, ConsumerGroupDescription, OffsetSpec

from service.errors import (
    OffsetOutOfRange,
    OwnershipLost,
    ServiceError,
    TransactionFailed,
    TransportError,
    TransportUnavailable,
)
from service.stream import NOWHERE, Assignee, Place, Record
from service.transport.kafka.confluent.cluster import Cluster, committed_offsets
from service.transport.kafka.confluent.errors import FOREIGN, as_exception, translate, translated
from service.transport.kafka.confluent.membership import ConfluentMembership
from service.transport.kafka.confluent.messages import OUT_OF_RANGE, PARTITION_EOF, as_record, take
from service.transport.kafka.confluent.producer import BulkProducer
from service.transport.kafka.errors import away, out_of_range
from service.transport.kafka.limits import (
    LOOK_SECONDS,
    REQUEST_TIMEOUT_SECONDS,
    ConsumerOptions,
    heartbeat_interval_ms,
)
from service.transport.kafka.member import KafkaMember

# New partitions are announced between two waits, so a wait is short.
_WAIT_SECONDS: Final = 0.1
# Connections come and go when leaders move or a broker restarts; a cluster is away when none came back.
_AWAY_AFTER_SECONDS: Final = 3.0
# A member that has not polled for so long is taken for stuck; restoring a partition counts as such.
_LONGEST_PAUSE_SECONDS: Final = 300.0


class ConfluentConsumer(KafkaMember):
    """A member of `group`.

    The group shares out the partitions of the leading topic alone: no cooperative assignor keeps the
    partitions of several topics together. The same partitions of the further topics are assigned to the
    client by hand, beside what the group gives it. The offsets of all topics are the group's.

    Parameters
    ----------
    cluster
        Where the clients come from.
    group, topics, assignee, options
        As given to `Transport.join`.
    count_partitions
        Asks how many each of the topics has.
    check_topics
        Raises `TopicMissing` for topics that do not exist.

    """

    def __init__(
        self,
        cluster: Cluster,
        group: str,
        topics: Sequence[str],
        assignee: Assignee,
        *,
        options: ConsumerOptions,
        count_partitions: Callable[[], int],
        check_topics: Callable[[set[str]], None],
    ) -> None:
        super().__init__(group, topics, options, check_topics)
        self._cluster = cluster
        self._count_partitions = count_partitions
        self._producers: dict[int, BulkProducer] = {}
        self._positions: dict[Place, int] = {}
        """The next offset to be delivered, once a record or the partition's end has told it."""
        self._taken: dict[Place, list[Record]] = {}
        """Records that the client has moved past and nobody was given yet: were a poll that fails to
        forget them, they would be lost."""
        self._ends: dict[Place, int] = {}
        """Where partitions ended when the records taken were the last ones; markers may lie between."""
        self._trouble: ServiceError | None = None
        self._gone: dict[int, OffsetOutOfRange] = {}
        """By partition, of those whose position has no record: librdkafka says so once."""
        client = self._open_member()
        with translated(cluster.name):
            self._membership = ConfluentMembership(client, self._topics, assignee, self._describe)
        self._client: Consumer | None = client

    def _open_member(self) -> Consumer:
        session_ms = int(self._options.session_timeout_seconds * 1000)
        static = {"group.instance.id": self._options.instance_id} if self._options.instance_id else {}
        return self._cluster.open_consumer(
            self._group,
            {
                "partition.assignment.strategy": "cooperative-sticky",
                "session.timeout.ms": session_ms,
                "heartbeat.interval.ms": heartbeat_interval_ms(self._options.session_timeout_seconds),
                "max.poll.interval.ms": max(session_ms, int(_LONGEST_PAUSE_SECONDS * 1000)),
                "error_cb": self._note_trouble,
                # To go on elsewhere would lose or repeat records without a word.
                "auto.offset.reset": "error",
                **static,
            },
        )

    @property
    def _open_client(self) -> Consumer:
        if self._client is None:
            raise RuntimeError("the consumer is closed")
        return self._client

    def poll(
        self, timeout_seconds: float, max_records: int, hold: AbstractSet[Place] = NOWHERE
    ) -> dict[int, list[Record]]:
        """Wait for records; see `Consumer.poll`."""
        deadline = monotonic() + timeout_seconds
        self._hold(hold)
        while True:
            with translated(self._cluster.name):
                self._take(deadline - monotonic(), max_records)
            self._membership.raise_failure()
            announced = self._membership.announce()
            if self._taken or announced or monotonic() >= deadline:
                self._check_alive()
                return self._give()

    @property
    def _delivered(self) -> set[int]:
        return self._membership.begun

    def _pause(self, pause: Collection[Place], resume: Collection[Place]) -> None:
        """Pause and resume; what was fetched of a place that is paused is thrown away and fetched again."""
        with translated(self._cluster.name):
            self._open_client.pause([TopicPartition(*place) for place in pause])
            self._open_client.resume([TopicPartition(*place) for place in resume])

    def _take(self, left_seconds: float, max_records: int) -> None:
        room = max_records - sum(map(len, self._taken.values()))
        wait_seconds = 0.0 if self._taken else min(max(0.0, left_seconds), _WAIT_SECONDS)
        messages = take(self._open_client, max(1, room), wait_seconds) if room > 0 else ()
        taken, begun = self._taken, self._membership.begun
        for message in messages:
            error = message.error()
            if error is not None:
                self._note(message, error)
                continue
            record = as_record(message)
            place = record[:2]
            if place in taken:
                taken[place].append(record)
            elif place[1] in begun:
                taken[place] = [record]
        if not messages:
            self._serve()

    def _note(self, message: Message, error: KafkaError) -> None:
        """Take note of what comes between records: the end of a partition, or bad news."""
        topic, partition = message.topic(), message.partition()
        if error.code() in OUT_OF_RANGE and topic is not None and partition is not None:
            if partition in self._membership.begun:
                self._gone[partition] = out_of_range(topic, partition, message.offset() or 0)
        elif error.code() != PARTITION_EOF:
            self._note_trouble(error, f"{topic}[{partition}]" if topic else self._cluster.name)
        elif partition in self._membership.begun:
            self._ends[str(topic), partition] = message.offset()

    def _note_trouble(self, error: KafkaError, where: str = "") -> None:
        self._trouble = translate(error, where or self._cluster.name)

    def _check_alive(self) -> None:
        """Raise if the stream is away: librdkafka says only when it went, not whether it came back.

        What it says of generations and rebalances is left to the rebalance that follows.
        """
        if self._gone:
            raise self._gone.popitem()[1]
        trouble, self._trouble = self._trouble, None
        if isinstance(trouble, TransportUnavailable):
            try:
                self._open_client.list_topics(self._topics[0], timeout=_AWAY_AFTER_SECONDS)
            except FOREIGN as error:
                self._trouble = trouble
                raise away(self._cluster.name) from as_exception(error)
        elif trouble is not None and not isinstance(trouble, (OwnershipLost, TransactionFailed)):
            raise trouble

    def _give(self) -> dict[int, list[Record]]:
        """Order by partition, then topic; from here on all of it counts as delivered."""
        taken, self._taken = self._taken, {}
        ends, self._ends = self._ends, {}
        merged: dict[int, list[Record]] = {}
        for place in sorted(taken, key=lambda place: self._topics.index(place[0])):
            records = taken[place]
            self._positions[place] = records[-1].offset + 1
            merged.setdefault(place[1], []).extend(records)
        for place, end in ends.items():
            self._positions[place] = max(end, self._positions.get(place, 0))
        return merged

    def _serve(self) -> None:
        """Let the other clients tell what they have to tell, while there is nothing else to do."""
        self._cluster.serve()
        for producer in self._producers.values():
            producer.serve()

    def start(self, partition: int, offsets: Mapping[str, int]) -> None:
        """Deliver from these offsets on; see `Consumer.start`."""
        self._check_owned(partition)
        self._hold({place for place in self._held if place[1] != partition})
        self._forget({partition})
        with translated(self._where(partition)):
            self._membership.begin(
                [
                    TopicPartition(topic, partition, offsets.get(topic, OFFSET_BEGINNING))
                    for topic in self._topics
                ]
            )
        self._positions |= {(topic, partition): offset for topic, offset in offsets.items()}

    def _forget(self, partitions: Collection[int]) -> None:
        for partition in partitions:
            self._gone.pop(partition, None)
        for kept in (self._taken, self._ends, self._positions):
            for place in [place for place in kept if place[1] in partitions]:
                del kept[place]

    def committed(self, partition: int) -> dict[str, int]:
        """Return the group's committed offsets; see `Consumer.committed`."""
        with translated(self._where(partition)):
            return committed_offsets(self._open_client, self._topics, partition)

    @property
    def _owned(self) -> set[int]:
        return self._membership.owned

    def _is_member(self) -> bool:
        with translated(self._cluster.name):
            return self._membership.is_member()

    def _open_producer(self, name: str, partition: int, *, compress: bool) -> BulkProducer:
        producer = BulkProducer(
            self._cluster,
            timeout_seconds=self._options.commit_timeout_seconds,
            batch_bytes=self._options.limits.batch_bytes,
            compress=compress,
            transactional_id=name,
            transaction_timeout_seconds=self._options.transaction_timeout_seconds,
        )
        try:
            with translated(self._where(partition)):
                producer.init_transactions(REQUEST_TIMEOUT_SECONDS)
        except BaseException:
            producer.drop()
            raise
        self._producers[partition] = producer
        return producer

    def _group_metadata(self) -> object:
        with translated(self._cluster.name):
            return self._open_client.consumer_group_metadata()

    def positions(self, partition: int) -> dict[str, int]:
        """Return the next offsets to be delivered; see `Consumer.positions`."""
        self._check_owned(partition)
        known = {topic: self._positions.get((topic, partition)) for topic in self._topics}
        unknown = [TopicPartition(topic, partition) for topic, offset in known.items() if offset is None]
        first = self._cluster.offsets(unknown, OffsetSpec.earliest()) if unknown else {}
        return {topic: first[topic, partition] if at is None else at for topic, at in known.items()}

    def lag(self) -> dict[tuple[str, int], int]:
        """Count what is not yet delivered; see `Consumer.lag`. Without entry until a first fetch has told."""
        found = {}
        for place in self._begun_places():
            with translated(f"{place.topic}[{place.partition}]"):
                _, end = self._open_client.get_watermark_offsets(place, cached=True)
            position = self._positions.get((place.topic, place.partition))
            if end >= 0 and position is not None:
                found[place.topic, place.partition] = max(0, end - position)
        return found

    def remaining(self, places: Collection[Place]) -> dict[Place, int]:
        """Count the offsets up to the present ends; see `Consumer.remaining`."""
        begun = [TopicPartition(*place) for place in places if place[1] in self._membership.begun]
        if not begun:
            return {}
        ends = self._cluster.offsets(begun, OffsetSpec.latest(), timeout_seconds=LOOK_SECONDS)
        # Of what was never delivered the position is not known, unless there is nothing.
        return {place: max(0, end - self._positions.get(place, 0)) for place, end in ends.items()}

    def has_joined(self) -> bool:
        """Return whether the group has given us our share; see `Consumer.has_joined`."""
        try:
            with translated(self._cluster.name):
                return self._membership.is_settled(self._count_partitions)
        except TransportError:
            return False  # nobody knows now

    def at_end(self) -> bool:
        """Return whether everything there was delivered; see `Consumer.at_end`."""
        if self._taken or self._membership.owned - self._membership.begun or not self.has_joined():
            return False
        return not any(
            self.remaining([(each.topic, each.partition) for each in self._begun_places()]).values()
        )

    def _begun_places(self) -> list[TopicPartition]:
        return [
            TopicPartition(topic, partition)
            for topic in self._topics
            for partition in sorted(self._membership.begun)
        ]

    def close(self) -> None:
        """Hand over and leave; see `Consumer.close`."""
        if self._client is None:
            return
        try:
            with translated(self._cluster.name):
                self._client.close()
        finally:
            self._client = None
            self._close_writers()
        self._membership.raise_failure()

    def __del__(self) -> None:
        """Leave without a word to the assignee, if nobody has closed us.

        The client's own destructor would wait for ever: it hands back what the group has given, and knows
        no part of it that was not fetched.
        """
        if getattr(self, "_client", None) is not None:
            self._membership.mute()
            with suppress(*FOREIGN):
                self._open_client.close()

    def _describe(self) -> ConsumerGroupDescription:
        """Ask the group's coordinator who its members are, and what each of them has."""
        return self._cluster.ask(AdminClient.describe_consumer_groups, [self._group], "{}")[self._group]
