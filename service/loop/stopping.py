"""Stop when a signal requests it, in time even if the stream does not answer.

A loop that waits for its stream is often inside a client that cannot be interrupted. So the loop runs on a
separate thread, and the main thread handles signals: it exits the process if the loop does not end in time.
The outcome of a transaction under way is then unknown; the next start resolves it.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from time import monotonic
from types import FrameType
from typing import Final, TypeVar

from service.errors import INTERRUPTED

_log = logging.getLogger(__name__)

LEAVE_SECONDS: Final = 4.0
"""How long to wait for the stream's response after a request to stop."""

_LAST_WAIT_SECONDS: Final = 0.5
"""How long to wait for a response to a request that is sent after the stop was requested."""

_CHECK_INTERVAL_SECONDS: Final = 0.1

Result = TypeVar("Result")


class StopRequest:
    """A stop requested by SIGTERM or Ctrl-C, also before the loop exists; a second Ctrl-C interrupts."""

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._received_at = 0.0
        self._stop: Callable[[], None] | None = None

    def receive(self, number: int, _: FrameType | None) -> None:
        """Handle a signal."""
        self._numbers.append(number)
        self._received_at = self._received_at or monotonic()
        if self._numbers.count(signal.SIGINT) > 1:
            raise KeyboardInterrupt
        if self._stop is not None:
            self._stop()

    def handle_with(self, stop: Callable[[], None]) -> None:
        """Call a function when a stop is requested; at once if it already was."""
        self._stop = stop
        if self._numbers:
            stop()

    @property
    def is_received(self) -> bool:
        """Whether there was a signal."""
        return bool(self._numbers)

    @property
    def is_interrupt(self) -> bool:
        """Whether the last signal was Ctrl-C."""
        return self._numbers[-1:] == [signal.SIGINT]

    def run(self, loop: Callable[[], Result], waiting_since: Callable[[], float | None]) -> Result:
        """Run a loop; exit the process if the loop is stuck after a stop request, or at a second request.

        Parameters
        ----------
        loop
            The function to run.
        waiting_since
            Returns since when (monotonic seconds) the loop has waited for its stream; None if it does not.

        """
        running = ThreadPoolExecutor(1, "loop").submit(loop)
        while not running.done():
            with suppress(KeyboardInterrupt):  # a second request
                wait([running], _CHECK_INTERVAL_SECONDS)
            if len(self._numbers) > 1:
                self._leave(running, "after a second signal")
            elif self._numbers and self._is_stuck(waiting_since()):
                self._leave(running, "as the stream does not answer")
        return running.result()

    def _is_stuck(self, since: float | None) -> bool:
        now = monotonic()
        is_late = now - self._received_at >= LEAVE_SECONDS
        return since is not None and is_late and now - since >= _LAST_WAIT_SECONDS

    def _leave(self, running: Future[Result], reason: str) -> None:
        if running.done():
            return
        what = "the next start completes or repeats the last batch"
        _log.warning("exiting at once %s: %s", reason, what)
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(INTERRUPTED if self.is_interrupt else 0)


@contextmanager
def stopping() -> Iterator[StopRequest]:
    """Turn SIGTERM and Ctrl-C into a request to stop."""
    request = StopRequest()
    before = {number: signal.signal(number, request.receive) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
