"""Wait until the former owners of partitions can commit nothing more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic, sleep
from typing import Final

from service.errors import TransportUnavailable
from service.transport.kafka.cluster import KafkaCluster

# How long a transaction of a former owner is given to end by itself, and once it was fenced; and how much
# longer for each partition, as a busy broker writes the end of a transaction into one after the other.
_ENDING_SECONDS: Final = 0.3
_FENCED_SECONDS: Final = 3.0
_PARTITION_SECONDS: Final = 0.01
_ASK_AGAIN_SECONDS: Final = 0.01


class FormerOwners:
    """The processes that had a member's partitions before it.

    The group's generation keeps them from handing over offsets any more. Where one has handed them over
    before, its transaction may be committed yet: the group's offsets are not stable then. What it has written
    hides what comes after it from readers of committed records. An owner that was killed leaves its
    transaction to its time-out; it is fenced before, by the name that lies beside its last offsets.

    Parameters
    ----------
    cluster, group, topics
        The group, and its topics, the leading one first.
    fence
        Ends the transaction of a transactional id.

    """

    def __init__(
        self, cluster: KafkaCluster, group: str, topics: Sequence[str], *, fence: Callable[[str], None]
    ) -> None:
        self._cluster = cluster
        self._group = group
        self._topics = topics
        self._fence = fence

    def wait(self, partitions: Sequence[int], log: str) -> dict[int, Mapping[str, int]]:
        """Wait until no transaction with offsets of partitions, or in their log, is undecided.

        Returns the group's committed offsets, by partition and topic.

        Raises
        ------
        TransportUnavailable
            One has not ended.

        """
        fenced: set[str] = set()
        committed, undecided = self._ask(partitions, log, _ENDING_SECONDS)
        while undecided is not None:
            names = self._names(undecided) - fenced
            if not names:
                raise TransportUnavailable(
                    f"{self._topics[0]}[{undecided}]: a transaction of its former owner has not ended",
                    hint="it ends by itself within `kafka.transaction_timeout_seconds`, at most",
                )
            for name in names:
                self._fence(name)
            fenced |= names
            committed, undecided = self._ask(partitions, log, _FENCED_SECONDS)
        return committed

    def _ask(
        self, partitions: Sequence[int], log: str, within_seconds: float
    ) -> tuple[dict[int, Mapping[str, int]], int | None]:
        """Return the committed offsets, and a partition of which something is undecided when time is over."""
        within_seconds += _PARTITION_SECONDS * len(partitions)
        deadline = monotonic() + within_seconds
        while log and (hidden := self._cluster.open_partitions(log, partitions)):
            if monotonic() >= deadline:
                return {}, hidden[0]
            sleep(_ASK_AGAIN_SECONDS)
        committed = self._cluster.committed(self._group, self._topics, partitions, within_seconds)
        return committed, next((each for each in partitions if each not in committed), None)

    def _names(self, partition: int) -> set[str]:
        """Return the transactional ids that a former owner may have used.

        confluent-kafka (2.16) writes the NUL of a C string as well, and alone does not read it.
        """
        name = self._cluster.committer(self._group, self._topics[0], partition).rstrip("\0")
        return {name} if name else set()
