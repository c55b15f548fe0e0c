"""End the process in time after a signal, even if the loop is stuck.

A loop that waits for its stream's answer is often inside a client that cannot be interrupted, and a signal's
handler in Python waits with it. So a thread of its own reads the numbers of signals from a pipe, which the
interpreter writes at once (`signal.set_wakeup_fd`), and ends the process if the loop has not left in time.
Whatever was under way then is undecided: the next start resolves it.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from time import monotonic
from types import TracebackType
from typing import Final, Self

from service.errors import INTERRUPTED

_log = logging.getLogger(__name__)

LEAVE_SECONDS: Final = 4.0
"""How long to wait for the stream's answer after a request to leave."""

_LAST_WAIT_SECONDS: Final = 0.5
"""How long to wait for an answer to a request that is sent later than that."""

_LOOK_SECONDS: Final = 0.1


class Departure:
    """Ends the process in time once it was told to leave; at once when it is told so twice.

    To be entered on the main thread.

    Parameters
    ----------
    asking_since
        Returns since when (monotonic seconds) the process waits for its stream; None if it does not.
    end
        Ends the process with an exit code.

    """

    def __init__(
        self, asking_since: Callable[[], float | None], *, end: Callable[[int], None] = os._exit
    ) -> None:
        self._asking_since = asking_since
        self._end = end
        self._ours, self._theirs = socket.socketpair()
        self._theirs.settimeout(0)
        self._before = -1

    def __enter__(self) -> Self:
        """Begin to watch."""
        self._before = signal.set_wakeup_fd(self._theirs.fileno(), warn_on_full_buffer=False)
        Thread(target=self._watch, name="departure", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Watch no longer: it has left by itself."""
        signal.set_wakeup_fd(self._before)
        self._theirs.close()

    def _watch(self) -> None:
        told: list[int] = []
        told_at = 0.0
        self._ours.settimeout(_LOOK_SECONDS)
        with self._ours:
            while True:
                try:
                    received = self._ours.recv(16)
                except TimeoutError:
                    if told and self._is_stuck(told_at):
                        self._leave(told[-1], "the stream has not answered")
                    continue
                if not received:
                    return
                told += [number for number in received if number in (signal.SIGINT, signal.SIGTERM)]
                told_at = told_at or monotonic()
                if len(told) > 1:
                    self._leave(told[-1], "told to twice")

    def _is_stuck(self, told_at: float) -> bool:
        since = self._asking_since()
        now = monotonic()
        return since is not None and now - told_at >= LEAVE_SECONDS and now - since >= _LAST_WAIT_SECONDS

    def _leave(self, number: int, reason: str) -> None:
        what = "the last batch is undecided and will be settled at the next start"
        _log.warning("leaving at once, %s: %s", reason, what)
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        self._end(INTERRUPTED if number == signal.SIGINT else 0)
