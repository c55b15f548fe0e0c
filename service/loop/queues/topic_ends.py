"""The known ends of topics, and which of them were reached.

A stream that is queried knows its end, but not what is written afterwards. An answer is therefore good for a
moment only, but that moment is long compared to a batch: a query for each batch would cost more than
reading.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

from service.errors import TransportUnavailable
from service.stream import Place

_log = logging.getLogger(__name__)

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
    """Remembers how far the ends of places are, and asks again when that is long ago."""

    def __init__(self) -> None:
        self._answers: dict[Place, _Answer] = {}

    def delivered(self, place: Place, count: int) -> None:
        """Note that `count` records of `place` were delivered: it is so much nearer to its end."""
        answer = self._answers.get(place)
        if answer is not None and answer.left is not None:
            answer.left -= count
            answer.lag = 0  # whatever the client has heard of beside it is news

    def forget(self, partition: int) -> None:
        """Forget what is known of a partition, which is to be read from elsewhere."""
        self._answers = {place: each for place, each in self._answers.items() if place[1] != partition}

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
