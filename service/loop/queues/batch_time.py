"""The time at which the loop processes a batch that is not full."""

from __future__ import annotations

from math import inf
from typing import Final

_WEIGHT: Final = 1 / 8
"""Of the last batch in the mean of what batches take."""


class BatchTime:
    """Decides when the waiting records are a batch, full or not; in monotonic seconds.

    A batch is due one wait after the one before, unless more records are known to come: then it may as well
    be full, and is waited for until one wait after the first record. A wait is the commit interval less what
    processing and committing a batch takes (a moving mean, and half the interval at most): so a record's
    answer is visible one interval after the record came, and not later by what the commit took.

    Parameters
    ----------
    interval_seconds
        From a record to its answer, while the service keeps up.

    Attributes
    ----------
    due : float
        The time; infinity while nothing waits.
    expects_no_more : bool
        Whether records that the client has not heard of are not waited for.

    """

    def __init__(self, interval_seconds: float) -> None:
        self._interval_seconds = interval_seconds
        self._last_batch_at = -inf
        self._lead_seconds = 0.0
        self.due = inf
        self.expects_no_more = False

    @property
    def _wait_seconds(self) -> float:
        return self._interval_seconds - min(self._lead_seconds, self._interval_seconds / 2)

    def wait(self, now: float, *, more_comes: bool) -> None:
        """Note that records wait, and whether the client has heard of more."""
        self.due = min(self.due, now + self._wait_seconds)
        if not more_comes:
            self.due = min(
                self.due, now if self.expects_no_more else self._last_batch_at + self._wait_seconds
            )

    def forget(self) -> None:
        """Note that nothing waits any more."""
        self.due = inf

    def batch_taken(self, now: float) -> None:
        """Note that a batch was taken; what is left of the records waits from now on."""
        self.due, self._last_batch_at = inf, now

    def batch_committed(self, now: float) -> None:
        """Note that the batch taken last was committed."""
        self._lead_seconds += _WEIGHT * (now - self._last_batch_at - self._lead_seconds)
