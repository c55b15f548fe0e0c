"""Wait until the former owner of a partition can commit nothing more."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, sleep
from typing import Final

from service.errors import TransportUnavailable
from service.transport.kafka.cluster import KafkaCluster
from service.transport.kafka.limits import former_transactional_ids

# How long a transaction of a former owner is given to end by itself, and once it was fenced.
_ENDING_SECONDS: Final = 0.3
_FENCED_SECONDS: Final = 3.0
_ASK_AGAIN_SECONDS: Final = 0.01


class FormerOwners:
    """The processes that had a member's partitions before it.

    The group's generation keeps them from handing over offsets any more. Where one has handed them over
    before, its transaction may be committed yet: the group's offsets are not stable then. What it has written
    hides what comes after it from readers of committed records. An owner that was killed leaves its
    transaction to its time-out; it is fenced before, by the name that lies beside its last offsets.

    Parameters
    ----------
    cluster, group, topic
        The group, and its leading topic.
    are_stable
        Asks whether no undecided transaction has offsets of a partition.
    fence
        Ends the transaction of a transactional id.

    """

    def __init__(
        self,
        cluster: KafkaCluster,
        group: str,
        topic: str,
        *,
        are_stable: Callable[[int], bool],
        fence: Callable[[str], None],
    ) -> None:
        self._cluster = cluster
        self._group = group
        self._topic = topic
        self._are_stable = are_stable
        self._fence = fence

    def wait(self, partition: int, log: str) -> None:
        """Wait until no transaction with a partition's offsets, or in its log, is undecided.

        Raises
        ------
        TransportUnavailable
            One has not ended.

        """
        if self._is_decided(partition, log, _ENDING_SECONDS):
            return
        for name in self._names(partition):
            self._fence(name)
        if not self._is_decided(partition, log, _FENCED_SECONDS):
            raise TransportUnavailable(
                f"{self._topic}[{partition}]: a transaction of its former owner has not ended",
                hint="it ends by itself within `kafka.transaction_timeout_seconds`, at most",
            )

    def _is_decided(self, partition: int, log: str, within_seconds: float) -> bool:
        deadline = monotonic() + within_seconds
        while True:
            is_open = log and self._cluster.is_open(log, partition)
            if not is_open and self._are_stable(partition):
                return True
            if monotonic() >= deadline:
                return False
            sleep(_ASK_AGAIN_SECONDS)

    def _names(self, partition: int) -> list[str]:
        """Return the transactional ids that a former owner may have used; earlier releases leave none.

        confluent-kafka (2.16) writes the NUL of a C string as well, and alone does not read it.
        """
        name = self._cluster.committer(self._group, self._topic, partition).rstrip("\0")
        return [name] if name else former_transactional_ids(self._group, self._topic, partition)
