"""A member of a group as a writer. In: its partitions. Out: for each of them one writer that may write."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

from service.errors import OwnershipLost, TransportError
from service.stream import NOWHERE, Place
from service.transport.kafka.limits import ConsumerOptions, former_transactional_id, transactional_id
from service.transport.kafka.writer import KafkaWriter, TransactionalProducer


class KafkaMember(ABC):
    """What consumers of both clients do alike.

    Parameters
    ----------
    group, topics, options
        As given to `Transport.join`.
    check_topics
        Raises `TopicMissing` for topics that do not exist.

    """

    def __init__(
        self,
        group: str,
        topics: Sequence[str],
        options: ConsumerOptions,
        check_topics: Callable[[set[str]], None],
    ) -> None:
        self._group = group
        self._topics = tuple(topics)
        self._options = options
        self._check_topics = check_topics
        self._writers: dict[int, KafkaWriter] = {}
        self._held: frozenset[Place] = NOWHERE
        """What the client has paused."""

    def writer(self, partition: int) -> KafkaWriter:
        """Make the writer of an owned partition; see `Consumer.writer`."""
        self._check_owned(partition)
        where = self._where(partition)
        if not self._is_member():
            # We would fence the true owner, who would have to do its last batch again.
            raise OwnershipLost(f"{where}: the group {self._group!r} goes on without us")
        self._fence_former_release(partition)
        name = transactional_id(self._group, self._topics[0], partition)
        writer = KafkaWriter(
            partial(self._open_producer, name, partition),
            partition=partition,
            where=where,
            group_metadata=self._group_metadata,
            still_owner=self._is_owner,
            check_topics=self._check_topics,
            commit_timeout_seconds=self._options.commit_timeout_seconds,
        )
        if partition in self._writers:
            self._writers[partition].supersede()
        self._writers[partition] = writer
        return writer

    def _fence_former_release(self, partition: int) -> None:
        """Fence the producer of a release that names the partition's transactions otherwise.

        During a rolling upgrade it may have a transaction open, which ends here. Without this, the group's
        generation would stop it, unless it has handed its offsets over already.
        """
        place = (self._group, self._topics[0], partition)
        former = former_transactional_id(*place)
        if former != transactional_id(*place):
            self._open_producer(former, partition, compress=False).drop()

    def _hold(self, wanted: AbstractSet[Place]) -> None:
        """Let the client deliver none of these places, and all others that are ours."""
        ours = {(topic, partition) for topic in self._topics for partition in self._delivered}
        hold = frozenset(ours & wanted)
        if hold != self._held:
            self._pause(hold - self._held, (self._held - hold) & ours)
            self._held = hold

    def _close_writers(self) -> None:
        for writer in self._writers.values():
            writer.close()

    def _where(self, partition: int) -> str:
        return f"{self._topics[0]}[{partition}]"

    def _check_owned(self, partition: int) -> None:
        if partition not in self._owned:
            raise OwnershipLost(f"{self._where(partition)} is not assigned to this member of {self._group!r}")

    def _is_owner(self, writer: KafkaWriter) -> bool:
        """Return whether a fenced writer is the newest of a partition that is ours still."""
        if not any(self._writers.get(partition) is writer for partition in self._owned):
            return False
        try:
            return self._is_member()
        except TransportError:
            return False

    @property
    @abstractmethod
    def _delivered(self) -> AbstractSet[int]:
        """The partitions that are ours and were started."""

    @abstractmethod
    def _pause(self, pause: Collection[Place], resume: Collection[Place]) -> None:
        """Let the client pause these places and go on with those. Raises `TransportError`."""

    @property
    @abstractmethod
    def _owned(self) -> AbstractSet[int]:
        """The partitions that the assignee knows to be its own."""

    @abstractmethod
    def _is_member(self) -> bool:
        """Ask the group's coordinator whether we are a member now. Raises `TransportError`."""

    @abstractmethod
    def _open_producer(self, name: str, partition: int, *, compress: bool) -> TransactionalProducer:
        """Make a producer of this transactional id, which fences the one before it.

        It compresses all that it writes or nothing. Raises `TransportError`.
        """

    @abstractmethod
    def _group_metadata(self) -> Any:  # noqa: ANN401 - each client has its own
        """Return this member's present generation."""
