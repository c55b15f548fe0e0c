"""Whether the stream answers. In: errors that pass, and answers. Out: a warning, the state of the service."""

from __future__ import annotations

import logging

from service.errors import TransportError, TransportUnavailable
from service.health import Health, State

_log = logging.getLogger(__name__)


class Availability:
    """Remembers whether the stream answered when it was last asked.

    Parameters
    ----------
    health
        Becomes unavailable with each error.

    Attributes
    ----------
    is_away : bool
        Whether it did not answer.

    """

    def __init__(self, health: Health) -> None:
        self._health = health
        self.is_away = False

    def failed(self, error: TransportError, wait_seconds: float) -> None:
        """Report an error after which the same is tried again in `wait_seconds`."""
        _log.warning("%s; trying again in %.1f s", error, wait_seconds, extra={"hint": error.hint})
        self.note(error)
        self._health.become(State.UNAVAILABLE, str(error))

    def note(self, error: TransportError) -> None:
        """Take from an error whether the stream is away."""
        self.is_away = isinstance(error, TransportUnavailable)
