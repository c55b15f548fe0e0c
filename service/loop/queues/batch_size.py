"""The number of records in the next batch, computed from the time that batches took.

A commit takes milliseconds, however much it commits, so that large batches cost less. But nothing of a batch
is visible before its commit, and all of it is done again if that fails. So processing a batch may take the
interval between two commits: a slow model gets small batches, a fast one large ones where records wait.

The time of the commit does not count: a stream that is slow needs large batches, not small ones.
"""

from __future__ import annotations

from math import inf
from typing import Final

from service.settings.load import Settings

_FIRST_RECORDS: Final = 16
"""Size before any batch was timed: a model that takes a second for an event may be behind the loop."""

_WAITING_RECORDS: Final = 100
"""Of each partition, as many may wait for its turn."""

_LEAST_SECONDS: Final = 0.02
"""What a batch may take where commits are to follow each other faster: else most of the time were theirs."""

_MOST_SECONDS: Final = 1.0
"""What a batch may take where commits are far apart: while it is processed, the model answers no request, and
`/readyz` says no after `ready_timeout_seconds`."""


class BatchSize:
    """The number of records of a batch, all partitions of the process together.

    Parameters
    ----------
    settings
        Say how far commits are apart, and how many records a batch may have.

    Attributes
    ----------
    records : int
        How many to take.

    """

    def __init__(self, settings: Settings) -> None:
        self._most = settings.max_batch_records or inf
        self._seconds = min(max(settings.commit_interval_seconds, _LEAST_SECONDS), _MOST_SECONDS)
        self.records = self._bounded(_FIRST_RECORDS)

    def _bounded(self, n_records: float) -> int:
        return int(min(max(n_records, 1), self._most))

    def waiting(self, n_partitions: int) -> int:
        """Return how many records may wait: enough for a transaction of each partition, in its turn."""
        return max(self.records, self._bounded(_WAITING_RECORDS) * n_partitions)

    def observe(self, n_records: int, seconds: float) -> None:
        """Note how long processing a batch took; adapt, by a factor of 2 at most.

        A batch that was not full and did not take too long says nothing of a full one.
        """
        if n_records >= self.records or seconds > self._seconds:
            wanted = n_records * self._seconds / seconds if seconds > 0 else inf
            self.records = self._bounded(min(max(wanted, self.records / 2), self.records * 2))
