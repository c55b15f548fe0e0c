"""A server that all processes of a test run use: the first that needs it starts it, and stops it last."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Callable, Iterator
from pathlib import Path


@contextlib.contextmanager
def started_once(folder: Path, start: Callable[[contextlib.ExitStack], str]) -> Iterator[str]:
    """Yield the address of the server of all processes that give the same folder.

    Parameters
    ----------
    folder
        Where the address is kept while the server runs.
    start
        Starts it and returns the address; what it puts on the stack stops it.

    """
    place = folder / "server-address"
    with (
        contextlib.ExitStack() as server,
        (folder / "server-users").open("w") as users,
        (folder / "server-lock").open("w") as lock,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        is_ours = not place.exists()
        if is_ours:
            place.write_text(start(server), encoding="utf-8")
        fcntl.flock(users, fcntl.LOCK_SH)
        fcntl.flock(lock, fcntl.LOCK_UN)
        yield place.read_text(encoding="utf-8")
        if is_ours:
            fcntl.flock(lock, fcntl.LOCK_EX)
            fcntl.flock(users, fcntl.LOCK_EX)  # given when the last of the others has ended
            place.unlink()
