"""How large the next batch is, when it is due, and whether topics have ended before it.

A commit takes milliseconds, however much it commits, so that large batches cost less. But nothing of a batch
is visible before its commit, and all of it is done again if that fails. So processing a batch may take the
interval between two commits: a slow model gets small batches, a fast one large ones where records wait.

The time of the commit does not count: a stream that is slow needs large batches, not small ones.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from math import inf
from typing import Final

from service.errors import TransportUnavailable
from service.settings.load import Settings
from service.stream.protocol import Place

_log = logging.getLogger(__name__)

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


_FRESH_SECONDS: Final = 0.1
"""How long an answer is good for: by so much at most a record can be older than its end is known to be."""

_ASK_AGAIN_SECONDS: Final = 1.0
"""How long a stream is left alone that did not answer."""

Ask = Callable[[Collection[Place]], Mapping[Place, int]]
"""`Consumer.remaining`."""


@dataclass(slots=True)
class _Answer:
    """What was said of one place."""

    good_until: float
    lag: int
    """How far behind the client believed to be then: it may hear of more before it is delivered."""
    left: int | None
    """Offsets from what was delivered to the end at that time; None without an answer."""


class TopicEnds:
    """Remembers how far the ends of places are, and asks again when that is long ago.

    A stream that is queried knows its end, but not what is written afterwards. An answer is therefore good
    for a moment only, but that moment is long compared to a batch: a query for each batch would cost more
    than reading.
    """

    def __init__(self) -> None:
        self._answers: dict[Place, _Answer] = {}

    def delivered(self, place: Place, count: int) -> None:
        """Note that `count` records of `place` were delivered: it is so much nearer to its end."""
        answer = self._answers.get(place)
        if answer is not None and answer.left is not None:
            answer.left -= count
            answer.lag = 0  # whatever the client has heard of beside it is news

    def forget(self, places: Collection[Place]) -> None:
        """Forget what is known of places, which are to be read from elsewhere."""
        self._answers = {place: each for place, each in self._answers.items() if place not in places}

    def reached(
        self, places: Collection[Place], ask: Ask, lag: Mapping[Place, int], now: float
    ) -> frozenset[Place]:
        """Return those of the places that were delivered up to their ends, as known a moment ago or now.

        Parameters
        ----------
        places
            Of which nothing waits any more.
        ask
            Asks the stream.
        lag
            What the client has heard of, and not delivered.
        now
            Monotonic seconds.

        """
        doubtful = [place for place in places if self._is_doubtful(place, lag.get(place, 0), now)]
        if doubtful:
            self._ask(doubtful, ask, lag, now)
        return frozenset(place for place in places if self._answers[place].left == 0)

    def _is_doubtful(self, place: Place, lag: int, now: float) -> bool:
        """Return whether to ask: the answer is old, or there is more than it knew of."""
        answer = self._answers.get(place)
        if answer is None or now >= answer.good_until:
            return True
        return answer.left is not None and (answer.left < 0 or lag > answer.lag)

    def _ask(self, places: Collection[Place], ask: Ask, lag: Mapping[Place, int], now: float) -> None:
        try:
            left: Mapping[Place, int | None] = ask(places)
            good_until = now + _FRESH_SECONDS
        except TransportUnavailable as error:
            _log.debug("the ends of topics are not known: %s", error)
            left, good_until = {}, now + _ASK_AGAIN_SECONDS
        self._answers |= {place: _Answer(good_until, lag.get(place, 0), left.get(place)) for place in places}
