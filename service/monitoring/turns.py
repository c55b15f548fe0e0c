"""The lock of a model: held for a whole batch, and for an answer in the middle of one."""

from __future__ import annotations

import threading
from time import monotonic
from typing import Self

from service.partition.threads import leave_for_others


class Turns:
    """A lock for a long time, which its holder leaves to a thread that waits for it at each `give_way`.

    The holder enters it as a context; others `acquire` and `release` it for a short time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = threading.Lock()
        """Held by the thread that gets the lock next, as long as it waits."""

    def acquire(self, timeout: float) -> bool:
        """Return whether the lock was got within so many seconds; 0: at once, before others that wait."""
        if not timeout:
            return self._lock.acquire(blocking=False)
        deadline = monotonic() + timeout
        if not self._next.acquire(timeout=timeout):
            return False
        try:
            return self._lock.acquire(timeout=max(0.0, deadline - monotonic()))
        finally:
            self._next.release()

    def release(self) -> None:
        """Let others have the lock."""
        self._lock.release()

    def locked(self) -> bool:
        """Return whether anybody has the lock."""
        return self._lock.locked()

    def __enter__(self) -> Self:
        self._lock.acquire()
        leave_for_others.set(self._leave)
        return self

    def __exit__(self, *exception: object) -> None:
        leave_for_others.set(None)
        self._lock.release()

    def _leave(self) -> None:
        """Give the lock to a thread that waits for it, if any does; return with the lock."""
        if self._next.locked():
            self._lock.release()
            with self._next:  # free once the other one has the lock
                self._lock.acquire()
