"""One member of a consumer group, through kafka-python."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Final

from kafka import ConsumerRebalanceListener, KafkaConsumer
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.errors import (
    CorruptRecordError,
    InconsistentGroupProtocolError,
    KafkaError,
    KafkaTimeoutError,
    LogTruncationError,
    OffsetOutOfRangeError,
    UnknownTopicOrPartitionError,
    UnstableOffsetCommitError,
    UnsupportedCodecError,
)
from kafka.structs import MemberState
from kafka.structs import TopicPartition as ClientPartition

from service.errors import TransportUnavailable
from service.stream.batches import RecordBatch
from service.stream.kafka.errors import out_of_range, unreachable
from service.stream.kafka.kafka_python.private import deliver_resumed, resume_join
from service.stream.kafka.limits import AWAY_AFTER_SECONDS, LOOK_SECONDS, heartbeat_interval_ms, seconds_left
from service.stream.kafka.member import KafkaMember, KafkaMembership
from service.stream.protocol import Assignee, TopicPartition

if TYPE_CHECKING:  # cluster imports this module
    from service.stream.kafka.kafka_python.cluster import KafkaPythonCluster


class KafkaPythonMembership(KafkaMembership, ConsumerRebalanceListener):  # type: ignore[misc] # kafka-python has no types
    """Listens to the rebalances of one consumer and keeps the set of its partitions.

    kafka-python calls it on its I/O thread, while the polling thread waits inside `poll` or `close` for the
    rebalance to end: so only one thread at a time changes it, and no lock is needed. No heartbeat is sent
    meanwhile.

    Parameters
    ----------
    assignee
        Is notified of every rebalance.
    consumer
        Subscribes to `topic`.
    topic
        The group's leading topic.
    count_partitions
        As of `KafkaMembership`.

    """

    def __init__(
        self,
        assignee: Assignee,
        consumer: Any,  # noqa: ANN401 - kafka-python has no types
        topic: str,
        count_partitions: Callable[[], int] | None,
    ) -> None:
        super().__init__(assignee, count_partitions)
        self._consumer = consumer
        consumer.subscribe([topic], listener=self)

    @contextmanager
    def joined_anew(self) -> Iterator[None]:
        """Ignore errors of a join if a heartbeat has ended its generation meanwhile.

        kafka-python compares the response with the ended generation, or accepts it and then fails for lack of
        that generation's protocol; it joins again anyway.
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
        """Whether the client considers itself a member of the group's present generation."""
        return self._consumer.group_metadata().state is MemberState.STABLE

    def is_settled(self) -> bool:
        """Return whether this is a member of the present generation and knows all its partitions."""
        return self.is_stable and self._is_announced

    def on_partitions_assigned(self, assigned: set[ClientPartition]) -> None:
        """Keep new partitions paused until `Consumer.start`."""
        self._consumer.assign_paused(assigned)
        self._note_assigned(each.partition for each in assigned)

    def on_partitions_revoked(self, revoked: set[ClientPartition]) -> None:
        """Call the assignee, which may commit, then release the partitions."""
        self._release(self._assignee.partitions_revoked, revoked)

    def on_partitions_lost(self, lost: set[ClientPartition]) -> None:
        """Notify the assignee that the partitions were lost."""
        self._release(self._assignee.partitions_lost, lost)

    def _release(self, callback: Callable[[frozenset[int]], None], gone: set[ClientPartition]) -> None:
        partitions = self._going(each.partition for each in gone)
        if known := partitions & self.owned:
            self._call_assignee(callback, known)
        self._remove(partitions)


_LEADER_WAIT_SECONDS: Final = 0.05
_COORDINATOR_SECONDS: Final = 0.7
"""How long a new client may take to find the coordinator of its group."""
_NO_TIME_MS: Final = -1
"""Kafka's timestamp of a record without a time."""
_BEYOND: Final = 2**63
"""The first number beyond 64 bits, Kafka's range."""


