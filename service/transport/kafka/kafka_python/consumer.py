"""One member of a consumer group, through kafka-python."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.errors import LogTruncationError, OffsetOutOfRangeError
from kafka.structs import TopicPartition

from service.errors import OwnershipLost, TransportUnavailable
from service.stream import Assignee, Place
from service.transport.kafka.errors import away, out_of_range
from service.transport.kafka.kafka_python.membership import KafkaPythonMembership
from service.transport.kafka.kafka_python.record_consumer import RecordConsumer
from service.transport.kafka.limits import (
    AWAY_AFTER_SECONDS,
    LOOK_SECONDS,
    heartbeat_interval_ms,
)
from service.transport.kafka.member import KafkaMember

if TYPE_CHECKING:  # it makes members
    from service.transport.kafka.kafka_python.cluster import KafkaPythonCluster

# With two clients to listen to, the other may have records while one waits: shorter still, but each round
# costs a millisecond of computing. While nothing comes, each wait is twice as long as the one before.
_SHARED_WAIT_SECONDS: Final = 0.03
# How often a client that has fetched nothing is polled without waiting.
_ASK_AGAIN_SECONDS: Final = 0.02
# Leaving the group is a courtesy to the other members, who would notice in time.
_LEAVE_TIMEOUT_SECONDS: Final = 3.0
# A position without records is an error: to go on elsewhere would lose or repeat records without a word.
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
        self._further = cluster.open_consumer(**_NEVER_RESET) if self._topics[1:] else None
        self._observer = cluster.open_consumer() if self._topics[1:] else self._leading
        self._clients = [client for client in (self._further, self._leading) if client is not None]
        self._followed: set[TopicPartition] = set()
        """What the second client's assignment was made from."""
        self._shared_wait_seconds = _SHARED_WAIT_SECONDS
        self._client_of = dict.fromkeys(self._topics, self._further or self._leading)
        self._client_of[self._topics[0]] = self._leading
        self._membership = KafkaPythonMembership(assignee, self._leading, self._topics[0])
        with self._translated(cluster.name):
            self._leading.learn_topics(self._topics[:1])

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
        an answer of the group that comes while nobody waits for it, and joins again.

        The other one is polled now and then only: a poll without waiting costs an error and sixty objects in
        cycles, which live as long as the fetch under way. A thousand of them a second made the garbage
        collector stop the process for a tenth of a second.
        """
        is_joining = not self._membership.is_stable
        if self._clients[-1] is not self._leading if is_joining else self._is_paused(self._clients[-1]):
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
            client.pause(place)  # or each poll would raise the same, and give nobody anything
            raise out_of_range(place.topic, place.partition, offset) from error
        except LogTruncationError as error:
            place = next(iter(error.divergent_offsets))
            client.pause(place)
            position = self._known_position(place) or 0
            raise out_of_range(place.topic, place.partition, position) from error
        for place, records in batches.items():
            self._undelivered.keep((place.topic, place.partition), records)
        return bool(batches)

    def _pause(self, pause: Collection[Place], resume: Collection[Place]) -> None:
        """Pause and resume; what was fetched of a place that is paused is kept."""
        for topic, client in self._client_of.items():
            client.pause(*(TopicPartition(*place) for place in pause if place[0] == topic))
            client.resume(*(TopicPartition(*place) for place in resume if place[0] == topic))

    def _is_paused(self, client: RecordConsumer) -> bool:
        """Return whether nothing is wanted of a client now, though something is of another."""
        return bool(self._paused) and all(
            place in self._paused for place in self._places() if self._client_of[place[0]] is client
        )

    def _follow_assignment(self) -> None:
        """Assign to the second client the partitions that the group has assigned to the first."""
        assigned = self._leading.assignment()
        if self._further is None or assigned == self._followed:
            return
        wanted = {TopicPartition(topic, each.partition) for topic in self._topics[1:] for each in assigned}
        present = self._further.assignment()
        if wanted != present:
            self._further.assign(sorted(wanted))
            self._further.learn_topics(self._topics[1:] if wanted else ())
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
        for topic, client in self._client_of.items():
            place = TopicPartition(topic, partition)
            if topic in offsets:
                client.seek(place, offsets[topic])
            else:
                client.seek_to_beginning(place)
            client.resume(place)

    def _group_metadata(self) -> Any:  # noqa: ANN401 - kafka-python has no types
        found = self._leading.group_metadata()
        # The broker fences nobody who names no member. One that was put out has no generation.
        if found.generation_id < 0 or not found.member_id:
            raise OwnershipLost(f"{self._cluster.name}: the group {self._group!r} goes on without us")
        return found

    def _member_id(self) -> str:
        return str(self._leading.group_metadata().member_id)

    def _known_end(self, place: Place) -> int | None:
        end: int | None = self._client_of[place[0]].highwater(TopicPartition(*place))
        return end

    def _known_position(self, place: Place) -> int | None:
        return self._client_of[place[0]].known_position(TopicPartition(*place))

    def _fetch_ends(self, places: Sequence[Place]) -> dict[Place, int]:
        ends = self._observer.ends([TopicPartition(*place) for place in places], LOOK_SECONDS)
        return {(place.topic, place.partition): end for place, end in ends.items()}

    def _leave(self) -> None:
        for client in {*self._clients, self._observer} - {self._leading}:
            client.close(autocommit=False)
        self._leading.close(autocommit=False, timeout_ms=_LEAVE_TIMEOUT_SECONDS * 1000)
