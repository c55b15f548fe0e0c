"""Failures of partitions: when to try again, and what has to be repeated."""

from __future__ import annotations

from collections import Counter, defaultdict
from random import Random
from typing import Final

from service.loop.backoff import Backoff

_SHORT_AFTER: Final = 2
"""A topic's limit may have been lowered: the first time it refuses a record, it is asked again what it takes;
the second time, dead letters are cut to 16 KiB, whatever it says."""


class Failures:
    """Remembers what has failed of each partition until a batch of it is committed.

    Parameters
    ----------
    random
        Decides how long to wait.

    """

    def __init__(self, random: Random) -> None:
        self._to_repeat: dict[int, bool] = {}
        """Partitions whose last batch failed and was not repeated since; whether it may be committed yet."""
        self._backoffs: defaultdict[int, Backoff] = defaultdict(lambda: Backoff(random))
        """By partition: one that has just failed for the first time need not wait for what others did."""
        self._refused: Counter[int] = Counter()
        """By partition: how often its next batch was refused because a record in it is too large."""

    def __bool__(self) -> bool:
        return bool(self._to_repeat)

    def note(self, partition: int, *, is_doubtful: bool) -> None:
        """Note that a batch failed; doubtful if it may have been committed nevertheless."""
        self._to_repeat[partition] = is_doubtful

    def note_refused(self, partition: int) -> bool:
        """Note that a record was too large; return whether the batch may be tried again."""
        self._refused[partition] += 1
        return self._refused[partition] <= _SHORT_AFTER

    def cuts_letters(self, partition: int) -> bool:
        """Return whether dead letters are to be cut, as they may be what was refused."""
        return self._refused[partition] >= _SHORT_AFTER

    def next_seconds(self, partition: int) -> float:
        """Return how long to wait before the next attempt: longer each time."""
        return self._backoffs[partition].next_seconds()

    def forget(self, partition: int) -> None:
        """Forget the failures of a partition that has committed, or is not ours any more."""
        self.forget_batch(partition)
        self._refused.pop(partition, None)
        self._backoffs.pop(partition, None)

    def forget_batch(self, partition: int) -> None:
        """Forget the batch that failed: recovery finds out where the partition goes on."""
        self._to_repeat.pop(partition, None)

    def forget_doubtful(self) -> None:
        """Forget batches that may be committed: as nothing is left to process, they were."""
        self._to_repeat = {each: doubtful for each, doubtful in self._to_repeat.items() if not doubtful}