class RecordConsumer(KafkaConsumer):  # type: ignore[misc] # kafka-python has no types
    """A `KafkaConsumer` whose `fetched` returns `RecordBatch`es; it takes no deserializers."""

    _unreadable: Exception | None = None

    def fetched(self, max_records: int, wait_seconds: float) -> Mapping[ClientPartition, RecordBatch]:
        """Return the available records; wait only for the first one.

        kafka-python raises a decoding error once; the next poll would not return.
        """
        deliver_resumed(self)
        if self._unreadable is not None:
            raise self._unreadable
        try:
            batches: dict[ClientPartition, list[Any]] = self.poll(
                timeout_ms=wait_seconds * 1000, max_records=max_records
            )
            return {partition: as_records(batches[partition], partition) for partition in batches}
        except Exception as error:
            is_of_decoding = isinstance(error, (CorruptRecordError, UnsupportedCodecError))
            if is_of_decoding or not isinstance(error, (KafkaError, OSError)):
                self._unreadable = error
            raise

    def known_position(self, partition: ClientPartition) -> int | None:
        """Return the next offset to deliver, without a request."""
        offset: int | None = self.position(partition, timeout_ms=0)
        return offset

    def learn_topics(self, topics: Iterable[str]) -> None:
        """Find the leaders of newly subscribed or assigned `topics`.

        The client does so itself, but drops its request if the response to an earlier one, from before it
        knew these topics, arrives in between: then it knows no partitions for five minutes.
        """
        for topic in topics:
            if not self.partitions_for_topic(topic):
                raise UnknownTopicOrPartitionError(topic)

    def assign_paused(self, partitions: Collection[ClientPartition]) -> None:
        """Pause newly assigned partitions until `Consumer.start` sets their offsets.

        They get an arbitrary position: a client that must not choose one raises for a partition without a
        position.
        """
        if partitions:
            self.pause(*partitions)
        for partition in partitions:
            self.seek(partition, 0)

    def ends(self, partitions: Sequence[ClientPartition], wait_seconds: float) -> dict[ClientPartition, int]:
        """Return the ends of partitions, even of new ones and of those without a leader at the moment.

        For such partitions the client sends no request, and ends with a KeyError. Raises `KafkaTimeoutError`
        if all attempts together take longer than `wait_seconds`.
        """
        deadline = monotonic() + wait_seconds
        while True:
            try:
                offsets: dict[ClientPartition, int] = self.end_offsets(
                    partitions, timeout_ms=seconds_left(deadline) * 1000
                )
            except KeyError as error:
                if monotonic() >= deadline:
                    raise KafkaTimeoutError(f"{error.args[0]}: the leader is unknown") from error
            else:
                return offsets
            sleep(_LEADER_WAIT_SECONDS)

    def committed_by_topic(
        self, topics: Sequence[str], partitions: Iterable[int], within_seconds: float
    ) -> dict[int, Mapping[str, int]]:
        """Return the committed offsets of the client's group; see `KafkaCluster.committed`.

        kafka-python retries until the time is over, and does not report what it waited for.
        """
        committed: dict[int, Mapping[str, int]] = {}
        seconds = within_seconds + _COORDINATOR_SECONDS
        for partition in partitions:
            offsets = {}
            for topic in topics:
                try:
                    offset = self.committed(ClientPartition(topic, partition), timeout_ms=seconds * 1000)
                except (KafkaTimeoutError, UnstableOffsetCommitError):
                    return committed
                seconds = within_seconds
                if offset is not None:
                    offsets[topic] = offset
            committed[partition] = offsets
        return committed


def as_records(fetched: Iterable[Any], partition: ClientPartition) -> RecordBatch:
    """Return records of `partition` that the client has read. Message format 0 has no time.

    Times beyond 64 bits are cut off, as in other clients.
    """
    records, at = RecordBatch(), (partition.topic, partition.partition)
    for each in fetched:
        offset, timestamp_ms = each.offset, _NO_TIME_MS if each.timestamp is None else each.timestamp
        if not -_BEYOND <= timestamp_ms < _BEYOND:
            timestamp_ms = (timestamp_ms + _BEYOND) % (2 * _BEYOND) - _BEYOND
        if not -_BEYOND <= offset < _BEYOND:
            raise CorruptRecordError(f"Record for partition {partition} at offset {offset}")
        headers = tuple([(name, value or b"") for name, value in each.headers]) if each.headers else ()
        records.add(at, offset, timestamp_ms, each.key, each.value, headers)
    return records


