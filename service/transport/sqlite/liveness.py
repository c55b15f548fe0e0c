"""A file lock that the operating system drops when its process dies, however it dies.

The lock shows at once that a member was killed, which its lease shows only after the session timeout. A
stopped process keeps its lock, and there the lease decides. Without file locks (Windows) the lease decides
all.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

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
