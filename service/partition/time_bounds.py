"""Bounds of event times, from the time at which a batch is processed."""

from __future__ import annotations

from typing import Final

from service.messages.rejection import Rejection, rejection_of_time

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

    def set_now(self, now_ms: int | None) -> None:
        """Set the time, in milliseconds since the epoch; None: no bound."""
        self.earliest_ms = 0 if now_ms is not None else _EARLIEST_MS
        self.latest_ms = now_ms + self._max_ahead_ms if now_ms is not None else _LATEST_MS

    def check(self, timestamp_ms: int, place: str) -> None:
        """Raise the `rejection` of a time that is out of bounds."""
        if not self.earliest_ms <= timestamp_ms <= self.latest_ms:
            raise self.rejection(timestamp_ms, place)

    def rejection(self, timestamp_ms: int, place: str) -> Rejection:
        """Return the refusal of a time that is out of bounds; `place` says where in the record it was."""
        return rejection_of_time(timestamp_ms, self.latest_ms - self._max_ahead_ms, place)
