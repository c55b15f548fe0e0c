"""Rebalances for both clients: calls the assignee (`Tasks`) with partitions that were assigned or revoked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from service.stream import Assignee


class KafkaMembership(ABC):
    """Keeps the set of one consumer's partitions; a subclass listens to the rebalances of its client.

    A client calls it while the polling thread waits inside the client's poll or close, either on that thread
    or on a thread of the client: so there is one writer at a time, and no lock.

    Parameters
    ----------
    assignee
        Informed of every rebalance.

    """

    def __init__(self, assignee: Assignee) -> None:
        self._assignee = assignee
        self._arrived: set[int] = set()
        self._failure: BaseException | None = None
        self.owned: set[int] = set()
        """The partitions that the assignee knows to be its own."""
        self.begun: set[int] = set()
        """Those of them that were started: their records are fetched."""

    def announce(self) -> bool:
        """Notify the assignee of new partitions, on the polling thread. Return whether there were any."""
        arrived, self._arrived = frozenset(self._arrived), set()
        self.owned |= arrived
        if arrived:
            self._assignee.partitions_assigned(arrived)
        return bool(arrived)

    def mute(self) -> None:
        """Stop notifying the assignee."""
        self.owned.clear()

    def raise_failure(self) -> None:
        """Raise the error of the assignee's last call, if there was one."""
        failure, self._failure = self._failure, None
        try:
            if failure is not None:
                raise failure
        finally:
            del failure  # its traceback leads to this frame, and to that of the task that was given up

    def _call_assignee(self, callback: Callable[[frozenset[int]], None], partitions: frozenset[int]) -> None:
        """Notify the assignee of partitions to leave, and keep what it raises: the client must not see it."""
        try:
            callback(partitions)
        except BaseException as error:  # noqa: BLE001 - raised again by `raise_failure`
            self._failure = error

    def _remove(self, partitions: frozenset[int]) -> None:
        self._arrived -= partitions
        self.owned -= partitions
        self.begun -= partitions

    @abstractmethod
    def is_settled(self) -> bool:
        """Return whether the group has assigned its partitions, and this member has all of its own."""
