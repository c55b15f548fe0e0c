"""When the loop takes a batch that is not full. In: what waits, and what is known to come. Out: the time."""

from __future__ import annotations

from math import inf


class BatchTime:
    """Decides when the waiting records are a batch, full or not; in monotonic seconds.

    That is one interval after the batch before, unless more records are known to come: then the batch may as
    well be full, and is waited for until one interval after the first record.

    Parameters
    ----------
    interval_seconds
        Between two commits.

    Attributes
    ----------
    due : float
        The time; infinity while nothing waits.

    """

    def __init__(self, interval_seconds: float) -> None:
        self._interval_seconds = interval_seconds
        self._last_batch_at = -inf
        self.due = inf

    def wait(self, now: float, *, more_comes: bool) -> None:
        """Note that records wait, and whether the client has heard of more."""
        self.due = min(self.due, now + self._interval_seconds)
        if not more_comes:
            self.due = min(self.due, self._last_batch_at + self._interval_seconds)

    def forget(self) -> None:
        """Note that nothing waits any more."""
        self.due = inf

    def batch_taken(self, now: float) -> None:
        """Note that a batch was taken; what is left of the records waits from now on."""
        self.due, self._last_batch_at = inf, now
