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

from service.errors import OwnershipLost, TransportUnavailable
from service.stream.batches import RecordBatch
from service.stream.kafka.errors import away, out_of_range
from service.stream.kafka.kafka_python.private import deliver_resumed, resume_join
from service.stream.kafka.limits import AWAY_AFTER_SECONDS, LOOK_SECONDS, heartbeat_interval_ms, seconds_left
from service.stream.kafka.member import KafkaMember, KafkaMembership
from service.stream.protocol import Assignee, TopicPartition

if TYPE_CHECKING:  # it makes members
    from service.stream.kafka.kafka_python.cluster import KafkaPythonCluster


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
        return self.is_stable and self._is_announced

    def on_partitions_assigned(self, assigned: set[ClientPartition]) -> None:
        """Hold new partitions still until `Consumer.start`."""
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
"""As Kafka itself says that a record has no time."""
_BEYOND: Final = 2**63
"""The first number that is none of Kafka's."""


class RecordConsumer(KafkaConsumer):  # type: ignore[misc] # kafka-python has no types
    """A `KafkaConsumer` whose `fetched` returns `RecordBatch`es; it takes no deserializers."""

    _unreadable: Exception | None = None

    def fetched(self, max_records: int, wait_seconds: float) -> Mapping[ClientPartition, RecordBatch]:
        """Return the records that are there; wait for the first one only.

        kafka-python raises an error of its decoding once; the next poll would not return.
        """
        deliver_resumed(self)
        if self._unreadable is not None:
            raise self._unreadable
        try:
            found: dict[ClientPartition, list[Any]] = self.poll(
                timeout_ms=wait_seconds * 1000, max_records=max_records
            )
            return {place: as_records(found[place], place) for place in found}
        except Exception as error:
            is_of_decoding = isinstance(error, (CorruptRecordError, UnsupportedCodecError))
            if is_of_decoding or not isinstance(error, (KafkaError, OSError)):
                self._unreadable = error
            raise

    def known_position(self, place: ClientPartition) -> int | None:
        """Return the next offset to be delivered, without asking the broker."""
        offset: int | None = self.position(place, timeout_ms=0)
        return offset

    def learn_topics(self, topics: Iterable[str]) -> None:
        """Find the leaders of `topics`, which it has just subscribed to or been assigned.

        It asks for them by itself, but forgets it when the answer to an earlier question, before it knew
        these topics, comes in between: then it knows no partitions for five minutes.
        """
        for topic in topics:
            if not self.partitions_for_topic(topic):
                raise UnknownTopicOrPartitionError(topic)

    def assign_paused(self, places: Collection[ClientPartition]) -> None:
        """Keep new partitions of its assignment from being fetched until `Consumer.start` says from where.

        They get any position: a client that may not choose one itself raises when a partition has none.
        """
        if places:
            self.pause(*places)
        for place in places:
            self.seek(place, 0)

    def ends(self, places: Sequence[ClientPartition], within_seconds: float) -> Mapping[ClientPartition, int]:
        """Ask where partitions end, also such as are new or have no leader at the moment.

        Of these the client asks nothing, and fails with a KeyError in the end. Raises `KafkaTimeoutError` if
        `within_seconds` were not enough for all attempts together.
        """
        deadline = monotonic() + within_seconds
        while True:
            try:
                found: Mapping[ClientPartition, int] = self.end_offsets(
                    places, timeout_ms=seconds_left(deadline) * 1000
                )
            except KeyError as error:
                if monotonic() >= deadline:
                    raise KafkaTimeoutError(f"{error.args[0]}: the leader is unknown") from error
            else:
                return found
            sleep(_LEADER_WAIT_SECONDS)

    def committed_by_topic(
        self, topics: Sequence[str], partitions: Iterable[int], within_seconds: float
    ) -> dict[int, Mapping[str, int]]:
        """Ask for the committed offsets of its group; see `KafkaCluster.committed`.

        kafka-python itself asks again until the time is over, and does not say what it has waited for.
        """
        found: dict[int, Mapping[str, int]] = {}
        seconds = within_seconds + _COORDINATOR_SECONDS
        for partition in partitions:
            offsets = {}
            for topic in topics:
                try:
                    offset = self.committed(ClientPartition(topic, partition), timeout_ms=seconds * 1000)
                except (KafkaTimeoutError, UnstableOffsetCommitError):
                    return found
                seconds = within_seconds
                if offset is not None:
                    offsets[topic] = offset
            found[partition] = offsets
        return found


def as_records(found: Iterable[Any], place: ClientPartition) -> RecordBatch:
    """Return records of `place` that the client has read. Format 0 has no time.

    The format has times of 64 bits, of which other clients drop what does not fit. So does this.
    """
    records, at = RecordBatch(), (place.topic, place.partition)
    for each in found:
        offset, timestamp_ms = each.offset, _NO_TIME_MS if each.timestamp is None else each.timestamp
        if not -_BEYOND <= timestamp_ms < _BEYOND:
            timestamp_ms = (timestamp_ms + _BEYOND) % (2 * _BEYOND) - _BEYOND
        if not -_BEYOND <= offset < _BEYOND:
            raise CorruptRecordError(f"Record for partition {place} at offset {offset}")
        headers = tuple([(name, value or b"") for name, value in each.headers]) if each.headers else ()
        records.add(at, offset, timestamp_ms, each.key, each.value, headers)
    return records


# With two clients to listen to, the other may have records while one waits: shorter still, but each round
# costs a millisecond of computing. While nothing comes, each wait is twice as long as the one before.
_SHARED_WAIT_SECONDS: Final = 0.03
# How often a client that has fetched nothing is polled without waiting.
_ASK_AGAIN_SECONDS: Final = 0.02
# Leaving the group is a courtesy to the other members, who would notice in time.
_LEAVE_TIMEOUT_SECONDS: Final = 3.0
# A position without records is an error: to continue elsewhere would lose or repeat records without a word.
_NEVER_RESET: Final = {"auto_offset_reset": "none"}


