"""What fails in passing: whether the stream answers, which tasks have failed, when to try again."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Sequence
from math import inf
from random import Random
from typing import Final

from service.errors import TransportError, TransportUnavailable
from service.loop.context import Context
from service.monitoring.health import State
from service.stream.protocol import Place

_log = logging.getLogger(__name__)

_SILENT_SECONDS: Final = 1.0
"""How long polls may return nothing before the stream is asked where its topics end."""

_SHORT_AFTER: Final = 2
"""A topic's limit may have been lowered: the first time it refuses a record, it is asked again what it takes;
the second time, dead letters are cut to 16 KiB, whatever it says."""

_FIRST_SECONDS: Final = 0.1
_LONGEST_SECONDS: Final = 10.0
"""Long enough to be no burden to a struggling broker, short enough that its return is soon noticed."""
_DOUBLINGS: Final = 7
"""After so many it is the longest; counted on for hours, they would be more than a float holds."""


class Backoff:
    """Doubles the wait with each failure, and draws from its upper half.

    The jitter keeps the processes that one broker failed from coming back to it all at once.

    Parameters
    ----------
    random
        Draws the jitter.

    """

    def __init__(self, random: Random | None = None) -> None:
        self._random = random or Random()  # noqa: S311  nothing to guess here
        self._failures = 0

    def next_seconds(self) -> float:
        """Count a failure; return the seconds to wait."""
        longest = min(_LONGEST_SECONDS, _FIRST_SECONDS * 2**self._failures)
        self._failures = min(self._failures + 1, _DOUBLINGS)
        return self._random.uniform(longest / 2, longest)

    def reset(self) -> None:
        """Forget the failures: it went well."""
        self._failures = 0


class Failures:
    """Remembers what has failed of each task until a batch of it is committed.

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


class Availability:
    """Remembers whether the stream answered when it was last asked.

    Parameters
    ----------
    context
        Its health becomes unavailable with each error; its clock tells how long the stream has been silent.

    Attributes
    ----------
    is_away : bool
        Whether it did not answer.

    """

    def __init__(self, context: Context) -> None:
        self._health = context.health
        self._clock = context.clock
        self._heard_at = self._clock.monotonic()
        self.is_away = False
        self._waits_for = ""

    def failed(self, error: TransportError, wait_seconds: float) -> None:
        """Report an error after which the same is tried again in `wait_seconds`."""
        _log.warning("%s; trying again in %.1f s", error, wait_seconds, extra={"hint": error.hint})
        self.note(error)
        self._health.become(State.UNAVAILABLE, str(error))

    def waits_for(self, places: Sequence[Place]) -> bool:
        """Report the topics and partitions whose records others wait for; return whether there are any."""
        names = ", ".join(f"{topic}[{partition}]" for topic, partition in places)
        if names and names != self._waits_for:
            _log.warning("waiting for %s: records there may be earlier than those that are here", names)
        self._waits_for = names
        if names:
            self._health.become(State.UNAVAILABLE, f"waiting for {names}")
        return bool(names)

    @property
    def is_silent(self) -> bool:
        """Whether nothing was heard for a while: the stream may be frozen, or gone."""
        return self._clock.monotonic() - self._heard_at >= _SILENT_SECONDS

    def heard(self) -> None:
        """Note that the stream has said something."""
        self._heard_at = self._clock.monotonic()

    def unanswered(self, error: TransportUnavailable) -> None:
        """Report that a question was not answered: the stream is silent until it is heard again."""
        self._heard_at = -inf
        self._health.become(State.UNAVAILABLE, str(error))

    def note(self, error: TransportError) -> None:
        """Note from an error whether the stream is unreachable."""
        self.is_away = isinstance(error, TransportUnavailable)
