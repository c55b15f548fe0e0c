"""Keeps a member's lease alive while its process is busy between two polls."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress

from service.errors import TransportError


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
