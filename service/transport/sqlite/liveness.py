"""Signs of life of a group's member: a lease that a thread renews, and a lock that is free when it is dead.

The operating system drops the lock when the process dies, however it dies: that shows at once that a member
was killed, which its lease shows only after the session timeout. A stopped process keeps its lock, and there
the lease decides. Without file locks (Windows) the lease decides all.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from service.errors import TransportError

if sys.platform != "win32":
    import fcntl


class LivenessLock:
    """Held from joining a group until leaving it, or until the process ends.

    Parameters
    ----------
    path
        A file of its own, next to the stream's; removed by `release`. If it cannot be created, the
        lease decides alone.

    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None
        # flock belongs to the open file, not to the process: two members in one process work,
        # and a program started from here does not inherit it.
        with suppress(OSError):
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            _try_lock(self._file)

    def release(self) -> None:
        """Release the lock and remove the file. Idempotent."""
        if self._file is not None:
            with suppress(OSError):
                self._path.unlink()
            os.close(self._file)
            self._file = None


def is_abandoned(path: Path) -> bool:
    """Return whether the holder of the lock at `path` is surely dead; False when not known."""
    try:
        file = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        return _try_lock(file)
    finally:
        os.close(file)


def _try_lock(file: int) -> bool:
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


class Heartbeat:
    """A small thread that renews a lease until it is stopped or the process freezes.

    Restoring a model or learning from a large batch may take longer than a session; a process that
    works is alive. One that has not polled for `patience_seconds` is considered stuck, and its lease
    is left to expire.

    Parameters
    ----------
    renew
        Renews the lease if it is time to.
    interval_seconds
        How often to call it.
    patience_seconds
        How long to go on without a sign of life from the polling thread.

    """

    def __init__(
        self, renew: Callable[[], None], *, interval_seconds: float, patience_seconds: float
    ) -> None:
        self._renew = renew
        self._interval_seconds = interval_seconds
        self._patience_seconds = patience_seconds
        self._stopped = threading.Event()
        self._polled_at = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="sqlite-heartbeat", daemon=True)
        self._thread.start()

    def polled(self) -> None:
        """Note that the polling thread is alive."""
        self._polled_at = time.monotonic()

    def stop(self) -> None:
        """End the thread. Idempotent."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._interval_seconds):
            if time.monotonic() - self._polled_at < self._patience_seconds:
                # A renewal that fails is tried again at the next beat; `poll` reports the trouble.
                with suppress(TransportError):
                    self._renew()
