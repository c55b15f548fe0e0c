"""Limits of a batch: the bounds of event times, and how long a thread keeps the GIL.

This module is never compiled: the interpreter yields to a thread that waits for the GIL when a Python
function is called.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Final

from service.messages.rejection import Rejection, rejection_of_time

leave_for_others: Final[ContextVar[Callable[[], None] | None]] = ContextVar("leave_for_others", default=None)
"""Releases the lock that this thread holds during a batch to waiting threads, and acquires it again."""


def yield_to_threads() -> None:
    """Yield the GIL and the lock of this batch to threads that wait for them.

    The interpreter yields the GIL when a Python function is called, so this one is never compiled. Compiled
    code does not yield: without this call, no other thread would commit or respond during a batch.
    """
    if (leave := leave_for_others.get()) is not None:
        leave()


_EARLIEST_MS: Final = -(2**63)
_LATEST_MS: Final = 2**63 - 1


class TimeBounds:
    """Bounds of event times: from 1970 to some time ahead of the clock; none before `set_now` gets a time.

    Parameters
    ----------
    max_ahead_seconds
        How far an event time may be ahead of the clock.

    """

    def __init__(self, max_ahead_seconds: float) -> None:
        self._max_ahead_ms = int(max_ahead_seconds * 1000)
        self.set_now(None)

    def set_now(self, processing_time_ms: int | None) -> None:
        """Set the clock's time, in milliseconds since the epoch; None: no bounds."""
        self.earliest_ms = 0 if processing_time_ms is not None else _EARLIEST_MS
        self.latest_ms = (
            processing_time_ms + self._max_ahead_ms if processing_time_ms is not None else _LATEST_MS
        )

    def check(self, timestamp_ms: int, processing_time_ms: int, location: str) -> None:
        """Set the clock's time; raise `Rejection` for an event time out of bounds."""
        self.set_now(processing_time_ms)
        if not self.earliest_ms <= timestamp_ms <= self.latest_ms:
            raise self.rejection(timestamp_ms, location)

    def rejection(self, timestamp_ms: int, location: str) -> Rejection:
        """Return the rejection of a time out of bounds; `location` is where the record has it."""
        return rejection_of_time(timestamp_ms, self.latest_ms - self._max_ahead_ms, location)