class KafkaPythonConsumer(KafkaMember):
    """A member of a group, through three clients.

    The further topics are read by a second client, outside the group. The third asks where topics end: a
    broker answers the requests of a connection in turn, and while a fetch is under way only when that is
    over, half a second later where there is nothing to fetch.
    """

    _cluster: KafkaPythonCluster
    _membership: KafkaPythonMembership

    def _open(self, assignee: Assignee) -> None:
        cluster = self._cluster
        self._last_alive = self._ask_again_at = monotonic()
        self._leading = self._open_member()
        alone = self._options.alone
        # Of a topic that says who has all partitions nothing is read.
        self._read_apart = self._topics if alone else self._topics[1:]
        self._further = cluster.open_consumer(**_NEVER_RESET) if self._read_apart else None
        self._observer = cluster.open_consumer() if self._read_apart else self._leading
        self._clients = [client for client in (self._further, self._leading) if client is not None]
        self._followed: set[int] = set()
        """What the second client's assignment was made from."""
        self._shared_wait_seconds = _SHARED_WAIT_SECONDS
        self._client_of = dict.fromkeys(self._topics, self._further or self._leading)
        if not alone:
            self._client_of[self._topics[0]] = self._leading
        leading = alone or self._topics[0]
        self._membership = KafkaPythonMembership(
            assignee, self._leading, leading, self._count_partitions if alone else None
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
        """Ask each client once; wait only for the last, which is the one that gave records last.

        The other one is polled first and for half, so that neither starves, nor do its records wait for
        nothing. A client of which all is held would wait without an end. Where nothing comes, the wait is
        for the leading topic; so it is while the group shares out its partitions, since kafka-python discards
        an answer of the group that comes while no one waits for it, and joins again.

        The other one is polled now and then only: a poll without waiting costs an error and sixty objects in
        cycles, which live as long as the fetch under way. A thousand of them a second made the garbage
        collector stop the process for a tenth of a second.
        """
        is_joining = not self._membership.is_stable
        if is_joining:
            resume_join(self._leading)
        if self._options.alone and not is_joining:  # the group's topic has no records
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
        """Poll for as many records as there is room for; return whether there were any."""
        room = self._undelivered.room(max_records)
        try:
            batches = client.fetched(room, wait_seconds) if room else {}
        except OffsetOutOfRangeError as error:
            ((place, offset),) = error.args[0].items()
            client.pause(place)  # or each poll would raise the same, and give no one anything
            raise out_of_range(place.topic, place.partition, offset) from error
        except LogTruncationError as error:
            place = next(iter(error.divergent_offsets))
            client.pause(place)
            position = self._known_position(place) or 0
            raise out_of_range(place.topic, place.partition, position) from error
        for place, records in batches.items():
            self._undelivered.keep((place.topic, place.partition), records)
        return bool(batches)

    def _pause(self, pause: Collection[TopicPartition], resume: Collection[TopicPartition]) -> None:
        """Pause and resume; what was fetched of a place that is paused is kept."""
        for topic, client in self._client_of.items():
            client.pause(*(ClientPartition(*place) for place in pause if place[0] == topic))
            client.resume(*(ClientPartition(*place) for place in resume if place[0] == topic))

    def _is_paused(self, client: RecordConsumer) -> bool:
        """Return whether nothing is wanted of a client now, though something is of another."""
        return bool(self._paused) and all(
            place in self._paused for place in self._places() if self._client_of[place[0]] is client
        )

    def _follow_assignment(self) -> None:
        """Assign to the second client the partitions that the group has assigned to the first."""
        if self._options.alone:
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
        """Ask for an answer where nothing comes: kafka-python does not say that a cluster is away."""
        if monotonic() - self._last_alive > AWAY_AFTER_SECONDS:
            try:
                with self._translated(self._cluster.name):
                    self._fetch_ends(self._places()[:1] or [(self._topics[0], 0)])
            except TransportUnavailable as error:
                raise away(self._cluster.name) from error.__cause__
            self._last_alive = monotonic()

    def _begin(self, partition: int, offsets: Mapping[str, int]) -> None:
        self._follow_assignment()
        for topic, client in self._client_of.items():
            place = ClientPartition(topic, partition)
            if topic in offsets:
                client.seek(place, offsets[topic])
            else:
                client.seek_to_beginning(place)
            client.resume(place)

    def _group_metadata(self) -> Any:  # noqa: ANN401 - kafka-python has no types
        found = self._leading.group_metadata()
        # The broker fences no one who names no member. One that was put out has no generation.
        if found.generation_id < 0 or not found.member_id:
            raise OwnershipLost(f"{self._cluster.name}: the group {self._group!r} has removed this member")
        return found

    def _member_id(self) -> str:
        return str(self._leading.group_metadata().member_id)

    def _known_end(self, place: TopicPartition) -> int | None:
        end: int | None = self._client_of[place[0]].highwater(ClientPartition(*place))
        return end

    def _known_position(self, place: TopicPartition) -> int | None:
        return self._client_of[place[0]].known_position(ClientPartition(*place))

    def _fetch_ends(self, places: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        ends = self._observer.ends([ClientPartition(*place) for place in places], LOOK_SECONDS)
        return {(place.topic, place.partition): end for place, end in ends.items()}

    def _leave(self) -> None:
        for client in {*self._clients, self._observer} - {self._leading}:
            client.close(autocommit=False)
        self._leading.close(autocommit=False, timeout_ms=_LEAVE_TIMEOUT_SECONDS * 1000)
