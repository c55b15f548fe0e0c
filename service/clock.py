"""The clock of the loop. A test passes a clock of its own, and no second has to pass."""

from __future__ import annotations

import time
from threading import Event
from typing import Final, Protocol


class Clock(Protocol):
    """Whatever the loop calls to read the time or to wait."""

    def monotonic(self) -> float:
        """Return seconds since some point in the past; they never go back."""

    def time(self) -> float:
        """Return seconds since the Unix epoch."""

    def process_time(self) -> float:
        """Return the seconds of processor time that this process has taken."""

    def wait(self, event: Event, seconds: float) -> None:
        """Return after `seconds`, or as soon as `event` is set."""


class SystemClock:
    """The clock of the machine."""

    def monotonic(self) -> float:
        """Return `time.monotonic()`."""
        return time.monotonic()

    def time(self) -> float:
        """Return `time.time()`."""
        return time.time()

    def process_time(self) -> float:
        """Return `time.process_time()`."""
        return time.process_time()

    def wait(self, event: Event, seconds: float) -> None:
        """Wait for `event`, `seconds` at most."""
        event.wait(seconds)


SYSTEM_CLOCK: Final = SystemClock()