# While one of two clients waits, the other may have records, so waits are short; but each round costs a
# millisecond of computing. While no records arrive, each wait is twice as long as the last.
_SHARED_WAIT_SECONDS: Final = 0.03
# How often to poll a client without a wait if it has fetched nothing.
_ASK_AGAIN_SECONDS: Final = 0.02
# Time for leaving the group; without it, other members would notice only after the session timeout.
_LEAVE_TIMEOUT_SECONDS: Final = 3.0
# A position out of range is an error: continuing elsewhere would silently lose or repeat records.
_NEVER_RESET: Final = {"auto_offset_reset": "none"}


class KafkaPythonConsumer(KafkaMember):
    """A member of a group, through three clients.

    The second client reads the further topics, outside the group. The third asks for the ends of topics: a
    broker answers the requests of a connection in turn, so on a connection with a fetch under way the
    response could take half a second.
    """

    _cluster: KafkaPythonCluster
    _membership: KafkaPythonMembership

    def _open(self, assignee: Assignee) -> None:
        cluster = self._cluster
        self._last_alive = self._ask_again_at = monotonic()
        self._leading = self._open_member()
        owner_topic = self._options.owner_topic
        # The topic that determines the owner of all partitions is not read.
        self._read_apart = self._topics if owner_topic else self._topics[1:]
        self._further = cluster.open_consumer(**_NEVER_RESET) if self._read_apart else None
        self._observer = cluster.open_consumer() if self._read_apart else self._leading
        self._clients = [client for client in (self._further, self._leading) if client is not None]
        self._followed: set[int] = set()
        """The partitions from which the second client's assignment was made."""
        self._shared_wait_seconds = _SHARED_WAIT_SECONDS
        self._client_of = dict.fromkeys(self._topics, self._further or self._leading)
        if not owner_topic:
            self._client_of[self._topics[0]] = self._leading
        leading = owner_topic or self._topics[0]
        self._membership = KafkaPythonMembership(
            assignee, self._leading, leading, self._count_partitions if owner_topic else None
        )
        with self._translated(cluster.name):
            self._leading.learn_topics([leading])

    def _open_member(self) -> RecordConsumer:
        return self._cluster.open_consumer(
            **_NEVER_RESET,
            group_id=self._group,
            group_instance_id=self._options.instance_id,
            partition_assignment_strategy=[CooperativeStickyAssignor],
            session_timeout_ms=int(self._options.session_timeout_seconds * 1000),
            heartbeat_interval_ms=heartbeat_interval_ms(self._options.session_timeout_seconds),
        )

    def _poll_client(self, wait_seconds: float, max_records: int) -> None:
        with self._membership.joined_anew():
            self._poll_each(wait_seconds, max_records)
            self._follow_assignment()

    def _poll_each(self, wait_seconds: float, max_records: int) -> None:
        """Poll each client once; wait only for the second poll, of the client that delivered records last.

        The other client is polled first, for half the records, so that neither starves. A client that has
        paused all its partitions would wait forever. Without records, the wait is for the leading topic; also
        during a rebalance, since kafka-python discards a response of the group that arrives while it is not
        polled, and joins again.

        The other client is polled only now and then: a poll without a wait creates an exception and sixty
        objects in reference cycles, which live as long as the fetch under way. A thousand of them per second
        made the garbage collector stop the process for a tenth of a second.
        """
        is_joining = not self._membership.is_stable
        if is_joining:
            resume_join(self._leading)
        if self._options.owner_topic and not is_joining:  # the group's topic has no records
            self._clients.sort(key=lambda each: each is not self._leading and not self._is_paused(each))
        elif self._clients[-1] is not self._leading if is_joining else self._is_paused(self._clients[-1]):
            self._clients.reverse()
        *others, last = self._clients
        now = monotonic()
        others_gave = 0
        if now >= self._ask_again_at:
            others_gave = sum(self._poll_one(client, 0.0, (max_records + 1) // 2) for client in others)
            self._ask_again_at = now if others_gave else now + _ASK_AGAIN_SECONDS
        if others and not is_joining:
            wait_seconds = min(wait_seconds, self._shared_wait_seconds)
        last_gave = self._poll_one(last, 0.0 if self._undelivered else wait_seconds, max_records)
        if not last_gave and (others_gave or last is not self._leading):
            self._clients.reverse()
        is_quiet = not (last_gave or others_gave)
        if not is_quiet:
            self._last_alive = now
        self._shared_wait_seconds = 2 * self._shared_wait_seconds if is_quiet else _SHARED_WAIT_SECONDS

    def _poll_one(self, client: RecordConsumer, wait_seconds: float, max_records: int) -> bool:
        """Poll for as many records as fit; return whether there were any."""
        room = self._undelivered.n_free(max_records)
        try:
            batches = client.fetched(room, wait_seconds) if room else {}
        except OffsetOutOfRangeError as error:
            ((partition, offset),) = error.args[0].items()
            client.pause(partition)  # otherwise each poll would raise this error and deliver nothing
            raise out_of_range(partition.topic, partition.partition, offset) from error
        except LogTruncationError as error:
            partition = next(iter(error.divergent_offsets))
            client.pause(partition)
            position = client.known_position(partition) or 0
            raise out_of_range(partition.topic, partition.partition, position) from error
        for partition, records in batches.items():
            self._undelivered.keep((partition.topic, partition.partition), records)
        return bool(batches)

    def _pause(self, pause: Collection[TopicPartition], resume: Collection[TopicPartition]) -> None:
        """Pause and resume; records fetched from a paused partition are kept."""
        for topic, client in self._client_of.items():
            client.pause(*(ClientPartition(*partition) for partition in pause if partition[0] == topic))
            client.resume(*(ClientPartition(*partition) for partition in resume if partition[0] == topic))

    def _is_paused(self, client: RecordConsumer) -> bool:
        """Return whether all partitions of this client are paused."""
        return bool(self._paused) and all(
            each in self._paused for each in self._partitions() if self._client_of[each[0]] is client
        )

    def _follow_assignment(self) -> None:
        """Assign to the second client the partitions that the group has assigned to the first."""
        if self._options.owner_topic:
            assigned = {*self._membership.owned}
        else:
            assigned = {each.partition for each in self._leading.assignment()}
        if self._further is None or assigned == self._followed:
            return
        wanted = {ClientPartition(topic, each) for topic in self._read_apart for each in assigned}
        present = self._further.assignment()
        if wanted != present:
            self._further.assign(sorted(wanted))
            self._further.learn_topics(self._read_apart if wanted else ())
            self._further.assign_paused(wanted - present)
        self._followed = assigned

    def _check_alive(self) -> None:
        """Send a request if no records arrive: kafka-python does not report an unavailable cluster."""
        if monotonic() - self._last_alive > AWAY_AFTER_SECONDS:
            try:
                with self._translated(self._cluster.name):
                    self._fetch_ends(self._partitions()[:1] or [(self._topics[0], 0)])
            except TransportUnavailable as error:
                raise unreachable(self._cluster.name) from error.__cause__
            self._last_alive = monotonic()

    def _begin(self, partition: int, offsets: Mapping[str, int]) -> None:
        self._follow_assignment()
        for topic, client in self._client_of.items():
            topic_partition = ClientPartition(topic, partition)
            if topic in offsets:
                client.seek(topic_partition, offsets[topic])
            else:
                client.seek_to_beginning(topic_partition)
            client.resume(topic_partition)

    def _group_metadata(self) -> Any:  # noqa: ANN401 - kafka-python has no types
        metadata = self._leading.group_metadata()
        is_removed = metadata.generation_id < 0 or not metadata.member_id  # it has no generation
        return None if is_removed else metadata

    def _member_id(self) -> str:
        return str(self._leading.group_metadata().member_id)

    def _known_end(self, partition: TopicPartition) -> int | None:
        end: int | None = self._client_of[partition[0]].highwater(ClientPartition(*partition))
        return end

    def _known_position(self, partition: TopicPartition) -> int | None:
        return self._client_of[partition[0]].known_position(ClientPartition(*partition))

    def _fetch_ends(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        ends = self._observer.ends([ClientPartition(*partition) for partition in partitions], LOOK_SECONDS)
        return {(partition.topic, partition.partition): end for partition, end in ends.items()}

    def _leave(self) -> None:
        for client in {*self._clients, self._observer} - {self._leading}:
            client.close(autocommit=False)
        self._leading.close(autocommit=False, timeout_ms=_LEAVE_TIMEOUT_SECONDS * 1000)
