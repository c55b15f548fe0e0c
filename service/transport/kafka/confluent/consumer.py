"""One member of a consumer group, through confluent-kafka."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from threading import Lock
from typing import Final
from weakref import WeakSet

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition
from confluent_kafka.admin import AdminClient, ConsumerGroupDescription, OffsetSpec

from service.batches import RecordBatch
from service.errors import (
    OffsetOutOfRange,
    OwnershipLost,
    ServiceError,
    TransactionFailed,
    TransportUnavailable,
)
from service.stream import Assignee, Place
from service.transport.kafka.confluent.cluster import Cluster, committed_offsets
from service.transport.kafka.confluent.errors import FOREIGN, as_exception, translate, translated
from service.transport.kafka.confluent.fetch_queue import FetchQueue, open_fetch_queue
from service.transport.kafka.confluent.membership import ConfluentMembership
from service.transport.kafka.confluent.messages import (
    OUT_OF_RANGE,
    PARTITION_EOF,
    ErrorFields,
    as_record,
    consume,
)
from service.transport.kafka.confluent.producer import BulkProducer
from service.transport.kafka.confluent.steps import coordinator_answers
from service.transport.kafka.errors import away, out_of_range
from service.transport.kafka.limits import (
    AWAY_AFTER_SECONDS,
    LOOK_SECONDS,
    ConsumerOptions,
    heartbeat_interval_ms,
)
from service.transport.kafka.member import KafkaMember

# A member that has not polled for so long is evicted; restoring a partition counts as such.
_LONGEST_PAUSE_SECONDS: Final = 300.0


class ConfluentConsumer(KafkaMember):
    """A member of `group`, through one client: the further topics are assigned to it beside the leading one.

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

    _translated = staticmethod(translated)

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
        super().__init__(cluster.name, group, topics, options, check_topics)
        self._cluster = cluster
        self._producers: WeakSet[BulkProducer] = WeakSet()
        self._producers_lock = Lock()
        self._failed: set[str] = set()
        """The transactional ids whose last commit failed."""
        self._positions: dict[Place, int] = {}
        """The next offset to be delivered, once a record or the end of the partition has shown it."""
        self._ends: dict[Place, int] = {}
        """The ends of partitions whose last record was fetched; markers may lie between."""
        self._trouble: ServiceError | None = None
        self._gone: dict[int, OffsetOutOfRange] = {}
        """By partition, of those whose position has no record: librdkafka says so once."""
        client = self._open_member()
        with translated(cluster.name):
            self._membership: ConfluentMembership = ConfluentMembership(
                client, self._topics, assignee, describe=self._describe, count_partitions=count_partitions
            )
        self._client: Consumer | None = client
        self._queue = open_fetch_queue(client)

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

    def _pause(self, pause: Collection[Place], resume: Collection[Place]) -> None:
        """Pause and resume; fetched records of a paused place are discarded and fetched again."""
        self._open_client.pause([TopicPartition(*place) for place in pause])
        self._open_client.resume([TopicPartition(*place) for place in resume])

    def _poll_client(self, wait_seconds: float, max_records: int) -> None:
        room = self._undelivered.room(max_records)
        wait_seconds = 0.0 if self._undelivered else wait_seconds
        if self._queue is None:
            messages = consume(self._open_client, room, wait_seconds) if room else []
            n_found = self._keep_messages(messages)
        else:
            # Rebalances and errors come through the client, and records that were fetched before the
            # partition was forwarded.
            n_found = self._keep_messages(self._open_client.consume(room, 0) if room else [])
            n_found += self._poll_queue(self._queue, room - n_found, 0.0 if n_found else wait_seconds)
        if not n_found:
            self._serve()

    def _keep_messages(self, messages: Sequence[Message]) -> int:
        taken, begun = self._undelivered.by_place, self._membership.begun
        for message in messages:
            error = message.error()
            if error is not None:
                self._note(error, message.topic(), message.partition(), message.offset())
                continue
            record = as_record(message)
            place = record[:2]
            if place in taken:
                taken[place].append(record)
            elif place[1] in begun:
                taken[place] = RecordBatch([record])
        return len(messages)

    def _poll_queue(self, queue: FetchQueue, room: int, wait_seconds: float) -> int:
        errors: list[ErrorFields] = []
        queue.forward(self._places())
        n_found = queue.poll(room, wait_seconds, self._undelivered.by_place, self._membership.begun, errors)
        for code, text, topic, partition, offset in errors:
            self._note(KafkaError(code, text), topic, partition, offset)
        return n_found

    def _note(self, error: KafkaError, topic: str | None, partition: int | None, offset: int | None) -> None:
        """Handle what comes between records: the end of a partition, or an error."""
        if error.code() in OUT_OF_RANGE and topic is not None and partition is not None:
            if partition in self._membership.begun:
                self._gone[partition] = out_of_range(topic, partition, offset or 0)
        elif error.code() != PARTITION_EOF:
            self._note_trouble(error, f"{topic}[{partition}]" if topic else self._cluster.name)
        elif partition in self._membership.begun:
            self._ends[str(topic), partition] = offset or 0

    def _note_trouble(self, error: KafkaError, where: str = "") -> None:
        self._trouble = translate(error, where or self._cluster.name)

    def _check_alive(self) -> None:
        """Raise if the stream is unreachable: librdkafka says only when it went, not whether it came back.

        What it says of generations and rebalances is left to the rebalance that follows.
        """
        if self._gone:
            raise self._gone.popitem()[1]
        trouble, self._trouble = self._trouble, None
        if isinstance(trouble, TransportUnavailable):
            try:
                self._open_client.list_topics(self._topics[0], timeout=AWAY_AFTER_SECONDS)
            except FOREIGN as error:
                self._trouble = trouble
                raise away(self._cluster.name) from as_exception(error)
        elif trouble is not None and not isinstance(trouble, (OwnershipLost, TransactionFailed)):
            raise trouble

    def _deliver(self) -> dict[int, RecordBatch]:
        """Return the fetched records, which from now on count as delivered."""
        ends, self._ends = self._ends, {}
        self._positions |= {
            place: records[-1].offset + 1 for place, records in self._undelivered.by_place.items()
        }
        for place, end in ends.items():
            self._positions[place] = max(end, self._positions.get(place, 0))
        return super()._deliver()

    def _serve(self) -> None:
        """Poll the other clients for errors, while there is nothing else to do."""
        self._cluster.serve()
        with self._producers_lock:
            producers = [*self._producers]
        for producer in producers:
            producer.serve()

    def _begin(self, partition: int, offsets: Mapping[str, int]) -> None:
        self._gone.pop(partition, None)
        places = [(topic, partition) for topic in self._topics]
        for place in places:
            self._ends.pop(place, None)
            self._positions.pop(place, None)
        if self._queue is not None:
            self._queue.forward(places)
        self._membership.begin(
            [TopicPartition(*place, offsets.get(place[0], OFFSET_BEGINNING)) for place in places]
        )
        self._positions |= {(topic, partition): offset for topic, offset in offsets.items()}

    def committed(self, partition: int) -> dict[str, int]:
        """Return the group's committed offsets; see `Consumer.committed`."""
        with translated(self._where(partition)):
            return committed_offsets(self._open_client, self._topics, partition)

    def _make_producer(self, name: str, options: ConsumerOptions, *, compress: bool) -> BulkProducer:
        producer = BulkProducer(
            self._cluster,
            timeout_seconds=options.commit_timeout_seconds,
            batch_bytes=options.limits.batch_bytes,
            compress=compress,
            transactional_id=name,
            transaction_timeout_seconds=options.transaction_timeout_seconds,
            failed=self._failed,
            coordinator_answers=partial(coordinator_answers, self._cluster, self._group),
        )
        with self._producers_lock:
            self._producers.add(producer)
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

    def _known_end(self, place: Place) -> int | None:
        _, end = self._open_client.get_watermark_offsets(TopicPartition(*place), cached=True)
        return end if end >= 0 else None

    def _known_position(self, place: Place) -> int | None:
        return self._positions.get(place)

    def _fetch_ends(self, places: Sequence[Place]) -> dict[Place, int]:
        partitions = [TopicPartition(*place) for place in places]
        return self._cluster.offsets(partitions, OffsetSpec.latest(), timeout_seconds=LOOK_SECONDS)

    def _leave(self) -> None:
        try:
            self._close_queue()
            self._open_client.close()
        finally:
            self._client = None

    def __del__(self) -> None:
        """Leave without a call to the assignee, if the consumer was not closed.

        The client's own destructor would never return: it hands back what the group has given, and knows
        no part of it that was not fetched.
        """
        if getattr(self, "_client", None) is not None:
            self._membership.mute()
            self._close_queue()
            with suppress(*FOREIGN):
                self._open_client.close()

    def _close_queue(self) -> None:
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.close()

    def _describe(self) -> ConsumerGroupDescription:
        """Return the group's members and their partitions, as its coordinator reports them."""
        return self._cluster.ask(AdminClient.describe_consumer_groups, [self._group], "{}")[self._group]
