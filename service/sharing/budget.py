"""The time that rounds may take of a process. In: what they took. Out: whether another one may be opened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from service.clock import Clock

SHARE: Final = 0.1
"""Of the time, for all partitions of the process together."""


class Budget:
    """Keeps rounds from taking more than a share of the time: each opens so much later as the last ones took.

    Others may open a round before that, and are answered.

    Parameters
    ----------
    clock
        The time.

    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._free_at = clock.monotonic()

    def is_left(self) -> bool:
        """Return whether a round may be opened."""
        return self._clock.monotonic() >= self._free_at

    @contextmanager
    def spending(self) -> Iterator[None]:
        """Take what is done inside for work on rounds."""
        began = self._clock.monotonic()
        try:
            yield
        finally:
            now = self._clock.monotonic()
            self._free_at = max(self._free_at, began) + (now - began) / SHARE
