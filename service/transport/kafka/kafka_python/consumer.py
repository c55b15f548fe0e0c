"""One member of a consumer group. In: a cluster's topics. Out: their records, partition by partition."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from time import monotonic
from typing import Any, Final

from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.errors import LogTruncationError, OffsetOutOfRangeError
from kafka.structs import TopicPartition

from service.stream import NOWHERE, Assignee, Place, Record
from service.transport.kafka.errors import away, out_of_range
from service.transport.kafka.kafka_python.cluster import Cluster, end_offsets, learn_topics
from service.transport.kafka.kafka_python.errors import translated
from service.transport.kafka.kafka_python.membership import KafkaPythonMembership, hold_still
from service.transport.kafka.kafka_python.messages import as_record, take
from service.transport.kafka.kafka_python.producer import DeadlineProducer, producer_options
from service.transport.kafka.limits import (
    LOOK_SECONDS,
    REQUEST_TIMEOUT_SECONDS,
    ConsumerOptions,
    heartbeat_interval_ms,
    seconds_left,
    transaction_request_seconds,
)
from service.transport.kafka.member import KafkaMember

# New partitions are announced between two waits, so a wait is short.
_WAIT_SECONDS: Final = 0.1
# With two clients to listen to, the other may have records while one waits: shorter still, but each round
# costs a millisecond of computing.
_SHARED_WAIT_SECONDS: Final = 0.03
# Connections come and go when leaders move or a broker restarts; a cluster is away when none came back.
_AWAY_AFTER_SECONDS: Final = 3.0
# Leaving the group is a courtesy to the other members, who would notice in time.
_LEAVE_TIMEOUT_SECONDS: Final = 3.0
# A position without records is an error: to go on elsewhere would lose or repeat records without a word.
_NEVER_RESET: Final = {"auto_offset_reset": "none"}


class KafkaPythonConsumer(KafkaMember):
    """A member of `group`, through three clients.

    The group shares out the partitions of the leading topic alone: no cooperative assignor keeps the
    partitions of several topics together. The further topics are read by a second client, outside the
    group, to which the same partitions are assigned by hand. The offsets of all topics are the group's. The
    third asks where topics end: a broker answers the requests of a connection in turn, and while a fetch is
    under way only when that is over, half a second later where there is nothing to fetch.

    Parameters
    ----------
    cluster
        Where the clients come from.
    group, topics, assignee, options
        As given to `Transport.join`.
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
        check_topics: Callable[[set[str]], None],
    ) -> None:
        super().__init__(group, topics, options, check_topics)
        self._cluster = cluster
        self._membership = KafkaPythonMembership(assignee)
        self._started: set[int] = set()
        self._taken: dict[TopicPartition, list[Any]] = {}
        """Records that the clients have moved past and nobody was given yet: were a poll that fails to
        forget them, they would be lost."""
        self._last_alive = monotonic()
        self._closed = False
        self._leading = self._open_member()
        self._further = cluster.open_consumer(**_NEVER_RESET) if self._topics[1:] else None
        self._observer = cluster.open_consumer() if self._topics[1:] else self._leading
        self._clients = [client for client in (self._leading, self._further) if client is not None]
        self._membership.follow(self._leading, self._topics[0])
        with translated(cluster.name):
            learn_topics(self._leading, self._topics[:1])

    def _open_member(self) -> Any:  # noqa: ANN401 - kafka-python has no types
        return self._cluster.open_consumer(
            **_NEVER_RESET,
            group_id=self._group,
            group_instance_id=self._options.instance_id,
            partition_assignment_strategy=[CooperativeStickyAssignor],
            session_timeout_ms=int(self._options.session_timeout_seconds * 1000),
            heartbeat_interval_ms=heartbeat_interval_ms(self._options.session_timeout_seconds),
        )

    def poll(
        self, timeout_seconds: float, max_records: int, hold: AbstractSet[Place] = NOWHERE
    ) -> dict[int, list[Record]]:
        """Wait for records; see `Consumer.poll`."""
        deadline = monotonic() + timeout_seconds
        self._hold(hold)
        while True:
            with translated(self._cluster.name), self._membership.joined_anew():
                self._take(seconds_left(deadline), max_records)
                self._follow_assignment()
            self._membership.raise_failure()
            announced = self._membership.announce()
            if self._taken or announced or monotonic() >= deadline:
                self._check_alive()
                return self._give()

    def _take(self, left_seconds: float, max_records: int) -> None:
        """Ask each client once; wait only for the last, which is the one that gave records last.

        The other one is asked first and for half, so that neither starves, nor do its records wait for
        nothing. A client of which all is held would wait without an end.
        """
        self._membership.keep_join()
        if self._is_held(self._clients[-1]):
            self._clients.reverse()
        *others, last = self._clients
        others_gave = sum(self._ask(client, 0.0, (max_records + 1) // 2) for client in others)
        wait_seconds = min(left_seconds, _SHARED_WAIT_SECONDS if others else _WAIT_SECONDS)
        last_gave = self._ask(last, 0.0 if self._taken else wait_seconds, max_records)
        if others_gave and not last_gave:
            self._clients.reverse()

    def _ask(self, client: Any, wait_seconds: float, max_records: int) -> bool:  # noqa: ANN401 - no types
        """Take what there is room for; tell whether there was anything."""
        room = max_records - sum(map(len, self._taken.values()))
        try:
            batches = take(client, room, wait_seconds) if room > 0 else {}
        except OffsetOutOfRangeError as error:
            ((place, offset),) = error.args[0].items()
            client.pause(place)  # or each poll would raise the same, and give nobody anything
            raise out_of_range(place.topic, place.partition, offset) from error
        except LogTruncationError as error:
            place = next(iter(error.divergent_offsets))
            client.pause(place)
            position = self._position(client, *place, timeout_seconds=0) or 0
            raise out_of_range(place.topic, place.partition, position) from error
        for place, records in batches.items():
            self._taken.setdefault(place, []).extend(records)
        return bool(batches)

    @property
    def _delivered(self) -> set[int]:
        return self._started & self._owned

    def _pause(self, pause: Collection[Place], resume: Collection[Place]) -> None:
        """Pause and resume; what was fetched of a place that is paused is kept."""
        with translated(self._cluster.name):
            for topic, client in self._each_topic():
                client.pause(*(TopicPartition(*place) for place in pause if place[0] == topic))
                client.resume(*(TopicPartition(*place) for place in resume if place[0] == topic))

    def _is_held(self, client: Any) -> bool:  # noqa: ANN401 - no types
        """Return whether nothing is wanted of a client now, though something is of another."""
        return bool(self._held) and all(
            (topic, partition) in self._held
            for topic, each in self._each_topic()
            for partition in self._started
            if each is client
        )

    def _follow_assignment(self) -> None:
        """Give the second client the partitions that the group has given the first."""
        self._started &= self._membership.owned
        if self._further is None:
            return
        wanted = {
            TopicPartition(topic, each.partition)
            for topic in self._topics[1:]
            for each in self._leading.assignment()
        }
        present = self._further.assignment()
        if wanted != present:
            self._further.assign(sorted(wanted))
            learn_topics(self._further, self._topics[1:] if wanted else ())
            hold_still(self._further, wanted - present)

    def _give(self) -> dict[int, list[Record]]:
        """Order by partition, then topic; forget what a rebalance has taken away since it was fetched."""
        taken, self._taken = self._taken, {}
        merged: dict[int, list[Record]] = {}
        for topic in self._topics:
            for (name, partition), records in taken.items():
                if name == topic and partition in self._started:
                    merged.setdefault(partition, []).extend(map(as_record, records))
        return merged

    def _check_alive(self) -> None:
        """Distinguish a stream without records from one that is away: kafka-python tells neither."""
        nodes = [client._client for client in self._clients]  # noqa: SLF001 - nothing public tells it
        if all(any(node.connected(broker.node_id) for broker in node.cluster.brokers()) for node in nodes):
            self._last_alive = monotonic()
        elif monotonic() - self._last_alive > _AWAY_AFTER_SECONDS:
            raise away(self._cluster.name)

    def start(self, partition: int, offsets: Mapping[str, int]) -> None:
        """Deliver from these offsets on; see `Consumer.start`."""
        self._check_owned(partition)
        self._hold({place for place in self._held if place[1] != partition})
        with translated(self._where(partition)):
            for topic, client in self._each_topic():
                place = TopicPartition(topic, partition)
                self._taken.pop(place, None)
                if topic in offsets:
                    client.seek(place, offsets[topic])
                else:
                    client.seek_to_beginning(place)
                client.resume(place)
        self._started.add(partition)

    def committed(self, partition: int) -> dict[str, int]:
        """Return the group's committed offsets; see `Consumer.committed`."""
        with translated(self._where(partition)):
            return committed_offsets(self._leading, self._topics, partition)

    @property
    def _owned(self) -> set[int]:
        return self._membership.owned

    def _is_member(self) -> bool:
        with translated(self._cluster.name):
            return self._membership.is_current()

    def _open_producer(self, name: str, partition: int, *, compress: bool) -> DeadlineProducer:
        answer_seconds = transaction_request_seconds(self._options.commit_timeout_seconds)
        producer = self._cluster.open(
            DeadlineProducer,
            transactional_id=name,
            transaction_timeout_ms=int(self._options.transaction_timeout_seconds * 1000),
            request_timeout_ms=int(answer_seconds * 1000),
            **producer_options(
                self._options.commit_timeout_seconds, self._options.limits.batch_bytes, compress=compress
            ),
        )
        try:
            with translated(self._where(partition)):
                producer.init_transactions()
        except BaseException:
            producer.drop()
            raise
        return producer

    def _group_metadata(self) -> Any:  # noqa: ANN401 - kafka-python has no types
        with translated(self._cluster.name):
            return self._leading.group_metadata()

    def positions(self, partition: int) -> dict[str, int]:
        """Return the next offsets to be delivered; see `Consumer.positions`."""
        self._check_owned(partition)
        with translated(self._where(partition)):
            found = {topic: self._position(client, topic, partition) for topic, client in self._each_topic()}
        return {topic: offset for topic, offset in found.items() if offset is not None}

    def lag(self) -> dict[tuple[str, int], int]:
        """Count what is not yet delivered; see `Consumer.lag`. Without entry until a first fetch has told."""
        found = {}
        for topic, client in self._each_topic():
            for partition in sorted(self._started & self._membership.owned):
                with translated(self._where(partition)):
                    end = client.highwater(TopicPartition(topic, partition))
                    position = self._position(client, topic, partition, timeout_seconds=0)
                if end is not None and position is not None:
                    found[topic, partition] = max(0, end - position)
        return found

    def remaining(self, places: Collection[Place]) -> dict[Place, int]:
        """Count the offsets up to the present ends; see `Consumer.remaining`."""
        ours = [TopicPartition(*place) for place in places if place[1] in self._started]
        if not ours:
            return {}
        found, clients = {}, dict(self._each_topic())
        with translated(self._cluster.name):
            for place, end in end_offsets(self._observer, ours, LOOK_SECONDS).items():
                position = self._position(clients[place.topic], *place, timeout_seconds=0)
                # Of what was never fetched the position may not be known, unless there is nothing.
                found[tuple(place)] = max(0, end - (position or 0), len(self._taken.get(place, ())))
        return found

    def has_joined(self) -> bool:
        """Return whether the group has given us our share; see `Consumer.has_joined`."""
        return self._membership.is_settled

    def at_end(self) -> bool:
        """Return whether everything there was delivered; see `Consumer.at_end`."""
        owned = self._membership.owned
        if self._taken or not self._membership.is_settled or owned - self._started:
            return False
        return not any(self.remaining([(topic, each) for topic in self._topics for each in owned]).values())

    def close(self) -> None:
        """Hand over and leave; see `Consumer.close`."""
        if self._closed:
            return
        self._closed = True
        try:
            with translated(self._cluster.name):
                for client in (self._further, self._observer):
                    if client not in {None, self._leading}:
                        client.close(autocommit=False)
                self._leading.close(autocommit=False, timeout_ms=_LEAVE_TIMEOUT_SECONDS * 1000)
        finally:
            self._close_writers()
        self._membership.raise_failure()

    def _each_topic(self) -> list[tuple[str, Any]]:
        return [
            (topic, self._further if index else self._leading) for index, topic in enumerate(self._topics)
        ]

    def _position(
        self,
        client: Any,  # noqa: ANN401 - kafka-python has no types
        topic: str,
        partition: int,
        *,
        timeout_seconds: float = REQUEST_TIMEOUT_SECONDS,
    ) -> int | None:
        offset: int | None = client.position(
            TopicPartition(topic, partition), timeout_ms=timeout_seconds * 1000
        )
        return offset


def committed_offsets(client: Any, topics: Sequence[str], partition: int) -> dict[str, int]:  # noqa: ANN401 - no types
    """Ask for the committed offsets of the client's group, by topic."""
    found = {
        topic: client.committed(TopicPartition(topic, partition), timeout_ms=REQUEST_TIMEOUT_SECONDS * 1000)
        for topic in topics
    }
    return {topic: offset for topic, offset in found.items() if offset is not None}
