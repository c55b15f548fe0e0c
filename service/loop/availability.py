"""Whether the stream answers: warn once when it does not, and set the state of the service."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from math import inf
from typing import Final

from service.clock import SYSTEM_CLOCK, Clock
from service.errors import TransportError, TransportUnavailable
from service.monitoring.health import Health, State
from service.stream import Place

_SILENT_SECONDS: Final = 1.0
"""How long polls may return nothing before the stream is asked where its topics end."""

_log = logging.getLogger(__name__)


class Availability:
    """Remembers whether the stream answered when it was last asked.

    Parameters
    ----------
    health
        Becomes unavailable with each error.
    clock
        Tells how long the stream has been silent.

    Attributes
    ----------
    is_away : bool
        Whether it did not answer.

    """

    def __init__(self, health: Health, clock: Clock = SYSTEM_CLOCK) -> None:
        self.health = health
        self._clock = clock
        self._heard_at = clock.monotonic()
        self.is_away = False
        self._waits_for = ""

    def failed(self, error: TransportError, wait_seconds: float) -> None:
        """Report an error after which the same is tried again in `wait_seconds`."""
        _log.warning("%s; trying again in %.1f s", error, wait_seconds, extra={"hint": error.hint})
        self.note(error)
        self.health.become(State.UNAVAILABLE, str(error))

    def waits_for(self, places: Sequence[Place]) -> bool:
        """Report the topics and partitions whose records others wait for; return whether there are any."""
        names = ", ".join(f"{topic}[{partition}]" for topic, partition in places)
        if names and names != self._waits_for:
            _log.warning("waiting for %s: records there may be earlier than those that are here", names)
        self._waits_for = names
        if names:
            self.health.become(State.UNAVAILABLE, f"waiting for {names}")
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
        self.health.become(State.UNAVAILABLE, str(error))

    def note(self, error: TransportError) -> None:
        """Note from an error whether the stream is unreachable."""
        self.is_away = isinstance(error, TransportUnavailable)
