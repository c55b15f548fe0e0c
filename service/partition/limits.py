"""Limits of a batch: of event times, and of a thread's turn.

This module is never compiled: the interpreter gives way to a thread that waits for the GIL when a Python
function begins.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Final

from service.messages.rejection import Rejection, rejection_of_time

leave_for_others: Final[ContextVar[Callable[[], None] | None]] = ContextVar("leave_for_others", default=None)
"""Leaves the lock that this thread holds for a batch to those who wait for it, and takes it back."""


def yield_to_threads() -> None:
    """Let a thread that waits for the GIL have it, and one that waits for the lock of this batch.

    The interpreter sees to the first when a Python function begins, so this one is never compiled. Compiled
    code calls nothing of the kind by itself: for a whole batch, no other thread would commit or answer.
    """
    if (leave := leave_for_others.get()) is not None:
        leave()


_EARLIEST_MS: Final = -(2**63)
_LATEST_MS: Final = 2**63 - 1


class TimeBounds:
    """From 1970 to some time ahead of the clock; no bound until `set_now` is called with a time.

    Parameters
    ----------
    max_ahead_seconds
        How far an event's time may be ahead.

    """

    def __init__(self, max_ahead_seconds: float) -> None:
        self._max_ahead_ms = int(max_ahead_seconds * 1000)
        self.set_now(None)

    def set_now(self, processing_time_ms: int | None) -> None:
        """Set the time, in milliseconds since the epoch; None: no bound."""
        self.earliest_ms = 0 if processing_time_ms is not None else _EARLIEST_MS
        self.latest_ms = (
            processing_time_ms + self._max_ahead_ms if processing_time_ms is not None else _LATEST_MS
        )

    def check(self, timestamp_ms: int, place: str) -> None:
        """Raise the `rejection` of a time that is out of bounds."""
        if not self.earliest_ms <= timestamp_ms <= self.latest_ms:
            raise self.rejection(timestamp_ms, place)

    def rejection(self, timestamp_ms: int, place: str) -> Rejection:
        """Return the refusal of a time that is out of bounds; `place` says where in the record it was."""
        return rejection_of_time(timestamp_ms, self.latest_ms - self._max_ahead_ms, place)
