"""Join a consumer group for the duration of one job.

A command that writes for a group becomes a member of it meanwhile. So it never disturbs the owner of a
partition, and no other process can commit for the partition. The member polls no records.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from time import monotonic
from typing import Final

from service.errors import OwnershipLost
from service.stream.protocol import Consumer, Transport

_POLL_SECONDS: Final = 0.2
_PATIENCE_SECONDS: Final = 5.0
"""Longest time that a group takes to assign its partitions once dead members are evicted."""


class TemporaryMember(AbstractContextManager["TemporaryMember"]):
    """A member of `group` that waits for partitions; the assignee of its own consumer.

    Parameters
    ----------
    transport
        The stream.
    group, topics
        As for `Transport.join`.
    session_timeout_seconds
        Time after which the group evicts a killed member; `wait_for` waits at least as long.
    owner_topic
        As for `Transport.join`.

    """

    def __init__(
        self,
        transport: Transport,
        group: str,
        topics: Sequence[str],
        session_timeout_seconds: float,
        owner_topic: str = "",
    ) -> None:
        self._group = group
        self._topics = topics
        self._patience_seconds = session_timeout_seconds + _PATIENCE_SECONDS
        self._held: frozenset[int] = frozenset()
        self.consumer: Consumer = transport.join(group, topics, self, owner_topic)

    def __exit__(self, *exception: object) -> None:
        self.consumer.close()

    def wait_for(self, partitions: Iterable[int], hint: str) -> None:
        """Return when this member owns all of `partitions`.

        Raises
        ------
        OwnershipLost
            Another member keeps one of them; with `hint`.

        """
        wanted, deadline = frozenset(partitions), monotonic() + self._patience_seconds
        while missing := wanted - self._held:
            if monotonic() >= deadline:
                names = ", ".join(f"{self._topics[0]}[{partition}]" for partition in sorted(missing))
                raise OwnershipLost(
                    f"{names}: owned by another member of the group {self._group!r}", hint=hint
                )
            self.consumer.poll(_POLL_SECONDS, 1)

    def stay(self) -> None:
        """Poll to remain a member: a member that never polls is evicted."""
        self.consumer.poll(0.0, 1)

    def partitions_assigned(self, partitions: frozenset[int]) -> None:
        """Note partitions that this member owns."""
        self._held |= partitions

    def partitions_revoked(self, partitions: frozenset[int]) -> None:
        """Note partitions that this member no longer owns."""
        self._held -= partitions

    partitions_lost = partitions_revoked
