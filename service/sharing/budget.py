"""The share of a process's time that rounds may use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from service.clock import Clock

SHARE: Final = 0.05
"""Of the processor time that the process takes for everything, for all its partitions together."""

SHARE_OF_REST: Final = 0.5
"""Of the time in which it waits for records or for commits, and works on nothing."""


class Budget:
    """Keeps rounds from taking much of what events need: each opens so much later as the last ones took.

    A process that catches up has its partitions learn of each other more rarely than one that waits for
    events. Others may open a round before that, and are answered.

    Parameters
    ----------
    clock
        The time, and what the process has worked.

    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._worked = clock.process_time()
        self._owed = 0.0
        """Processor seconds that rounds have taken and that have not been made up for."""

    def is_left(self) -> bool:
        """Return whether a round may be opened."""
        self._make_up()
        return self._owed <= 0.0

    @contextmanager
    def spending(self) -> Iterator[None]:
        """Count the work inside as work on rounds."""
        self._make_up()
        try:
            yield
        finally:
            self._owed += self._clock.process_time() - self._worked

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Count the idle time of the process inside as time that rounds may use."""
        began, worked = self._clock.monotonic(), self._clock.process_time()
        try:
            yield
        finally:
            passed_seconds = self._clock.monotonic() - began
            rest_seconds = passed_seconds - (self._clock.process_time() - worked)
            self._owed -= min(self._owed, SHARE_OF_REST * max(0.0, rest_seconds))

    def _make_up(self) -> None:
        """Reduce what is owed by the share of the work since the last call."""
        worked = self._clock.process_time()
        self._owed = max(0.0, self._owed - SHARE * (worked - self._worked))
        self._worked = worked
