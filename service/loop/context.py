"""The stream, settings and clock that all parts of the loop share, and whether the stream answers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from random import Random
from typing import Final

from service.clock import SYSTEM_CLOCK, Clock
from service.errors import StorageFull, TransportError, TransportUnavailable
from service.monitoring.health import Health, State
from service.monitoring.live_models import LiveModels
from service.monitoring.metrics import Metrics
from service.settings.load import Settings
from service.stream.protocol import TopicPartition, Transport

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Context:
    """The stream, the settings, metrics and health, and the only sources of time and randomness."""

    stream: Transport
    settings: Settings
    metrics: Metrics
    health: Health = field(default_factory=Health)
    live: LiveModels | None = None
    """Where models are published for the API and the page; None: they are not published."""
    clock: Clock = SYSTEM_CLOCK
    random: Random = field(default_factory=Random)
    """Draws the waits before further attempts; not a source of secrets."""


_SILENT_SECONDS: Final = 1.0
"""How long polls may return nothing before the loop asks the stream for the ends of its topics."""


class Availability:
    """Remembers whether the stream answered when it was last asked.

    Parameters
    ----------
    context
        Each error makes its health unavailable; its clock measures how long the stream has been silent.

    Attributes
    ----------
    is_unreachable : bool
        Whether the stream did not answer.
    waits_for_space : bool
        Whether a full disk is waited for; otherwise it ends the loop.

    """

    def __init__(self, context: Context) -> None:
        self._health = context.health
        self._clock = context.clock
        self._heard_at = self._clock.monotonic()
        self.is_unreachable, self.waits_for_space = False, True
        self._waits_for = ""

    def report_or_raise(self, error: TransportError, wait_seconds: float) -> None:
        """Report an error of an operation that will be retried in `wait_seconds`, or raise it."""
        if isinstance(error, StorageFull) and not self.waits_for_space:
            raise error
        _log.warning("%s; trying again in %.1f s", error, wait_seconds, extra={"hint": error.hint})
        self.note_error(error)
        self._health.become(State.UNAVAILABLE, str(error))

    def waits_for(self, topic_partitions: Sequence[TopicPartition]) -> bool:
        """Report the topic partitions whose records other records wait for; return whether there are any."""
        names = ", ".join(f"{topic}[{partition}]" for topic, partition in topic_partitions)
        if names and names != self._waits_for:
            _log.warning("waiting for %s: its records may be earlier than the records already read", names)
        self._waits_for = names
        if names:
            self._health.become(State.UNAVAILABLE, f"waiting for {names}")
        return bool(names)

    @property
    def is_silent(self) -> bool:
        """Whether the stream has sent nothing for a while: it may be frozen or unreachable."""
        return self._clock.monotonic() - self._heard_at >= _SILENT_SECONDS

    def note_contact(self) -> None:
        """Note that the stream has answered or delivered records."""
        self._heard_at = self._clock.monotonic()

    def report_silence(self, error: TransportUnavailable) -> None:
        """Report an unanswered request: the stream counts as silent until it answers."""
        self._heard_at = -inf
        self._health.become(State.UNAVAILABLE, str(error))

    def note_error(self, error: TransportError) -> None:
        """Note whether an error means that the stream is unreachable."""
        self.is_unreachable = isinstance(error, TransportUnavailable)
