"""One member of a consumer group, with either client: polls records and opens writers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import partial
from math import inf
from time import monotonic, sleep
from typing import Any, Final, TypeVar

from service.errors import OwnershipLost, TransportError, TransportUnavailable, raise_first
from service.stream.batches import RecordBatch
from service.stream.kafka.cluster import Bound, KafkaCluster, Producer
from service.stream.kafka.errors import missing_topic
from service.stream.kafka.limits import (
    ClientOptions,
    appending_id,
    for_appends,
    seconds_left,
    transactional_id,
    within_session,
)
from service.stream.kafka.transactions import KafkaWriter, Transactions
from service.stream.protocol import NOWHERE, Assignee, TopicPartition


class KafkaMembership(ABC):
    """The set of one consumer's partitions; a subclass listens to the rebalances of its client.

    A client calls it on the polling thread, or on a thread of the client while the polling thread waits
    inside poll or close: so only one thread at a time changes it, and no lock is needed.

    Parameters
    ----------
    assignee
        Is notified of every rebalance.
    count_partitions
        With `owner_topic`, counts the partitions, which all belong to the owner of its partition. None:
        partitions have separate owners.

    """

    def __init__(self, assignee: Assignee, count_partitions: Callable[[], int] | None) -> None:
        self._assignee = assignee
        self._count_all = count_partitions
        self._arrived: set[int] = set()
        self._has_all = False
        """Whether the group has given this member all partitions."""
        self.failures: list[BaseException] = []
        """The errors that the assignee raised in callbacks, which the client must not see."""
        self.owned: set[int] = set()
        """The partitions that the assignee was notified of."""
        self.begun: set[int] = set()
        """The started partitions, whose records are fetched."""

    def _note_assigned(self, numbers: Iterable[int]) -> None:
        """Note an assignment: some partitions, or with `owner_topic` all of them."""
        if self._count_all is None:
            self._arrived |= {*numbers}
        else:
            self._has_all |= bool([*numbers])

    def _going(self, numbers: Iterable[int]) -> frozenset[int]:
        """Return the partitions that this member loses when `numbers` are revoked."""
        going = frozenset(numbers)
        if self._count_all is None or not going:
            return going
        self._has_all = False
        return frozenset(self.owned)

    @property
    def _is_announced(self) -> bool:
        """Whether the assignee was notified of every assigned partition."""
        return not self._arrived and (not self._has_all or bool(self.owned))

    def count_partitions(self) -> None:
        """With `owner_topic`, count the partitions again, so that new ones are announced."""
        if self._has_all and self._count_all is not None:
            self._arrived |= {*range(self._count_all())} - self.owned

    def announce(self) -> bool:
        """Notify the assignee of new partitions, on the polling thread; return whether there were any."""
        if self._has_all and not self.owned:
            self.count_partitions()
        arrived, self._arrived = frozenset(self._arrived), set()
        self.owned |= arrived
        if arrived:
            self._assignee.partitions_assigned(arrived)
        return bool(arrived)

    def stop_notifying(self) -> None:
        """Stop notifying the assignee."""
        self.owned.clear()

    def _call_assignee(self, callback: Callable[[frozenset[int]], None], partitions: frozenset[int]) -> None:
        """Notify the assignee of revoked or lost partitions; store its errors, which clients must not see."""
        try:
            callback(partitions)
        except BaseException as error:  # noqa: BLE001 - raised again by `poll` or `close`
            self.failures.append(error)

    def _remove(self, partitions: frozenset[int]) -> None:
        self._arrived -= partitions
        self.owned -= partitions
        self.begun -= partitions

    @abstractmethod
    def is_settled(self) -> bool:
        """Return whether the rebalance is over: this member has all partitions that it will get."""


Key = TypeVar("Key")


class UndeliveredRecords:
    """Records that were fetched from the client and not yet returned by a poll.

    They must survive a failing poll: the client's position is already after them.

    Attributes
    ----------
    by_partition : dict[TopicPartition, RecordBatch]
        The records of each topic partition; compiled code may add to it.

    """

    def __init__(self) -> None:
        self.by_partition: dict[TopicPartition, RecordBatch] = {}

    def __bool__(self) -> bool:
        return bool(self.by_partition)

    def n_free(self, max_records: int) -> int:
        """Return how many more records fit into a poll."""
        return max(0, max_records - sum(map(len, self.by_partition.values())))

    def keep(self, partition: TopicPartition, records: RecordBatch) -> None:
        """Append records of a topic partition."""
        _add(self.by_partition, partition, records)

    def deliver(self, partitions: Iterable[TopicPartition]) -> dict[int, RecordBatch]:
        """Return the records of `partitions`, in this order, by partition; forget all others."""
        merged: dict[int, RecordBatch] = {}
        for partition in partitions:
            if partition in self.by_partition:
                _add(merged, partition[1], self.by_partition[partition])
        self.by_partition.clear()
        return merged


def _add(batches: dict[Key, RecordBatch], key: Key, records: RecordBatch) -> None:
    """Append records to the batch of `key`; the first ones become its batch without a copy."""
    if key in batches:
        batches[key].extend(records)
    else:
        batches[key] = records


# How long to wait for a former owner's transaction to end by itself, and after fencing; and how much longer
# for each partition, because a busy broker ends a transaction in one partition after the other.
_ENDING_SECONDS: Final = 0.3
_FENCED_SECONDS: Final = 3.0
_PARTITION_SECONDS: Final = 0.01
_ASK_AGAIN_SECONDS: Final = 0.01


class FormerOwners:
    """The processes that owned a member's partitions before.

    The group's generation prevents them from adding offsets to a transaction now. If one did so before, its
    transaction may still be committed: until then, the group's offsets are not stable, and records after its
    outputs are hidden from readers of committed records. The transaction of a killed owner would only end at
    its timeout; it is fenced earlier, by the transactional id in the metadata of its last offsets.

    Parameters
    ----------
    cluster, group, topics
        The group, and its topics, the leading one first.
    fence
        Ends the open transaction of a transactional id.

    """

    def __init__(
        self, cluster: KafkaCluster, group: str, topics: Sequence[str], *, fence: Callable[[str], None]
    ) -> None:
        self._cluster = cluster
        self._group = group
        self._topics = topics
        self._fence = fence

    def wait(self, partitions: Sequence[int], log: str, logs: Sequence[int]) -> dict[int, Mapping[str, int]]:
        """Wait until no transaction with offsets of `partitions`, or in `logs` of topic `log`, is undecided.

        Returns the group's committed offsets, by partition and topic.

        Raises
        ------
        TransportUnavailable
            A transaction has not ended in time.

        """
        fenced: set[str] = set()
        committed, undecided = self._ask(partitions, log, logs, _ENDING_SECONDS)
        while undecided is not None:
            names = self._names(undecided) - fenced
            if not names:
                raise TransportUnavailable(
                    f"{self._topics[0]}[{undecided}]: a transaction of its former owner is still open",
                    hint="wait: it ends within `kafka.transaction_timeout_seconds`",
                )
            for name in names:
                self._fence(name)
            fenced |= names
            committed, undecided = self._ask(partitions, log, logs, _FENCED_SECONDS)
        return committed

    def _ask(
        self, partitions: Sequence[int], log: str, logs: Sequence[int], within_seconds: float
    ) -> tuple[dict[int, Mapping[str, int]], int | None]:
        """Return the committed offsets, and a partition that is still undecided when the time is over."""
        within_seconds += _PARTITION_SECONDS * len(partitions)
        deadline = monotonic() + within_seconds
        while log and (hidden := self._cluster.open_partitions(log, logs)):
            if monotonic() >= deadline:
                return {}, hidden[0]
            sleep(_ASK_AGAIN_SECONDS)
        committed = self._cluster.committed(self._group, self._topics, partitions, within_seconds)
        return committed, next((partition for partition in partitions if partition not in committed), None)

    def _names(self, partition: int) -> set[str]:
        """Return the transactional ids that a former owner may have used.

        confluent-kafka (2.16) also writes the terminating NUL of the C string, and only it omits the NUL in
        reading.
        """
        name = self._cluster.committer(self._group, self._topics[0], partition).rstrip("\0")
        return {name} if name else set()


# Waits are short, as new partitions are announced between them.
_WAIT_SECONDS: Final = 0.1
# For how long a found topic counts as existing: with hundreds of partitions, a check takes 10 ms.
_FOUND_SECONDS: Final = 2.0
# How often the owner of all partitions counts them.
_GROWTH_SECONDS: Final = 3.0


class KafkaMember(ABC):
    """The part of a group member that both clients share.

    The group distributes only the partitions of the leading topic, because no cooperative assignor keeps the
    partitions of several topics together. The partitions of the same numbers of further topics are assigned
    to the client manually. Offsets of all topics are committed for the group.

    If one member owns all partitions, the group distributes the only partition of another topic
    (`ClientOptions.owner_topic`), which is never read, and all partitions are assigned manually. The member's
    generation fences all offsets, because a transaction accepts offsets of any partition.

    Parameters
    ----------
    cluster
        The cluster of the group.
    group, topics, assignee, options
        As given to `Transport.join`.
    check_topics
        Raises `TopicMissing` for topics that do not exist.

    """

    _membership: KafkaMembership

    def __init__(
        self,
        cluster: KafkaCluster,
        group: str,
        topics: Sequence[str],
        assignee: Assignee,
        options: ClientOptions,
        check_topics: Callable[[set[str]], None],
    ) -> None:
        self._cluster = cluster
        self._translated = cluster.translated
        self._group = group
        self._topics = tuple(topics)
        self._options = options
        self._check_topics = check_topics
        self._writers: dict[int, KafkaWriter] = {}
        self._transactions = Transactions(
            partial(self._open_producer, transactional_id(group, self._topics[0])),
            topic=self._topics[0],
            options=options,
            first_options=within_session(options),
            group_metadata=self._metadata,
        )
        self._former_owners = FormerOwners(cluster, group, self._topics, fence=self._fence)
        self._look_for_more_at = monotonic() + _GROWTH_SECONDS
        self._found_at: dict[str, float] = {}
        """When the topics of writers were last found."""
        self._undelivered = UndeliveredRecords()
        self._paused: frozenset[TopicPartition] = NOWHERE
        """The partitions that the client has paused."""
        self._closed = False
        self._open(assignee)

    def poll(
        self, timeout_seconds: float, max_records: int, hold: AbstractSet[TopicPartition] = NOWHERE
    ) -> dict[int, RecordBatch]:
        """Wait for records; see `Consumer.poll`."""
        deadline = monotonic() + timeout_seconds
        self._set_paused(hold)
        while True:
            with self._translated(self._cluster.name):
                self._poll_client(min(seconds_left(deadline), _WAIT_SECONDS), max_records)
            raise_first(self._membership.failures)
            if self._options.owner_topic and monotonic() >= self._look_for_more_at:
                self._look_for_more_at = monotonic() + _GROWTH_SECONDS
                self._membership.count_partitions()
            announced = self._membership.announce()
            if self._undelivered or announced or monotonic() >= deadline:
                self._check_alive()
                return self._deliver()

    def _set_paused(self, wanted: AbstractSet[TopicPartition]) -> None:
        """Pause exactly these partitions in the client; resume all others of this member."""
        hold = self._begun_partitions(wanted)
        if hold != self._paused:
            with self._translated(self._cluster.name):
                self._pause(hold - self._paused, self._begun_partitions(self._paused - hold))
            self._paused = hold

    def _begun_partitions(self, partitions: Iterable[TopicPartition]) -> frozenset[TopicPartition]:
        return frozenset(partition for partition in partitions if partition[1] in self._membership.begun)

    def _partitions(self) -> list[TopicPartition]:
        """List the started partitions, the leading topic first."""
        return [(topic, partition) for topic in self._topics for partition in sorted(self._membership.begun)]

    def _deliver(self) -> dict[int, RecordBatch]:
        """Return the fetched records, ordered by topic, without records of revoked partitions."""
        fetched = self._begun_partitions(self._undelivered.by_partition)
        return self._undelivered.deliver(sorted(fetched, key=lambda at: (self._topics.index(at[0]), at[1])))

    def start(self, partition: int, offsets: Mapping[str, int]) -> None:
        """Deliver from these offsets on; see `Consumer.start`."""
        self._check_owned(partition)
        self._set_paused({each for each in self._paused if each[1] != partition})
        for topic in self._topics:
            self._undelivered.by_partition.pop((topic, partition), None)
        with self._translated(self._where(partition)):
            self._begin(partition, offsets)
        self._membership.begun.add(partition)

    def positions(self, partition: int) -> dict[str, int]:
        """Return the next offsets to deliver; see `Consumer.positions`."""
        self._check_owned(partition)
        with self._translated(self._where(partition)):
            return {topic: self._position((topic, partition)) for topic in self._topics}

    def _position(self, partition: TopicPartition) -> int:
        """Return the next offset to deliver; before the first fetch, the first available offset."""
        if fetched := self._undelivered.by_partition.get(partition):
            return fetched[0].offset
        known = self._known_position(partition)
        return self._cluster.offset(*partition, Bound.FIRST) if known is None else known

    def lag(self) -> dict[TopicPartition, int]:
        """Count undelivered records; see `Consumer.lag`. A partition is missing before its first fetch."""
        with self._translated(self._cluster.name):
            known = [(each, self._known_end(each), self._known_position(each)) for each in self._partitions()]
        lags = {}
        for partition, end, position in known:
            if end is not None and position is not None:
                lags[partition] = max(0, end - position)
        return lags

    def remaining(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Count the offsets up to the present ends; see `Consumer.remaining`."""
        begun = [partition for partition in partitions if partition[1] in self._membership.begun]
        if not begun:
            return {}
        with self._translated(self._cluster.name):
            # Before the first delivery, the position may be unknown, unless the partition is empty.
            return {
                partition: max(
                    0,
                    end - (self._known_position(partition) or 0),
                    len(self._undelivered.by_partition.get(partition, ())),
                )
                for partition, end in self._fetch_ends(begun).items()
            }

    def has_joined(self) -> bool:
        """Return whether the group has assigned this member its partitions; see `Consumer.has_joined`."""
        try:
            with self._translated(self._cluster.name):
                return self._membership.is_settled()
        except TransportError:
            return False  # unknown at the moment

    def at_end(self) -> bool:
        """Return whether all records were delivered; see `Consumer.at_end`."""
        if self._undelivered or self._membership.owned - self._membership.begun or not self.has_joined():
            return False
        return not any(self.remaining(self._partitions()).values())

    def writer(self, partition: int) -> KafkaWriter:
        """Make the writer of an owned partition; see `Consumer.writer`."""
        self._check_owned(partition)
        if partition in self._writers:
            self._writers[partition].supersede()
        self._transactions.renew()
        writer = KafkaWriter(
            self._transactions,
            partition=partition,
            where=self._where(partition),
            still_owner=self._is_owner,
            check_topics=self._check_written,
        )
        self._writers[partition] = writer
        return writer

    def _check_written(self, topics: set[str]) -> None:
        """Raise `TopicMissing` unless the topics exist; a topic found a moment ago counts as existing."""
        now = monotonic()
        unknown = {topic for topic in topics if now - self._found_at.get(topic, -inf) > _FOUND_SECONDS}
        self._check_topics(unknown)
        self._found_at |= dict.fromkeys(unknown, now)

    def take_over(self, partitions: Collection[int], log: str = "") -> dict[int, Mapping[str, int]]:
        """Wait for the former owners; see `Consumer.take_over`. A removed member fences no one."""
        for partition in partitions:
            self._check_owned(partition)
        self._check_member()
        with self._translated(self._cluster.name):
            logs = [0] if self._options.owner_topic else sorted(partitions)
            return self._former_owners.wait(sorted(partitions), log, logs)

    def send(self) -> None:
        """Begin the transaction of the writers; see `Consumer.send`."""
        self._transactions.send()

    def appender(self, partition: int) -> KafkaWriter:
        """Make the writer of an owned partition's input; see `Consumer.appender`."""
        self._check_owned(partition)
        self._check_member()
        transactions = Transactions(
            partial(self._open_producer, appending_id(self._group, self._topics[0], partition)),
            topic=self._topics[0],
            options=for_appends(self._options),
            has_own_id=False,
        )
        transactions.renew()
        return KafkaWriter(
            transactions, partition=partition, where=self._where(partition), owns_transactions=True
        )

    def _check_member(self) -> None:
        """Raise `OwnershipLost` if the group removed this member: it must not fence the new owners."""
        if not self._is_member():
            raise self._removed()

    def _removed(self) -> OwnershipLost:
        return OwnershipLost(f"{self._cluster.name}: the group {self._group!r} has removed this member")

    def _fence(self, name: str) -> None:
        """End the open transaction of another process."""
        self._open_producer(name, self._options, compress=False).drop()

    def _open_producer(self, name: str, options: ClientOptions, *, compress: bool) -> Producer:
        """Make a producer with this transactional id, which fences the previous one."""
        producer = self._cluster.open_producer(
            options, transactional_id=name, group=self._group, compress=compress
        )
        try:
            with self._translated(self._cluster.name):
                producer.init_transactions()
        except BaseException:
            producer.drop()
            raise
        return producer

    def close(self) -> None:
        """Hand over and leave; see `Consumer.close`."""
        if self._closed:
            return
        self._closed = True
        try:
            with self._translated(self._cluster.name):
                self._leave()
        finally:
            self._transactions.close()
        raise_first(self._membership.failures)

    def abandon(self) -> None:
        """Leave the group without notifying the assignee: nothing more can be committed. Idempotent."""
        if not self._closed:
            self._closed = True
            self._transactions.drop()
            self._membership.stop_notifying()
            with suppress(TransportError), self._translated(self._cluster.name):
                self._leave()

    def _count_partitions(self) -> int:
        """Ask how many partitions the leading topic has."""
        topic = self._topics[0]
        description = self._cluster.describe(topic)
        if description is None:  # some brokers may not know a new topic yet
            self._check_topics({topic})
            description = self._cluster.describe(topic)
        if description is None:
            raise missing_topic(topic, self._cluster.name)
        return description.n_partitions

    def _where(self, partition: int) -> str:
        return f"{self._topics[0]}[{partition}]"

    def _check_owned(self, partition: int) -> None:
        if partition not in self._membership.owned:
            raise OwnershipLost(f"{self._where(partition)} is not assigned to this member of {self._group!r}")

    def _is_owner(self, writer: KafkaWriter) -> bool:
        """Return whether a fenced writer is the newest writer of a partition that this member owns."""
        if not any(self._writers.get(partition) is writer for partition in self._membership.owned):
            return False
        try:
            return self._is_member()
        except TransportError:
            return False

    def _metadata(self) -> Any:  # noqa: ANN401 - each client has its own
        # The broker does not fence a commit without a member id.
        with self._translated(self._cluster.name):
            if (metadata := self._group_metadata()) is None:
                raise self._removed()
            return metadata

    def _is_member(self) -> bool:
        """Ask the group's coordinator whether this is a member now.

        The client assumes so until a heartbeat fails: after a freeze, that would be wrong.
        """
        with self._translated(self._cluster.name):
            return self._member_id() in self._cluster.members(self._group)

    # Methods that each client implements. `_translated` encloses calls that may raise the client's errors.

    @abstractmethod
    def _open(self, assignee: Assignee) -> None:
        """Open the clients, and join the group with a `_membership` that calls `assignee`."""

    @abstractmethod
    def _poll_client(self, wait_seconds: float, max_records: int) -> None:
        """Add the available records to `_undelivered`; wait only for the first one."""

    @abstractmethod
    def _check_alive(self) -> None:
        """Raise `ServiceError` for an unreachable stream or an offset out of range: clients do not."""

    @abstractmethod
    def _pause(self, pause: Collection[TopicPartition], resume: Collection[TopicPartition]) -> None:
        """Pause and resume partitions in the client."""

    @abstractmethod
    def _begin(self, partition: int, offsets: Mapping[str, int]) -> None:
        """Start fetching a partition from these offsets on; topics without an offset, from their start."""

    @abstractmethod
    def _known_end(self, partition: TopicPartition) -> int | None:
        """Return the end as of the last fetch, without a request."""

    @abstractmethod
    def _known_position(self, partition: TopicPartition) -> int | None:
        """Return the next offset to deliver, without a request."""

    @abstractmethod
    def _fetch_ends(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Ask for the ends of partitions, for at most `LOOK_SECONDS`."""

    @abstractmethod
    def _group_metadata(self) -> Any:  # noqa: ANN401 - each client has its own
        """Return this member's generation; None if it has none. Called on any thread."""

    @abstractmethod
    def _member_id(self) -> str:
        """Return the member id, as the client knows it."""

    @abstractmethod
    def _leave(self) -> None:
        """Leave the group and close the clients."""
